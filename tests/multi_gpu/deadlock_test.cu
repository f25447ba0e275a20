// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The catalogue of deadlocks on two GPUs. Programs that the recorder reports do hang, and corrected programs do not. Every
/// wait has a budget, so the tests continue in both cases.
#include <membar/co_residency.hpp>
#include <membar/device_guard.hpp>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/wait.cuh>

#include <tests/common/deadlock_catalogue.hpp>
#include <tests/common/gpu_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace membar_test {
namespace {

namespace symmetric = membar::symmetric;

using membar::wait_budget, membar::wait_result;
using membar::deadlock::handle;
using symmetric::add, symmetric::set, symmetric::signal, symmetric::barrier_word;
using symmetric::by_thread, symmetric::equals, symmetric::at_least;
using symmetric::object, symmetric::pe, symmetric::peer_backend, symmetric::span;

/// This must be set before CUDA starts. It gives each device a single hardware queue, so that all streams share it.
const int one_queue = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);

constexpr unsigned not_run = ~0U;

__device__ void report(unsigned* result, wait_result ended) { *result = static_cast<unsigned>(ended); }

__global__ void notify_set(object<signal<set>> signal, unsigned long long value, pe target) {
  notify(by_thread, signal, value, target);
}
__global__ void notify_add(object<signal<add>> signal, unsigned long long value, pe target) {
  notify(by_thread, signal, value, target);
}
__global__ void wait_set(object<signal<set>> signal, unsigned long long value, wait_budget budget, unsigned* result) {
  report(result, try_wait(by_thread, signal, equals(value), budget));
}
__global__ void wait_add(object<signal<add>> signal, unsigned long long value, wait_budget budget, unsigned* result) {
  report(result, try_wait(by_thread, signal, at_least(value), budget));
}
__global__ void meet(span<barrier_word> words, wait_budget budget, unsigned* result) {
  report(result, try_barrier(by_thread, words, budget));
}
/// The last block notifies, and the other blocks wait. Each block reports whether its wait timed out.
__global__ void notify_from_the_last_block(object<signal<add>> signal, pe target, wait_budget budget, unsigned* result) {
  if (blockIdx.x == gridDim.x - 1) {
    notify(by_thread, signal, 1, target);
  } else if (try_wait(by_thread, signal, at_least(1), budget) != wait_result::done) {
    report(result, wait_result::timed_out);
  }
}
__global__ void nothing() {}

/// Receives a program's operations, and runs them on two GPUs.
class gpus {
 public:
  gpus(int first, int second, wait_budget budget)
      : backend_(std::vector<int>{first, second}), heap_(backend_, 1 << 20), budget_(budget) {
    std::fill_n(results_.get(), most_waits, not_run);
    for (const pe which : backend_.local_pes()) {
      const membar::device_guard guard(backend_.device_of(which));
      for (auto& stream : streams_[which.index()]) {
        stream = std::make_unique<support::stream>();
      }
      // A kernel's first launch might wait for a running kernel, which in turn waits for the launched kernel.
      [](auto... kernels) { (load(kernels), ...); }(notify_set, notify_add, wait_set, wait_add, meet,
                                                    notify_from_the_last_block, nothing);
    }
  }

  [[nodiscard]] unsigned long long room() {
    const membar::device_guard guard(backend_.device_of(pe(0)));
    return membar::co_resident_blocks(notify_from_the_last_block, 1);
  }

  void declare_team(handle, const std::vector<pe>&) {}
  void work(pe who, int stream) { enqueue(who, stream, nothing); }
  void notify(pe who, int stream, pe target, int number, membar::deadlock::signal_effect effect) {
    const auto index = static_cast<std::size_t>(number);
    if (effect.adds) {
      enqueue(who, stream, notify_add, counts_.on(who)[index], effect.value, target);
    } else {
      enqueue(who, stream, notify_set, flags_.on(who)[index], effect.value, target);
    }
  }
  void wait(pe who, int stream, int number, membar::deadlock::signal_condition until) {
    const auto index = static_cast<std::size_t>(number);
    if (until.at_least) {
      enqueue(who, stream, wait_add, counts_.on(who)[index], until.value, budget_, next_result());
    } else {
      enqueue(who, stream, wait_set, flags_.on(who)[index], until.value, budget_, next_result());
    }
  }
  void collective(pe who, int stream, int team = 0) {
    enqueue(who, stream, meet, team == 0 ? all_.on(who) : row_.on(who), budget_, next_result());
  }
  void record_event(pe who, int number, int stream) {
    const membar::device_guard guard(backend_.device_of(who));
    auto& event = events_[number];
    event = std::make_unique<support::event>(cudaEventDisableTiming);
    event->record(at(who, stream));
  }
  void wait_event(pe who, int stream, int number) {
    const membar::device_guard guard(backend_.device_of(who));
    check(cudaStreamWaitEvent(at(who, stream), events_.at(number)->get(), 0));
  }
  void kernel(pe who, int stream, membar::deadlock::kernel_shape shape, const std::vector<membar::deadlock::kernel_role>&) {
    const membar::device_guard guard(backend_.device_of(who));
    unsigned* const result = next_result();
    *result = static_cast<unsigned>(wait_result::done);
    launch_with_if(shape.cooperative, {static_cast<unsigned>(shape.blocks), 1, at(who, stream)}, membar::cooperative{},
                   notify_from_the_last_block, counts_.on(who)[0], pe(0), budget_, result);
  }
  void host_copy(pe who, int, bool) {
    const membar::device_guard guard(backend_.device_of(who));
    const std::vector<unsigned char> values(64);
    check(cudaMemcpy(private_.on(who).local(), values.data(), values.size(), cudaMemcpyDefault));
  }
  void synchronize_stream(pe who, int stream) {
    const membar::device_guard guard(backend_.device_of(who));
    check(cudaStreamSynchronize(at(who, stream)));
  }

