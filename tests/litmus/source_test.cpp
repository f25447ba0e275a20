// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA source generated from litmus files: the source assembles, and each thread's PTX contains the file's instructions in
// order.
#include "compiled_test.hpp"
#include "plans.hpp"
#include "ptx_reader.hpp"

#include <litmus/source.hpp>
#include <membar/model/error.hpp>

#include <tests/common/refusal.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace membar_test;
namespace model = membar::model;
using membar::litmus_files::run_plan, membar::litmus_files::test_source;

/// A kernel that runs one thread of a test, without the engine.
[[nodiscard]] std::string role_kernel(const std::string& type, std::size_t thread, const std::string& name) {
  return "extern \"C\" __global__ void " + name +
         "(const __grid_constant__ membar::litmus::launch_view view) {\n"
         "  const unsigned rotations[membar::litmus::max_locations] = {};\n"
         "  const membar::litmus::instance_cells at(view.layout, view.cells, rotations, threadIdx.x, view.run_barrier, 0);\n"
         "  const membar::litmus::results<" +
         type +
         "> out(view.layout, view.digits, threadIdx.x);\n"
         "  " +
         type + "::run<" + std::to_string(thread) + ">(at, out);\n}\n";
}

/// Returns the name of the kernel that runs a test's thread.
[[nodiscard]] std::string role(std::size_t test, std::size_t thread) {
  return "role_" + std::to_string(test) + "_" + std::to_string(thread);
}

/// The tests that run, in one translation unit.
struct unit {
  std::string text = std::string(membar::litmus_files::source_prologue);
  std::vector<std::unique_ptr<run_plan>> plans;
  std::map<std::string, std::string> refused;
};

[[nodiscard]] unit unit_of(const std::vector<std::string>& texts, int compute_capability) {
  unit made;
  for (const std::string& text : texts) {
    plan_or_reason one = plan_of(text);
    try {
      if (one.plan == nullptr) {
        throw model::error(one.reason);
      }
      const std::string type = "test_" + std::to_string(made.plans.size());
      const test_source source = membar::litmus_files::write_test_type(*one.plan, type);
      membar::litmus_files::require_compilable(source.needs, compute_capability, 13000);
      made.text += source.text;
      for (std::size_t t = 0; t < one.plan->test().threads.size(); ++t) {
        if (!one.plan->test().threads[t].where.host) {
          made.text += role_kernel(type, t, role(made.plans.size(), t));
        }
      }
      made.plans.push_back(std::move(one.plan));
    } catch (const model::error& e) {
      made.refused[text.substr(4, text.find('\n') - 4)] = e.what();
    }
  }
  return made;
}

[[nodiscard]] std::vector<std::string> catalogue_texts() {
  std::vector<std::string> texts;
  for (const auto& path : litmus_files(catalogue)) {
    texts.push_back(read_text(path));
  }
  return texts;
}

/// Returns whether a file's instruction is a memory access or a fence.
[[nodiscard]] bool reaches_memory(const model::instruction& i) {
  return i.code == model::opcode::load || i.code == model::opcode::store || i.code == model::opcode::atomic ||
         i.code == model::opcode::reduction || i.code == model::opcode::fence || i.code == model::opcode::proxy_fence;
}

/// Returns the instructions of a thread that are statements, in order, with the body of each loop `turns` times.
[[nodiscard]] std::vector<std::size_t> instructions_of(const model::litmus_test::thread& thread, int turns) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < thread.code.size(); ++i) {
    const model::instruction& one = thread.code[i];
    if (one.element == 0 && one.code != model::opcode::jump) {
      order.push_back(i);
    }
    const bool jumps = one.code == model::opcode::jump || one.code == model::opcode::branch;
    for (int turn = 1; jumps && one.target <= static_cast<int>(i) && turn < turns; ++turn) {
      for (std::size_t j = static_cast<std::size_t>(one.target); j <= i; ++j) {
        order.push_back(j);
      }
    }
  }
  return order;
}

