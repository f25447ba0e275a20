// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How processes release symmetric memory: when an exception is thrown, with close(), in any order, and at exit. The tests run
// real processes on fake devices.
#include <membar/symmetric/process_memory.hpp>

#include <tests/common/fake_processes.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
namespace leaving {

namespace symmetric = membar::symmetric;
using clock = std::chrono::steady_clock;
using fake_cuda::now;
using membar_test::fake_processes, membar_test::group_budget, membar_test::meeting, membar_test::processes,
    membar_test::refusal, membar_test::says, membar_test::unless_refused;
using symmetric::adopted_backend, symmetric::host_group, symmetric::pe, symmetric::process_memory, symmetric::scoped_array;

constexpr std::size_t size = 100'000;
constexpr std::chrono::milliseconds at_once{1000};
static_assert(at_once < group_budget);

/// All of a process's symmetric-memory objects, as members of a library's class.
class engine {
 public:
  /// `before(step)` is called before each part is created, and may throw.
  engine(
      const symmetric::rendezvous& where, int rank, int count, const std::function<void(int)>& before = [](int) {})
      : self(rank), group(host_group::join(where, rank, count, group_budget)) {
    before(0);
    memory.emplace(*group, size);
    before(1);
    gpus.emplace(memory->memory(), group->callback());
    before(2);
    heap.emplace(*gpus, size);
    before(3);
    first.emplace(heap->allocate<int>(64));
    before(4);
    second.emplace(heap->allocate<int>(64));
  }

