// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command membar-domains and the library that it preloads, on programs that run with a fake driver and no device.
#include "tests/domains/command_fixture.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "membar-domains/process_state.hpp"

namespace {

using membar_test::domains_command;
using membar_test::json_line;
using membar_test::result;
using membar_test::text_of;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_F(domains_command, a_listed_launch_gets_the_domain_and_no_other_does) {
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r = command("apply --force --remote=^put$" PROGRAM + way + " small put small");
    EXPECT_EQ(r.status, 0) << r.said;
    EXPECT_EQ(r.log,
              "plain small domain=-1 map=-1,-1 attributes=0\n"
              "ex put domain=1 map=-1,-1 attributes=1\n"
              "plain small domain=-1 map=-1,-1 attributes=0\n")
        << way;
    EXPECT_NE(r.said.find("3 launches, 1 of them listed, 1 moved and 0 rejected by the driver"), std::string::npos) << r.said;
  }
}

TEST_F(domains_command, a_launch_on_the_threads_own_stream_stays_on_it) {
  const result r = command("apply --force --remote=^put$" PROGRAM "own_stream small put put/ex");
  EXPECT_EQ(r.log,
            "plain_ptsz small domain=-1 map=-1,-1 attributes=0\n"
            "ex_ptsz put domain=1 map=-1,-1 attributes=1\n"
            "ex_ptsz put domain=1 map=-1,-1 attributes=1\n")
      << r.said;
}

TEST_F(domains_command, a_launch_keeps_its_other_attributes_and_loses_only_its_own_domain) {
  const fs::path list = file("list", "2 ^put$\n");
  const result r = command("apply --force --list=" + list.string() + PROGRAM "table put/remote put/map put/cooperative");
  EXPECT_EQ(r.log,
            "ex put domain=1 map=2,2 attributes=2\n"
            "ex put domain=-1 map=2,2 attributes=1\n"
            "ex put domain=-1 map=2,2 attributes=2 cooperative\n")
      << r.said;
}

TEST_F(domains_command, a_listed_node_gets_the_domain_before_its_graph_is_instantiated) {
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r = command("apply --force --remote=^put$" PROGRAM + way + " graph");
    EXPECT_EQ(r.log, "node put domain=1 map=-1 flags=5\nnode small domain=-1 map=-1 flags=5\ngraph moved\n") << way << r.said;
  }
}

TEST_F(domains_command, a_far_rule_moves_launches_with_a_pointer_to_a_peer_or_the_host_and_no_others) {
  const fs::path list = file("list", "remote:far ^put$\n");
  const std::string moved = "ex put domain=1 map=-1,-1 attributes=1\n";
  const std::string as_it_was = "plain put domain=-1 map=-1,-1 attributes=0\n";
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r = command("apply --force --list=" + list.string() + PROGRAM + way +
                             " put/own put/peer put/own put/host put put/buffer put/own");
    EXPECT_EQ(r.log, as_it_was + moved + as_it_was + moved + as_it_was + moved + as_it_was) << way << r.said;
    EXPECT_NE(r.said.find("7 launches, 3 of them listed, 3 moved"), std::string::npos) << r.said;
  }
}

TEST_F(domains_command, a_launch_that_no_far_rule_takes_goes_where_the_next_rule_says) {
  const fs::path list = file("list", "remote:far ^put$\n2 ^put$\n");
  EXPECT_EQ(command("apply --force --list=" + list.string() + PROGRAM "table put/own put/peer").log,
            "ex put domain=-1 map=2,2 attributes=1\nex put domain=1 map=-1,-1 attributes=1\n");
}

TEST_F(domains_command, the_driver_is_asked_about_a_pointer_once_and_again_after_memory_was_mapped) {
  const fs::path list = file("list", "remote:far ^put$\n");
  const std::string as_it_was = "plain put domain=-1 map=-1,-1 attributes=0\n";
  const std::string first = "asked 10000000\nasked 10008000\nasked 50000000\n";
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r = command(
        "apply --force --list=" + list.string() + PROGRAM + way + " put/later put/later map put/later put/later put/own",
        "FAKE_DRIVER_LOGS_POINTERS=1");
    const std::string moved = "ex put domain=1 map=-1,-1 attributes=1\n";
    EXPECT_EQ(r.log, first + as_it_was + as_it_was + first + moved + moved + as_it_was) << way << r.said;
  }
}

TEST_F(domains_command, a_captured_launch_takes_the_domain_by_its_pointers_when_its_graph_is_instantiated) {
  const fs::path list = file("list", "remote:far ^put$\n");
  EXPECT_EQ(command("apply --force --list=" + list.string() + PROGRAM "table put/captured put/own end/capture").log,
            "plain put domain=-1 map=-1,-1 attributes=0\nplain put domain=-1 map=-1,-1 attributes=0\n"
            "node put domain=1 map=-1 flags=5\n");
}