void expect_the_files_instructions(const unit& made, const std::string& ptx) {
  const auto kernels = kernels_of(ptx);
  for (std::size_t n = 0; n < made.plans.size(); ++n) {
    const model::litmus_test& test = made.plans[n]->test();
    for (std::size_t t = 0; t < test.threads.size(); ++t) {
      if (test.threads[t].where.host) {
        continue;
      }
      const auto kernel = kernels.find(role(n, t));
      ASSERT_NE(kernel, kernels.end()) << test.name;
      std::vector<std::string> statements;
      for (const std::string& statement : inline_statements(kernel->second)) {
        // This is the engine's code that reads the loop's time limit.
        const bool engines =
            statement.find("globaltimer") != std::string::npos || statement.find(".sys.u32") != std::string::npos;
        if (!engines) {
          statements.push_back(statement);
        }
      }
      if (made.plans[n]->end_of(static_cast<int>(t)) == nullptr) {  // A loop's code is not in the order in which it runs.
        EXPECT_EQ(accesses_between(kernel->second), std::vector<std::string>{}) << test.name << " P" << t;
      }
      // A compiler may peel a loop's first iteration; the loop's body then appears once more.
      const std::vector<std::size_t> once = instructions_of(test.threads[t], 1);
      const std::vector<std::size_t> twice = instructions_of(test.threads[t], 2);
      const std::vector<std::size_t>& order = statements.size() == twice.size() ? twice : once;
      ASSERT_EQ(statements.size(), order.size()) << test.name << " P" << t;
      for (std::size_t s = 0; s < order.size(); ++s) {
        const std::string& text = test.threads[t].text[order[s]];
        if (reaches_memory(test.threads[t].code[order[s]])) {
          const std::multiset<std::string> expected = expected_words(text);
          const bool typed = std::any_of(expected.begin(), expected.end(), is_type);
          EXPECT_EQ(statement_words(statements[s], typed), expected) << test.name << ": " << text;
        } else {
          EXPECT_TRUE(statement_words(statements[s], false).empty()) << test.name << ": " << statements[s];
        }
      }
    }
  }
}

class litmus_source : public compiled_test {};

/// Selects the texts that are compiled. If everything is tested, these are all texts, which takes minutes. Otherwise, selects
/// every eighth text and, with `words`, also each text in which an instruction has a word that no earlier text had, such as
/// `acquire` in `ld.acquire.gpu`.
[[nodiscard]] std::vector<std::string> sample_of(const std::vector<std::string>& texts, [[maybe_unused]] bool words) {
#if defined(MEMBAR_TEST_FULL)
  return texts;
#else
  static const std::regex instruction("[a-z]+((?:\\.[a-z0-9_:]+)+)");
  std::set<std::string> seen;
  std::vector<std::string> some;
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const std::size_t before = seen.size();
    for (std::sregex_iterator found(texts[n].begin(), texts[n].end(), instruction), end; words && found != end; ++found) {
      std::istringstream parts(found->str());
      for (std::string part; std::getline(parts, part, '.');) {
        seen.insert(part);
      }
    }
    if (n % 8 == 0 || seen.size() != before) {
      some.push_back(texts[n]);
    }
  }
  return some;
#endif
}

TEST_F(litmus_source, the_catalogue_runs_but_for_what_no_run_can_do) {
  const unit made = unit_of(catalogue_texts(), 90);
  EXPECT_GE(made.plans.size(), 290U);
  static const std::regex known(
      "^(line [0-9]+: '(bar|barrier|mbarrier|sust|suld|tld|cold|suatom|red|fence)[^']*': .*"
      "(barriers|only generic accesses|only (in )?the model).*|'P[0-9]' precedes 'P.*|'P[0-9] (precedes|launches) P[0-9]': a "
      "run "
      "executes .*|"
      "line [0-9]+: '(@|setp|shfl|ld.nc|ld.global.nc)[^']*': .*(with predicates cannot run|with shuffles cannot run|read-only "
      "path).*|"
      "'(P[0-9]:)?[a-z]+' is in shared memory, .*|line [0-9]+: '[a-z]+' is accessed with [0-9] and with [0-9] bytes, .*|"
      "'[a-z]+' is another virtual address of .*|'[a-z]+' is a multimem address, but a run does not create multicast "
      "objects)$");
  for (const auto& [name, reason] : made.refused) {
    EXPECT_TRUE(std::regex_match(reason, known)) << name << ": " << reason;
    EXPECT_EQ(reason.find('\n'), std::string::npos) << name;
  }
}

