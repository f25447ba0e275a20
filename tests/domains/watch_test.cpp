// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tests membar-domains watch with records from a fake CUPTI.
#include <nlohmann/json.hpp>

#include "tests/domains/command_fixture.hpp"

namespace {

using membar_test::domains_command;
using membar_test::json_line;
using membar_test::result;
using membar_test::text_of;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_F(domains_command, watch_reports_what_a_known_kernel_delays_and_writes_list_and_picture) {
  const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put");
  EXPECT_EQ(r.status, 0) << r.said;
  EXPECT_NE(r.said.find("ncclDevKernel_fake delays 19 boundaries of other kernels by 1.00 µs each"), std::string::npos)
      << r.said;
  EXPECT_NE(text_of(folder_ / "out" / "list.txt").find("\nremote ^ncclDevKernel_fake$"), std::string::npos);
  EXPECT_TRUE(text_of(folder_ / "out" / "list.txt").starts_with("# membar-domains list, format 1\n"));
  EXPECT_TRUE(text_of(folder_ / "out" / "watch.txt").starts_with("membar-domains watch, report of format 1\n"));
  EXPECT_NE(text_of(folder_ / "out" / "timeline.svg").find("class=\"held\""), std::string::npos);
}

TEST_F(domains_command, watch_runs_the_program_once) {
  const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put", "FAKE_CUPTI_MANY=1");
  EXPECT_EQ(r.log, "plain put domain=-1 map=-1,-1 attributes=0\n");
}

TEST_F(domains_command, watch_distinguishes_launches_of_a_name_by_their_pointers_and_lists_the_far_ones) {
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r =
        command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM + way + " put/own put/peer", "FAKE_CUPTI_PUTS=1");
    EXPECT_NE(r.said.find("put delays 19 boundaries of other kernels by 1.00 µs each"), std::string::npos) << way << r.said;
    EXPECT_NE(
        r.said.find(
            "1 times       0.10 ms, 0.10 ms concurrent with others  (pointer to a peer; 1 more launches have no such pointer)"),
        std::string::npos)
        << r.said;
    EXPECT_NE(text_of(folder_ / "out" / "list.txt").find("\nremote:far ^put$  # pointer to a peer"), std::string::npos);
  }
}

TEST_F(domains_command, watch_counts_nothing_again_in_a_forked_child) {
  const std::string of = "watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put";
  const std::string once = command(of).said;
  EXPECT_NE(once.find("41"), std::string::npos) << once;
  EXPECT_EQ(command(of + " fork").said.find(" 82 "), std::string::npos);
}

TEST_F(domains_command, watch_finds_a_relative_cupti_from_another_folder) {
  fs::create_symlink(FAKE_CUPTI, folder_ / "cupti");
  const result r = command("watch --cupti=./cupti --output=out -- sh -c 'cd / && \"" DOMAINS_PROGRAM "\" table put'");
  EXPECT_NE(r.said.find("ncclDevKernel_fake delays"), std::string::npos) << r.said;
}

TEST_F(domains_command, watch_lists_a_name_without_far_where_all_its_launches_are) {
  const result r =
      command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put/peer put/peer", "FAKE_CUPTI_PUTS=1");
  EXPECT_NE(text_of(folder_ / "out" / "list.txt").find("\nremote ^put$  # pointer to a peer"), std::string::npos) << r.said;
}

TEST_F(domains_command, watch_says_where_it_cannot_distinguish_launches) {
  const result r =
      command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put/own put/peer put/peer", "FAKE_CUPTI_PUTS=1");
  EXPECT_NE(r.said.find("Launches of put with pointers to a peer or the host could not be distinguished from its other "
                        "launches: a :far rule decides at each launch"),
            std::string::npos)
      << r.said;
  EXPECT_NE(text_of(folder_ / "out" / "list.txt").find("\nremote:far ^put$"), std::string::npos);
}

TEST_F(domains_command, watch_says_where_two_threads_launched_a_name_at_the_same_time) {
  const result r =
      command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put/both", "FAKE_CUPTI_PUTS=1 FAKE_DRIVER_MEETS=1");
  EXPECT_NE(r.said.find("Launches of put with pointers to a peer or the host could not be distinguished"), std::string::npos)
      << r.said;
}

TEST_F(domains_command, watch_moves_nothing_that_the_program_runs_in_another_domain) {
  const std::string of = "watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put/peer ";
  const std::string puts = "FAKE_CUPTI_PUTS=1";
  const std::string isolated = "put is already isolated in another domain: there is nothing to move.";
  for (const std::string word : {"put/remote", "put/map", "put/mapped", "graph/map"}) {
    EXPECT_EQ(command(of + word, puts).said.find(isolated), std::string::npos)
        << "not all launches of put are in another domain";
    EXPECT_NE(
        command("watch --remote=^put$ --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table " + word, puts).said.find(isolated),
        std::string::npos)
        << word;
  }
}

