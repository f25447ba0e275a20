// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Records the operations that the PEs enqueue, and reports a deadlock before the host would wait forever.
#pragma once

#include <membar/deadlock/check.hpp>
#include <membar/deadlock/program.hpp>
#include <membar/error.hpp>
#include <membar/pe.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock {

/// The error for a program that hangs or may hang. `what` is truncated to `error`'s maximum length; the report contains the
/// whole sentence.
class hazard_error : public error {
 public:
  explicit hazard_error(deadlock::report report)
      : error(cudaErrorNotPermitted, "%s", report.sentence.c_str()), report_(std::move(report)) {}

  [[nodiscard]] const deadlock::report& report() const noexcept { return report_; }

 private:
  deadlock::report report_;
};

/// Records operations alongside the calls that enqueue them, and decides whether all of them can complete (as defined in
/// check.hpp).
///
/// Call each function immediately before the CUDA call or symmetric operation that it records. With one host thread for all
/// PEs, a function that records a host wait throws `hazard_error`, and records nothing, if that wait would never return. With
/// one host thread per PE, a process cannot tell what the other processes will enqueue: merge the records (`operations`,
/// `append`) and call `check`. Errors: throws `error`, and records nothing, if a PE or a target does not exist, or if CUDA or
/// the signal's kind does not allow the operation. The class is thread-safe; operations are recorded in the order of the calls.
class recorder {
 public:
  explicit recorder(int pes, callers hosts = callers::one) : program_(empty_program(pes, hosts)) {}
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// @name Names for reports, teams, and initial signal values
  /// @{
  void name(handle_kind kind, handle what, const char* text) {
    const std::lock_guard lock(mutex_);
    program_.names[{kind, what}] = text;
  }
  /// Declares the members of a team. The team's number must not be 0, which identifies `world`.
  void declare_team(handle team, const std::vector<pe>& members) {
    const std::lock_guard lock(mutex_);
    if (team == world) {
      throw error(
          cudaErrorInvalidValue,
          "membar: team 0 cannot be declared, because it is predefined as the team of all PEs: number other teams from 1");
    }
    std::vector<int> numbers;
    for (const pe member : members) {
      need_pe(member.index(), "a member of a team");
      numbers.push_back(member.index());
    }
    program_.teams[team] = std::move(numbers);
    checker_.restart();
  }
  void signal_holds(pe who, handle signal, std::uint64_t value) {
    const std::lock_guard lock(mutex_);
    need_pe(who.index(), "the PE of a signal");
    program_.signals[{who.index(), signal}] = value;
    checker_.restart();
  }
  /// Declares that the stream has its own hardware queue, so that no other stream can block it. This is the case if there are
  /// no more streams than queues (`CUDA_DEVICE_MAX_CONNECTIONS`, 8 by default), or if the stream belongs to a green context.
  /// Without this declaration, a wait that precedes its notification in another stream is reported.
  void declare_own_queue(pe who, handle stream) {
    const std::lock_guard lock(mutex_);
    need_pe(who.index(), "the PE of a stream");
    program_.own_queues.insert({who.index(), stream});
    checker_.restart();
  }
  /// @}

  /// @name Operations that a PE enqueues
  /// @{
  /// A kernel or copy that waits for nothing and does not use the symmetric heap.
  void work(pe who, handle stream, const char* name = "") { enqueue(operation_kind::work, who, stream, {}, name); }

  /// A put, a get or a kernel that reads or writes the heap of `target`.
  void access(pe who, handle stream, pe target, const char* name = "") {
    stream_operation operation = made(operation_kind::access, who, stream, {}, name);
    operation.target = target.index();
    record(operation);
  }

  /// A put with signal, or a signal operation: changes the signal of `target`. If it does not block, it is delivered no later
  /// than the end of the next quiet or collective in the same stream. Operations that a graph issues count as issued by the
  /// stream that launches the graph.
  void notify(pe who, handle stream, pe target, handle signal, signal_effect effect, const char* name = "",
              bool blocking = true) {
    stream_operation operation = made(operation_kind::notify, who, stream, signal, name);
    operation.target = target.index();
    operation.effect = effect;
    operation.blocking = blocking;
    record(operation);
  }

  /// A wait for the PE's own signal.
  void wait(pe who, handle stream, handle signal, signal_condition until, const char* name = "") {
    stream_operation operation = made(operation_kind::wait, who, stream, signal, name);
    operation.condition = until;
    record(operation);
  }

  void quiet(pe who, handle stream) { enqueue(operation_kind::quiet, who, stream, {}, ""); }