TEST_F(domains_command, a_kernel_that_is_not_listed_never_gets_the_domain_of_one_that_was_in_its_graph) {
  for (const std::string way : {"linked", "dlsym"}) {
    for (const std::string what : {"clone", "child", "copy", "params", "node_params", "captured"}) {
      const result r = command("apply --force --remote=^put$" PROGRAM + way + " leak/" + what);
      EXPECT_NE(r.log.find("node put domain=1 "), std::string::npos) << way << what << r.log << r.said;
      EXPECT_NE(r.log.find("node small domain="), std::string::npos) << way << what << r.log << r.said;
      EXPECT_EQ(r.log.find("node small domain=1"), std::string::npos) << way << what << r.log << r.said;
    }
  }
}

TEST_F(domains_command, a_listed_kernel_in_the_body_of_a_condition_gets_the_domain) {
  for (const std::string way : {"linked", "dlsym"}) {
    EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM + way + " body").log, "body node put domain=1 map=-1 flags=5\n")
        << way;
  }
}

TEST_F(domains_command, a_listed_kernel_launched_by_a_function_that_takes_no_attribute_is_named) {
  for (const std::string way : {"linked", "dlsym"}) {
    for (const std::string function :
         {"cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchCooperativeKernelMultiDevice"}) {
      const result r = command("apply --force --remote=^put$" PROGRAM + way + " unmovable/" + function);
      EXPECT_NE(r.said.find("'put' was launched by a function that takes no attribute"), std::string::npos)
          << function << r.said;
      EXPECT_NE(r.said.find("1 launches, 1 of them listed, 0 moved and 1 rejected by the driver"), std::string::npos) << r.said;
      EXPECT_NE(r.log.find(" put domain=-1"), std::string::npos) << r.log;
    }
  }
}

TEST_F(domains_command, every_function_that_exchanges_a_kernel_in_an_executable_graph_is_named) {
  for (const std::string way : {"linked", "dlsym"}) {
    for (const std::string function : {"cuGraphExecKernelNodeSetParams", "cuGraphExecNodeSetParams"}) {
      const result r = command("apply --force --remote=^put$" PROGRAM + way + " set=" + function);
      EXPECT_NE(r.said.find("replaced a listed kernel with an unlisted one or vice versa"), std::string::npos)
          << way << function << r.said;
    }
  }
}

TEST_F(domains_command, a_rule_without_far_asks_the_driver_about_no_pointer) {
  EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM "table put/peer", "FAKE_DRIVER_LOGS_POINTERS=1").log,
            "ex put domain=1 map=-1,-1 attributes=1\n");
}

TEST_F(domains_command, a_far_rule_moves_nodes_by_their_pointers) {
  const fs::path list = file("list", "remote:far ^put$\n");
  const result r = command("apply --force --list=" + list.string() + PROGRAM "table graph/peer");
  EXPECT_EQ(r.log, "node put domain=1 map=-1 flags=5\nnode put domain=-1 map=-1 flags=5\n") << r.said;
}

TEST_F(domains_command, pointers_exchanged_in_a_node_of_an_executable_graph_are_named_where_a_far_rule_decides_otherwise) {
  const fs::path list = file("list", "remote:far ^put$\n");
  const result r = command("apply --force --list=" + list.string() + PROGRAM "table exchange/peer");
  EXPECT_NE(r.said.find("(with :far, changing the kernel's pointers has the same effect)"), std::string::npos) << r.said;
  EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM "table exchange/peer").said.find("in a node of an executable graph"),
            std::string::npos);
}

TEST_F(domains_command, a_node_that_the_list_no_longer_names_is_put_back) {
  const fs::path list = file("list", "remote:far ^put$\n");
  const result r = command("apply --force --list=" + list.string() + PROGRAM "table again/peer");
  EXPECT_EQ(r.log, "node put domain=1 map=-1 flags=5\nnode put domain=0 map=-1 flags=5\n") << r.said;
}

TEST_F(domains_command, the_control_leaves_a_node_its_own_map) {
  const result r = command("try --force --remote=^put$ --runs=1 --output=out" PROGRAM "table graph/map");
  EXPECT_EQ(r.log.find("map=0"), std::string::npos) << r.log;
  EXPECT_NE(r.log.find("node put domain=1 map=3"), std::string::npos) << r.log;
}

TEST_F(domains_command, the_control_leaves_a_stream_its_own_map) {
  for (const std::string word : {"put/mapped", "put/captured"}) {
    const result r = command("try --force --remote=^put$ --runs=1 --output=out" PROGRAM "table put " + word);
    EXPECT_NE(r.log.find("ex put domain=-1 map=0,1 attributes=1\nplain put domain=-1"), std::string::npos) << word << r.log;
  }
}

TEST_F(domains_command, a_process_on_another_host_is_moved_and_says_that_it_is_not_counted) {
  const result r = command(
      "apply --force --remote=^put$ -- env MEMBAR_DOMAINS_FOLDER=/nowhere MEMBAR_DOMAINS_LIST=/nowhere/list '" DOMAINS_PROGRAM
      "' table put");
  EXPECT_EQ(r.log, "ex put domain=1 map=-1,-1 attributes=1\n") << r.said;
  EXPECT_NE(r.said.find("membar-domains: cannot write to the folder that MEMBAR_DOMAINS_FOLDER names on this host"),
            std::string::npos)
      << r.said;
}