TEST_F(litmus_source, the_ptx_of_a_thread_is_the_files_instructions_in_order) {
  const unit made = unit_of(sample_of(catalogue_texts(), true), 90);
  expect_the_files_instructions(made, compiled(made.text, 90, true));
}

TEST_F(litmus_source, every_source_of_the_catalogue_assembles) {
  for (const int capability : {80, 90}) {
    if (!nvrtc_here().library->supports(capability)) {
      continue;
    }
    const unit made = unit_of(sample_of(catalogue_texts(), false), capability);
    EXPECT_NO_THROW(static_cast<void>(compiled(made.text, capability, false))) << capability;
  }
}

/// A litmus file with one thread and one instruction.
[[nodiscard]] std::string file_of(const std::string& instruction) {
  return "PTX one\n{ x=0; x[1]=0; x[2]=0; x[3]=0; y=0; P0:r0=0; P0:r5=3; P0:r6=4; P0:r7=5; P0:r8=6; P0:p=&y; }\n P0@cta 0,gpu "
         "0 ;\n " +
         instruction + " ;\nexists (P0:r0 == 0)\n";
}

TEST_F(litmus_source, every_form_of_every_instruction_assembles_as_it_is_written) {
  std::vector<std::string> texts;
  for (const char* pattern : {
           "ld.(relaxed|acquire).(cta|cluster|gpu|sys)(|.b8|.u8|.s8|.b16|.u16|.s16|.b32|.u32|.s32|.b64|.u64|.s64|.b128) r0, y",
           "st.(relaxed|release).(cta|cluster|gpu|sys)(|.b8|.u8|.s8|.b16|.u16|.s16|.b32|.u32|.s32|.b64|.u64|.s64|.b128) y, r5",
           "atom.(relaxed|acquire|release|acq_rel).(cta|cluster|gpu|sys).(add.u|and.b|or.b|xor.b|exch.b)(32|64) r0, y, r5",
           "atom.(relaxed|acquire|release|acq_rel).(cta|cluster|gpu|sys).(min.s|max.s|min.u|max.u)(32|64) r0, y, r5",
           "atom.(relaxed|acquire|release|acq_rel).(cta|cluster|gpu|sys).(inc.u32|dec.u32|sub.u32|exch.b128) r0, y, r5",
           "atom.(relaxed|acquire|release|acq_rel).(cta|cluster|gpu|sys).cas.b(16|32|64|128) r0, y, r5, r6",
           "atom.(relaxed|acquire|release|acq_rel).(cta|cluster|gpu|sys).add _, y, 1",
           "red.(relaxed|release).(cta|cluster|gpu|sys).(add.u32|add.u64|and.b32|or.b64|xor.b32|min.s64|max.u32) y, r5",
           "red.(relaxed|release).(cta|cluster|gpu|sys).(inc.u32|dec.u32) y, r5",
           "fence.(|sc.|acq_rel.|acquire.|release.|proxy.tensormap::generic.release.)(cta|cluster|gpu|sys)",
           "fence.proxy.(alias|async|async.global|async.shared::cta)",
           "fence.proxy.async::generic.(acquire.sync_restrict::shared::cluster|release.sync_restrict::shared::cta).cluster",
           "membar.(cta|gl|sys)",
           "ld(|.weak|.volatile|.mmio.relaxed.sys|.mmio.b64|.global|.generic.relaxed.gpu|.weak.b128) r0, y",
           "st(|.weak|.mmio.relaxed.sys) y, 1",
           "st(.volatile|.weak.b128) y, -1",
           "ld(.weak.v2|.relaxed.gpu.v2.b64|.weak.v2.u8) {r0, r1}, x",
           "ld.weak.v4(|.b16) {r0, r1, r2, r3}, x",
           "ld.volatile.v2 {r0, _}, x",
           "st.weak.v2 x, {1, r5}",
           "st.relaxed.sys.v4 x, {r5, r6, r7, r8}",
           "st.weak.v2.b64 x, {1, 2}",
           "(atom.add r0,|red.add) y, 1",
           "LD.Acquire.GPU r0, y",
           "ld.weak r0, [p]",
           "st.weak [p], 1",
           "atom.relaxed.gpu.exch r0, [p], r5",
       }) {
    for (const std::string& form : expanded(pattern)) {
      texts.push_back(file_of(form));
    }
  }
  const unit every = unit_of(texts, 90);
  for (const auto& [name, reason] : every.refused) {
    ADD_FAILURE() << reason;
  }
  const unit some = unit_of(sample_of(texts, true), 90);
  expect_the_files_instructions(some, compiled(some.text, 90, true));
  EXPECT_NO_THROW(static_cast<void>(compiled(unit_of(sample_of(texts, false), 90).text, 90, false)));
}

