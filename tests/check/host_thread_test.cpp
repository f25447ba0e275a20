// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests host threads in scenarios, and variables with a separate instance on each device.
#include <check/explore.hpp>
#include <check/object_users.hpp>
#include <check/order_costs.hpp>
#include <check/repair.hpp>
#include <check/scenario.hpp>
#include <check/trace.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/error.hpp>
#include <membar/thread_scope.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace host_thread_test {
namespace {

namespace check = membar::check;
using check::check_status;
using membar::memory_order;
using membar::thread_scope;

/// Returns a module with these variables and the kernels `k0`, `k1`, ..., each with two pointers in %rd0 and %rd1.
std::string module_of(const std::vector<std::string>& bodies, const std::string& variables = "") {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n" + variables + "\n";
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    text += ".visible .entry k" + std::to_string(k) +
            "(.param .u64 a, .param .u64 b)\n{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
            "ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b];\n" +
            bodies[k] + "\nret;\n}\n";
  }
  return text;
}

check::prepared_scenario prepared(const std::string& lines, const std::string& ptx) {
  return check::prepare(check::read_scenario("source k.ptx\n" + lines), ptx);
}

check::check_result explored(const std::string& lines, const std::string& ptx) {
  const check::prepared_scenario s = prepared(lines, ptx);
  return check::explore(s.checked, s.property());
}

check_status status_of(const std::string& lines, const std::string& ptx) { return explored(lines, ptx).status; }

std::string error_of(const std::string& lines, const std::string& ptx) {
  try {
    static_cast<void>(prepared(lines, ptx));
  } catch (const membar::model::error& e) {
    return e.what();
  }
  return "no error";
}

/// A kernel that writes data in host memory and then raises a flag.
std::string announcing(const std::string& order_and_scope) {
  return module_of({"st.global.u32 [%rd0], 42; st." + order_and_scope + ".global.u32 [%rd1], 1;"});
}
const std::string memory = "memory data u32 host\nmemory flag u32 host\n";
const std::string launch = "launch k0 args data flag\n";
const std::string reader = "host reader { wait flag == 1 acquire; load data; expect data == 42 }\n";

TEST(check_host_threads, read_what_a_release_of_system_scope_announces) {
  EXPECT_EQ(status_of(memory + launch + reader, announcing("release.sys")), check_status::verified);
  EXPECT_EQ(status_of(memory + launch + reader, announcing("release.gpu")), check_status::race);
  EXPECT_EQ(status_of(memory + launch + reader, announcing("relaxed.sys")), check_status::race);
  EXPECT_EQ(status_of(memory + launch + "host reader { wait flag == 1; load data }\n", announcing("release.sys")),
            check_status::race)
      << "a wait is relaxed unless it names another order";
  EXPECT_EQ(status_of(memory + launch + "host reader { wait flag == 1 relaxed; fence acquire; load data }\n",
                      announcing("release.sys")),
            check_status::verified);
}

TEST(check_host_threads, announce_to_kernels) {
  const auto waits = [](const std::string& how) {
    return module_of(
        {"L: ld." + how + ".global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L; ld.global.u32 %r1, [%rd0];"});
  };
  const auto host = [](const std::string& how) {
    return "host writer {\n  store data = 7 # the data\n  store flag = 1" + how + "\n}\n";
  };
  EXPECT_EQ(status_of(memory + launch + host(" release"), waits("acquire.sys")), check_status::verified);
  EXPECT_EQ(status_of(memory + launch + host(" seq_cst"), waits("acquire.sys")), check_status::verified);
  EXPECT_EQ(status_of(memory + launch + host(" relaxed"), waits("acquire.sys")), check_status::race);
  EXPECT_EQ(status_of(memory + launch + host(""), waits("acquire.sys")), check_status::race);
  EXPECT_EQ(status_of(memory + launch + host(" release"), waits("acquire.gpu")), check_status::race);
  EXPECT_EQ(status_of(memory + launch, waits("acquire.sys")), check_status::hang);
}

