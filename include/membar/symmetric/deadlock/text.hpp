// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words for operations in a report.
#pragma once

#include <membar/symmetric/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace membar::inline v0_2::symmetric::deadlock::detail {

/// Describes the operations of a program.
class program_text {
 public:
  explicit program_text(const program& program) : program_(program) {}

  /// "stream 1", or "the host".
  [[nodiscard]] std::string where(std::size_t index) const {
    const stream_operation& operation = program_.operations[index];
    switch (operation.kind) {
      case operation_kind::host_collective:
      case operation_kind::host_stream:
      case operation_kind::host_event:
      case operation_kind::host_pe:
        return "the host";
      default:
        return stream_name(operation.stream);
    }
  }

  /// What an operation does: "wait (signal 1 = 1)".
  [[nodiscard]] std::string what(std::size_t index) const {
    const stream_operation& operation = program_.operations[index];
    const std::string own = operation.name;
    const auto or_own = [&](const char* word) { return own.empty() ? std::string(word) : own; };
    const std::string signal = numbered(handle_kind::signal, "signal", operation.object);
    switch (operation.kind) {
      case operation_kind::work:
        return or_own("kernel");
      case operation_kind::access:
        return or_own("access of the heap");
      case operation_kind::notify:
        return or_own("notification") + " (" + signal + " of PE " + std::to_string(operation.target) +
               (operation.effect.adds ? " + " : " := ") + std::to_string(operation.effect.value) + ")";
      case operation_kind::wait:
        return or_own("wait") + " (" + signal + (operation.condition.at_least ? " >= " : " = ") +
               std::to_string(operation.condition.value) + ")";
      case operation_kind::quiet:
        return or_own("quiet");
      case operation_kind::collective:
      case operation_kind::host_collective:
        return or_own("barrier") + " of " + team_name(operation.object);
      case operation_kind::record_event:
        return "record of " + numbered(handle_kind::event, "event", operation.object);
      case operation_kind::wait_event:
        return "wait for " + numbered(handle_kind::event, "event", operation.object);
      case operation_kind::kernel:
        return or_own("kernel");
      case operation_kind::launch_graph:
        return "launch of " + numbered(handle_kind::graph, "graph", operation.object);
      case operation_kind::host_stream:
        return "wait for " + stream_name(operation.stream);
      case operation_kind::host_event:
        return "wait for " + numbered(handle_kind::event, "event", operation.object);
      case operation_kind::host_pe:
        return "wait for all streams";
      case operation_kind::host_copy:
        return or_own("host copy");
    }
    return "operation";
  }

  /// "PE 0's wait (signal 1 = 1) in stream 2".
  [[nodiscard]] std::string whole(std::size_t index) const {
    const std::string at = where(index);
    return "PE " + std::to_string(program_.operations[index].pe) + "'s " + what(index) + (at == "the host" ? " by " : " in ") +
           at;
  }

 private:
  [[nodiscard]] std::string named_or(handle_kind kind, handle id, std::string otherwise) const {
    const auto found = program_.names.find({kind, id});
    return found == program_.names.end() ? std::move(otherwise) : found->second;
  }

  /// A stream's name, or its number from 1 in the order of first use.
  [[nodiscard]] std::string stream_name(handle stream) const {
    if (stream == handle()) {
      return named_or(handle_kind::stream, stream, "the default stream");
    }
    std::vector<handle> seen;
    for (const stream_operation& each : program_.operations) {
      if (each.stream != handle() && std::find(seen.begin(), seen.end(), each.stream) == seen.end()) {
        seen.push_back(each.stream);
      }
      if (each.stream == stream) {
        break;
      }
    }
    return "stream " + named_or(handle_kind::stream, stream, std::to_string(seen.size()));
  }

  [[nodiscard]] std::string numbered(handle_kind kind, const char* word, handle id) const {
    char number[24];
    std::snprintf(number, sizeof number, id.number() < 1000 ? "%llu" : "%#llx", static_cast<unsigned long long>(id.number()));
    return std::string(word) + " " + named_or(kind, id, number);
  }

  [[nodiscard]] std::string team_name(handle team) const {
    return team == world ? named_or(handle_kind::team, team, "all PEs") : numbered(handle_kind::team, "team", team);
  }

  const program& program_;
};

}  // namespace membar::inline v0_2::symmetric::deadlock::detail
