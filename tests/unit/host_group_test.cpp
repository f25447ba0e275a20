// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How processes on one host find each other. The tests fork real processes.
#include <membar/symmetric/host_group.hpp>

#include <tests/common/forked_processes.hpp>
#include <tests/common/pe_threads.hpp>
#include <tests/common/refusal.hpp>

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

constexpr milliseconds budget{10'000}, hardly{1};

class host_groups : public ::testing::Test {
 protected:
  void expect_all(const std::vector<int>& codes, const std::vector<int>& wanted) { EXPECT_EQ(codes, wanted); }
  void TearDown() override {
    EXPECT_FALSE(std::filesystem::exists(where.directory)) << "the directory of the rendezvous was left behind";
  }
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
  EXPECT_TRUE(says(thrown[0], "the directory /nowhere/membar-rendezvous."));
  EXPECT_TRUE(says(thrown[1], "PE 0 could not create a rendezvous"));
}

TEST_F(host_groups, of_one_process_need_no_other) {
  host_group alone = host_group::join(where, 0, 1, budget);
  EXPECT_EQ(alone.all_gather(7), std::vector<unsigned long long>{7});
}

/// Kills PE 2 in a group of four processes. Returns the errors that the other processes report.
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
  for (int group = 1; group != 64; ++group) {  // The race happens in about one in ten runs.
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
                         for (;;) {  // This process ends either because of the tested behaviour or at the processes' deadline.
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
                             if (::fork() == 0) {  // the child has the PE's sockets
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

TEST_F(host_groups, name_who_makes_another_call) {
  expect_all(processes(2,
                       [&](int rank) {
                         host_group all = host_group::join(where, rank, 2, budget);
                         return unless_refused("makes a different collective call", [&] {
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
  membar_test::meeting refused;
  expect_all(processes(3,
                       [&](int process) {
                         rendezvous mine = where;
                         if (process == 2) {
                           mine.token[0] = mine.token[0] == 'x' ? 'y' : 'x';
                           const int wrong = unless_refused("PE 1 has a different token than PE 0",
                                                            [&] { static_cast<void>(host_group::join(mine, 1, 2, budget)); });
                           refused.come();
                           return wrong;
                         }
                         if (process == 1 && !refused.wait_for(1)) {
                           return 2;
                         }
                         return host_group::join(mine, process, 2, budget).count() == 2 ? 0 : 1;
                       }),
             {0, 0, 0});
}

TEST_F(host_groups, refuse_another_size_and_a_rank_that_has_joined) {
  membar_test::meeting refused;
  std::vector<int> codes = processes(5, [&](int process) {
    if (process == 4) {
      const int wrong =
          unless_refused("PE 1 was started in a group of 4", [&] { static_cast<void>(host_group::join(where, 1, 4, budget)); });
      refused.come();
      return wrong;
    }
    if (process == 3 && !refused.wait_for(2)) {
      return 2;
    }
    const int rank = process == 0 ? 0 : process == 3 ? 2 : 1;  // two processes are PE 1
    const std::string sentence = refusal([&] { static_cast<void>(host_group::join(where, rank, 3, budget)); });
    if (sentence.find("PE 1 joined its group twice") != sentence.npos) {
      refused.come();
      return 10;
    }
    return sentence.empty() ? 0 : 1;
  });
  std::sort(codes.begin(), codes.end());
  expect_all(codes, {0, 0, 0, 0, 10});
}

TEST_F(host_groups, tell_a_process_that_is_later_than_the_budget_that_it_was_too_late) {
  membar_test::meeting given_up;
  expect_all(processes(2,
                       [&](int rank) {
                         host_group all = host_group::join(where, rank, 2, budget);
                         if (rank == 0) {
                           all.set_budget(hardly);
                         } else if (!given_up.wait_for(1)) {
                           return 2;
                         }
                         const int wrong = unless_refused("PE 1 of the group did not reach a collective call within",
                                                          [&] { static_cast<void>(all.all_gather(1)); });
                         given_up.come();
                         return wrong;
                       }),
             {0, 0});
}

/// Returns the result of `body` in a process in its own PID namespace, or 77 if no such namespace can be created.
template <class Body>
int in_own_pid_namespace(Body body) {
  if (::unshare(CLONE_NEWPID) != 0) {
    return 77;
  }
  return processes(1, [&](int) { return body(); })[0];
}

TEST_F(host_groups, notice_the_end_of_a_process_of_another_pid_namespace) {
  if (processes(1, [](int) { return in_own_pid_namespace([] { return 0; }); })[0] == 77) {
    EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
    GTEST_SKIP() << "this user cannot create a PID namespace";
  }
  for (const bool calls : {false, true}) {
    where = calls ? symmetric::make_rendezvous() : where;
    expect_all(processes(3,
                         [&](int rank) {
                           const auto member = [&] {
                             const auto begin = std::chrono::steady_clock::now();
                             // The join is also rejected if another process notices that a process has ended before this
                             // process has joined.
                             const std::string sentence = refusal([&] {
                               host_group all = host_group::join(where, rank, 3, budget);
                               if (rank == 1) {
                                 std::_Exit(0);  // The process exits without destroying its objects.
                               }
                               for (;;) {
                                 calls ? static_cast<void>(all.all_gather(1)) : all.require_all();
                               }
                             });
                             return sentence.find("PE 1 of the group has ended") != sentence.npos &&
                                            std::chrono::steady_clock::now() - begin < budget / 2
                                        ? 0
                                        : 1;
                           };
                           return rank == 0 ? member() : in_own_pid_namespace(member);
                         }),
               {0, 0, 0});
  }
}

/// Uses up this process's file descriptors, except for `left` of them.
void use_up_descriptors(int left) {
  const rlimit few{128, 128};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) {
    std::_Exit(3);
  }
  std::vector<int> taken;
  for (int next = ::dup(0); next >= 0; next = ::dup(0)) {
    taken.push_back(next);
  }
  for (; left != 0; --left) {
    ::close(taken.back());
    taken.pop_back();
  }
}

/// Returns the messages from all three PEs if PE `poor` has only `left` free descriptors for joining and for receiving files.
std::vector<std::string> said_by_poor(const rendezvous& where, int poor, int left) {
  void* const memory = ::mmap(nullptr, 3 * 1024, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const sentences = static_cast<char*>(memory);
  const std::vector<int> codes = processes(3, [&](int rank) {
    if (rank == poor) {
      use_up_descriptors(left);
    }
    const auto begin = std::chrono::steady_clock::now();
    const std::string said = refusal([&] {
      host_group all = host_group::join(where, rank, 3, budget);
      for (const symmetric::owned_file& each : all.all_gather_files(0)) {
        if (!each) {
          std::_Exit(5);
        }
      }
      static_cast<void>(all.all_gather(1));
    });
    std::snprintf(sentences + 1024 * rank, 1024, "%s", said.c_str());
    return std::chrono::steady_clock::now() - begin < budget / 2 ? 0 : 4;
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0, 0}))
      << "code 5: a file was lost without an error; code 4: it took as long as a budget";
  std::vector<std::string> said(3);
  for (std::size_t i = 0; i != 3; ++i) {
    said[i] = sentences + 1024 * i;
  }
  ::munmap(memory, 3 * 1024);
  return said;
}

TEST_F(host_groups, without_descriptors_say_so_and_lose_no_file_in_silence) {
  EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
  for (int poor = 0; poor != 3; ++poor) {
    int refusals = 0;
    // With fewer descriptors, some processes do not receive the message.
    for (int left = poor == 0 ? 2 : 1; left != 14; ++left) {
      const rendezvous here = symmetric::make_rendezvous();
      const std::vector<std::string> said = said_by_poor(here, poor, left);
      const std::string& own = said[static_cast<std::size_t>(poor)];
      EXPECT_TRUE(own.empty() || own.find("descriptor left") != own.npos || own.find("close files") != own.npos ||
                  own.find("raise the limit on open files") != own.npos)
          << own;
      for (const std::string& each : said) {
        EXPECT_EQ(each.empty(), own.empty()) << "PE " << poor << " with " << left << ": " << own << " and " << each;
      }
      refusals += own.empty() ? 0 : 1;
      static_cast<void>(::rmdir(here.directory.c_str()));  // PE 0 may have had no socket with which to open the directory.
    }
    EXPECT_GE(refusals, 1) << "PE " << poor;
    EXPECT_LE(refusals, 12) << "PE " << poor << " needs more than thirteen descriptors";
  }
}

TEST_F(host_groups, take_a_directory_of_their_own_alone) {
  ASSERT_EQ(::chmod(where.directory.c_str(), 0750), 0);
  for (const int rank : {0, 1}) {
    EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join(where, rank, 2, hardly)); }),
                     "is not a directory that belongs only to this user: make one with mode 0700"));
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
                           wrong += unless_refused("is not a directory that belongs only to this user",
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
           "but a socket path can have at most 107"));
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join({where.directory, std::string(65, 'x')}, 0, 2, hardly)); }),
                   "has 65 characters: use at most 64"));
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join(where, 2, 2, hardly)); }), "PE 2 of a group of 2"));
  EXPECT_EQ(::rmdir(where.directory.c_str()), 0);
}

TEST_F(host_groups, name_the_first_process_if_it_does_not_come) {
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(host_group::join(where, 1, 2, hardly)); }),
                   "PE 0 did not open the rendezvous in " + where.directory + " within 1 ms"));
}

TEST_F(host_groups, remove_what_a_killed_first_process_left) {
  expect_all(processes(2,
                       [&](int rank) {
                         if (rank == 0) {
                           const std::jthread killer([&] {
                             while (!std::filesystem::exists(where.directory + "/group")) {
                             }
                             ::kill(::getpid(), SIGKILL);
                           });
                           static_cast<void>(host_group::join(where, 0, 2, budget));
                         }
                         while (!std::filesystem::exists(where.directory + "/group")) {
                         }
                         return unless_refused(
                             "PE 0", [&] { static_cast<void>(host_group::join({where.directory, "other"}, 1, 3, hardly)); });
                       }),
             {-1, 0});
  // The next rendezvous in this directory, or a process whose wait is unsuccessful, removes the socket.
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
                             while (files() < before + 2) {  // the socket on which it listens, and the connection of PE 1
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