TEST(check_host_threads, update_memory_with_their_orders) {
  const std::string adds = module_of({"atom.relaxed.sys.global.add.u32 %r0, [%rd0], 5;"});
  const auto ends = [&](const std::string& statement, const std::string& value, const std::string& initial = "0") {
    return status_of("memory data u32[2] = 9, " + initial + "\nlaunch k0 args data data\nhost h { " + statement +
                         " }\nfinal data == 14 /\\ data[1] == " + value + "\n",
                     adds);
  };
  for (const std::string order : {"", " relaxed", " acquire", " release", " acq_rel", " seq_cst"}) {
    EXPECT_EQ(ends("add data[1] 3" + order, "5", "2"), check_status::verified) << order;
  }
  EXPECT_EQ(ends("and data[1] 6", "4", "5"), check_status::verified);
  EXPECT_EQ(ends("or data[1] 6", "7", "5"), check_status::verified);
  EXPECT_EQ(ends("xor data[1] 6", "3", "5"), check_status::verified);
  EXPECT_EQ(ends("min data[1] 3", "3", "5"), check_status::verified);
  EXPECT_EQ(ends("max data[1] 0xff", "255", "5"), check_status::verified);
  EXPECT_EQ(ends("exchange data[1] 8", "8"), check_status::verified);
  EXPECT_EQ(ends("exchange data[1] 8", "9"), check_status::violated);
  EXPECT_EQ(ends("add data 0", "0"), check_status::verified) << "both updates have system scope";
  EXPECT_EQ(status_of("memory data u32\nlaunch k0 args data data\nhost h { add data 1 }\n",
                      module_of({"atom.relaxed.gpu.global.add.u32 %r0, [%rd0], 5;"})),
            check_status::race)
      << "device scope does not include the host";
}

TEST(check_host_threads, wait_and_expect_by_the_type_of_the_memory) {
  const std::string nothing = module_of({""});
  const auto expects = [&](const std::string& type, const std::string& initial, const std::string& condition) {
    return status_of(
        "memory data " + type + " = " + initial + "\nlaunch k0 args data data\nhost h { expect data " + condition + " }\n",
        nothing);
  };
  EXPECT_EQ(expects("s32", "-2", "< 0"), check_status::verified);
  EXPECT_EQ(expects("u32", "0xfffffffe", "> 5"), check_status::verified);
  EXPECT_EQ(expects("s8", "-2", "== -2"), check_status::verified);
  EXPECT_EQ(expects("u16", "0xfffe", "== -2"), check_status::verified) << "-2 and 0xfffe have the same bits";
  EXPECT_EQ(expects("f32", "1.5", "<= 1.5"), check_status::verified);
  EXPECT_EQ(expects("f64", "1.5", "> 1.25"), check_status::verified);
  EXPECT_EQ(expects("f32", "1.5", "!= 1.5"), check_status::violated);
  EXPECT_EQ(expects("f32", "0x7fc00000", "== 1.0"), check_status::violated) << "NaN equals nothing";
  EXPECT_EQ(expects("u64", "7", ">= 8"), check_status::violated);
  const check::check_result r =
      explored("memory data u64 = 7\nlaunch k0 args data data\nhost h {\n expect data >= 8 relaxed ; }\n", nothing);
  EXPECT_EQ(r.found.message, "thread 1 (host thread h): 'expect data >= 8 relaxed' does not hold");
}

TEST(check_host_threads, that_wait_for_what_nobody_writes_hang) {
  const check::prepared_scenario s =
      prepared("memory data u32\nlaunch k0 args data data\nhost h { wait data == 1 }\n", module_of({""}));
  const check::check_result r = check::explore(s.checked, s.property());
  EXPECT_EQ(r.status, check_status::hang);
  ASSERT_EQ(r.found.waiting.size(), 2U);
  ASSERT_NE(r.found.waiting[1], nullptr);
  EXPECT_EQ(r.found.waiting[1]->text, "wait data == 1");
  EXPECT_EQ(r.found.waiting[1]->source_line, 4);
  EXPECT_EQ(check::thread_text(s.checked, 1), "thread 1 (host thread h)");
}

