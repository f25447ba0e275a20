// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Interprets the threads of a litmus file that run on the host. Each access is a single atomic CPU operation.
///
/// A weak access is executed as a relaxed access, every scope as system scope, and a fence as the C++ fence with the same
/// order, because the host has no weaker operations. Therefore the interpreter shows only outcomes that the file allows. It may
/// show fewer outcomes than a weaker CPU would.
#pragma once

#include <litmus/run_plan.hpp>

#include <membar/litmus/launch_view.hpp>
#include <membar/model/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace membar::litmus_files {

/// Interprets the host threads of a test. Several CPU threads may call the same object concurrently.
class host_interpreter {
 public:
  /// Throws `model::error` with the line of the first instruction that a host thread cannot execute. `plan` must outlive this
  /// object.
  explicit host_interpreter(const run_plan& plan);

  /// Returns whether the test has a host thread.
  [[nodiscard]] bool any() const noexcept;

  /// Runs thread `thread` of an instance. `at` is the instance's memory, and `out` receives the thread's observations.
  void operator()(int thread, const litmus::instance_cells& at, const litmus::instance_digits& out) const;

 private:
  struct state {
    const litmus::instance_cells* at;
    std::array<std::int64_t, model::max_registers> registers;
    int turns;

    [[nodiscard]] std::int64_t value(const model::operand& o, const run_plan& plan) const noexcept;
    void set(int reg, std::int64_t value) noexcept;
  };

  [[nodiscard]] unsigned digit(std::size_t which, std::int64_t value) const noexcept;
  [[nodiscard]] thread_end run(const model::litmus_test::thread& thread, state& now) const;
  /// Returns the address that an access uses, or null if the address register does not contain the address of a location.
  [[nodiscard]] char* address_of(const model::instruction& i, const state& now) const;
  void access(const model::instruction& i, char* address, state& now) const;
  template <class T>
  void access_as(const model::instruction& i, T* address, state& now) const;
  template <class T>
  [[nodiscard]] T update(const model::instruction& i, T* address, const state& now) const;
  template <int Order, int FailureOrder, class T>
  [[nodiscard]] T update_as(const model::instruction& i, T* address, const state& now) const;

  const run_plan* plan_;
  std::vector<std::array<std::int64_t, model::max_registers>> initial_;
  std::vector<std::vector<std::int64_t>> values_;
};

}  // namespace membar::litmus_files
