// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The argument of a launch of the litmus kernel, and what a test thread receives: the memory of its instance, and where it
/// reports what it observed.
///
/// Freestanding: read by the host compiler, by nvcc and by NVRTC, which has no standard headers.
#pragma once

#include <membar/base/config.hpp>
#include <membar/litmus/instance_layout.hpp>

namespace membar {
inline namespace v0_2 {
namespace litmus {

/// What is observed: a register, reported by a test thread, or the final value of a location.
struct observation {
  int location = -1;   ///< -1: a register
  int bytes = 4;       ///< of the location that are read, sign extended: 1, 2, 4 or 8
  unsigned radix = 2;  ///< number of digits: one per expected value, the last one for all other values
  int offset = 0;      ///< of these bytes in the location's cell
};

/// What a cell holds when an instance begins.
struct alignas(cell_bytes) cell_value {
  unsigned long long low = 0;
  unsigned long long high = 0;
};

/// The two accesses that one turn of stress makes to a line of scratch memory.
enum class stress_pattern : unsigned char { store_store, store_load, load_store, load_load };

/// The order in which a GPU thread runs its test threads.
enum class run_order : unsigned char {
  fixed,    ///< by their numbers, everywhere
  by_warp,  ///< each warp begins with a randomly drawn one
  by_lane   ///< each lane begins with a randomly drawn one
};

/// When a warp counts and resets the instances of the step before. These accesses are stress for the tests of other warps.
enum class tally_time : unsigned char {
  after,   ///< it has run its tests
  before,  ///< it runs its tests
  mixed    ///< as the step draws for each warp
};

/// The barrier of one launch's blocks, in memory of its device. Zero when the launch begins.
struct block_barrier_words {
  alignas(128) unsigned arrived;
  alignas(128) unsigned passed;
  alignas(128) unsigned aligned;
};

/// The barrier of all launches and host threads of a run. Zero when a slice begins.
struct run_barrier_words {
  struct alignas(128) participant_word {
    unsigned reached;  ///< how many barriers the whole participant has reached
  };
  participant_word participants[max_participants];
  alignas(128) unsigned abandoned;  ///< 0, or 1 plus the number of the participant that gave the run up
  unsigned abandoned_at;            ///< how many barriers that participant had reached
};

/// The argument of a launch of the kernel.
struct launch_view {
  instance_layout layout{};
  seat seats[max_threads]{};
  unsigned char test_threads[max_threads]{};  ///< the test threads that this launch runs
  unsigned test_thread_count = 0;
  unsigned participant = 0;   ///< the number of this launch among the participants
  unsigned participants = 1;  ///< launches and host threads together
  bool owner = true;          ///< this launch owns the instances: it counts outcomes and resets cells
  bool system_wide = false;   ///< the barrier is at system scope
  bool align = false;         ///< one more barrier, without an order, right before the test threads run
  run_order order = run_order::by_warp;
  tally_time tally = tally_time::after;
  stress_pattern pattern = stress_pattern::store_load;
  stress_pattern pre_pattern = stress_pattern::store_load;

  unsigned first_step = 0;  ///< of this slice; steps are numbered through the whole run
  unsigned steps = 0;
  unsigned delay = 0;                    ///< clocks at most that a warp waits before it runs a test thread
  unsigned pre_stress = 0;               ///< turns of stress that a testing thread does before each step
  unsigned stress_lines = 1;             ///< lines of scratch memory
  unsigned stress_line_bytes = 128;      ///< from a line to the next
  unsigned long long budget_ns = 0;      ///< the launch gives up after this time
  unsigned char* cells = nullptr;        ///< two regions of `layout.region_bytes()`
  unsigned char* digits = nullptr;       ///< two regions of `layout.digit_bytes()`
  unsigned char* scratch = nullptr;      ///< `stress_lines * stress_line_bytes`
  unsigned long long* counts = nullptr;  ///< one per outcome
  block_barrier_words* block_barrier = nullptr;
  run_barrier_words* run_barrier = nullptr;
};

/// The memory of one instance, as a test thread sees it.
class instance_cells {
 public:
  /// `rotations` are those of the step, per location.
  MEMBAR_HOST_DEVICE constexpr instance_cells(const instance_layout& layout, unsigned char* region, const unsigned* rotations,
                                              unsigned instance, run_barrier_words* run_barrier,
                                              unsigned long long deadline) noexcept
      : layout_(&layout),
        region_(region),
        rotations_(rotations),
        instance_(instance),
        run_barrier_(run_barrier),
        deadline_(deadline) {}

  /// The location's 16 bytes, aligned to 16, as a `T`.
  template <class T>
  [[nodiscard]] MEMBAR_HOST_DEVICE T* as(int location) const noexcept {
    static_assert(sizeof(T) <= cell_bytes, "membar: a location of a litmus test has 16 bytes");
    return reinterpret_cast<T*>(region_ +
                                cell_offset(*layout_, rotations_[location], static_cast<unsigned>(location), instance_));
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned instance() const noexcept { return instance_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr run_barrier_words* run_barrier() const noexcept { return run_barrier_; }
  /// On the clock of the device that runs the thread. `abandoned` compares it.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long deadline() const noexcept { return deadline_; }

 private:
  const instance_layout* layout_;
  unsigned char* region_;
  const unsigned* rotations_;
  unsigned instance_;
  run_barrier_words* run_barrier_;
  unsigned long long deadline_;
};

/// Where a test thread reports the digits of what it observed. It reports every observed register once, also where a branch
/// skipped its load.
class instance_digits {
 public:
  MEMBAR_HOST_DEVICE constexpr instance_digits(const instance_layout& layout, unsigned char* region, unsigned instance) noexcept
      : layout_(&layout), region_(region), instance_(instance) {}

  MEMBAR_HOST_DEVICE void put(int observation, unsigned digit) const noexcept {
    region_[digit_offset(*layout_, static_cast<unsigned>(observation), instance_)] = static_cast<unsigned char>(digit);
  }

 private:
  const instance_layout* layout_;
  unsigned char* region_;
  unsigned instance_;
};

/// Where a thread of `Test` reports values: it turns each value into a digit.
template <class Test>
class results : public instance_digits {
 public:
  using instance_digits::instance_digits;

  MEMBAR_HOST_DEVICE void write(int observation, long long value) const noexcept {
    put(observation, Test::digit(observation, value));
  }
};

}  // namespace litmus
}  // namespace v0_2
}  // namespace membar