TEST_F(domains_command, a_signal_to_the_command_is_the_programs) {
  const result r = command(
      "apply --force --remote=^put$ -- sh -c 'trap \"echo ended; exit 7\" TERM; kill -TERM $PPID; i=0; while [ $i -lt 1000000 "
      "]; do "
      "i=$((i+1)); done'");
  EXPECT_EQ(r.status, 7) << r.said;
  EXPECT_NE(r.said.find("ended"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_thread_with_the_least_stack_still_starts) {
  EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM "table thread put").status, 0);
}

TEST_F(domains_command, an_event_that_waits_for_queue_space_does_not_block_launches_of_other_threads) {
  const result r = command("try --force --remote=^put$ --runs=1 --output=out" PROGRAM "table room");
  EXPECT_EQ(r.log.find("nothing was launched meanwhile"), std::string::npos) << r.log;
}

TEST_F(domains_command, a_long_name_takes_no_stack_of_the_program) {
  const result r = command("apply --force '--remote=^.*put$'" PROGRAM "table long put");
  EXPECT_EQ(r.status, 0) << r.said;
  EXPECT_NE(r.said.find("2 launches, 1 of them listed, 1 moved"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_program_that_asks_for_cuda_without_a_driver_continues) {
  const fs::path none = file("libcuda.so.1", "");
  const result r = command("apply --force --remote=^put$ -- env LD_LIBRARY_PATH='" + none.parent_path().string() +
                           "' python3 -c 'import ctypes; print(\"status\", ctypes.CDLL(None).cuInit(0))'");
  EXPECT_NE(r.said.find("status 100\n"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_far_rule_that_no_launch_meets_is_named) {
  const fs::path list = file("list", "remote:far ^put$\n");
  const std::string said = command("apply --force --list=" + list.string() + PROGRAM "table put/own").said;
  EXPECT_NE(said.find("no launched kernel matches '^put$' and had a pointer to a peer's or the host's memory"),
            std::string::npos)
      << said;
}

TEST_F(domains_command, a_launch_in_the_null_stream_is_moved_and_stays_in_it) {
  for (const std::string way : {"linked", "dlsym", "table", "own_stream"}) {
    const std::string end = way == "own_stream" ? "_ptsz" : "";
    const result r = command("apply --force --remote=^put$" PROGRAM + way + " put/null small/null");
    EXPECT_EQ(r.log, "ex" + end + " put domain=1 map=-1,-1 attributes=1 null\nplain" + end +
                         " small domain=-1 map=-1,-1 attributes=0 null\n")
        << way << r.said;
  }
}

TEST_F(domains_command, try_measures_work_in_the_null_stream) {
  const result r = command("try --force --remote=^put$ --output=out" PROGRAM "table race/null", "FAKE_DRIVER_QUIET=1");
  EXPECT_NE(r.said.find("2.500× (95 %: 2.500 to 2.500) as fast"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_stream_in_which_no_event_can_be_recorded_is_said_and_its_launches_are_still_moved) {
  const result r = command("try --force --remote=^put$ --runs=1 --turn=1 --output=out" PROGRAM "table put put put",
                           "FAKE_DRIVER_REFUSES_EVENTS=1");
  EXPECT_EQ(r.status, 0);
  EXPECT_NE(r.said.find("launches or units of work could not be timed, because the driver rejected an event"),
            std::string::npos)
      << r.said;
  EXPECT_NE(r.log.find("ex put domain=1"), std::string::npos);
}

TEST_F(domains_command, a_listed_node_of_a_child_graph_gets_the_domain) {
  EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM "table child").log, "child node put domain=1 map=-1 flags=5\n");
}

TEST_F(domains_command, a_listed_node_gets_the_domain_before_an_executable_graph_is_updated_with_it) {
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r = command("apply --force --remote=^put$" PROGRAM + way + " update");
    EXPECT_EQ(r.log, "node small domain=-1 map=-1 flags=5\nupdate put domain=1 map=-1\n") << way << r.said;
  }
}

TEST_F(domains_command, every_function_that_takes_a_graph_for_execution_moves_its_listed_nodes) {
  for (const std::string way : {"linked", "dlsym"}) {
    for (const std::string function : {"cuGraphInstantiate", "cuGraphInstantiate_v2", "cuGraphInstantiateWithParams_ptsz",
                                       "cuGraphExecUpdate", "cuGraphExecChildGraphNodeSetParams", "cuGraphExecNodeSetParams"}) {
      const result r = command("apply --force --remote=^put$" PROGRAM + way + " graph=" + function);
      EXPECT_NE(r.log.find(" put domain=1"), std::string::npos) << way << ' ' << function << r.log << r.said;
    }
  }
}

TEST_F(domains_command, a_listed_kernel_put_into_a_node_of_an_executable_graph_is_named) {
  for (const std::string way : {"linked", "dlsym", "table"}) {
    const result r = command("apply --force --remote=^put$" PROGRAM + way + " exchange");
    EXPECT_EQ(r.log, "node small domain=-1 map=-1 flags=5\nset put\n");
    EXPECT_NE(r.said.find("replaced a listed kernel with an unlisted one or vice versa"), std::string::npos) << way << r.said;
  }
  EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM "table parameters").said.find("in a node of an executable graph"),
            std::string::npos)
      << "the node has the same kernel with other parameters";
}

TEST_F(domains_command, a_kernel_that_reuses_the_handle_of_a_destroyed_context_is_decided_again) {
  for (const std::string way : {"linked", "dlsym"}) {
    for (const std::string what : {"context", "reset", "release"}) {
      EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM + way + " put gone/" + what).log,
                "ex put domain=1 map=-1,-1 attributes=1\nplain small domain=-1 map=-1,-1 attributes=0\n")
          << way << ' ' << what;
    }
  }
}

