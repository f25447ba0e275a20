// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Lets host threads that have no work of their own help with the parts of a schedule.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace membar::sanitize {

class crew {
 public:
  /// Creates a crew for `busy` host threads that have work of their own.
  explicit crew(int busy = 1) : busy_(busy) {}

  /// Calls `one` with each number below `count`, on this thread and on the threads that help. `one` must not throw.
  void perform(std::size_t count, const std::function<void(std::size_t)>& one) {
    job mine{&one, count};
    std::unique_lock lock(mutex_);
    jobs_.push_back(&mine);
    changed_.notify_all();
    while (mine.next < mine.count) {
      perform_next(mine, lock);
    }
    changed_.wait(lock, [&] { return mine.done == mine.count; });
    std::erase(jobs_, &mine);
  }

  /// Called when this thread has no more work of its own. The thread helps the others until none of them has work.
  void help() {
    std::unique_lock lock(mutex_);
    --busy_;
    changed_.notify_all();
    while (true) {
      job* next = nullptr;
      changed_.wait(lock, [&] {
        for (job* const j : jobs_) {
          next = j->next < j->count ? j : next;
        }
        return next != nullptr || busy_ == 0;
      });
      if (next == nullptr) {
        return;
      }
      perform_next(*next, lock);
    }
  }

 private:
  struct job {
    const std::function<void(std::size_t)>* one;
    std::size_t count;
    std::size_t next = 0;
    std::size_t done = 0;
  };

  void perform_next(job& j, std::unique_lock<std::mutex>& lock) {
    const std::size_t k = j.next++;
    lock.unlock();
    (*j.one)(k);
    lock.lock();
    if (++j.done == j.count) {
      changed_.notify_all();
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  int busy_;
  std::vector<job*> jobs_{};
};

}  // namespace membar::sanitize
