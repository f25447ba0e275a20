// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Real processes with fake devices, whose memory is in files.
#pragma once

#include <membar/symmetric/adopted_backend.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/host_group.hpp>

#include <tests/common/forked_processes.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace membar_test {

inline constexpr std::chrono::milliseconds group_budget{10'000};

class fake_processes : public fake_cuda::test {
 protected:
  ~fake_processes() override { remove_unused_directory(); }

  /// Runs `body(group, rank)` in `count` processes, each on its own device. At the end, all resources must have been released.
  template <class Body>
  void expect_success(int count, Body body) {
    for (const int code : processes(count, [&](int rank) {
           membar::check(cudaSetDevice(rank));
           auto group = membar::symmetric::host_group::join(where, rank, count, group_budget);
           const int found = body(group, rank);
           return found != 0                                                                                         ? found
                  : fake_cuda::now().clean() && fake_cuda::now().shared.empty() && fake_cuda::now().failures.empty() ? 0
                                                                                                                     : 99;
         })) {
      EXPECT_EQ(code, 0) << "99: a resource was not released; standard error has the details";
    }
  }
  /// Creates a rendezvous for another group.
  void make_another_rendezvous() {
    remove_unused_directory();
    where = membar::symmetric::make_rendezvous();
  }
  membar::symmetric::rendezvous where = membar::symmetric::make_rendezvous();

 private:
  /// The directory no longer exists after a group has met in it.
  void remove_unused_directory() noexcept { static_cast<void>(::rmdir(where.directory.c_str())); }
};

/// Creates a heap of `bytes` bytes in this memory. Returns 0 if each process sees what the others write there.
template <class Memory>
int passes_on(membar::symmetric::host_group& group, const Memory& memory, std::size_t bytes) {
  using membar::symmetric::pe;
  membar::symmetric::adopted_backend backend(memory.memory(), group.callback());
  membar::symmetric::heap heap(backend, bytes);
  const int rank = group.rank();
  const auto words = heap.template allocate<int>(100);
  const auto mine = words.on(pe(rank));
  for (int other = 0; other != group.count(); ++other) {
    mine.at(pe(other)).data()[rank] = 100 * rank + other;
  }
  static_cast<void>(group.all_gather(0));
  for (int other = 0; other != group.count(); ++other) {
    if (mine.local()[other] != 100 * other + rank) {
      std::fprintf(stderr, "PE %d has %d from PE %d\n", rank, mine.local()[other], other);
      return 1;
    }
  }
  heap.free(words);
  return 0;
}

}  // namespace membar_test