TEST(check_host_threads, run_concurrently_with_all_launches_unless_the_scenario_orders_them) {
  const std::string writes = module_of({"st.global.u32 [%rd0], 42;", "ld.global.u32 %r0, [%rd0];"});
  const std::string data = "memory data u32 host\n";
  const std::string kernel = "launch k0 stream s args data data\n";
  EXPECT_EQ(status_of(data + kernel + "host h { load data }\n", writes), check_status::race);
  EXPECT_EQ(status_of(data + kernel + "host h after k0 { expect data == 42 }\n", writes), check_status::verified);
  EXPECT_EQ(status_of(data + kernel + "host h after s { expect data == 42 }\n", writes), check_status::verified);
  EXPECT_EQ(status_of(data + kernel + "host g after k0 { store data = 1 }\nhost h after g { expect data == 1 }\n", writes),
            check_status::verified);
  EXPECT_EQ(status_of(data + kernel + "host g after k0 { store data = 1 }\nhost h { load data }\n", writes),
            check_status::race);
  EXPECT_EQ(status_of(data + "host g { store data = 1 }\nlaunch k1 after g args data data\n", writes), check_status::verified);
  EXPECT_EQ(status_of(data + "host g { store data = 1 }\nlaunch k1 args data data\n", writes), check_status::race);
}

TEST(check_host_threads, of_one_scenario_race_with_each_other) {
  const std::string nothing = module_of({""});
  const std::string two = "memory data u32\nmemory flag u32\nlaunch k0 args data flag\nhost a { store data = 1; store flag = 1";
  EXPECT_EQ(status_of(two + " release }\nhost b { wait flag == 1 acquire; expect data == 1 }\n", nothing),
            check_status::verified);
  EXPECT_EQ(status_of(two + " relaxed }\nhost b { wait flag == 1 acquire; expect data == 1 }\n", nothing), check_status::race);
}

TEST(check_host_threads, order_store_buffering_only_by_seq_cst) {
  const std::string nothing = module_of({""});
  const auto executions = [&](const std::string& how, const std::string& between) {
    return explored("memory x u32\nmemory y u32\nlaunch k0 args x y\nhost a { store x = 1 " + how + ";" + between + "load y " +
                        how + " }\nhost b { store y = 1 " + how + ";" + between + "load x " + how + " }\n",
                    nothing)
        .counts.executions;
  };
  EXPECT_EQ(executions("relaxed", ""), 4U);
  EXPECT_EQ(executions("relaxed", "fence;"), 4U);
  EXPECT_EQ(executions("seq_cst", ""), 3U) << "at least one thread's load sees the other thread's store";
  EXPECT_EQ(executions("relaxed", "fence seq_cst;"), 3U);
}

