// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The argument of a launch of the litmus kernel, and the argument of a test thread: its instance's memory, and the place to
/// which the thread reports its observations.
///
/// This header is freestanding, because the host compiler, nvcc and NVRTC all compile it, and NVRTC has no standard headers.
#pragma once

#include <membar/base/config.hpp>
#include <membar/litmus/instance_layout.hpp>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// An observation: a register that a test thread reports, or the final value of a location.
struct observation {
  int location = -1;   ///< the location's index, or -1 for a register
  int bytes = 4;       ///< the number of bytes of the location that are read and sign-extended: 1, 2, 4 or 8
  unsigned radix = 2;  ///< the number of digits: one per expected value, and the last one for all other values
  int offset = 0;      ///< the offset of these bytes in the location's cell
};

/// The contents of a cell when an instance begins.
struct alignas(cell_bytes) cell_value {
  unsigned long long low = 0;
  unsigned long long high = 0;
};

/// The two accesses that one iteration of stress makes to a line of scratch memory.
enum class stress_pattern : unsigned char { store_store, store_load, load_store, load_load };

/// The order in which a GPU thread runs its test threads.
enum class run_order : unsigned char {
  fixed,    ///< always in the order of their numbers
  by_warp,  ///< each warp begins with a random test thread
  by_lane   ///< each lane begins with a random test thread
};

/// When a warp counts and resets the instances of the previous step. These accesses act as stress for other warps' tests.
enum class tally_time : unsigned char {
  after,   ///< after it has run its tests
  before,  ///< before it runs its tests
  mixed    ///< chosen at random for each warp and step
};

/// The barrier of one launch's blocks, in memory of its device. All words are zero when the launch begins.
struct block_barrier_words {
  alignas(128) unsigned arrived;
  alignas(128) unsigned passed;
  alignas(128) unsigned aligned;
};

/// The barrier of all launches and host threads of a run. All words are zero when a slice begins.
struct run_barrier_words {
  struct alignas(128) participant_word {
    unsigned reached;  ///< the number of barriers that the participant as a whole has reached
  };
  participant_word participants[max_participants];
  alignas(128) unsigned abandoned;  ///< 0, or 1 plus the number of the participant that aborted the run
  unsigned abandoned_at;            ///< the number of barriers that the aborting participant had reached
};

/// The argument of a kernel launch.
struct launch_view {
  instance_layout layout{};
  seat seats[max_threads]{};
  unsigned char test_threads[max_threads]{};  ///< the test threads that this launch runs
  unsigned test_thread_count = 0;
  unsigned participant = 0;   ///< the number of this launch among the participants
  unsigned participants = 1;  ///< the total number of launches and host threads
  bool owner = true;          ///< whether this launch owns the instances, that is, counts outcomes and resets cells
  bool system_wide = false;   ///< whether the barrier is at system scope
  bool align = false;         ///< whether another barrier, without an order, is executed right before the test threads run
  run_order order = run_order::by_warp;
  tally_time tally = tally_time::after;
  stress_pattern pattern = stress_pattern::store_load;
  stress_pattern pre_pattern = stress_pattern::store_load;

  unsigned first_step = 0;  ///< the first step of this slice; steps are numbered through the whole run
  unsigned steps = 0;
  unsigned delay = 0;                    ///< the maximum number of clock cycles that a warp waits before it runs a test thread
  unsigned pre_stress = 0;               ///< iterations of stress that a testing thread executes before each step
  unsigned stress_lines = 1;             ///< the number of lines of scratch memory
  unsigned stress_line_bytes = 128;      ///< the distance from one line to the next
  unsigned long long budget_ns = 0;      ///< the launch aborts after this time
  unsigned char* cells = nullptr;        ///< two regions of `layout.region_bytes()`
  unsigned char* digits = nullptr;       ///< two regions of `layout.digit_bytes()`
  unsigned char* scratch = nullptr;      ///< scratch memory of `stress_lines * stress_line_bytes` bytes
  unsigned long long* counts = nullptr;  ///< one counter per outcome
  block_barrier_words* block_barrier = nullptr;
  run_barrier_words* run_barrier = nullptr;
};

/// A test thread's view of one instance's memory.
class instance_cells {
 public:
  /// `rotations` are the step's rotations, one per location.
  MEMBAR_HOST_DEVICE constexpr instance_cells(const instance_layout& layout, unsigned char* region, const unsigned* rotations,
                                              unsigned instance, run_barrier_words* run_barrier,
                                              unsigned long long deadline) noexcept
      : layout_(&layout),
        region_(region),
        rotations_(rotations),
        instance_(instance),
        run_barrier_(run_barrier),
        deadline_(deadline) {}

  /// Returns the location's 16 bytes, which are aligned to 16, as a `T`.
  template <class T>
  [[nodiscard]] MEMBAR_HOST_DEVICE T* as(int location) const noexcept {
    static_assert(sizeof(T) <= cell_bytes, "membar: a location of a litmus test holds at most 16 bytes: use a smaller type");
    return reinterpret_cast<T*>(region_ +
                                cell_offset(*layout_, rotations_[location], static_cast<unsigned>(location), instance_));
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned instance() const noexcept { return instance_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr run_barrier_words* run_barrier() const noexcept { return run_barrier_; }
  /// Returns the thread's deadline on the clock of the device that runs the thread. `abandoned` compares the deadline with that
  /// clock.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long deadline() const noexcept { return deadline_; }

 private:
  const instance_layout* layout_;
  unsigned char* region_;
  const unsigned* rotations_;
  unsigned instance_;
  run_barrier_words* run_barrier_;
  unsigned long long deadline_;
};

/// Where a test thread reports the digits of its observations. The thread reports every observed register once, even if a
/// branch skipped the register's load.
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

/// Where a thread of `Test` reports values. Each value is converted to a digit.
template <class Test>
class results : public instance_digits {
 public:
  using instance_digits::instance_digits;

  MEMBAR_HOST_DEVICE void write(int observation, long long value) const noexcept {
    put(observation, Test::digit(observation, value));
  }
};

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