  /// A barrier or another collective. Its name distinguishes it from the team's other collectives.
  void collective(pe who, handle stream, handle team = world, const char* name = "") {
    enqueue(operation_kind::collective, who, stream, team, name);
  }

  /// The first half of a team barrier: everything that the stream has done so far is visible to the other PEs after their
  /// second halves. Before its own second half, which must be in the same stream, the PE must not enqueue any of the team's
  /// other collectives.
  void arrive(pe who, handle stream, handle team = world, const char* name = "") {
    enqueue(operation_kind::arrive, who, stream, team, name);
  }
  /// The second half of a team barrier: waits for the arrival of every member.
  void wait_for_team(pe who, handle stream, handle team = world, const char* name = "") {
    enqueue(operation_kind::depart, who, stream, team, name);
  }

  void record_event(pe who, handle event, handle stream) { enqueue(operation_kind::record_event, who, stream, event, ""); }
  /// `cudaStreamWaitEvent`: waits for the last record of the event so far.
  void wait_event(pe who, handle stream, handle event) { enqueue(operation_kind::wait_event, who, stream, event, ""); }

  /// A launch whose blocks wait or notify. Steps of one role run one after the other; roles run concurrently.
  void kernel(pe who, handle stream, kernel_shape shape, const std::vector<kernel_role>& roles, const char* name = "") {
    stream_operation operation = made(operation_kind::kernel, who, stream, {}, name);
    operation.shape = shape;
    operation.kernel = 1;  // replaced with its own number when it is recorded
    std::vector<stream_operation> all{operation};
    for (std::size_t role = 0; role != roles.size(); ++role) {
      for (const kernel_step& each : roles[role]) {
        stream_operation step = made(each.kind, who, stream, each.object, "");
        step.target = each.target;
        step.effect = each.effect;
        step.condition = each.condition;
        step.kernel = 1;
        step.role = static_cast<unsigned>(role);
        all.push_back(step);
      }
    }
    const std::lock_guard lock(mutex_);
    append_locked(all);
  }
  /// @}

  /// @name Capture
  /// @{ Captures everything that is enqueued into the stream from now on. A stream that waits for an event recorded in this
  /// stream joins the capture.
  void begin_capture(pe who, handle stream) {
    const std::lock_guard lock(mutex_);
    need_pe(who.index(), "the PE of a capture");
    if (captures_.contains({who.index(), stream})) {
      throw error(cudaErrorIllegalState, "membar: a stream of PE %d is already being captured: end that capture first",
                  who.index());
    }
    captures_[{who.index(), stream}] = ++graphs_;
  }

  /// Ends the stream's capture and returns the graph.
  [[nodiscard]] handle end_capture(pe who, handle stream) {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find({who.index(), stream});
    if (found == captures_.end()) {
      throw error(cudaErrorIllegalState,
                  "membar: a capture of a stream of PE %d cannot be ended, because it has not begun: begin the capture first",
                  who.index());
    }
    const unsigned graph = found->second;
    captured_.insert(graph);
    std::erase_if(captures_, [&](const auto& each) { return each.second == graph; });
    return handle(static_cast<std::uint64_t>(graph));
  }

  void launch_graph(pe who, handle stream, handle graph) { enqueue(operation_kind::launch_graph, who, stream, graph, ""); }
  /// @}

  /// @name Host waits
  /// @{
  void synchronize_stream(pe who, handle stream) { host_waits(made(operation_kind::host_stream, who, stream, {}, "")); }
  void synchronize_event(pe who, handle event) { host_waits(made(operation_kind::host_event, who, {}, event, "")); }
  /// Also use this function for calls that implicitly wait for the device, such as `cudaFree`.
  void synchronize_pe(pe who) { host_waits(made(operation_kind::host_pe, who, {}, {}, "")); }

  /// A collective that the host calls for a PE.
  void host_collective(pe who, handle team = world, const char* name = "") {
    host_waits(made(operation_kind::host_collective, who, {}, team, name));
  }

  /// A copy or memset that the host issues in a stream, to or from the heap of `who`. A call that cannot return before it has
  /// finished counts as a host wait.
  void host_copy(pe who, handle stream, bool may_return_early, const char* name = "") {
    stream_operation operation = made(operation_kind::host_copy, who, stream, {}, name);
    operation.early = may_return_early;
    if (may_return_early) {
      record(operation);
    } else {
      host_waits(operation);
    }
  }
  /// @}

  /// Returns the faults of the record, assuming that nothing follows.
  [[nodiscard]] std::vector<report> check() const {
    const std::lock_guard lock(mutex_);
    return checker_.reports();
  }