TEST(check_host_threads, have_errors_with_line_and_column) {
  const std::string ptx = module_of({""}, ".global .u32 own; .global .attribute(.managed) .u32 all;");
  const auto error = [&](const std::string& host) {
    return error_of("memory x u32[2]\nlaunch k0 args x x\n" + host + "\n", ptx);
  };
  EXPECT_EQ(error("host h { load y }"),
            "4:15: there is no memory 'y': a host thread can access only memory of the scenario and __managed__ variables; the "
            "scenario has "
            "x, own@0, own, all");
  EXPECT_EQ(error("host h {\n  load x;\n  load x release }"),
            "6:10: 'release' is not an order for 'load': expected weak, relaxed, acquire or seq_cst");
  EXPECT_EQ(error("host h { store x = 1 acquire }"),
            "4:22: 'acquire' is not an order for 'store': expected weak, relaxed, release or seq_cst");
  EXPECT_EQ(error("host h { add x 1 weak }"),
            "4:18: 'weak' is not an order for 'add': expected relaxed, acquire, release, acq_rel or seq_cst");
  EXPECT_EQ(error("host h { fence relaxed }"),
            "4:16: 'relaxed' is not an order for 'fence': expected acquire, release, acq_rel or seq_cst");
  EXPECT_EQ(error("host h { load x[2] }"), "4:15: index 2 is outside of 'x', which has 2 elements");
  EXPECT_EQ(error("host h { load x[] }"),
            "4:15: 'x[]' does not name an element of memory: expected a number between the brackets, as in data[2]");
  EXPECT_EQ(error("host h { wait x }"), "4:15: expected a comparison at the end of 'wait x'");
  EXPECT_EQ(error("host h { wait x = 1 }"), "4:17: '=' is not a comparison: expected ==, !=, <, <=, > or >=");
  EXPECT_EQ(error("host h { wait x == one }"), "4:20: expected a value of type u32, found 'one'");
  EXPECT_EQ(error("host h { store x 1 }"), "4:18: expected '=' after the location, found '1'");
  EXPECT_EQ(error("host h { store x = 4294967296 }"), "4:20: the value 4294967296 does not fit into the 4 bytes of 'x'");
  EXPECT_EQ(error("host h { load x acquire relaxed }"),
            "4:25: 'relaxed' is not expected here: the statement 'load x acquire relaxed' must end before it");
  EXPECT_EQ(error("host h { poll x }").substr(0, 49), "4:10: 'poll' is not a statement of a host thread:");
  EXPECT_EQ(error("host h { load x"),
            "4:1: the host thread 'h' has no '}' after its statements: end it with a line that contains only '}'");
  EXPECT_EQ(error("host h { load x } load x"), "4:19: 'load x' is not expected after '}'");
  EXPECT_EQ(error("host h"), "4:1: expected '{' and the statements of the host thread 'h' at the end of the line");
  EXPECT_EQ(error("host { load x }"), "4:1: expected a name at the end of the line");
  EXPECT_EQ(error("host h before k0 { load x }").substr(0, 35), "4:1: 'before' is not expected here:");
  EXPECT_EQ(error("host h after none { load x }"), "4:1: 'after none': no kernel, stream or host thread above has that name");
  EXPECT_EQ(error("host k0 { load x }").substr(0, 54), "4:1: 'k0' names both a host thread and something else:");
  EXPECT_EQ(error("host h { load x }\nhost h { load x }").substr(0, 53),
            "5:1: 'h' names both a host thread and something else:");
  EXPECT_EQ(error("host h { load own }").substr(0, 77),
            "4:15: 'own' is a variable with a separate copy on each device, which the host");
  EXPECT_EQ(error("host h { load all; load x[1] }"), "no error");
  EXPECT_EQ(error_of("memory b u8\nlaunch k0 args b b\nhost h { add b 1 }\n", ptx).substr(0, 36),
            "4:14: 'add' cannot be applied to u8:");
}

/// Returns the notes on host memory in a verified scenario's report.
std::vector<std::string> warnings(const std::string& lines, const std::string& ptx) {
  const check::prepared_scenario s = prepared(lines, ptx);
  check::object_users users(s.checked);
  const check::check_result r = check::explore(s.checked, [&](const check::final_memory& end) {
    users.add(end.execution());
    return std::string();
  });
  EXPECT_EQ(r.status, check_status::verified);
  return users.warnings();
}

TEST(check_host_memory, that_is_written_and_read_by_no_host_thread_is_named) {
  const std::string unread = "host memory 'flag' is written, but no host thread of the scenario reads it";
  const std::string ptx = announcing("release.sys");
  const std::string flag_alone = "memory data u32\nmemory flag u32 host\n";
  EXPECT_EQ(warnings(flag_alone + launch, ptx), std::vector<std::string>{unread});
  EXPECT_EQ(warnings(memory + launch, ptx).size(), 2U);
  EXPECT_EQ(warnings(memory + launch + reader, ptx), std::vector<std::string>{});
  EXPECT_EQ(warnings(flag_alone + launch + "host h { store flag = 0 relaxed }\n", ptx), std::vector<std::string>{unread})
      << "a store reads nothing";
  EXPECT_EQ(warnings(flag_alone + launch + "host h { add flag 1 }\n", ptx), std::vector<std::string>{});
  EXPECT_EQ(
      warnings("memory data u32 host\nmemory flag u32\nlaunch k0 args data flag\n", module_of({"ld.global.u32 %r0, [%rd0];"})),
      std::vector<std::string>{})
      << "nothing is written";
}

const check::order_costs& costs() {
  static const check::order_costs table = check::order_costs::read(check::h200_order_costs);
  return table;
}