TEST_F(domains_command, watch_takes_a_pointer_to_a_peer_before_one_to_the_host) {
  for (const std::string words : {"put/host put/peer", "put/peer put/host"}) {
    const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table " + words, "FAKE_CUPTI_PUTS=1");
    EXPECT_NE(text_of(folder_ / "out" / "list.txt").find("\nremote ^put$  # pointer to a peer"), std::string::npos) << r.said;
  }
}

TEST_F(domains_command, watch_counts_no_captured_launch_as_one_that_ran) {
  const result r =
      command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put/captured put/own put/peer", "FAKE_CUPTI_PUTS=1");
  EXPECT_NE(r.said.find("put delays 19 boundaries of other kernels by 1.00 µs each"), std::string::npos) << r.said;
}

TEST_F(domains_command, watch_tells_nodes_from_launches_of_the_name) {
  const result r =
      command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table graph/peer put/own put/peer", "FAKE_CUPTI_PUTS=1");
  EXPECT_NE(r.said.find("put delays 19 boundaries of other kernels by 1.00 µs each"), std::string::npos) << r.said;
}

TEST_F(domains_command, watch_reports_a_kernel_that_fills_the_device) {
  const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put/own put/peer",
                           "FAKE_CUPTI_PUTS=1 FAKE_CUPTI_FILLS=1");
  EXPECT_NE(r.said.find("19 boundaries ran while blocks of put occupied all multiprocessors, and took 0.02 ms longer than when "
                        "no other kernel ran: moving a kernel to another domain does not free multiprocessors."),
            std::string::npos)
      << r.said;
}

TEST_F(domains_command, a_cupti_that_another_profiler_has_is_named_and_the_program_runs) {
  const result r = command("watch --cupti='" FAKE_CUPTI "'" PROGRAM "table put exit=5", "FAKE_CUPTI_BUSY=1");
  EXPECT_EQ(r.status, 5);
  EXPECT_NE(r.said.find("CUPTI cannot record kernels (MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)"), std::string::npos) << r.said;
  EXPECT_EQ(r.log, "plain put domain=-1 map=-1,-1 attributes=0\n");
}

TEST_F(domains_command, records_that_another_took_over_are_missed) {
  const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table race", "FAKE_DRIVER_QUIET=1");
  EXPECT_NE(r.said.find("CUPTI recorded 41 kernels, but domains_program launched 80,800"), std::string::npos) << r.said;
  EXPECT_EQ(command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put").said.find("CUPTI recorded"),
            std::string::npos);
}

TEST_F(domains_command, the_check_warns_where_kernels_share_a_pointer_and_one_side_synchronizes_at_device_scope) {
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM + way + " check/shared");
    EXPECT_NE(r.said.find("WARNING: ncclDevKernel_fake and small ran at the same time and received the same pointer. Either "
                          "one releases and the other acquires"),
              std::string::npos)
        << way << r.said;
  }
}