  /// Throws the first report of `check`, if there is one, as a `hazard_error`.
  void require() const {
    std::vector<report> all = check();
    if (!all.empty()) {
      throw hazard_error(std::move(all.front()));
    }
  }

  /// Returns the record, to be sent to the process that merges the records of all PEs.
  [[nodiscard]] std::vector<stream_operation> operations() const {
    const std::lock_guard lock(mutex_);
    return program_.operations;
  }

  /// Adds the operations that another process recorded for other PEs: either all of them or, on an error, none. Graphs and
  /// kernels get new numbers.
  void append(std::span<const stream_operation> others) {
    const std::lock_guard lock(mutex_);
    append_locked(others);
  }

  /// Returns the whole record, in the form that `deadlock::check` accepts.
  [[nodiscard]] deadlock::program program() const {
    const std::lock_guard lock(mutex_);
    return program_;
  }

  /// Deletes the operations, events and graphs from the record if all operations have ended. Signals and epochs keep their
  /// final values. If some operation does not end in every schedule, the function throws the first report and deletes nothing.
  /// In that case, fix the program and record the rest, or `discard` the record.
  void forget() {
    const std::lock_guard lock(mutex_);
    std::vector<report> all = checker_.reports();
    if (!all.empty()) {
      throw hazard_error(std::move(all.front()));
    }
    if (!captures_.empty()) {
      throw error(cudaErrorIllegalState,
                  "membar: a record cannot be deleted while %zu streams are being captured: end the captures first",
                  captures_.size());
    }
    if (!arrived_.empty()) {
      throw error(cudaErrorIllegalState,
                  "membar: a record cannot be deleted while PE %d has arrived at a barrier but has not yet waited for it: "
                  "record the wait first",
                  arrived_.begin()->first.first);
    }
    checker_.leave_signals(program_);
    clear();
  }

  /// Deletes all operations, events, graphs and captures, even if they have faults. The values of signals and epochs become 0
  /// unless `signal_holds` sets other values. Use this function for a program that has failed and starts over. Names, teams and
  /// queues are kept. The function does not throw.
  void discard() {
    const std::lock_guard lock(mutex_);
    program_.signals.clear();
    program_.waited.clear();
    program_.epochs.clear();
    captures_.clear();
    arrived_.clear();
    adds_.clear();
    equal_waits_.clear();
    clear();
  }

 private:
  using key = std::pair<int, handle>;
  static_assert(std::is_trivially_copyable_v<stream_operation>);

  [[nodiscard]] static deadlock::program empty_program(int pes, callers hosts) {
    if (pes < 1) {
      throw error(cudaErrorInvalidValue, "membar: a program of %d PEs cannot be recorded: use at least one PE", pes);
    }
    deadlock::program made;
    made.pes = pes;
    made.hosts = hosts;
    return made;
  }

  [[nodiscard]] static stream_operation made(operation_kind kind, pe who, handle stream, handle object, const char* name) {
    stream_operation operation;
    operation.kind = kind;
    operation.pe = who.index();
    operation.stream = stream;
    operation.object = object;
    std::strncpy(operation.name, name, sizeof operation.name - 1);  // the rest of the name remains zero
    return operation;
  }

  void clear() {
    program_.operations.clear();
    program_.operations.shrink_to_fit();
    program_.begin = 0;
    program_.recorded.clear();
    events_.clear();
    new_events_.clear();
    captured_.clear();
    checker_.forget();
  }

  void need_pe(int which, const char* what) const {
    if (which < 0 || which >= program_.pes) {
      throw error(cudaErrorInvalidValue, "membar: %s is %d, but the program has %d PEs, numbered from 0: name one of them",
                  what, which, program_.pes);
    }
  }

  void enqueue(operation_kind kind, pe who, handle stream, handle object, const char* name) {
    record(made(kind, who, stream, object, name));
  }
  void record(const stream_operation& operation) {
    const std::lock_guard lock(mutex_);
    append_locked({&operation, 1});
  }

  void host_waits(const stream_operation& operation) {
    const std::lock_guard lock(mutex_);
    if (captures_.contains({operation.pe, operation.stream}) && operation.kind == operation_kind::host_stream) {
      throw error(
          cudaErrorStreamCaptureUnsupported,
          "membar: the host cannot wait for a stream of PE %d while it is being captured: end the capture and launch the graph",
          operation.pe);
    }
    append_locked({&operation, 1});
    if (program_.hosts != callers::one) {
      return;
    }
    std::vector<report> all = checker_.reports_of_last_wait();
    if (!all.empty()) {
      program_.operations.pop_back();
      checker_.take_back();
      throw hazard_error(std::move(all.front()));
    }
    if (captures_.empty() && arrived_.empty() && checker_.is_behind()) {
      checker_.leave_signals(program_);
      program_.begin = program_.operations.size();
      program_.recorded.insert(new_events_.begin(), new_events_.end());
      new_events_.clear();
      checker_.restart();
    }
  }

