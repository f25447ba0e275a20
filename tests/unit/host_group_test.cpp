// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes of one host that find each other: real ones, which the tests fork.
#include <membar/symmetric/host_group.hpp>

#include <tests/common/forked_processes.hpp>
#include <tests/common/pe_threads.hpp>
#include <tests/common/refusal.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {
namespace groups {

namespace symmetric = membar::symmetric;
using membar_test::processes, membar_test::refusal, membar_test::says, membar_test::unless_refused;
using std::chrono::milliseconds;
using symmetric::host_group, symmetric::rendezvous;

constexpr milliseconds budget{10'000}, hardly{200};

class host_groups : public ::testing::Test {
 protected:
  void expect_all(const std::vector<int>& codes, const std::vector<int>& wanted) { EXPECT_EQ(codes, wanted); }
  void TearDown() override { EXPECT_FALSE(std::filesystem::exists(where.directory)) << "something was left behind"; }
  rendezvous where = symmetric::make_rendezvous();
};

TEST_F(host_groups, gather_a_number_of_every_process) {
  for (const int code : processes(5, [&](int rank) {
         host_group all = host_group::join(where, rank, 5, budget);
         for (unsigned long long round = 0; round != 200; ++round) {
           const auto got = all.all_gather(1000 * round + static_cast<unsigned>(rank));
           for (unsigned long long i = 0; i != 5; ++i) {
             if (got.size() != 5 || got[i] != 1000 * round + i) {
               return 1;
             }
           }
         }
         return 0;
       })) {
    EXPECT_EQ(code, 0);
  }
}

TEST_F(host_groups, hand_files_to_every_process) {
  for (const int code : processes(4, [&](int rank) {
         host_group all = host_group::join(where, rank, 4, budget);
         const symmetric::owned_file mine(memfd_create("membar", MFD_CLOEXEC));
         char text = static_cast<char>('a' + rank);
         if (::pwrite(mine.get(), &text, 1, 0) != 1) {
           return 1;
         }
         const auto files = all.all_gather_files(mine.get());
         for (int i = 0; i != 4; ++i) {
           if (::pread(files[static_cast<std::size_t>(i)].get(), &text, 1, 0) != 1 || text != 'a' + i) {
             return 2;
           }
         }
         host_group::handle own{};
         own.bytes[63] = static_cast<unsigned char>(rank);
         return all.all_gather_handles(own)[3].bytes[63] == 3 ? 0 : 3;
       })) {
    EXPECT_EQ(code, 0);
  }
}

TEST_F(host_groups, meet_by_a_callback_of_the_program) {
  EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
  membar_test::gathering_threads own(3);
  std::vector<rendezvous> found(3);
  const auto thrown = membar_test::thrown_by_pes(
      3, [&](int rank) { found[static_cast<std::size_t>(rank)] = symmetric::shared_rendezvous(rank, own.callback(rank)); });
  EXPECT_EQ(thrown, std::vector<std::string>(3));
  where = found[2];
  EXPECT_EQ(found[0].directory, where.directory);
  EXPECT_EQ(found[1].token, where.token);
  EXPECT_EQ(where.token.size(), 32U);
  expect_all(processes(3,
                       [&](int rank) {
                         host_group all = host_group::join(found[static_cast<std::size_t>(rank)], rank, 3, budget);
                         return all.all_gather(static_cast<unsigned>(rank))[2] == 2 ? 0 : 1;
                       }),
             {0, 0, 0});
}

TEST_F(host_groups, say_everywhere_that_the_first_could_make_no_rendezvous) {
  EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string kept = before == nullptr ? "" : before;
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", "/nowhere", 1), 0);
  membar_test::gathering_threads own(2);
  const auto thrown = membar_test::thrown_by_pes(
      2, [&](int rank) { static_cast<void>(symmetric::shared_rendezvous(rank, own.callback(rank))); });
  EXPECT_EQ(before == nullptr ? ::unsetenv("XDG_RUNTIME_DIR") : ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1), 0);
  EXPECT_TRUE(says(thrown[0], "no directory /nowhere/membar-rendezvous."));
  EXPECT_TRUE(says(thrown[1], "PE 0 could not make a rendezvous"));
}

TEST_F(host_groups, of_one_process_need_no_other) {
  host_group alone = host_group::join(where, 0, 1, budget);
  EXPECT_EQ(alone.all_gather(7), std::vector<unsigned long long>{7});
}

/// A group of four of which PE 2 is killed; what the others find wrong.
std::vector<int> one_killed_of_four(const rendezvous& where) {
  return processes(4, [&](int rank) {
    host_group all = host_group::join(where, rank, 4, budget);
    static_cast<void>(all.all_gather(1));
    if (rank == 2) {
      ::raise(SIGKILL);
    }
    const auto begin = std::chrono::steady_clock::now();
    int code = unless_refused("PE 2 of the group has ended", [&] { static_cast<void>(all.all_gather(2)); });
    code += unless_refused("PE 2 of the group has ended", [&] { static_cast<void>(all.all_gather(3)); });
    return std::chrono::steady_clock::now() - begin < budget ? code : 3;
  });
}

TEST_F(host_groups, tell_every_process_at_once_that_one_was_killed) { expect_all(one_killed_of_four(where), {0, 0, -1, 0}); }

TEST_F(host_groups, name_the_killed_one_though_others_left_with_letters_unread) {
  expect_all(one_killed_of_four(where), {0, 0, -1, 0});
  for (int group = 1; group != 64; ++group) {  // the race is on in one of ten
    expect_all(one_killed_of_four(symmetric::make_rendezvous()), {0, 0, -1, 0});
  }
}

TEST_F(host_groups, tell_that_the_first_process_was_killed) {
  expect_all(processes(3,
                       [&](int rank) {
                         host_group all = host_group::join(where, rank, 3, budget);
                         if (rank == 0) {
                           ::raise(SIGKILL);
                         }
                         return unless_refused("PE 0 of the group has ended", [&] { static_cast<void>(all.all_gather(2)); });
                       }),
             {-1, 0, 0});
}

TEST_F(host_groups, notice_an_end_without_a_collective_call) {
  expect_all(processes(2,
                       [&](int rank) {
                         host_group all = host_group::join(where, rank, 2, budget);
                         if (rank == 1) {
                           return 0;
                         }
                         for (;;) {  // ends by what is tested, or by the deadline of the processes
                           const std::string sentence = refusal([&] { all.require_all(); });
                           if (!sentence.empty()) {
                             return sentence.find("PE 1 of the group has ended") != sentence.npos ? 0 : 1;
                           }
                         }
                       }),
             {0, 0});
}

TEST_F(host_groups, notice_at_once_that_one_was_killed_whose_child_lives) {
  for (const bool calls : {false, true}) {
    where = calls ? symmetric::make_rendezvous() : where;
    membar_test::meeting noticed;
    expect_all(processes(2,
                         [&](int rank) {
                           host_group all = host_group::join(where, rank, 2, budget);
                           if (rank == 1) {
                             if (::fork() == 0) {  // has its sockets
                               std::_Exit(noticed.wait_for(1) ? 0 : 1);
                             }
                             ::raise(SIGKILL);
                           }
                           const auto begin = std::chrono::steady_clock::now();
                           std::string sentence;
                           while (sentence.empty()) {
                             sentence = refusal([&] { calls ? static_cast<void>(all.all_gather(1)) : all.require_all(); });
                           }
                           noticed.come();
                           EXPECT_TRUE(says(sentence, "PE 1 of the group has ended"));
                           return std::chrono::steady_clock::now() - begin < budget / 2 && !HasFailure() ? 0 : 1;
                         }),
               {0, -1});
  }
}

TEST_F(host_groups, wait_without_a_limit) {
  expect_all(processes(2,
                       [&](int rank) {
                         host_group all = host_group::join(where, rank, 2, milliseconds::max());
                         return all.all_gather(1).size() == 2 ? 0 : 1;
                       }),
             {0, 0});
}

TEST_F(host_groups, name_to_all_who_does_not_come) {
  membar_test::meeting given_up;  // whoever ends before all have given up is named instead
  expect_all(processes(3,
                       [&](int rank) {
                         host_group all = host_group::join(where, rank, 3, rank == 1 ? budget : milliseconds(1000));
                         int wrong = 0;
                         if (rank != 1) {
                           wrong = unless_refused("PE 1 of the group did not come to a collective call within 1000 ms",
                                                  [&] { static_cast<void>(all.all_gather(2)); });
                           given_up.come();
                         }
                         return given_up.wait_for(2) ? wrong : 1;
                       }),
             {0, 0, 0});
}

TEST_F(host_groups, name_who_makes_another_call) {
  expect_all(processes(2,
                       [&](int rank) {
                         host_group all = host_group::join(where, rank, 2, budget);
                         return unless_refused("makes another collective call", [&] {
                           if (rank == 0) {
                             static_cast<void>(all.all_gather(1));
                           } else {
                             static_cast<void>(all.all_gather_handles({}));
                           }
                         });
                       }),
             {0, 0});
}

TEST_F(host_groups, refuse_another_token) {
  expect_all(processes(2,
                       [&](int rank) {
                         rendezvous mine = where;
                         if (rank == 1) {
                           mine.token[0] = mine.token[0] == 'x' ? 'y' : 'x';
                           return unless_refused("PE 1 has another token than PE 0",
                                                 [&] { static_cast<void>(host_group::join(mine, 1, 2, budget)); });
                         }
                         return unless_refused("PE 1 did not join the group of 2 within 1000 ms",
                                               [&] { static_cast<void>(host_group::join(mine, 0, 2, milliseconds(1000))); });
                       }),
             {0, 0});
}

TEST_F(host_groups, refuse_another_size_and_a_rank_that_has_joined) {
  std::vector<int> codes = processes(4, [&](int process) {
    if (process == 3) {
      return unless_refused("PE 1 was started in a group of 4",
                            [&] { static_cast<void>(host_group::join(where, 1, 4, budget)); });
    }
    const int rank = process == 0 ? 0 : 1;  // two are PE 1, and nobody is PE 2
    const std::string sentence = refusal([&] { static_cast<void>(host_group::join(where, rank, 3, milliseconds(3000))); });
    const auto said = [&](const char* words) { return sentence.find(words) != sentence.npos; };
    return said("PE 2 did not join the group of 3") ? 0
           : said("PE 1 joined its group twice")    ? 10
           : said("PE 1 joined, and PE 0")          ? 11
                                                    : 1;
  });
  std::sort(codes.begin(), codes.end());
  expect_all(codes, {0, 0, 10, 11});
}

TEST_F(host_groups, take_a_directory_of_their_own_alone) {
  ASSERT_EQ(::chmod(where.directory.c_str(), 0750), 0);
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join(where, rank, 2, hardly)); }),
                     "is no directory of this user alone: make one with mode 0700"));
  }
  EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
}