TEST_F(domains_command, a_node_with_the_handle_of_a_moved_one_that_is_gone_keeps_its_domain) {
  for (const std::string way : {"linked", "dlsym"}) {
    for (const std::string what : {"graph", "node", "node/child"}) {
      const result r = command("apply --force --remote=^put$" PROGRAM + way + " gone/" + what);
      EXPECT_NE(r.log.find("put domain=1 map=-1 flags=5\nnode small domain=1"), std::string::npos) << way << what << r.log;
    }
  }
}

TEST_F(domains_command, a_conditional_node_whose_making_was_not_seen_is_named) {
  const result r = command("apply --force --remote=^put$" PROGRAM "table conditional");
  EXPECT_NE(r.said.find("membar-domains did not see the creation of a conditional node in a graph"), std::string::npos)
      << r.said;
}

TEST_F(domains_command, what_is_not_listed_passes_as_it_was) {
  const result r = command("apply --force --remote=^nothing$" PROGRAM "table put put/remote put/map put/cooperative graph");
  EXPECT_EQ(r.log,
            "plain put domain=-1 map=-1,-1 attributes=0\n"
            "ex put domain=1 map=-1,-1 attributes=1\n"
            "ex put domain=-1 map=3,3 attributes=1\n"
            "cooperative put domain=-1 map=-1,-1 attributes=0\n"
            "node put domain=-1 map=-1 flags=5\n"
            "node small domain=-1 map=-1 flags=5\n"
            "graph\n")
      << r.said;
}