  /// Checks all operations before recording any of them.
  void append_locked(std::span<const stream_operation> all) {
    std::vector<key> kinds;  // the signals whose kinds these operations determine
    try {
      append_checked(all, kinds);
    } catch (...) {
      for (const key& each : kinds) {
        adds_.erase(each);
      }
      throw;
    }
  }

  void append_checked(std::span<const stream_operation> all, std::vector<key>& kinds) {
    std::map<unsigned, unsigned> kernels;
    std::map<unsigned, unsigned> graphs;
    std::vector<stream_operation> checked;
    std::map<key, half> arrived = arrived_;
    std::map<key, unsigned> joining;  // captures of this process; a capture in another process has ended
    for (stream_operation operation : all) {
      need_pe(operation.pe, "the PE of an operation");
      if (operation.kind == operation_kind::notify || operation.kind == operation_kind::access) {
        need_pe(operation.target, "the target of an operation");
      }
      check_signal(operation, kinds);
      if (operation.kernel != 0) {
        operation.kernel =
            kernels.try_emplace(operation.kernel, kernels_ + static_cast<unsigned>(kernels.size()) + 1).first->second;
      }
      if (operation.graph != 0) {
        operation.graph = graphs.try_emplace(operation.graph, graphs_ + static_cast<unsigned>(graphs.size()) + 1).first->second;
      } else if (operation.kind == operation_kind::launch_graph &&
                 graphs.contains(static_cast<unsigned>(operation.object.number()))) {
        operation.object = static_cast<std::uint64_t>(graphs[static_cast<unsigned>(operation.object.number())]);
      } else {
        operation.graph = graph_of(operation);
        if (operation.kind == operation_kind::wait_event && operation.graph != 0) {
          joining.insert({{operation.pe, operation.stream}, operation.graph});
        }
      }
      check_halves(operation, arrived);
      checked.push_back(operation);
    }
    arrived_ = std::move(arrived);
    captures_.merge(joining);
    for (const stream_operation& operation : checked) {
      if (operation.kind == operation_kind::record_event) {
        events_[{host_of(operation.pe), operation.object}] = operation.graph;
        new_events_.insert({host_of(operation.pe), operation.object});
      }
      if (operation.kind == operation_kind::wait && !operation.condition.at_least) {
        equal_waits_.insert_or_assign({operation.pe, operation.object}, operation.condition.value);
      }
      program_.operations.push_back(operation);
    }
    for (const auto& [theirs, ours] : graphs) {
      captured_.insert(ours);
    }
    kernels_ += static_cast<unsigned>(kernels.size());
    graphs_ += static_cast<unsigned>(graphs.size());
  }

  /// A barrier at which a PE has arrived: the stream and graph in which its second half must be.
  struct half {
    handle stream;
    unsigned graph;
  };

  static void check_halves(const stream_operation& operation, std::map<key, half>& arrived) {
    const key own{operation.pe, operation.object};
    const bool ends = operation.kind == operation_kind::depart;
    if (!ends && operation.kind != operation_kind::arrive && operation.kind != operation_kind::collective &&
        operation.kind != operation_kind::host_collective) {
      return;
    }
    const auto found = arrived.find(own);
    if (!ends && found != arrived.end()) {
      throw error(
          cudaErrorIllegalState,
          "membar: PE %d has arrived at a barrier of a team, so it cannot call another collective of that team: record the "
          "wait for the barrier first",
          operation.pe);
    }
    if (operation.kind == operation_kind::arrive) {
      arrived[own] = {operation.stream, operation.graph};
    } else if (ends && found == arrived.end()) {
      throw error(cudaErrorIllegalState,
                  "membar: PE %d cannot wait for a barrier of a team that it has not arrived at: record the arrival first",
                  operation.pe);
    } else if (ends) {
      if (found->second.stream != operation.stream || found->second.graph != operation.graph) {
        throw error(cudaErrorIllegalState,
                    "membar: PE %d waits for a barrier in a different %s than the one in which it arrived: keep both halves in "
                    "one stream and one graph",
                    operation.pe, found->second.stream != operation.stream ? "stream" : "graph");
      }
      arrived.erase(found);
    }
  }

