// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The text that describes operations in reports.
#pragma once

#include <membar/deadlock/hazard.hpp>
#include <membar/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// Describes the operations of a program and their faults.
class program_text {
 public:
  explicit program_text(const program& program) : program_(program) {}

  /// Returns "stream 1" or "the host".
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

  /// Returns what an operation does: "wait (signal 1 = 1)".
  [[nodiscard]] std::string what(std::size_t index) const {
    const stream_operation& operation = program_.operations[index];
    const std::string own = operation.name;
    const auto or_own = [&](const char* word) { return own.empty() ? std::string(word) : own; };
    const std::string signal = numbered(handle_kind::signal, "signal", operation.object);
    switch (operation.kind) {
      case operation_kind::work:
        return or_own("kernel");
      case operation_kind::access:
        return or_own("heap access");
      case operation_kind::notify:
        return or_own("notification") + " (" + signal + " of PE " + std::to_string(operation.target) +
               (operation.effect.adds ? " + " : " := ") + value(operation.effect) + ")";
      case operation_kind::wait:
        return or_own("wait") + " (" + signal + (operation.condition.at_least ? " >= " : " = ") + value(operation.condition) +
               ")";
      case operation_kind::quiet:
        return or_own("quiet");
      case operation_kind::collective:
      case operation_kind::host_collective:
        return or_own("barrier") + " of " + team_name(operation.object);
      case operation_kind::arrive:
        return or_own("arrival at the barrier") + " of " + team_name(operation.object);
      case operation_kind::depart:
        return or_own("wait for the barrier") + " of " + team_name(operation.object);
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

  /// Returns an operation's text with its PE and its place: "PE 0's wait (signal 1 = 1) in stream 2".
  [[nodiscard]] std::string whole(std::size_t index) const {
    const std::string at = where(index);
    return "PE " + std::to_string(program_.operations[index].pe) + "'s " + what(index) + (at == "the host" ? " by " : " in ") +
           at;
  }

  /// Returns the program's names, and names unnamed streams by their numbers, for use with a part of the program.
  [[nodiscard]] std::map<std::pair<handle_kind, handle>, std::string> numbered_streams() const {
    std::map<std::pair<handle_kind, handle>, std::string> names = program_.names;
    std::set<handle> seen;
    for (const stream_operation& each : program_.operations) {
      if (each.stream != handle() && seen.insert(each.stream).second) {
        names.try_emplace({handle_kind::stream, each.stream}, std::to_string(seen.size()));
      }
    }
    return names;
  }

  /// @name Reports, with operations identified by their indices
  /// @{
  [[nodiscard]] report collectives_differ(std::size_t first, std::size_t second, std::size_t number) const {
    return {hazard::collectives_differ,
            "membar: collectives differ: " + whole(first) + " is matched with " + whole(second) +
                ", because each is collective number " + std::to_string(number + 1) +
                " of that team on its PE: call the same collectives of a team in the same order on every PE",
            {}};
  }
  [[nodiscard]] report unrecorded_event(std::size_t wait) const {
    return {hazard::unrecorded_event,
            "membar: unrecorded event: " + whole(wait) +
                " orders nothing, because the event was not recorded before the wait: record it first, after the work that it "
                "marks",
            {}};
  }
  [[nodiscard]] report concurrent_collectives(std::size_t first, std::size_t second) const {
    return {hazard::concurrent_collectives,
            "membar: concurrent collectives: " + whole(first) + " and " + whole(second) +
                " may run at the same time, which a team does not allow: put them on one stream, let the second "
                "collective's stream wait for an event recorded after the first, or give "
                "each its own team",
            {}};
  }
  [[nodiscard]] report grid_too_large(std::size_t kernel) const {
    const stream_operation& operation = program_.operations[kernel];
    return {hazard::grid_too_large,
            "membar: grid too large: " + whole(kernel) + " has " + std::to_string(operation.shape.blocks) +
                " blocks that may wait for each other, but the device can hold only " + std::to_string(operation.shape.room) +
                " at once, " +
                (operation.shape.cooperative ? "so its cooperative launch fails"
                                             : "so the running blocks may wait for blocks that cannot start") +
                ": launch at most that many blocks with collective_launch, which launches them cooperatively on every PE",
            {}};
  }
  [[nodiscard]] report early_host_copy(std::size_t copy, std::size_t operation) const {
    return {hazard::early_host_copy,
            "membar: early host copy: " + whole(copy) + " may return before it has finished, and " + whole(operation) +
                " may then run first: copy asynchronously and wait for the stream, or make the memory's copies "
                "synchronous (host_copy.hpp supports both)",
            {}};
  }
  /// `candidate` is an operation, or `none` for the initial value.
  [[nodiscard]] report lost_signal(std::size_t wait, std::size_t candidate, std::size_t other) const {
    return {
        hazard::lost_signal,
        "membar: lost signal: " + whole(wait) + " may miss " +
            (candidate == none ? std::string("the initial value") : whole(candidate)) + ", which " + whole(other) +
            " may replace first: order the replacement after the wait, or count notifications with add and wait with at_least",
        {}};
  }
  /// `earlier` is a wait, or `none` for a wait that ended before the program.
  [[nodiscard]] report stale_wait(std::size_t wait, std::size_t earlier, std::size_t notification) const {
    return {hazard::stale_wait,
            "membar: stale wait: " + whole(wait) + " may be satisfied by the value that " +
                (earlier == none ? std::string("an earlier wait") : whole(earlier)) + " has already seen, before " +
                whole(notification) +
                ": wait for a different value each time, or let the reader reset the signal before it answers (in a graph, use "
                "operations that keep their epoch in device memory)",
            {}};
  }
  [[nodiscard]] report missing_member(std::size_t collective, const std::string& missing) const {
    return {hazard::missing_member,
            "membar: missing member: " + whole(collective) + " waits for " + missing +
                ", which never calls it: call it the same number of times on every PE of the team",
            {}};
  }
  /// `reached` is the final value of a signal that is added to, and null for a signal that is set.
  [[nodiscard]] report never_notified(std::size_t wait, const std::uint64_t* reached) const {
    return {hazard::never_notified,
            "membar: never notified: " + whole(wait) + " waits forever, because " +
                (reached != nullptr ? "all additions together raise the signal only to " + std::to_string(*reached) + ""
                                    : std::string("no PE sets the signal to such a value")) +
                ": notify the signal, or check which signal, value and PE the notification names",
            {}};
  }
  /// Turns a report about operations that never end into a report about the host wait `last`, which would not return because of
  /// them.
  void blame_host(report& about, std::size_t last) const {
    const std::string why = about.sentence.substr(about.sentence.find(": ", sizeof "membar:") + 2);
    about.kind = hazard::host_before_enqueue;
    about.sentence = std::string("membar: ") + name(about.kind) + ": " + whole(last) + " would never return, because " +
                     why.substr(0, why.rfind(": ")) + " among the operations enqueued so far: " + host_remedy;
  }
  static constexpr const char* host_remedy = "enqueue the work of every PE before the host waits for any PE";
  /// @}

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

 private:
  /// Returns the text for the value of an effect or a condition.
  template <class Of>
  [[nodiscard]] std::string value(const Of& of) const {
    return of.numbered ? "the next number of " + numbered(handle_kind::epoch, "epoch", of.epoch) : std::to_string(of.value);
  }
  [[nodiscard]] std::string named_or(handle_kind kind, handle id, std::string otherwise) const {
    const auto found = program_.names.find({kind, id});
    return found == program_.names.end() ? std::move(otherwise) : found->second;
  }

  /// Returns a stream's name, or its number, counted from 1 in the order of first use.
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
    char number[96];
    std::snprintf(number, sizeof number, id.number() < 1000 ? "%llu" : "%#llx", static_cast<unsigned long long>(id.number()));
    if (id.heap() != 0) {
      std::snprintf(number, sizeof number, "%llu of allocation %llu of heap %llu", static_cast<unsigned long long>(id.number()),
                    static_cast<unsigned long long>(id.allocation()), static_cast<unsigned long long>(id.heap()));
    }
    return std::string(word) + " " + named_or(kind, id, number);
  }

  [[nodiscard]] std::string team_name(handle team) const {
    return team == world ? named_or(handle_kind::team, team, "all PEs") : numbered(handle_kind::team, "team", team);
  }

  const program& program_;
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
