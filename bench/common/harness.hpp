// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The harness of all benches that run on a GPU: `main`, options, waived cases, machine context, and cases declared by axes.
///
/// A bench defines `bench::describe()`. Google Benchmark measures its cases, and its options apply. A case is one variant at
/// one point of the axes. Its name does not depend on the machine.
#pragma once

#include <benchmark/benchmark.h>
#include <bench/common/machine_context.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The result of one measurement of a case: its time, further figures, and a label for information that is not in the name.
struct figures {
  double ns = 0;
  std::vector<std::pair<std::string, double>> counters{};
  std::string label{};

  figures() = default;
  figures(double nanoseconds, std::vector<std::pair<std::string, double>> beside = {}, std::string said = {})
      : ns(nanoseconds), counters(std::move(beside)), label(std::move(said)) {}
};

/// The values at which a case is measured.
template <class T>
using axis = std::vector<T>;

/// A case's name, with a placeholder for the value of each axis: `{}`, `{02}` for at least two digits, `{.3}` for three decimals.
struct case_name {
  std::string text;
  std::string waived{};  ///< The reason why this case cannot be measured here, or empty if it can.
  int repetitions = 0;   ///< The number of repetitions; 0 means as many as the bench's other cases have.

  case_name(const char* name) : text(name) {}
  case_name(std::string name, std::string reason = "", int times = 0)
      : text(std::move(name)), waived(std::move(reason)), repetitions(times) {}

  [[nodiscard]] case_name at(const std::string& value) const;
  [[nodiscard]] case_name at(long long value) const;
  [[nodiscard]] case_name at(double value) const;
  [[nodiscard]] case_name at(std::integral auto value) const { return at(static_cast<long long>(value)); }
  /// A pair provides the values for two placeholders.
  template <class First, class Second>
  [[nodiscard]] case_name at(const std::pair<First, Second>& value) const {
    return at(value.first).at(value.second);
  }
};

/// An option of one bench, such as `--pace=`, and the handler for its value. The name of a flag has no `=`. An option without
/// help text is intended only for processes that the bench itself starts.
struct option {
  std::string name;
  std::string help;
  std::function<void(const char* value)> set;
};

/// Returns the value of an integer option. Throws an error that names the option and its limits.
[[nodiscard]] int to_number(const char* name, const char* text, int least, int most = 1000);

class suite;

/// A bench: the question that it answers, and how its cases are measured.
struct description {
  const char* question;
  void (*add_cases)(suite&);
  benchmark::TimeUnit unit = benchmark::kNanosecond;
  int repetitions = 9;             ///< The number of repetitions of each case; 0 for cases that repeat their measurement
                                   ///< themselves.
  bool interleaved = false;        ///< Repetitions run in random order, so that machine drift affects all cases equally.
  bool keeps_repetitions = false;  ///< Individual repetitions are written to the results along with the aggregates.
  bool takes_device = true;        ///< Whether `--device=` selects the GPU; otherwise the bench finds its own.
  bool fails_with_cases = true;    ///< The program's exit status is 1 if a case failed.
  std::vector<option> options{};
  void (*before_cuda)(suite&) = nullptr;       ///< Measures cases before this process may use CUDA.
  std::size_t (*run)(const suite&) = nullptr;  ///< Replaces `RunSpecifiedBenchmarks`. Returns the number of matching cases.
};

/// Defined by each bench.
description describe();

/// The cases of a bench, and the machine on which they are measured.
class suite {
 public:
  /// Reads the command line, and reports an error if there is no GPU.
  suite(int argc, char** argv, description what);

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] int repetitions() const noexcept { return repetitions_; }
  /// Returns the program's name and arguments, except those that name output files.
  [[nodiscard]] const std::string& command() const noexcept { return command_; }
  [[nodiscard]] bool has_output_file() const noexcept { return has_output_file_; }
  /// Returns whether Google Benchmark's filter selects a case.
  [[nodiscard]] bool selects(const std::string& name) const;

  /// Waives all cases that are added from now on.
  void waive(const std::string& reason);
  /// Waives all further cases if the device's compute capability is below `major`.0, which the feature `what` requires.
  void need_compute_capability(int major, const char* what);
  [[nodiscard]] bool waived() const noexcept { return !waived_.empty(); }
  [[nodiscard]] const std::string& waiver() const noexcept { return waived_; }

  /// Adds information about the machine to the results.
  void context(const std::string& key, const std::string& value) { benchmark::AddCustomContext(key, value); }

  /// Adds a case for each point of the axes, or a single case without axes. `measure(value...)` returns `figures`, or just a
  /// number of nanoseconds. It is not called if the case is waived.
  template <class Measure>
  void add(const case_name& name, Measure measure) {
    add_one(name, std::function<figures()>(std::move(measure)));
  }
  template <class Measure, class First, class... Rest>
  void add(const case_name& name, Measure measure, const axis<First>& values, const axis<Rest>&... rest) {
    for (const First& value : values) {
      add(name.at(value), [measure, value](const Rest&... others) { return measure(value, others...); }, rest...);
    }
  }

  /// Runs the cases that the filter selects, and returns the program's exit status.
  int run();

 private:
  void find_device();
  void add_one(const case_name& name, std::function<figures()> measure);

  description what_;
  int device_ = 0;
  int repetitions_;
  std::string command_;
  bool has_output_file_ = false;
  std::string waived_;
  int failures_ = 0;
};

/// An object that the cases of a bench share, created when the first of them runs. Copies refer to the same object.
template <class T>
class made_once {
 public:
  template <class... Arguments>
  explicit made_once(Arguments... arguments)
      : object_(std::make_shared<std::unique_ptr<T>>()), make_([=] { return std::make_unique<T>(arguments...); }) {}

  T& operator*() const {
    if (*object_ == nullptr) {
      *object_ = make_();
    }
    return **object_;
  }
  T* operator->() const { return &**this; }

 private:
  std::shared_ptr<std::unique_ptr<T>> object_;
  std::function<std::unique_ptr<T>()> make_;
};

}  // namespace bench