  pe self;
  std::optional<host_group> group;
  std::optional<process_memory> memory;
  std::optional<adopted_backend> gpus;
  std::optional<symmetric::heap<adopted_backend>> heap;
  std::optional<scoped_array<int, adopted_backend>> first, second;
};

/// Returns whether everything was released and nothing was reported.
bool all_is_clean() { return now().clean() && now().shared.empty() && now().failures.empty(); }

/// Returns 0 if the call is rejected with these words within a second.
template <class Call>
int unless_refused_at_once(const char* words, Call call) {
  const auto begin = clock::now();
  const int wrong = unless_refused(words, call);
  return wrong + (clock::now() - begin < at_once ? 0 : 2);
}

class processes_that_leave : public fake_processes {};

TEST_F(processes_that_leave, after_an_exception_that_was_caught_end_at_once_and_tell_the_others) {
  for (const int left : {0, 1, 2}) {
    where = left == 0 ? where : symmetric::make_rendezvous();
    meeting noticed;
    EXPECT_EQ(processes(3,
                        [&](int rank) {
                          membar::check(cudaSetDevice(rank));
                          auto group = host_group::join(where, rank, 3, group_budget);
                          const process_memory memory(group, size);
                          std::optional<adopted_backend> gpus(std::in_place, memory.memory(), group.callback());
                          std::optional<symmetric::heap<adopted_backend>> heap(std::in_place, *gpus, size);
                          std::optional<scoped_array<int, adopted_backend>> words(std::in_place, heap->allocate<int>(8));
                          if (rank == left) {
                            // A Python exception is caught before the objects in its frames are destroyed.
                            const auto begin = clock::now();
                            words.reset();
                            heap.reset();
                            gpus.reset();
                            const bool prompt = clock::now() - begin < at_once;
                            return prompt && noticed.wait_for(2) && now().failures.empty() ? 0 : 1;
                          }
                          const std::string words_of_it = "PE " + std::to_string(left) + " of the group has left";
                          const int wrong =
                              unless_refused_at_once(words_of_it.c_str(), [&] { static_cast<void>(heap->allocate<int>(8)); });
                          noticed.come();
                          return wrong;
                        }),
              (std::vector<int>{0, 0, 0}));
  }
}

TEST_F(processes_that_leave, are_noticed_while_a_kernel_runs) {
  for (const bool exits : {false, true}) {
    where = exits ? symmetric::make_rendezvous() : where;
    meeting noticed;
    EXPECT_EQ(processes(2,
                        [&](int rank) {
                          membar::check(cudaSetDevice(rank));
                          engine all(where, rank, 2);
                          if (rank == 1) {
                            if (exits) {
                              return 0;
                            }
                            all.heap.reset();
                            all.gpus.reset();
                            return noticed.wait_for(1) ? 0 : 1;
                          }
                          now().null_stream.busy = true;  // A kernel that waits for PE 1.
                          const int wrong =
                              unless_refused_at_once(exits ? "PE 1 of the group has ended" : "PE 1 of the group has left",
                                                     [&] { all.group->synchronize(nullptr); });
                          noticed.come();
                          now().null_stream.busy = false;
                          return wrong;
                        }),
              (std::vector<int>{0, 0}));
  }
}

TEST_F(processes_that_leave, when_all_work_is_done_are_no_error) {
  meeting left;
  EXPECT_EQ(processes(2,
                      [&](int rank) {
                        membar::check(cudaSetDevice(rank));
                        engine all(where, rank, 2);
                        if (rank == 1) {
                          all.heap.reset();
                          all.gpus.reset();
                          left.come();
                          return 0;
                        }
                        static_cast<void>(left.wait_for(1));
                        all.group->synchronize(nullptr);  // waits until the kernel has ended
                        return 0;
                      }),
            (std::vector<int>{0, 0}));
}

TEST_F(processes_that_leave, may_end_their_objects_in_any_order) {
  ASSERT_EQ(::rmdir(where.directory.c_str()), 0);
  std::vector<symmetric::rendezvous> all_where(24);
  std::generate(all_where.begin(), all_where.end(), symmetric::make_rendezvous);
  EXPECT_EQ(processes(2,
                      [&](int rank) {
                        membar::check(cudaSetDevice(rank));
                        std::array<int, 5> order{0, 1, 2, 3, 4};
                        std::mt19937 random(7);  // the same order in both processes
                        for (const symmetric::rendezvous& each : all_where) {
                          engine all(each, rank, 2);
                          const std::function<void()> ends[] = {[&] { all.first.reset(); }, [&] { all.heap.reset(); },
                                                                [&] { all.gpus.reset(); }, [&] { all.memory.reset(); },
                                                                [&] { all.group.reset(); }};
                          for (std::size_t k = 0; k != order.size(); ++k) {
                            ends[order[rank == 0 ? k : order.size() - 1 - k]]();
                          }
                          all.second.reset();
                          std::shuffle(order.begin(), order.end(), random);
                          if (!all_is_clean()) {
                            return 1;
                          }
                        }
                        return 0;
                      }),
            (std::vector<int>{0, 0}));
}

TEST_F(processes_that_leave, by_an_exception_during_construction_are_noticed_at_once) {
  for (int step = 0; step != 5; ++step) {
    where = step == 0 ? where : symmetric::make_rendezvous();
    meeting noticed;
    EXPECT_EQ(processes(3,
                        [&](int rank) {
                          membar::check(cudaSetDevice(rank));
                          if (rank == 1) {
                            const auto begin = clock::now();
                            try {
                              const engine none(where, rank, 3, [&](int now_at) {
                                if (now_at == step) {
                                  throw std::runtime_error("of the program");
                                }
                              });
                              return 1;
                            } catch (const std::runtime_error&) {
                            }
                            return clock::now() - begin < at_once && noticed.wait_for(2) && all_is_clean() ? 0 : 1;
                          }
                          const int wrong =
                              unless_refused_at_once("PE 1 of the group has ", [&] { const engine none(where, rank, 3); });
                          noticed.come();
                          return wrong + (all_is_clean() ? 0 : 4);
                        }),
              (std::vector<int>{0, 0, 0}));
  }
}

TEST_F(processes_that_leave, at_their_exit_are_silent_whatever_the_driver_answers_by_then) {
  meeting noticed;
  EXPECT_EQ(processes(2,
                      [&](int rank) {
                        membar::check(cudaSetDevice(rank));
                        if (rank == 1) {
                          static std::unique_ptr<engine> of_the_interpreter;
                          of_the_interpreter = std::make_unique<engine>(where, rank, 2);
                          for (const char* const call : {"cudaDeviceSynchronize", "cudaGetDevice", "cudaSetDevice", "cudaFree",
                                                         "cuMemUnmap", "cuMemAddressFree", "cuMemRelease"}) {
                            now().fails[call] = {.code = cudaErrorCudartUnloading};
                          }
                          of_the_interpreter.reset();
                          return now().failures.empty() && noticed.wait_for(1) ? 0 : 1;
                        }
                        engine all(where, rank, 2);
                        const int wrong = unless_refused_at_once("PE 1 of the group has ",
                                                                 [&] { static_cast<void>(all.heap->allocate<int>(8)); });
                        noticed.come();
                        return wrong;
                      }),
            (std::vector<int>{0, 0}));
}

TEST_F(processes_that_leave, by_close_meet_and_say_what_failed) {
  expect_success(3, [](host_group& group, int rank) {
    const process_memory memory(group, size);
    adopted_backend gpus(memory.memory(), group.callback());
    symmetric::heap heap(gpus, size);
    scoped_array words(heap.allocate<int>(8));
    const auto other = heap.allocate<int>(8);
    int wrong = unless_refused("PE 0 has 2 allocations that were not freed", [&] { heap.close(); });
    if (rank == 1) {
      now().fails["cudaDeviceSynchronize"] = {.code = cudaErrorIllegalAddress, .times = 1};
    }
    wrong += unless_refused("failed on PE 1 with cudaErrorIllegalAddress", [&] { words.close(); });
    now().waited_for.clear();
    words.close();
    words.close();
    wrong += now().waited_for == std::vector<int>{rank} ? 0 : 2;
    wrong += unless_refused("a symmetric array was used after its close()", [&] { static_cast<void>(words.on(pe(rank))); });
    heap.free(other);
    heap.close();
    return wrong + (heap.bytes_taken() == 0 ? 0 : 4);
  });
}

TEST_F(processes_that_leave, free_what_all_have_let_go_once_their_kernels_have_ended) {
  expect_success(3, [](host_group& group, int rank) {
    const process_memory memory(group, size);
    adopted_backend gpus(memory.memory(), group.callback());
    symmetric::heap heap(gpus, size);
    std::size_t place = 0;
    now().waited_for.clear();
    {
      const scoped_array words(heap.allocate<int>(8));
      place = words.offset();
    }
    int wrong = now().waited_for.empty() && heap.bytes_taken() != 0 ? 0 : 1;
    {
      const scoped_array next(heap.allocate<int>(8));
      wrong += next.offset() == place && now().waited_for == std::vector<int>{rank} ? 0 : 2;
    }
    if (rank == 2) {
      now().fails["cudaDeviceSynchronize"] = {.code = cudaErrorIllegalAddress, .times = 1};
    }
    return wrong + unless_refused("an earlier kernel that used symmetric memory failed on PE 2",
                                  [&] { static_cast<void>(heap.allocate<int>(8)); });
  });
}

TEST_F(processes_that_leave, a_backend_may_use_the_group_again) {
  expect_success(2, [](host_group& group, int rank) {
    const process_memory memory(group, size);
    for (int round = 0; round != 50; ++round) {
      adopted_backend gpus(memory.memory(), group.callback());
      symmetric::heap heap(gpus, size);
      const scoped_array words(heap.allocate<int>(8));
      words.on(pe(rank)).local()[0] = round;
    }
    return 0;
  });
}

TEST_F(processes_that_leave, may_move_their_group_and_end_it_before_its_callbacks) {
  expect_success(2, [](host_group& group, int) {
    const auto all = group.callback();
    std::optional<host_group> moved(std::move(group));
    int wrong = all(7) == std::vector<unsigned long long>{7, 7} ? 0 : 1;
    static_cast<void>(moved->all_gather(0));
    moved.reset();
    return wrong + unless_refused("was called after the group was destroyed", [&] { static_cast<void>(all(7)); });
  });
}

TEST_F(processes_that_leave, have_children_that_do_not) {
  expect_success(2, [](host_group& group, int) {
    auto all = std::make_unique<std::function<std::vector<unsigned long long>(unsigned long long)>>(group.callback());
    const int code = processes(1, [&](int) {
      all.reset();  // affects only the child
      return 0;
    })[0];
    return (*all)(1).size() == 2 ? code : 1;
  });
}

TEST_F(processes_that_leave, are_named_where_they_never_come) {
  meeting given_up;
  EXPECT_EQ(processes(3,
                      [&](int rank) {
                        membar::check(cudaSetDevice(rank));
                        engine all(where, rank, 3);
                        int wrong = 0;
                        if (rank != 1) {
                          if (rank == 0) {  // PE 2, which has a long budget, learns from PE 0 that PE 1 is late.
                            all.group->set_budget(std::chrono::milliseconds(1));
                          }
                          wrong = unless_refused_at_once("PE 1 of the group did not reach a collective call within ",
                                                         [&] { static_cast<void>(all.heap->allocate<int>(8)); });
                          given_up.come();
                        }
                        return given_up.wait_for(2) ? wrong : 1;
                      }),
            (std::vector<int>{0, 0, 0}));
}

}  // namespace leaving
}  // namespace