  void check_signal(const stream_operation& operation, std::vector<key>& kinds) {
    const bool notifies = operation.kind == operation_kind::notify;
    if (notifies) {
      const auto [kind, is_new] = adds_.try_emplace({operation.target, operation.object}, operation.effect.adds);
      if (is_new) {
        kinds.push_back(kind->first);
      }
      const bool adds = kind->second;
      if (adds != operation.effect.adds) {
        throw error(cudaErrorInvalidValue,
                    "membar: a signal of PE %d is %s elsewhere, so it cannot be %s here: either always set it or always add to "
                    "it, because sets and additions are not atomic with respect to each other",
                    operation.target, adds ? "added to" : "set", adds ? "set" : "added to");
      }
    }
    if (operation.kind == operation_kind::wait && !operation.condition.at_least) {
      const auto found = adds_.find({operation.pe, operation.object});
      if (found != adds_.end() && found->second) {
        throw error(cudaErrorInvalidValue,
                    "membar: PE %d cannot wait until a signal is equal to %llu, because PEs add to the signal, which may skip "
                    "that value: wait until the signal is at least that value",
                    operation.pe, static_cast<unsigned long long>(operation.condition.value));
      }
    }
    if (notifies && operation.effect.adds) {
      if (const auto waited = equal_waits_.find({operation.target, operation.object}); waited != equal_waits_.end()) {
        throw error(cudaErrorInvalidValue,
                    "membar: a PE waits until a signal of PE %d is equal to %llu, but this call adds to the signal, which may "
                    "skip that value: wait until the signal is at least that value",
                    operation.target, static_cast<unsigned long long>(waited->second));
      }
    }
  }

  [[nodiscard]] int host_of(int which) const noexcept { return program_.hosts == callers::one ? 0 : which; }

  /// Returns the graph that captures the operation, or 0 if it is not captured.
  [[nodiscard]] unsigned graph_of(const stream_operation& operation) const {
    const auto capture = captures_.find({operation.pe, operation.stream});
    const unsigned own = capture == captures_.end() ? 0 : capture->second;
    switch (operation.kind) {
      case operation_kind::host_collective:
      case operation_kind::host_stream:
      case operation_kind::host_event:
      case operation_kind::host_pe:
        return 0;
      case operation_kind::host_copy:
      case operation_kind::launch_graph:
        if (operation.kind == operation_kind::launch_graph &&
            !captured_.contains(static_cast<unsigned>(operation.object.number()))) {
          throw error(cudaErrorInvalidValue,
                      "membar: PE %d cannot launch graph %llu, which was not captured here or whose record was deleted: "
                      "capture it first",
                      operation.pe, static_cast<unsigned long long>(operation.object.number()));
        }
        if (own != 0) {
          throw error(cudaErrorStreamCaptureUnsupported,
                      "membar: a host copy or a graph cannot be enqueued in a stream of PE %d while that stream is being "
                      "captured: end the capture first",
                      operation.pe);
        }
        return 0;
      case operation_kind::wait_event: {
        const auto event = events_.find({host_of(operation.pe), operation.object});
        const unsigned theirs = event == events_.end() ? own : event->second;
        const bool captured =
            std::any_of(captures_.begin(), captures_.end(), [&](const auto& each) { return each.second == theirs; });
        if ((theirs != own && own != 0) || (theirs != 0 && !captured)) {
          throw error(cudaErrorStreamCaptureIsolation,
                      "membar: a stream of PE %d cannot wait for an event from outside its capture or from inside another "
                      "capture: record the event in the same capture as the wait, or record both outside any capture",
                      operation.pe);
        }
        return theirs;
      }
      default:
        return own;
    }
  }

  mutable std::mutex mutex_;
  deadlock::program program_;
  std::map<key, unsigned> captures_;
  std::map<key, unsigned> events_;  ///< the graph of each event's last record; the key includes the host thread
  std::set<key> new_events_;        ///< the events recorded since `program_.begin`
  std::set<unsigned> captured_;
  std::map<key, half> arrived_;  ///< the barriers at which a PE has arrived, by PE and team
  std::unordered_map<key, bool, detail::hash_of_pe> adds_;
  std::unordered_map<key, std::uint64_t, detail::hash_of_pe> equal_waits_;
  unsigned kernels_ = 0;
  unsigned graphs_ = 0;
  mutable detail::checker checker_{program_};
};

}  // namespace deadlock
}  // namespace v0_3
}  // namespace membar