TEST_F(host_groups, refuse_another_user) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can start a process of another user";
  }
  expect_all(processes(1,
                       [&](int) {
                         if (::setuid(65534) != 0) {
                           return 2;
                         }
                         int wrong = 0;
                         for (const int rank : {0, 1}) {
                           wrong += unless_refused("is no directory of this user alone",
                                                   [&] { static_cast<void>(host_group::join(where, rank, 2, hardly)); });
                         }
                         return wrong;
                       }),
             {0});
  EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
}

TEST_F(host_groups, take_a_path_and_a_token_that_fit) {
  EXPECT_TRUE(
      says(refusal([&] { static_cast<void>(host_group::join({where.directory + std::string(100, 'x'), ""}, 0, 2, hardly)); }),
           "and a socket's has 107 at most"));
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join({where.directory, std::string(65, 'x')}, 0, 2, hardly)); }),
                   "a token of 65 characters: use 64 at most"));
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join(where, 2, 2, hardly)); }), "PE 2 of a group of 2"));
  EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
}

TEST_F(host_groups, name_the_first_process_if_it_does_not_come) {
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join(where, 1, 2, hardly)); }),
                   "PE 0 did not open the rendezvous in " + where.directory + " within 200 ms"));
}

TEST_F(host_groups, remove_what_a_killed_first_process_left) {
  expect_all(processes(2,
                       [&](int rank) {
                         if (rank == 0) {
                           // Killed while it waits: the other one says hello only after that.
                           ::alarm(1);
                           ::signal(SIGALRM, SIG_DFL);
                           static_cast<void>(host_group::join(where, 0, 2, budget));
                         }
                         while (!std::filesystem::exists(where.directory + "/group")) {
                         }
                         return unless_refused("PE 0", [&] {
                           static_cast<void>(host_group::join({where.directory, "other"}, 1, 3, milliseconds(3000)));
                         });
                       }),
             {-1, 0});
  // The next rendezvous there, or whoever waits in vain, removes the socket.
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join(where, 1, 2, hardly)); }), "PE 0 did not open"));
}

TEST_F(host_groups, remove_what_a_first_process_left_that_was_killed_when_they_had_come) {
  expect_all(processes(2,
                       [&](int rank) {
                         if (rank == 0) {
                           const auto files = [] {
                             return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
                           };
                           const std::jthread killer([files, before = files()] {
                             while (files() < before + 2) {  // where it listens, and PE 1
                             }
                             ::kill(::getpid(), SIGKILL);
                           });
                           static_cast<void>(host_group::join(where, 0, 3, budget));
                         }
                         return unless_refused("PE 0 ended before the group was complete",
                                               [&] { static_cast<void>(host_group::join(where, 1, 3, budget)); });
                       }),
             {-1, 0});
}

}  // namespace groups
}  // namespace