check::excess_result excess(const std::string& lines, const std::string& ptx) {
  const check::prepared_scenario s = prepared(lines, ptx);
  return check::excess_orders_of(s.checked, s.property(), costs());
}

TEST(check_repairs_of_host_memory, narrow_no_scope_that_the_host_needs) {
  EXPECT_TRUE(excess(memory + launch, announcing("release.sys")).alone.empty()) << "no thread of the scenario reads it";
  EXPECT_EQ(excess("memory data u32\nmemory flag u32\n" + launch, announcing("release.sys")).alone.size(), 1U)
      << "nobody reads this device memory";
  EXPECT_TRUE(excess(memory + launch + reader, announcing("release.sys")).alone.empty());
  const std::string fence = module_of({"st.global.u32 [%rd0], 42; fence.acq_rel.sys; st.relaxed.sys.global.u32 [%rd1], 1;"});
  EXPECT_TRUE(excess(memory + launch, fence).alone.empty());
  EXPECT_EQ(excess("memory data u32\nmemory flag u32\n" + launch, fence).alone.size(), 1U);
}

TEST(check_repairs_of_host_memory, leave_out_an_order_that_nothing_needs_but_keep_the_scope) {
  const std::string ptx = module_of({"st.release.sys.global.u32 [%rd1], 1;"});
  const check::excess_result r =
      excess("memory data u32\nmemory flag u32 host\nlaunch k0 args data flag\nhost h { wait flag == 1 }\n", ptx);
  ASSERT_EQ(r.alone.size(), 1U);
  EXPECT_EQ(r.alone[0].edit.to, (check::strength{true, memory_order::relaxed, thread_scope::system}));
}

TEST(check_repairs_of_host_memory, fences_of_what_stays_on_the_device_may_be_narrow) {
  const std::string kernel =
      "st.global.u32 [%rd0], 42; fence.acq_rel.sys; st.relaxed.gpu.global.u32 [%rd1], 1; st.global.u32 [%rd0+4], 1;";
  const std::string other =
      "L: ld.acquire.gpu.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L; ld.global.u32 %r1, [%rd0];";
  const check::excess_result r =
      excess("memory data u32[2] host\nmemory flag u32\nlaunch k0 args data flag\nlaunch k1 args data flag\n",
             module_of({kernel, other}));
  ASSERT_EQ(r.alone.size(), 1U) << "the end of the kernel orders weak accesses to host memory";
  EXPECT_EQ(r.alone[0].edit.to, (check::strength{true, memory_order::release, thread_scope::device}));
}

TEST(check_repairs_of_host_memory, narrow_no_scope_of_memory_that_several_devices_access) {
  const std::string first = "st.global.u32 [%rd0], 42; st.release.sys.global.u32 [%rd1], 1;";
  const std::string second = "ld.acquire.sys.global.u32 %r0, [%rd1];";
  const auto narrowed = [&](const std::string& device) {
    return excess(
               "memory data u32\nmemory flag u32\nlaunch k0 args data flag\nlaunch k1 after k0" + device + " args data flag\n",
               module_of({first, second}))
        .alone;
  };
  EXPECT_EQ(narrowed("").size(), 2U);
  for (const check::excess_order& one : narrowed("")) {
    EXPECT_LT(one.edit.to.scope, thread_scope::system);
  }
  ASSERT_EQ(narrowed(" device 1").size(), 2U);
  for (const check::excess_order& one : narrowed(" device 1")) {
    EXPECT_EQ(one.edit.to, (check::strength{true, memory_order::relaxed, thread_scope::system}));
  }
}