  /// Returns the number of enqueued waits, including waits by grids.
  [[nodiscard]] std::size_t waits() const noexcept { return used_; }

  /// Waits for all work. Returns the number of timed-out waits.
  [[nodiscard]] unsigned waits_in_vain() {
    for (const pe which : backend_.local_pes()) {
      const membar::device_guard guard(backend_.device_of(which));
      finish();
    }
    unsigned in_vain = 0;
    for (std::size_t i = 0; i != used_; ++i) {
      EXPECT_NE(results_[i], not_run) << "wait " << i << " did not run";
      if (results_[i] != static_cast<unsigned>(wait_result::done))
        ++in_vain;
    }
    return in_vain;
  }

 private:
  static constexpr std::size_t most_waits = 16;

  [[nodiscard]] unsigned* next_result() { return results_.get() + used_++; }
  [[nodiscard]] cudaStream_t at(pe who, int stream) const { return streams_[who.index()][stream]->get(); }

  template <class... Parameters, class... Arguments>
  void enqueue(pe who, int stream, void (*code)(Parameters...), Arguments... arguments) {
    const membar::device_guard guard(backend_.device_of(who));
    membar::launch(launch_config{1, 1, at(who, stream)}, code, arguments...);
  }

  peer_backend backend_;
  symmetric::heap<peer_backend> heap_;
  symmetric::scoped_array<signal<set>, peer_backend> flags_{heap_.allocate<signal<set>>(1)};
  symmetric::scoped_array<signal<add>, peer_backend> counts_{heap_.allocate<signal<add>>(1)};
  symmetric::scoped_array<barrier_word, peer_backend> all_{heap_.allocate_barrier()};
  symmetric::scoped_array<barrier_word, peer_backend> row_{heap_.allocate_barrier()};
  symmetric::scoped_array<unsigned char, peer_backend> private_{heap_.allocate<unsigned char>(64)};
  wait_budget budget_;
  support::pinned_memory<unsigned> results_{most_waits};
  std::size_t used_ = 0;
  std::unique_ptr<support::stream> streams_[2][3];
  std::map<int, std::unique_ptr<support::event>> events_;
};

template <class Entry>
class deadlock_on_gpus : public multi_gpu_test {};
TYPED_TEST_SUITE(deadlock_on_gpus, deadlocks::every<::testing::Types>);

TYPED_TEST(deadlock_on_gpus, is_reported_by_its_name_and_ends_within_its_budget) {
  const auto reports = deadlocks::reports_of([](auto& to) { TypeParam::wrong(to); });
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.front().kind, TypeParam::kind) << reports.front().sentence;

  constexpr auto budget = std::chrono::milliseconds(200);
  gpus machine(this->first, this->second, wait_budget::milliseconds(budget.count()));
  const auto begin = std::chrono::steady_clock::now();
  TypeParam::wrong(machine);
  const unsigned in_vain = machine.waits_in_vain();
  const auto took = std::chrono::steady_clock::now() - begin;
  if (in_vain != 0) {
    EXPECT_GE(took, budget) << "a wait gave up before its budget was used up";
  }
  // The time that all waits take one after another, doubled in case other programs use the machine.
  EXPECT_LE(took, 2 * (machine.waits() + 1) * budget);
  if (TypeParam::on_gpus == deadlocks::effect::hangs) {
    EXPECT_GT(in_vain, 0U) << "nothing hung, though the recorder says: " << reports.front().sentence;
  } else if (TypeParam::on_gpus == deadlocks::effect::runs_early) {
    EXPECT_EQ(in_vain, 0U);
  }
  this->RecordProperty("waits_in_vain", std::to_string(in_vain));
}

TYPED_TEST(deadlock_on_gpus, corrected_runs) {
  gpus machine(this->first, this->second, wait_budget::milliseconds(10'000));
  TypeParam::right(machine);
  EXPECT_EQ(machine.waits_in_vain(), 0U);
}

}  // namespace
}  // namespace membar_test