TEST_F(domains_command, a_name_that_no_kernel_has_is_named) {
  const result r = command("apply --force --remote=^putt$" PROGRAM "table put");
  EXPECT_EQ(r.status, 0);
  EXPECT_NE(r.said.find("no launched kernel matches '^putt$'"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_device_with_one_domain_is_named_and_nothing_moves) {
  const result r = command("apply --force --remote=^put$" PROGRAM "table put", "FAKE_DRIVER_DOMAINS=1");
  EXPECT_EQ(r.log, "plain put domain=-1 map=-1,-1 attributes=0\n");
  EXPECT_NE(r.said.find("device 0 has only one memory synchronization domain"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_domain_that_the_device_lacks_is_named_and_nothing_moves) {
  const fs::path list = file("list", "4 ^put$\n");
  const result r = command("apply --force --list=" + list.string() + PROGRAM "table put");
  EXPECT_EQ(r.log, "plain put domain=-1 map=-1,-1 attributes=0\n");
  EXPECT_NE(r.said.find("the list moves 'put' to domain 4, but device 0 has 4 domains: write a number from 0 to 3"),
            std::string::npos)
      << r.said;
}

TEST_F(domains_command, a_launch_that_the_driver_rejects_moved_runs_as_it_was) {
  const result r = command("apply --force --remote=^put$" PROGRAM "table put", "FAKE_DRIVER_REFUSES=1");
  EXPECT_EQ(r.status, 0) << r.said;
  EXPECT_EQ(r.log, "plain put domain=-1 map=-1,-1 attributes=0\n");
  EXPECT_NE(r.said.find("the driver rejected the domain of a listed kernel (CUDA_ERROR_NOT_SUPPORTED)"), std::string::npos)
      << r.said;
  EXPECT_NE(r.said.find("0 moved and 1 rejected by the driver"), std::string::npos) << r.said;
}

TEST_F(domains_command, no_gpu_is_one_sentence_and_the_programs_own_status) {
  const result r = command("apply --force --remote=^put$" PROGRAM "table put", "FAKE_DRIVER_INIT=100");
  EXPECT_EQ(r.status, 3);
  EXPECT_NE(r.said.find("cuInit returned 100 (no GPU)"), std::string::npos) << r.said;
}

TEST_F(domains_command, the_exit_status_is_the_programs) {
  EXPECT_EQ(command("apply --force --remote=^put$" PROGRAM "table put exit=42").status, 42);
  EXPECT_EQ(command("watch" PROGRAM "table put exit=42").status, 42);
  EXPECT_EQ(command("try --force --remote=^put$" PROGRAM "table put exit=42").status, 42);
}

TEST_F(domains_command, a_program_that_crashes_is_one_sentence_and_its_counts_are_kept) {
  const result r = command("apply --force --remote=^put$" PROGRAM "table put abort");
  EXPECT_EQ(r.status, 128 + SIGABRT);
  EXPECT_NE(r.said.find("signal 6 (Aborted) ended the program"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("1 launches, 1 of them listed, 1 moved"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_full_folder_for_the_runs_files_ends_neither_the_program_nor_the_command) {
  if (std::system("unshare -rm mount -t tmpfs none /mnt") != 0) {
    GTEST_SKIP() << "this process cannot mount a file system of its own";
  }
  const auto with_room = [](int pages) {
    return "unshare -rm sh -c 'mount -t tmpfs -o size=64k none /mnt && head -c " + std::to_string((16 - pages) * 4096) +
           " /dev/zero > /mnt/full; TMPDIR=/mnt exec env \"$@\"' sh";
  };
  const result r = command("watch" PROGRAM "table put", with_room(0));
  EXPECT_EQ(r.status, 0) << r.said;
  EXPECT_NE(r.said.find("a process had no space for its files in /mnt/membar-domains-"), std::string::npos) << r.said;
  const result listed = command("apply --force --remote=^put$" PROGRAM "table put", with_room(0));
  EXPECT_EQ(listed.status, 125);
  EXPECT_NE(listed.said.find("list': set TMPDIR to a folder with free space"), std::string::npos) << listed.said;
  EXPECT_EQ(listed.log, "") << "the program must not run";
  const result unrecorded =
      command("try --force --remote=^put$ --runs=1" PROGRAM "table race", "FAKE_DRIVER_QUIET=1 " + with_room(2));
  EXPECT_NE(unrecorded.said.find("there was no space for some records"), std::string::npos) << unrecorded.said;
}

TEST_F(domains_command, a_relative_folder_for_the_runs_files_serves_a_program_in_another_folder) {
  const result r = command("apply --force --remote=^put$ -- sh -c 'cd / && \"" DOMAINS_PROGRAM "\" table put'", "TMPDIR=.");
  EXPECT_NE(r.said.find("1 launches, 1 of them listed, 1 moved"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_library_whose_path_ld_preload_would_split_is_rejected) {
  const result r = command("apply --force --remote=^put$ -- sh -c 'mkdir \"a b\" && cp \"" MEMBAR_DOMAINS
                           "\" \"$LD_PRELOAD\" \"a b\" && "
                           "\"a b/membar-domains\" apply --force --remote=^put$ -- true'");
  EXPECT_EQ(r.status, 125);
  EXPECT_NE(r.said.find("a b/libmembar_domains.so' contains a space or a colon"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_folder_that_cannot_be_written_is_rejected_before_the_program_runs) {
  const fs::path taken = file("taken", "");
  for (const std::string what : {"watch", "try --force --remote=^put$"}) {
    const result r = command(what + " --output=taken" PROGRAM "table put");
    EXPECT_EQ(r.status, 125);
    EXPECT_EQ(r.said, "membar-domains: cannot write 'taken/.membar-domains': name another folder with --output\n");
    EXPECT_EQ(r.log, "");
  }
}

TEST_F(domains_command, a_report_that_cannot_be_written_is_still_said) {
  const result r =
      command("try --force --remote=^put$ --output=out -- sh -c 'touch out; exec \"" DOMAINS_PROGRAM "\" table race'",
              "FAKE_DRIVER_QUIET=1");
  EXPECT_EQ(r.status, 125);
  EXPECT_NE(r.said.find("the other kernels 2.500×"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("cannot write 'out/try.txt': name another folder with --output"), std::string::npos) << r.said;
}

TEST_F(domains_command, try_reports_what_it_saw_of_a_program_that_fails) {
  for (const std::string end : {"exit=1", "abort"}) {
    const result r = command("try --force --remote=^put$ --output=out" PROGRAM "table race " + end, "FAKE_DRIVER_QUIET=1");
    EXPECT_EQ(r.status, end == "abort" ? 128 + SIGABRT : 1);
    EXPECT_NE(text_of(folder_ / "out" / "try.txt").find("the other kernels 2.500×"), std::string::npos) << r.said;
  }
}

TEST_F(domains_command, try_reports_the_whole_runs_before_one_that_failed) {
  const auto failing_at = [&](int run, const std::string& option, const std::string& word) {
    fs::remove(folder_ / "runs");
    return command("try --force --remote=^put$ --runs=2 --output=out " + option +
                       "-- sh -c 'echo >> runs; test $(wc -l < runs) -lt " + std::to_string(run) +
                       " || set -- exit=3; exec \"" DOMAINS_PROGRAM "\" table " + word + " $1'",
                   "FAKE_DRIVER_QUIET=1");
  };
  const result r = failing_at(5, "--whole-runs ", "race");
  EXPECT_EQ(r.status, 3);
  EXPECT_NE(r.said.find("run 5 of 6 ended with status 3: the report covers only the runs before it"), std::string::npos)
      << r.said;
  EXPECT_NE(text_of(folder_ / "out" / "try.txt").find("the other kernels 2.500×"), std::string::npos) << r.said;
  const result first = failing_at(1, "", "graph");
  EXPECT_NE(first.said.find("the program ended with status 3, so membar-domains does not repeat it"), std::string::npos)
      << first.said;
}

TEST_F(domains_command, try_says_the_number_of_runs_beforehand_and_stops_when_the_interval_is_narrow) {
  const std::string of = "try --force --remote=^put$ --output=out --runs=4 ";
  const std::string counted = "-- sh -c 'echo >> runs; exec \"" DOMAINS_PROGRAM "\" table race'";
  const result turns = command(of + counted, "FAKE_DRIVER_QUIET=1");
  EXPECT_NE(turns.said.find(
                "the program runs once; if that run does not show a gain, it runs again 6 to 12 times, in one mode per run"),
            std::string::npos)
      << turns.said;
  EXPECT_EQ(text_of(folder_ / "runs"), "\n") << "one run";
  fs::remove(folder_ / "runs");
  const result whole = command(of + "--whole-runs " + counted, "FAKE_DRIVER_QUIET=1");
  EXPECT_NE(whole.said.find("the program runs 6 to 12 times: unmoved, moved"), std::string::npos) << whole.said;
  EXPECT_EQ(text_of(folder_ / "runs"), std::string(6, '\n')) << "the interval is narrow after six runs";
}

TEST_F(domains_command, graphs_with_listed_kernels_are_tried_in_one_run_by_two_executables) {
  const result r = command("try --force --remote=^put$ --output=out" PROGRAM "linked graphs/run", "FAKE_DRIVER_QUIET=1");
  EXPECT_EQ(r.said.find("the program now runs"), std::string::npos) << r.said;
  const json report = json::parse(text_of(folder_ / "out" / "try.json"));
  ASSERT_EQ(report["lanes"].size(), 2U) << report;
  EXPECT_NEAR(report["lanes"].at(0)["gain"]["value"].get<double>(), 1, 0.001) << report;  // the kernel put itself
  EXPECT_NEAR(report["lanes"].at(1)["gain"]["value"].get<double>(), 2.5, 0.001) << report;
  EXPECT_NEAR(report["control"]["value"].get<double>(), 1, 0.001) << report;
  EXPECT_TRUE(report["whole_runs"].is_null());
}

TEST_F(domains_command, the_two_executables_of_a_graph_never_run_at_the_same_time) {
  const result r = command("try --force --remote=^put$ --runs=1 --output=out" PROGRAM "linked graphs/streams");
  const auto first = r.log.find("graph\n");
  ASSERT_NE(first, std::string::npos) << r.log;
  EXPECT_NE(r.log.find("wait\ngraph moved\n", first), std::string::npos) << r.log;
}

TEST_F(domains_command, a_graph_that_cannot_be_instantiated_twice_is_tried_in_whole_runs) {
  const result r = command("try --force --remote=^put$ --runs=1 --output=out" PROGRAM "linked graphs/run",
                           "FAKE_DRIVER_QUIET=1 FAKE_DRIVER_ALLOCATES=1");
  EXPECT_NE(r.said.find("a graph with listed kernels could not be instantiated twice"), std::string::npos) << r.said;
}

TEST_F(domains_command, try_counts_nothing_again_in_a_forked_child) {
  const auto measured = [&](const std::string& words) {
    static_cast<void>(command("try --force --remote=^put$ --output=out" PROGRAM "table race" + words, "FAKE_DRIVER_QUIET=1"));
    return text_of(folder_ / "out" / "try.json");
  };
  const std::string once = measured("");
  EXPECT_NE(once.find("count"), std::string::npos) << once;
  EXPECT_EQ(measured(" fork"), once);
}

TEST_F(domains_command, a_program_that_is_not_there_is_127) {
  const result r = command("apply --force --remote=^put$ -- ./no_such_program");
  EXPECT_EQ(r.status, 127);
  EXPECT_NE(r.said.find("'./no_such_program' could not be started (the file does not exist)"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_program_without_cuda_is_named) {
  const result r = command("apply --force --remote=^put$ -- /bin/true");
  EXPECT_EQ(r.status, 0);
  EXPECT_NE(r.said.find("no process of the program called the CUDA driver where membar-domains could see it"),
            std::string::npos)
      << r.said;
  const std::string failed = command("apply --force --remote=^put$ -- sh -c 'exit 2'").said;
  EXPECT_EQ(failed, "membar-domains: the program ended with status 2 before it called the CUDA driver\n");
}

TEST_F(domains_command, kernels_of_a_child_process_are_also_moved) {
  const result r = command("apply --force --remote=^put$ -- sh -c \"'" DOMAINS_PROGRAM "' table put; true\"");
  EXPECT_EQ(r.log, "ex put domain=1 map=-1,-1 attributes=1\n") << r.said;
}

TEST_F(domains_command, try_measures_the_gain_and_a_control_of_one) {
  const result r = command("try --force --remote=^put$ --output=out" PROGRAM "table race", "FAKE_DRIVER_QUIET=1");
  EXPECT_EQ(r.status, 0) << r.said;
  EXPECT_NE(r.said.find("2.500× (95 %: 2.500 to 2.500) as fast"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("the control, which changes nothing, gave 1.000×"), std::string::npos) << r.said;
  const json report = json::parse(text_of(folder_ / "out" / "try.json"));
  EXPECT_NEAR(report["gain"]["value"].get<double>(), 2.5, 0.001);  // CUDA's times are floats in milliseconds.
}

TEST_F(domains_command, try_distinguishes_streams_of_two_contexts) {
  static_cast<void>(command("try --force --remote=^put$ --output=out" PROGRAM "table race/two", "FAKE_DRIVER_QUIET=1"));
  const std::string text = text_of(folder_ / "out" / "try.json");
  const auto first = text.find("50 launches of stream ");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("50 launches of stream ", first + 1), std::string::npos) << text;
}

TEST_F(domains_command, streams_and_graphs_that_begin_in_another_order_in_other_runs_are_distinguished) {
  for (const std::string end : {"", "/graph"}) {
    const std::string small = "few/small" + end, large = "few/large" + end;
    static_cast<void>(command(
        "try --force --remote=^put$ --runs=1 --whole-runs --output=out -- sh -c \"if [ -e t ]; then rm t; set " + small + ' ' +
            large + "; else touch t; set " + large + ' ' + small + "; fi; exec '" DOMAINS_PROGRAM "' table \\$*\"",
        "FAKE_DRIVER_QUIET=1"));
    const json report = json::parse(text_of(folder_ / "out" / "try.json"));
    ASSERT_EQ(report["lanes"].size(), 2U) << report;
    std::vector<double> gains;
    for (const json& lane : report["lanes"]) {
      gains.push_back(lane["gain"]["value"].get<double>());
    }
    EXPECT_NEAR(std::ranges::max(gains), 2.5, 0.05) << report;
    EXPECT_NEAR(std::ranges::min(gains), 1.3, 0.05) << report;
  }
}

TEST_F(domains_command, a_graph_that_device_code_may_launch_is_tried_in_runs_of_one_mode_each) {
  const result r = command("try --force --remote=^put$ --runs=1 --output=out" PROGRAM "table graph");
  EXPECT_EQ(r.status, 0) << r.said;
  EXPECT_NE(
      r.said.find("so its nodes cannot change their domain during a run: the program now runs 3 times, in one mode per run"),
      std::string::npos)
      << r.said;
  const auto run = [](const std::string& put, const std::string& graph) {
    return "node put " + put + " flags=5\nnode small domain=-1 map=-1 flags=5\n" + graph + "\n";
  };
  const std::string as_it_is = run("domain=-1 map=-1", "graph");
  EXPECT_EQ(r.log, as_it_is + as_it_is + run("domain=1 map=-1", "graph moved") + run("domain=-1 map=0", "graph"));
}

TEST_F(domains_command, with_whole_runs_no_run_takes_turns) {
  const result r =
      command("try --force --remote=^put$ --remote=^none$ --whole-runs --turn=1 --runs=1 --output=out" PROGRAM "table put put");
  const auto two = [](const std::string& put) { return put + " attributes=1\n" + put + " attributes=1\n"; };
  const std::string off = "plain put domain=-1 map=-1,-1 attributes=0\n";
  EXPECT_EQ(r.log, off + off + two("ex put domain=1 map=-1,-1") + two("ex put domain=-1 map=0,1")) << r.said;
  EXPECT_NE(r.said.find("matches '^none$'"), std::string::npos) << r.said;
}

TEST_F(domains_command, a_report_in_json_is_a_line_of_the_standard_output) {
  const result tried =
      command("try --format=json --force --remote=^put$ --output=out" PROGRAM "table race", "FAKE_DRIVER_QUIET=1");
  EXPECT_EQ(json::parse(json_line(tried.said)), json::parse(text_of(folder_ / "out" / "try.json"))) << tried.said;
  const json applied =
      json::parse(json_line(command("apply --format=json --force --remote=^put$" PROGRAM "table put small").said));
  EXPECT_EQ(applied["format"], "membar-domains.apply");
  EXPECT_EQ(applied["version"], 1);
  EXPECT_EQ(applied["processes"].at(0)["launches"], 2);
  EXPECT_EQ(applied["processes"].at(0)["moved"], 1);
}

TEST_F(domains_command, its_version_is_one_line) {
  const result r = command("--version");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.said, "membar-domains " MEMBAR_DOMAINS_VERSION "\n");
}

TEST_F(domains_command, a_list_of_another_format_is_rejected_before_the_program_runs) {
  const fs::path list = file("list", "# membar-domains list, format 2\nremote ^put$\n");
  const result r = command("apply --force --list=" + list.string() + PROGRAM "table put");
  EXPECT_EQ(r.status, 125);
  EXPECT_EQ(
      r.said,
      "membar-domains: " + list.string() +
          ": the list has format '2', but this version of membar-domains reads only format 1: use the membar-domains that "
          "wrote it, or write the list again with watch\n");
  EXPECT_EQ(r.log, "");
}

TEST_F(domains_command, counts_and_records_of_another_version_are_named) {
  const result counts = command("apply --force --remote=^put$ -- sh -c 'printf 20DDRMBM > \"$MEMBAR_DOMAINS_FOLDER/1.state\"'");
  EXPECT_NE(counts.said.find(
                "a process wrote its counts in a format that this version of membar-domains cannot read, so the report omits "
                "the process: the membar-domains command and the library it preloads have different versions"),
            std::string::npos)
      << counts.said;
  const result records = command("try --force --remote=^put$ --runs=1 --output=out -- sh -c '\"" DOMAINS_PROGRAM
                                 "\" table put; for f in \"$MEMBAR_DOMAINS_FOLDER\"/*.records; do echo F 9 > \"$f\"; done'");
  EXPECT_NE(records.said.find("its records begin with 'F 9', but this version of membar-domains reads only format 2"),
            std::string::npos)
      << records.said;
}

TEST_F(domains_command, dlsym_still_finds_the_next_symbol_for_other_libraries) {
  // This library is loaded after membar-domains' library. If membar-domains' library looked up the function on its behalf, it
  // would find itself.
  const result r = command("apply --force --remote=^put$ -- /bin/true", "LD_PRELOAD='" DOMAINS_NEXT "'");
  EXPECT_EQ(r.status, 0) << r.said;
}

TEST_F(domains_command, another_interposer_behind_the_library_still_sees_calls) {
  for (const std::string way : {"linked", "dlsym", "table"}) {
    for (const std::string more : {"", " INTERPOSER_ASKS_DRIVER=1"}) {
      const result r =
          command("apply --force --remote=^put$" PROGRAM + way + " small put", "LD_PRELOAD='" DOMAINS_INTERPOSER "'" + more);
      EXPECT_EQ(r.log, "seen\nplain small domain=-1 map=-1,-1 attributes=0\nex put domain=1 map=-1,-1 attributes=1\n")
          << way << more << r.said;
    }
  }
}

TEST_F(domains_command, a_child_that_is_forked_while_another_thread_launches_does_not_hang) {
  const result r = command("apply --force --remote=^put$" PROGRAM "linked fork/busy", "FAKE_DRIVER_QUIET=1");
  EXPECT_EQ(r.status, 0) << r.said;
}

TEST_F(domains_command, two_threads_do_not_share_a_counter) {
  const result r = command("apply --force --remote=^put$ -- sh -c '\"" DOMAINS_PROGRAM
                           "\" table small/threads && cp \"$MEMBAR_DOMAINS_FOLDER\"/*.state kept'",
                           "FAKE_DRIVER_QUIET=1");
  EXPECT_NE(r.said.find("2,000 launches"), std::string::npos) << r.said;
  const std::string kept = text_of(folder_ / "kept");
  membar_domains::process_state state;
  ASSERT_EQ(kept.size(), sizeof state);
  std::memcpy(static_cast<void*>(&state), kept.data(), sizeof state);
  EXPECT_EQ(std::ranges::count_if(state.threads, [](const auto& each) { return each.launches == 1000; }), 2);
}

TEST_F(domains_command, a_program_with_the_address_sanitizer_gets_the_reason_why_it_does_not_start) {
  const fs::path source = file("sanitized.cpp", "int main() {}\n");
  if (std::system(("c++ -fsanitize=address -shared-libasan -o '" + (folder_ / "sanitized").string() + "' '" + source.string() +
                   "' 2> /dev/null || c++ -fsanitize=address -o '" + (folder_ / "sanitized").string() + "' '" +
                   source.string() + "'")
                      .c_str()) != 0) {
    GTEST_SKIP() << "the compiler has no address sanitizer";
  }
  const result r = command("apply --force --remote=^put$ -- ./sanitized");
  EXPECT_NE(r.status, 0) << r.said;
  EXPECT_NE(r.said.find("'./sanitized' is built with AddressSanitizer, which requires that its library is loaded first"),
            std::string::npos)
      << r.said;
  EXPECT_EQ(command("apply --force --remote=^put$ -- ./sanitized", "ASAN_OPTIONS=verify_asan_link_order=0").status, 0)
      << "the remedy";
}

TEST(domains_library, every_function_of_its_table_is_exported) {
  void* const library =
      dlopen((fs::path(MEMBAR_DOMAINS).parent_path() / "libmembar_domains.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* symbol : {
#define MEMBAR_HOOK(symbol, since, before, handler) #symbol,
#include "membar-domains/preload/hooks.def"
#undef MEMBAR_HOOK
           "InitializeInjection"}) {
    EXPECT_NE(dlsym(library, symbol), nullptr) << symbol;
  }
}

}  // namespace