TEST(check_repairs_of_host_memory, have_system_scope) {
  const std::string waits =
      "L: ld.relaxed.gpu.global.u32 %r0, [%rd1]; setp.eq.u32 %p0, %r0, 0; @%p0 bra L; ld.global.u32 %r1, [%rd0];";
  const auto scopes = [&](const std::string& place) {
    const check::prepared_scenario s =
        prepared("memory data u32\nmemory flag u32" + place + "\nlaunch k0 args data flag\nlaunch k1 args data flag\n",
                 module_of({"st.global.u32 [%rd0], 42; st.relaxed.gpu.global.u32 [%rd1], 1;", waits}));
    std::vector<thread_scope> result;
    for (const check::repair& r : check::repairs_of(s.checked, s.property(), costs()).repairs) {
      for (const check::code_edit& e : r.edits) {
        result.push_back(e.to.scope);
      }
    }
    return result;
  };
  const std::vector<thread_scope> on_device = scopes("");
  const std::vector<thread_scope> on_host = scopes(" host");
  ASSERT_FALSE(on_device.empty());
  ASSERT_FALSE(on_host.empty());
  EXPECT_EQ(std::count(on_device.begin(), on_device.end(), thread_scope::system), 0);
  EXPECT_TRUE(std::all_of(on_host.begin(), on_host.end(), [](thread_scope s) { return s == thread_scope::system; }));
}

TEST(check_repairs_of_host_threads, are_orders_of_their_statements) {
  const check::prepared_scenario s =
      prepared(memory + launch + "host reader { wait flag == 1; load data }\n", announcing("release.sys"));
  const check::repair_result r = check::repairs_of(s.checked, s.property(), costs());
  ASSERT_FALSE(r.repairs.empty());
  const std::vector<check::code_site> sites = check::sites_of(s.checked);
  for (const check::repair& one : r.repairs) {
    ASSERT_EQ(one.edits.size(), 1U);
    EXPECT_TRUE(sites[static_cast<std::size_t>(one.edits[0].site)].host);
    EXPECT_EQ(one.edits[0].to.scope, thread_scope::system);
    EXPECT_EQ(one.cost, 0);
  }
}

// ---- variables

const std::string variable = ".global .u32 v = 3; .const .u32 c = 5; .global .u64 pointer = v;";
const std::string sets = "st.global.u32 [v], 1; ld.global.u32 %r0, [v]; st.global.u32 [%rd0], %r0;";
const std::string two_devices = "launch k0 device 0 args out out\nlaunch k0 device 1 args out+4 out\n";

TEST(check_variables, are_one_object_for_each_device) {
  const std::string out = "memory out u32[2]\n";
  EXPECT_EQ(status_of(out + two_devices + "final out == 1 /\\ out[1] == 1\n", module_of({sets}, variable)),
            check_status::verified);
  EXPECT_EQ(status_of(out + "launch k0 args out out\nlaunch k0 args out+4 out\n", module_of({sets}, variable)),
            check_status::race)
      << "launches on one device share the variable";
  EXPECT_EQ(status_of(out + two_devices, module_of({sets}, ".global .attribute(.managed) .u32 v;")), check_status::race)
      << "all devices share a managed variable";
  EXPECT_EQ(status_of(out + "launch k0 device 0 stream s args out out\nlaunch k0 device 1 stream s args out+4 out\n",
                      module_of({sets}, ".global .attribute(.managed) .u32 v;")),
            check_status::verified);
}

TEST(check_variables, are_named_by_device_in_conditions) {
  const std::string adds = "atom.relaxed.gpu.global.add.u32 %r0, [v], 1;";
  const std::string launches =
      "memory out u32\nlaunch k0 device 0 args out out\nlaunch k0 device 2 args out out\nlaunch k0 device 2 args out out\n";
  EXPECT_EQ(status_of(launches + "final v == 4 /\\ v@0 == 4 /\\ v@2 == 5\n", module_of({adds}, variable)),
            check_status::verified);
  EXPECT_EQ(status_of(launches + "final v@2 == 4\n", module_of({adds}, variable)), check_status::violated);
  EXPECT_EQ(error_of(launches + "final v@1 == 4\n", module_of({adds}, variable)),
            "6:7: expected NAME@DEVICE, where NAME is a variable of the source and DEVICE is a device with a launch, found "
            "'v@1 == 4'");
  const std::string one = "memory out u32\nlaunch k0 device 1 args out out\n";
  EXPECT_EQ(status_of(one + "final v == 4 /\\ v@1 == 4\n", module_of({adds}, variable)), check_status::verified)
      << "without a device, the name means the instance on the first device that has a launch";
}

