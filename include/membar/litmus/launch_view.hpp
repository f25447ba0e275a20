// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a launch of the litmus kernel is given, and what a test thread is given: for the kernel and the host alike.
///
/// Freestanding: read by the host compiler, by nvcc and by NVRTC, which has no standard headers.
#pragma once

#include <membar/detail/config.hpp>
#include <membar/litmus/instance_layout.hpp>

namespace membar::litmus {

/// What is observed: a register, which a test thread reports, or the final value of a location.
struct observation {
  int location = -1;   ///< -1: a register
  int bytes = 4;       ///< of the location that are read: 1, 2, 4 or 8, sign extended
  unsigned radix = 2;  ///< digits: one for each expected value, and the last for all others
  int offset = 0;      ///< of the bytes in the location's cell
};

/// What a cell holds when an instance begins.
struct alignas(cell_bytes) cell_value {
  unsigned long long low = 0;
  unsigned long long high = 0;
};

/// What a turn of stress does to a line of scratch memory.
enum class stress_pattern : unsigned char { store_store, store_load, load_store, load_load };

/// In which order a GPU thread runs its test threads.
enum class run_order : unsigned char {
  fixed,    ///< as they are numbered, everywhere
  by_warp,  ///< each warp begins with another one
  by_lane   ///< each lane begins with another one
};

/// When a warp tallies and resets what ran in the step before: its accesses are noise for the tests of others.
enum class tally_time : unsigned char {
  after,   ///< its own tests
  before,  ///< them
  mixed    ///< one or the other, as the step draws for each warp
};

/// Words that the blocks of one launch meet at, in memory of its device; zero when it begins.
struct launch_words {
  alignas(128) unsigned arrived;
  alignas(128) unsigned passed;
  alignas(128) unsigned aligned;
};

/// Words that all launches and host threads of a run meet at; zero when a slice begins.
struct shared_words {
  struct alignas(128) party_word {
    unsigned reached;  ///< how many barriers all of the party have come to
  };
  party_word parties[max_parties];
  alignas(128) unsigned abandoned;  ///< 0, or 1 plus the party that gave the run up
  unsigned abandoned_at;            ///< how many barriers that party had come to
};

/// What a launch of the kernel is given.
struct launch_view {
  layout where{};
  seat seats[max_threads]{};
  unsigned char own[max_threads]{};  ///< the test threads that this launch runs
  unsigned own_count = 0;
  unsigned party = 0;        ///< this launch's number among those that meet
  unsigned parties = 1;      ///< launches and host threads
  bool keeper = true;        ///< this launch tallies and resets
  bool system_wide = false;  ///< the barrier is at system scope
  bool align = false;        ///< blocks meet once more, without an order, before they run their test threads
  run_order order = run_order::by_warp;
  tally_time tally = tally_time::after;
  stress_pattern pattern = stress_pattern::store_load;
  stress_pattern pre_pattern = stress_pattern::store_load;

  unsigned first_step = 0;  ///< of this slice: steps are numbered through the whole run
  unsigned steps = 0;
  unsigned delay = 0;                    ///< clocks at most that a warp waits before it runs a test thread
  unsigned pre_stress = 0;               ///< turns of stress that a testing thread does before each step
  unsigned stress_lines = 1;             ///< lines of scratch memory
  unsigned stress_line_bytes = 128;      ///< from a line to the next
  unsigned long long budget_ns = 0;      ///< after which the launch gives up
  unsigned char* cells = nullptr;        ///< two regions of `where.region_bytes()`
  unsigned char* digits = nullptr;       ///< two regions of `where.digit_bytes()`
  unsigned char* scratch = nullptr;      ///< `stress_lines * stress_line_bytes`
  unsigned long long* counts = nullptr;  ///< one per outcome
  launch_words* own_words = nullptr;
  shared_words* all_words = nullptr;
};

/// The memory of one instance, as a test thread sees it.
class cells {
 public:
  /// `rotations` are those of the step, per location.
  MEMBAR_HOST_DEVICE constexpr cells(const layout& where, unsigned char* region, const unsigned* rotations, unsigned instance,
                                     shared_words* words, unsigned long long deadline) noexcept
      : where_(&where), region_(region), rotations_(rotations), instance_(instance), words_(words), deadline_(deadline) {}

  /// The location's 16 bytes, aligned to 16, as a `T`.
  template <class T>
  [[nodiscard]] MEMBAR_HOST_DEVICE T* as(int location) const noexcept {
    static_assert(sizeof(T) <= cell_bytes, "membar: a location of a litmus test has 16 bytes");
    return reinterpret_cast<T*>(region_ +
                                cell_offset(*where_, rotations_[location], static_cast<unsigned>(location), instance_));
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned instance() const noexcept { return instance_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr shared_words* words() const noexcept { return words_; }
  /// On the clock of the device that runs the thread; what `abandoned` compares.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned long long deadline() const noexcept { return deadline_; }

 private:
  const layout* where_;
  unsigned char* region_;
  const unsigned* rotations_;
  unsigned instance_;
  shared_words* words_;
  unsigned long long deadline_;
};

/// Where a test thread reports the digits of what it observed. Every observed register is reported once, also where a branch
/// went past its load.
class digits {
 public:
  MEMBAR_HOST_DEVICE constexpr digits(const layout& where, unsigned char* region, unsigned instance) noexcept
      : where_(&where), region_(region), instance_(instance) {}

  MEMBAR_HOST_DEVICE void put(int observation, unsigned digit) const noexcept {
    region_[digit_offset(*where_, static_cast<unsigned>(observation), instance_)] = static_cast<unsigned char>(digit);
  }

 private:
  const layout* where_;
  unsigned char* region_;
  unsigned instance_;
};

/// The same for the values of `Test`.
template <class Test>
class results : public digits {
 public:
  using digits::digits;

  MEMBAR_HOST_DEVICE void write(int observation, long long value) const noexcept {
    put(observation, Test::digit(observation, value));
  }
};

}  // namespace membar::litmus