TEST_F(domains_command, the_check_does_not_warn_of_kernels_with_pointers_of_their_own) {
  const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/apart");
  EXPECT_EQ(r.said.find("WARNING"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("The check examined 1 pair of"), std::string::npos) << r.said;
}

TEST_F(domains_command, the_check_sees_every_launch_of_a_name) {
  const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/late");
  EXPECT_NE(r.said.find("received the same pointer. Either one releases"), std::string::npos) << r.said;
}

TEST_F(domains_command, the_check_follows_a_pointer_into_a_table_in_device_memory) {
  for (const std::string which : {"table", "local/table"}) {
    const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/" + which);
    EXPECT_NE(r.said.find("received the same pointer. Either one releases"), std::string::npos) << which << r.said;
  }
}

TEST_F(domains_command, a_table_that_cannot_be_read_is_a_warning_and_the_program_continues) {
  const result r = command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/table", "FAKE_DRIVER_STALLS=1");
  EXPECT_EQ(r.status, 0);
  EXPECT_NE(
      r.said.find(
          "WARNING: ncclDevKernel_fake and small ran at the same time. Not all pointers of ncclDevKernel_fake could be read"),
      std::string::npos)
      << r.said;
}

TEST_F(domains_command, a_list_with_a_warning_of_the_check_is_rejected_by_default) {
  for (const std::string which : {"shared", "table"}) {
    static_cast<void>(command("watch --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/" + which));
    for (const std::string action : {"apply", "try --output=out"}) {
      const std::string words = action + " --list=out/list.txt";
      const result r = command(words + PROGRAM "table check/" + which);
      EXPECT_EQ(r.status, 125) << r.said;
      EXPECT_EQ(r.log, "") << "the program must not run";
      EXPECT_NE(r.said.find("the list moves '^ncclDevKernel_fake$', but watch's check warns: ncclDevKernel_fake and "
                            "small ran at the same time and received the same pointer"),
                std::string::npos)
          << r.said;
      EXPECT_NE(command(words + " --force" PROGRAM "table check/" + which).log.find("ex ncclDevKernel_fake domain=1"),
                std::string::npos);
    }
  }
}

TEST_F(domains_command, a_list_that_the_check_passed_is_applied_and_one_without_its_result_is_rejected) {
  const std::string of = " --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/apart";
  static_cast<void>(command("watch" + of));
  const std::string apply = "apply --list=out/list.txt" PROGRAM "table check/apart";
  EXPECT_NE(command(apply).log.find("ex ncclDevKernel_fake domain=1"), std::string::npos);
  static_cast<void>(command("watch --no-check" + of));
  const result unchecked = command(apply);
  EXPECT_EQ(unchecked.status, 125);
  EXPECT_NE(unchecked.said.find("the list moves '^ncclDevKernel_fake$', but nothing checked"), std::string::npos)
      << unchecked.said;
  EXPECT_NE(command("apply --remote=^put$" PROGRAM "table put").said.find("'^put$', but nothing checked"), std::string::npos);
}

TEST_F(domains_command, watch_without_check_keeps_no_code_and_says_nothing_of_it) {
  EXPECT_EQ(
      command("watch --no-check --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/shared").said.find("The check"),
      std::string::npos);
}

TEST_F(domains_command, watch_reports_in_json_what_check_found) {
  const std::string of = " --format=json --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table check/shared";
  const json report = json::parse(json_line(command("watch" + of).said));
  EXPECT_EQ(report["format"], "membar-domains.watch");
  EXPECT_EQ(report["version"], 1);
  EXPECT_EQ(report["held_up_count"], 19);
  EXPECT_EQ(report["processes"].at(0)["kernels"], 41);
  EXPECT_EQ(report["check"]["warnings"].size(), 1U) << report;
  EXPECT_EQ(report, json::parse(text_of(folder_ / "out" / "watch.json")));
  EXPECT_TRUE(json::parse(json_line(command("watch --no-check" + of).said))["check"].is_null());
}

TEST_F(domains_command, run_watches_checks_moves_in_turns_and_keeps_what_gains) {
  const result r = command("run --seconds=0.1 --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table steady",
                           "FAKE_CUPTI_PUTS=1 FAKE_DRIVER_QUIET=1");
  EXPECT_EQ(r.status, 0) << r.said;
  EXPECT_NE(r.said.find("settled: 1"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("kept: the other kernels were 2.5"), std::string::npos) << r.said;
  const std::string once =
      "cupti: the driver is entered\ncupti: the driver is left\ncupti: detached\ncupti: the driver is left\n";
  EXPECT_NE(r.said.find(once), std::string::npos) << r.said;
  EXPECT_NE(text_of(folder_ / "out" / "run.txt").find("  remote ^put$\n"), std::string::npos);
  const json report = json::parse(text_of(folder_ / "out" / "run.json"));
  EXPECT_EQ(report["format"], "membar-domains.run");
  const json& process = report["processes"].at(0);
  EXPECT_EQ(process["outcome"], "kept");
  EXPECT_EQ(process["rules"], json::array({"remote ^put$"}));
  EXPECT_NEAR(process["measured"]["gain"]["value"].get<double>(), 2.5, 0.1);
}

TEST_F(domains_command, run_watches_until_the_program_communicates) {
  const result r = command("run --seconds=0.2 --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table local steady",
                           "FAKE_CUPTI_PUTS=1 FAKE_DRIVER_QUIET=1");
  EXPECT_LT(r.said.find("local: over"), r.said.find("cupti: the driver is entered")) << r.said;
  EXPECT_NE(r.said.find("kept: the other kernels were 2.5"), std::string::npos) << r.said;
}

TEST_F(domains_command, run_detaches_cupti_when_nothing_runs) {
  const result r = command("run --seconds=0.1 --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table steady",
                           "FAKE_CUPTI_PUTS=1 FAKE_DRIVER_QUIET=1 FAKE_DRIVER_BUSY=3");
  const std::size_t last_busy = r.said.rfind("driver: busy");
  ASSERT_NE(last_busy, std::string::npos) << r.said;
  EXPECT_LT(last_busy, r.said.find("cupti: the driver is entered")) << r.said;
  EXPECT_NE(r.said.find("cupti: detached"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_variable_of_the_environment_switches_the_library_off) {
  EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM "table put", "MEMBAR_DOMAINS_OFF=1").log,
            "plain put domain=-1 map=-1,-1 attributes=0\n");
}

TEST_F(domains_command, run_undoes_a_move_that_gains_nothing) {
  const result r = command("run --seconds=0.1 --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table steady",
                           "FAKE_CUPTI_PUTS=1 FAKE_DRIVER_QUIET=1 FAKE_DRIVER_NO_GAIN=1");
  EXPECT_NE(r.said.find("settled: 1"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("undone: the other kernels were 1.000×"), std::string::npos) << r.said;
  const json report = json::parse(text_of(folder_ / "out" / "run.json"));
  EXPECT_EQ(report["processes"].at(0)["outcome"], "undone");
  EXPECT_EQ(report["processes"].at(0)["rules"], json::array());
}

TEST_F(domains_command, try_without_a_list_uses_what_it_watched) {
  const result r = command("try --force --cupti='" FAKE_CUPTI "' --output=out" PROGRAM "table put");
  EXPECT_NE(r.said.find("no list was given, so try watches the program first"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("no launched kernel matches '^ncclDevKernel_fake$'"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("The gain could not be measured"), std::string::npos) << r.said;
}

}  // namespace