TEST(check_variables, begin_as_lines_for_all_or_single_devices_say) {
  const std::string reads = "ld.global.u32 %r0, [v]; ld.const.u32 %r1, [c]; add.u32 %r0, %r0, %r1; st.global.u32 [%rd0], %r0;";
  const std::string ptx = module_of({reads}, variable);
  const auto ends = [&](const std::string& lines, const std::string& first, const std::string& second) {
    return status_of("memory out u32[2]\n" + lines + two_devices + "final out == " + first + " /\\ out[1] == " + second + "\n",
                     ptx);
  };
  EXPECT_EQ(ends("", "8", "8"), check_status::verified);
  EXPECT_EQ(ends("memory v u32 = 10\n", "15", "15"), check_status::verified);
  EXPECT_EQ(ends("memory v u32 = 10 device 1\n", "8", "15"), check_status::verified);
  EXPECT_EQ(ends("memory v u32 = 10\nmemory v u32 = 20 device 1\n", "15", "25"), check_status::verified);
  EXPECT_EQ(ends("memory v u32 = 20 device 0\nmemory v u32 = 10 device 1\nmemory c u32 = 1 device 1\n", "25", "11"),
            check_status::verified);
  EXPECT_EQ(error_of("memory out u32\nmemory v u32 = 1 device 1\nmemory v u32 = 1 device 1\n" + two_devices, ptx),
            "4:1: the memory 'v' is already defined: rename one of them");
  EXPECT_EQ(error_of("memory out u32[2]\nmemory out u32[2] device 1\n" + two_devices, ptx),
            "3:1: the memory 'out' is already defined: rename one of them");
  EXPECT_EQ(error_of("memory out u32[2]\nmemory v u32 = 1 device 3\n" + two_devices, ptx),
            "3:1: 'v' of device 3 is a variable of the source, but that device has no launch: name a device with a launch");
}

TEST(check_variables, have_addresses_of_their_own_device) {
  const std::string by_pointer =
      "ld.global.u64 %rd2, [pointer]; ld.global.u32 %r0, [%rd2]; add.u32 %r0, %r0, 1; st.global.u32 [%rd2], %r0;";
  const std::string ptx = module_of({by_pointer, "st.global.u32 [%rd0], 9;"}, variable);
  EXPECT_EQ(status_of("memory out u32[2]\n" + two_devices + "final v@0 == 4 /\\ v@1 == 4\n", ptx), check_status::verified);
  EXPECT_EQ(
      status_of("memory p u64 = v\nlaunch k1 device 0 args v p\nlaunch k1 device 1 args v p\nfinal v@0 == 9 /\\ v@1 == 9\n",
                ptx),
      check_status::verified)
      << "an argument means the instance on the launch's device";
  EXPECT_EQ(status_of("memory p u64 = v\nlaunch k1 device 0 args v p\nlaunch k1 device 1 args v@0 p\n", ptx),
            check_status::race)
      << "both launches write to the instance on device 0";
  EXPECT_EQ(status_of("memory pointer u64 = other\nmemory other u32[2]\nmemory out u32[2]\n" + two_devices, ptx),
            check_status::race)
      << "both point to memory of the scenario";
}

TEST(check_variables, of_two_devices_are_changed_as_one_instruction_by_repairs) {
  const std::string message =
      "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 1; @%p1 bra R; st.global.u32 [v], 1; st.relaxed.gpu.global.u32 [f], 1; bra E;"
      "R: ld.acquire.gpu.global.u32 %r0, [f]; setp.eq.u32 %p0, %r0, 0; @%p0 bra R; ld.global.u32 %r1, [v]; E:";
  const check::prepared_scenario s =
      prepared("memory out u32[2]\nlaunch k0 block 2 device 0 args out out\nlaunch k0 block 2 device 1 args out out\n",
               module_of({message}, ".global .u32 v; .global .u32 f;"));
  const check::repair_result r = check::repairs_of(s.checked, s.property(), costs());
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.repairs[0].edits.size(), 1U);
  EXPECT_NE(r.repairs[0].edits[0].to.scope, thread_scope::system);
}

}  // namespace
}  // namespace host_thread_test