TEST_F(litmus_source, operands_are_in_the_order_of_ptx) {
  const std::vector<std::pair<std::string, std::vector<long long>>> cases = {
      {"st.weak y, 41", {41}},
      {"st.relaxed.gpu.v4 x, {11, 12, 13, 14}", {11, 12, 13, 14}},
      {"atom.relaxed.gpu.cas r0, y, 7, 9", {7, 9}},
      {"atom.relaxed.gpu.cas.b16 r0, y, 7, 9", {7, 9}},
      {"atom.relaxed.gpu.cas.b128 r0, y, 7, 9", {7, 0, 9, 0}},
      {"atom.relaxed.gpu.sub r0, y, 3", {-3}},
      {"red.relaxed.gpu.sub y, 3", {-3}},
      {"atom.relaxed.gpu.exch.b64 r0, y, 5", {5}},
      {"st.weak.b128 y, -2", {-2, -1}},
      {"st.weak.b8 y, -1", {255}},
  };
  std::vector<std::string> texts;
  for (const auto& [instruction, numbers] : cases) {
    texts.push_back(file_of(instruction));
  }
  const unit made = unit_of(texts, 90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  const auto kernels = kernels_of(compiled(made.text, 90, true));
  for (std::size_t n = 0; n < cases.size(); ++n) {
    const std::vector<std::string>& lines = kernels.at(role(n, 0));
    const std::vector<std::string> statements = inline_statements(lines);
    ASSERT_EQ(statements.size(), 1U) << cases[n].first;
    EXPECT_EQ(numbers_of(statements.front(), lines), cases[n].second) << cases[n].first << ": " << statements.front();
  }
}

TEST_F(litmus_source, arithmetic_assembles_and_all_comparisons) {
  std::string code;
  for (const char* pattern : {"(add|sub|mul|div|and|or|xor|min|max) r1, (r5, r0|r1, r1|2, r1|r1, 0)", "mov r2, r1", "ld r3, 7",
                              "(beq|bne|blt|ble|bgt|bge) r1, r0, END"}) {
    for (const std::string& instruction : expanded(pattern)) {
      code += " " + instruction + " ;\n";
    }
  }
  const unit made = unit_of(
      {"PTX t\n{ x=0; P0:r5=3; }\n P0@cta 0,gpu 0 ;\n ld.weak r0, x ;\n" + code + " END: ;\nexists (P0:r1 == 0)\n"}, 90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  expect_the_files_instructions(made, compiled(made.text, 90, true));
  EXPECT_NO_THROW(static_cast<void>(compiled(made.text, 90, false)));
}

TEST_F(litmus_source, a_dependency_of_the_file_reaches_the_store) {
  std::vector<std::string> texts;
  for (const char* name :
       {"LB+false-data+false-data", "LB+data+data", "LB+control-after-join", "LB+address+address", "LB+control+control"}) {
    texts.push_back(read_text(catalogue / "forbidden" / (std::string(name) + ".litmus")));
  }
  // Compilers simplify x ^ x and x * 0 early.
  texts.push_back(
      "PTX LB+same\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n ld.weak r0, x | ld.weak r0, y ;\n xor r1, r0, r0 | mul "
      "r1, r0, 0 ;\n"
      " add r1, r1, 1 | add r1, r1, 1 ;\n st.weak y, r1 | st.weak x, r1 ;\n~exists (P0:r0 == 1 /\\ P1:r0 == 1)\n");
  const unit made = unit_of(texts, 90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  const auto kernels = kernels_of(compiled(made.text, 90, true));
  for (std::size_t n = 0; n < made.plans.size(); ++n) {
    for (std::size_t t = 0; t < 2; ++t) {
      const data_flow data(kernels.at(role(n, t)));
      const auto file_store = std::find_if(data.stores().begin(), data.stores().end(), [&](const auto& operands) {
        return std::any_of(operands.begin(), operands.end(),
                           [&](const std::string& r) { return data.reaches(r, data.loads()); });
      });
      EXPECT_NE(file_store, data.stores().end()) << made.plans[n]->test().name << " P" << t;
    }
  }
}

TEST_F(litmus_source, no_operand_of_arithmetic_on_a_loaded_value_can_be_foreseen) {
  const unit made = unit_of({"PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n ld.weak r0, x ;\n and r1, r0, 0 ;\n xor r2, r0, r0 ;\n mul "
                             "r3, 0, r0 ;\n sub r4, r0, r0 ;\n"
                             " min r5, r0, r0 ;\n or r6, r0, -1 ;\n div r7, 0, r0 ;\n beq r0, r0, END ;\n END: ;\nexists "
                             "(P0:r1 == 0 /\\ P0:r2 == 0)\n"},
                            90);
  ASSERT_TRUE(made.refused.empty()) << made.refused.begin()->second;
  const std::vector<std::string> lines = kernels_of(compiled(made.text, 90, true)).at("role_0_0");
  const data_flow data(lines);
  static const std::regex arithmetic(R"(\b(and|xor|mul|sub|min|or|div|setp)(?:\.\w+)*\.[bs]64 (\S+), (\S+), ([^\s;]+);)");
  std::size_t checked = 0;
  for (const std::string& statement : inline_statements(lines)) {
    std::smatch found;
    if (!std::regex_search(statement, found, arithmetic)) {
      continue;
    }
    const std::string a = found[3];
    const std::string b = found[4];
    EXPECT_NE(a, b) << statement;
    EXPECT_EQ(a.front(), '%') << statement;
    EXPECT_EQ(b.front(), '%') << statement;
    EXPECT_TRUE(data.reaches(a, data.loads()) || data.reaches(a, data.unforeseen())) << statement;
    EXPECT_TRUE(data.reaches(b, data.loads()) || data.reaches(b, data.unforeseen())) << statement;
    EXPECT_TRUE(data.reaches(a, data.unforeseen()) || data.reaches(b, data.unforeseen())) << statement;
    ++checked;
  }
  EXPECT_EQ(checked, 8U);
}

TEST_F(litmus_source, the_kernel_of_a_test_compiles) {
  for (const char* name : {
#if defined(MEMBAR_TEST_FULL)
           "allowed/MP+relaxed", "allowed/SB+weak", "allowed/LB+ld.relaxed.gpu+st.relaxed.gpu", "allowed/IRIW+relaxed",
           "forbidden/ISA2.gpu", "forbidden/WRC+release+acquire", "allowed/2+2W+relaxed", "forbidden/CoRR.relaxed",
           "forbidden/LB+address+data",
#endif
           "forbidden/RWC+fence.sc.gpu", "forbidden/Lock.spin", "forbidden/MP.sys.host"}) {
    const plan_or_reason one = plan_of(read_text(catalogue / (std::string(name) + ".litmus")));
    ASSERT_NE(one.plan, nullptr) << one.reason;
    const test_source source = membar::litmus_files::write_source(*one.plan);
    EXPECT_NO_THROW(static_cast<void>(compiled(source.text, 90, false))) << name;
  }
}

/// Returns the reason why a file with one instruction has no source.
[[nodiscard]] std::string refusal_of(const std::string& instruction, int compute_capability = 90, int nvrtc = 13000) {
  const plan_or_reason one = plan_of(file_of(instruction));
  if (one.plan == nullptr) {
    return one.reason;
  }
  try {
    membar::litmus_files::require_compilable(membar::litmus_files::write_source(*one.plan).needs, compute_capability, nvrtc);
  } catch (const model::error& e) {
    return e.what();
  }
  return "";
}

TEST(litmus_source_refusal, what_ptx_does_not_have_is_one_sentence_with_its_line) {
  const std::map<std::string, std::string> refusals = {
      {"atom.relaxed.gpu.mul r0, y, 2", "PTX does not provide this read-modify-write"},
      {"atom.relaxed.gpu.div r0, y, 2", "PTX does not provide this read-modify-write"},
      {"atom.relaxed.gpu.add.b8 r0, y, 2", "only for 4 and 8 bytes, not for 1 byte"},
      {"atom.relaxed.gpu.exch.b16 r0, y, 2", "only for 4, 8 and 16 bytes, not for 2 bytes"},
      {"atom.relaxed.gpu.inc.u64 r0, y, 2", "only for 4 bytes, not for 8 bytes"},
      {"atom.relaxed.gpu.add.b128 r0, y, 2", "only for 4 and 8 bytes, not for 16 bytes"},
      {"red.acquire.gpu.add y, 2", "only the model supports reductions that acquire"},
      {"red.acq_rel.gpu.add y, 2", "only the model supports reductions that acquire"},
      {"red.relaxed.gpu.exch y, 2", "no red instruction for exchange or compare-and-swap"},
      {"red.relaxed.gpu.cas y, 2, 3", "no red instruction for exchange or compare-and-swap"},
      {"fence.proxy.surface", "exists only in the model"},
      {"fence.proxy.constant", "exists only in the model"},
      {"fence.proxy.texture", "exists only in the model"},
      {"fence.proxy.tensormap::generic.acquire.gpu [y], 128", "a tensor map of 128 bytes"},
      {"ld.weak.f32 r0, y", "values in a litmus file are integers"},
      {"ld.weak.v4.b64 {r0, r1, r2, r3}, x", "does not fit into a location of a run"},
      {"suld.weak r0, y", "supports only generic accesses"},
      {"bar.cta.sync 0", "a test with barriers cannot run"},
      {"shfl.sync.idx.b32 r0, r5, 0, 31, 1", "a test with shuffles cannot run"},
      {"setp.eq.s32 r0, r5, 3", "a test with predicates cannot run: use branches instead"},
      {"@r5 st.weak y, 1", "a test with predicates cannot run: use branches instead"},
      {"ld.global.nc r0, y", "the read-only path requires that they do not change"},
      {"add _, r5, r6", "it has no destination register"},
  };
  for (const auto& [instruction, words] : refusals) {
    const std::string reason = refusal_of(instruction);
    EXPECT_EQ(reason.rfind("line 4: ", 0), 0U) << instruction << ": " << reason;
    EXPECT_TRUE(says(reason, words));
    EXPECT_EQ(reason.find('\n'), std::string::npos) << instruction;
  }
}

TEST(litmus_source_refusal, an_instruction_that_the_device_or_the_compiler_lacks_is_named) {
  EXPECT_EQ(refusal_of("fence.sc.cluster", 80),
            "line 4: 'fence.sc.cluster' needs compute capability 9.0, but the device has 8.0");
  EXPECT_EQ(refusal_of("atom.relaxed.gpu.cas.b128 r0, y, 1, 2", 80),
            "line 4: 'atom.relaxed.gpu.cas.b128 r0, y, 1, 2' needs compute capability 9.0, but the device has 8.0");
  EXPECT_EQ(refusal_of("fence.acquire.gpu", 90, 12040),
            "line 4: 'fence.acquire.gpu' needs NVRTC 12.8 or newer, but NVRTC 12.4 was found");
  EXPECT_EQ(refusal_of("fence.acquire.gpu", 90, 12080), "");
  EXPECT_EQ(refusal_of("fence.release.gpu", 89),
            "line 4: 'fence.release.gpu' needs compute capability 9.0, but the device has 8.9");
  EXPECT_EQ(refusal_of("fence.sc.gpu", 70, 12000), "");
  EXPECT_EQ(refusal_of("fence.sc.gpu", 60, 12000), "the litmus engine needs compute capability 7.0, but the device has 6.0");
}

}  // namespace
