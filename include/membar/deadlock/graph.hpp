// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The graph of a program: its nodes are the operations, and each node lists its direct predecessors. The graph grows with the
/// program.
#pragma once

#include <membar/deadlock/clock.hpp>
#include <membar/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// Operations that are parts of other operations: the steps of each kernel and the nodes of each captured graph. This object
/// survives when the graph is rebuilt or begins at a later operation, so each operation is examined only once.
class program_parts {
 public:
  /// Processes the operations that were added to the program since the last call.
  void take(const program& program) {
    for (; next_ < program.operations.size(); ++next_) {
      const stream_operation& operation = program.operations[next_];
      if (is_step(operation)) {
        steps_[operation.kernel].push_back(next_);
      } else if (operation.graph != 0) {
        captured_[operation.graph].push_back(next_);
      }
    }
  }
  /// Removes the last operation, which must not be a part of another operation.
  void take_back() noexcept { --next_; }

  [[nodiscard]] const std::vector<std::size_t>& steps(unsigned kernel) const { return of(steps_, kernel); }
  [[nodiscard]] const std::vector<std::size_t>& captured(unsigned graph) const { return of(captured_, graph); }
  /// Returns how many operations have been examined.
  [[nodiscard]] std::size_t taken() const noexcept { return next_; }

  [[nodiscard]] static bool is_step(const stream_operation& each) noexcept {
    return each.kernel != 0 && each.kind != operation_kind::kernel;
  }

 private:
  using lists = std::unordered_map<unsigned, std::vector<std::size_t>>;
  [[nodiscard]] static const std::vector<std::size_t>& of(const lists& all, unsigned which) {
    static const std::vector<std::size_t> none;
    const auto found = all.find(which);
    return found == all.end() ? none : found->second;
  }

  lists steps_;
  lists captured_;
  std::size_t next_ = 0;
};

/// An operation or a part of one: a collective consists of an arrival and a departure, and a kernel consists of its steps.
struct node {
  enum class kind_t : unsigned char { passes, notifies, waits, arrives, departs };

  std::size_t operation = 0;
  std::size_t after = 0;  ///< where the node's predecessors start in the list of predecessors
  std::size_t link = 0;   ///< the signal for `waits` and `notifies`, the call for `arrives` and `departs`
  int pe = 0;
  /// The node's position in its queue, or -1 for nodes that are not in a queue: host waits, and notifications that are
  /// delivered later.
  int unit = -1;
  std::uint32_t queue = 0;
  std::uint32_t chain = 0;   ///< the number of the chain; the nodes of a chain are ordered one after the other
  unsigned kernel = 0;       ///< the number of the kernel launch; 0 if the node is not in a kernel
  std::uint64_t number = 0;  ///< the number that the node takes from an epoch, if it uses one
  /// the number of predecessors, or `many` if there are too many for this field; the list then starts with their number
  std::uint16_t afters = 0;
  kind_t kind = kind_t::passes;
  bool blocks = false;  ///< whether the node can delay the nodes after it in its queue

  static constexpr std::uint16_t many = 0xffff;
};

/// The nodes that one call enqueues: an operation, a kernel with its steps, or a graph, whose nodes run in any order.
struct queue_unit {
  std::size_t first = 0;
  std::size_t end = 0;  ///< one past the last node; nodes that are not in a queue may be in between
  bool any_order = false;
};

/// Identifies an object of a PE: a stream, a signal, or an event of a host thread.
using of_pe = std::pair<int, handle>;
struct hash_of_pe {
  [[nodiscard]] std::size_t operator()(const of_pe& key) const noexcept {
    std::uint64_t mixed = key.second.number();
    for (const std::uint64_t each : {key.second.allocation(), key.second.heap(), static_cast<std::uint64_t>(key.first)}) {
      mixed = (mixed ^ (mixed >> 29)) * 0x9e3779b97f4a7c15ULL + each;
    }
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
};

/// The nodes of a program, and the predecessors that each node has through streams, events, the host and kernels.
class graph {
 public:
  /// `parts` are the parts of the program that have been determined so far.
  graph(const program& program, std::shared_ptr<program_parts> parts)
      : program_(program),
        parts_(std::move(parts)),
        host_last_(program.hosts == callers::one ? 1 : static_cast<std::size_t>(program.pes), none),
        queues_(static_cast<std::size_t>(program.pes)) {
    for (std::size_t host = 0; host != host_last_.size(); ++host) {
      host_chains_.push_back(clocks_.new_chain());
      host_nodes_.emplace_back();
    }
    next_ = program.begin;
    take();
  }

  /// Processes the operations that were added to the program since the last call.
  void take() {
    parts_->take(program_);
    for (const std::size_t end = program_.operations.size(); next_ != end; ++next_) {
      const stream_operation& operation = program_.operations[next_];
      if (operation.graph == 0 && !program_parts::is_step(operation)) {
        append(next_);
      }
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 protected:
  using kind_t = node::kind_t;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct signal_nodes {
    int pe = 0;
    handle signal;
    std::vector<std::size_t> notifications;
  };
  struct call {
    std::size_t arrival = 0;
    std::size_t departure = none;  ///< `none` until the second half is added
    handle team;
    std::size_t number = 0;
    std::size_t previous = none;  ///< the last node of the PE's previous call for the same team

    [[nodiscard]] std::size_t end() const noexcept { return departure == none ? arrival : departure; }
  };
  struct stream_state {
    std::size_t last = none;
    std::uint32_t chain = 0;
    std::uint32_t queue = 0;
    std::uint32_t deliveries = ~0U;      ///< the chain of the stream's notifications that do not block
    std::vector<std::size_t> pending{};  ///< the non-blocking notifications since the last operation that waits for them
  };
  /// Where operations are appended: the streams of the program, or the streams of a graph that is being launched.
  struct place {
    std::unordered_map<of_pe, std::size_t, hash_of_pe> streams;  ///< the streams' indices in `streams_`
    std::unordered_map<of_pe, std::size_t, hash_of_pe> events;   ///< by host thread, because processes have their own events
    std::size_t begin = none;
    int unit = -1;
    std::uint32_t queue = 0;
    std::size_t launching = none;  ///< the stream that launches the graph
    std::set<std::size_t> waited;  ///< streams of the graph that have waited for the operations that the launching stream has
                                   ///< issued
  };
  struct difference {
    std::size_t first;
    std::size_t second;
    std::size_t number;
  };

  [[nodiscard]] const stream_operation& operation_of(std::size_t n) const noexcept {
    return program_.operations[nodes_[n].operation];
  }
  /// Returns a notification's effect. If the notification uses an epoch, the effect contains the number from that epoch.
  [[nodiscard]] signal_effect effect_of(std::size_t n) const noexcept {
    const signal_effect& effect = operation_of(n).effect;
    return effect.numbered ? signal_set(nodes_[n].number) : effect;
  }
  /// Returns a wait's condition. If the wait uses an epoch, the condition contains the number from that epoch.
  [[nodiscard]] signal_condition condition_of(std::size_t n) const noexcept {
    const signal_condition& condition = operation_of(n).condition;
    return condition.numbered ? signal_at_least(nodes_[n].number) : condition;
  }
  [[nodiscard]] std::size_t host_of(int pe) const noexcept {
    return program_.hosts == callers::one ? 0 : static_cast<std::size_t>(pe);
  }
  /// Returns the direct predecessors that a node has through streams, events, the host or kernels.
  [[nodiscard]] std::span<const std::size_t> after(std::size_t n) const noexcept {
    const node& each = nodes_[n];
    return each.afters == node::many ? std::span(after_).subspan(each.after + 1, after_[each.after])
                                     : std::span(after_).subspan(each.after, each.afters);
  }
  [[nodiscard]] const queue_unit& unit_of(std::size_t n) const noexcept {
    return queues_[nodes_[n].queue][static_cast<std::size_t>(nodes_[n].unit)];
  }
  [[nodiscard]] bool same_kernel(std::size_t a, std::size_t b) const noexcept {
    return nodes_[a].kernel != 0 && nodes_[a].kernel == nodes_[b].kernel;
  }

  /// Returns whether the launch has blocks that wait, and has more of them than fit on the device at once.
  [[nodiscard]] bool too_large(std::size_t index) const {
    const stream_operation& operation = program_.operations[index];
    if (operation.kind != operation_kind::kernel || operation.shape.room == 0 ||
        operation.shape.blocks <= operation.shape.room) {
      return false;
    }
    const std::vector<std::size_t>& steps = parts_->steps(operation.kernel);
    return std::any_of(steps.begin(), steps.end(),
                       [&](std::size_t step) { return program_.operations[step].kind != operation_kind::notify; });
  }
  /// Returns whether an operation reads or writes the heap of a PE, according to the record of one process.
  [[nodiscard]] bool uses_heap_of(const stream_operation& operation, int pe) const noexcept {
    const bool one_sided = operation.kind == operation_kind::access || operation.kind == operation_kind::notify;
    const bool at_its_own = one_sided || operation.kind == operation_kind::collective ||
                            operation.kind == operation_kind::arrive || operation.kind == operation_kind::depart ||
                            operation.kind == operation_kind::host_collective || operation.kind == operation_kind::kernel;
    return (at_its_own && operation.pe == pe) || (one_sided && program_.hosts == callers::one && operation.target == pe);
  }

  [[nodiscard]] std::vector<int> members(handle team) const {
    const auto declared = program_.teams.find(team);
    if (declared != program_.teams.end()) {
      return declared->second;
    }
    std::vector<int> all;
    for (int pe = 0; pe != program_.pes; ++pe) {
      all.push_back(pe);
    }
    return all;
  }
  [[nodiscard]] std::uint64_t at_start(int pe, handle signal) const {
    const auto value = program_.signals.find({pe, signal});
    return value == program_.signals.end() ? 0 : value->second;
  }
  [[nodiscard]] const std::vector<std::size_t>& notifications_of(std::size_t wait) const {
    return signals_[nodes_[wait].link].notifications;
  }
  /// Returns the calls by a PE to the collectives of a team, indexed by number, or null if there are none.
  [[nodiscard]] const std::vector<std::size_t>* calls_of(handle team, int pe) const {
    const auto found = calls_by_.find({pe, team});
    return found == calls_by_.end() ? nullptr : &found->second;
  }

 private:
  /// Returns the next number of an epoch, which is `step` more than the last.
  [[nodiscard]] std::uint64_t next_number(int pe, handle epoch, std::uint64_t step) {
    const auto [found, is_new] = epochs_.try_emplace({pe, epoch}, 0);
    if (is_new) {
      const auto start = program_.epochs.find({pe, epoch});
      found->second = start == program_.epochs.end() ? 0 : start->second;
    }
    return found->second += step;
  }

  [[nodiscard]] std::size_t new_stream(std::uint32_t queue) {
    streams_.push_back({none, clocks_.new_chain(), queue});
    return streams_.size() - 1;
  }
  [[nodiscard]] std::size_t number_of(place& where, const stream_operation& operation) {
    const auto [found, is_new] = where.streams.try_emplace({operation.pe, operation.stream}, 0);
    if (is_new) {
      if (where.launching != none) {  // inside a graph, the chain continues at the next launch in the same stream
        const auto [kept, made] = inner_.try_emplace({where.launching, operation.pe, operation.stream}, 0);
        kept->second = made ? new_stream(where.queue) : kept->second;
        streams_[kept->second].last = none;
        found->second = kept->second;
      } else {
        auto queue = static_cast<std::uint32_t>(operation.pe);
        if (program_.own_queues.contains({operation.pe, operation.stream})) {
          queues_.emplace_back();
          queue = static_cast<std::uint32_t>(queues_.size() - 1);
        }
        found->second = new_stream(queue);
      }
    }
    return found->second;
  }
  [[nodiscard]] std::size_t signal_of(int pe, handle signal) {
    const auto [found, is_new] = signal_numbers_.try_emplace({pe, signal}, signals_.size());
    if (is_new) {
      signals_.push_back({pe, signal, {}});
    }
    return found->second;
  }

  using list = std::span<const std::size_t>;
  [[nodiscard]] static list of(std::initializer_list<std::size_t> all) noexcept { return {all.begin(), all.size()}; }

  std::size_t make(kind_t kind, std::size_t operation, const place& where, std::uint32_t chain, list before) {
    node made;
    made.kind = kind;
    made.operation = operation;
    made.pe = program_.operations[operation].pe;
    made.unit = where.unit;
    made.queue = where.queue;
    made.chain = chain;
    made.blocks = kind == kind_t::waits || kind == kind_t::departs;
    made.after = after_.size();
    const bool many = before.size() >= node::many;
    if (many) {
      after_.push_back(0);
    }
    std::size_t count = 0;
    for (const std::size_t each : before) {
      if (each != none) {
        after_.push_back(each);
        ++count;
      }
    }
    made.afters = many ? node::many : static_cast<std::uint16_t>(count);
    if (many) {
      after_[made.after] = count;
    }
    const std::size_t n = nodes_.size();
    nodes_.push_back(made);
    if (made.unit >= 0) {
      queue_unit& unit = queues_[made.queue][static_cast<std::size_t>(made.unit)];
      unit.first = unit.end == 0 ? n : unit.first;
      unit.end = n + 1;
    }
    return n;
  }
  [[nodiscard]] place on_host(std::size_t host) const {
    place where;
    where.queue = static_cast<std::uint32_t>(host);
    return where;
  }
  std::size_t make_host(std::size_t index, std::size_t host, list before) {
    const std::size_t n = make(kind_t::passes, index, on_host(host), host_chains_[host], before);
    nodes_[n].blocks = true;
    host_nodes_[host].push_back(n);
    return host_last_[host] = n;
  }

  [[nodiscard]] int new_unit(std::uint32_t queue, bool any_order) {
    queues_[queue].push_back({0, 0, any_order});
    return static_cast<int>(queues_[queue].size()) - 1;
  }

  void append(std::size_t index) {
    const stream_operation& operation = program_.operations[index];
    const std::size_t host = host_of(operation.pe);
    switch (operation.kind) {
      case operation_kind::host_collective: {
        const std::size_t departure = join(index, on_host(host), host_chains_[host], of({host_last_[host]}), 0);
        host_nodes_[host].push_back(departure - 1);
        host_nodes_[host].push_back(departure);
        host_last_[host] = departure;
        return;
      }
      case operation_kind::host_stream:
      case operation_kind::host_event:
      case operation_kind::host_pe: {
        many_.assign(1, host_last_[host]);
        if (operation.kind == operation_kind::host_event) {
          many_.push_back(event(index, enqueued_));
        } else if (operation.kind == operation_kind::host_stream) {
          const auto found = enqueued_.streams.find({operation.pe, operation.stream});
          many_.push_back(found == enqueued_.streams.end() ? none : streams_[found->second].last);
        } else {
          for (const auto& [stream, number] : enqueued_.streams) {
            if (stream.first == operation.pe) {
              many_.push_back(streams_[number].last);
            }
          }
        }
        make_host(index, host, many_);
        return;
      }
      case operation_kind::launch_graph:
        launch(index);
        return;
      default: {
        enqueued_.begin = host_last_[host];
        const std::size_t stream = number_of(enqueued_, operation);
        enqueued_.queue = streams_[stream].queue;
        enqueued_.unit = new_unit(enqueued_.queue, false);
        enqueue(index, enqueued_, stream);
        if (operation.kind == operation_kind::host_copy && !operation.early) {
          make_host(index, host, of({host_last_[host], streams_[stream].last}));
        }
      }
    }
  }

  void launch(std::size_t index) {
    const stream_operation& operation = program_.operations[index];
    const std::size_t stream = number_of(enqueued_, operation);
    place inside;
    inside.queue = streams_[stream].queue;
    inside.launching = stream;
    inside.unit = new_unit(inside.queue, true);
    const std::uint32_t chain = streams_[stream].chain;
    inside.begin = make(kind_t::passes, index, inside, chain, of({streams_[stream].last, host_last_[host_of(operation.pe)]}));
    const std::size_t first = nodes_.size();
    for (const std::size_t each : parts_->captured(static_cast<unsigned>(operation.object.number()))) {
      enqueue(each, inside, number_of(inside, program_.operations[each]));
    }
    std::vector<std::size_t> all{inside.begin};
    for (std::size_t n = first; n != nodes_.size(); ++n) {
      if (nodes_[n].unit >= 0) {
        all.push_back(n);
      }
    }
    streams_[stream].last = make(kind_t::passes, index, inside, chain, all);
    // Everything that the graph has issued also counts as issued by the launching stream.
    std::vector<std::size_t>& pending = streams_[stream].pending;
    if (!inside.waited.empty()) {
      pending.clear();
    }
    for (const auto& [inner, number] : inside.streams) {
      std::vector<std::size_t>& issued = streams_[number].pending;
      pending.insert(pending.end(), issued.begin(), issued.end());
      issued.clear();
    }
  }

  /// Returns the last record of the event, or `none` if that record has ended or does not exist. An event without a record is
  /// reported.
  [[nodiscard]] std::size_t event(std::size_t index, const place& where) {
    const stream_operation& operation = program_.operations[index];
    const std::pair key{static_cast<int>(host_of(operation.pe)), operation.object};
    const auto recorded = where.events.find(key);
    if (recorded != where.events.end()) {
      return recorded->second;
    }
    if (&where != &enqueued_ || !program_.recorded.contains(key)) {
      unrecorded_.push_back(index);
    }
    return none;
  }

  void enqueue(std::size_t index, place& where, std::size_t stream) {
    const stream_operation& operation = program_.operations[index];
    const std::uint32_t chain = streams_[stream].chain;
    std::size_t last = streams_[stream].last;
    switch (operation.kind) {
      case operation_kind::notify:
        last = notify(index, where, stream, chain, of({last, where.begin}), 0);
        break;
      case operation_kind::wait:
        last = wait(index, where, chain, of({last, where.begin}), 0);
        break;
      case operation_kind::collective:
        last = join(index, where, chain, delivered(where, stream, last), 0);
        break;
      case operation_kind::arrive:
        last = arrive(index, where, chain, delivered(where, stream, last), 0);
        break;
      case operation_kind::depart:
        last = depart(index, where, chain, {last, where.begin}, 0);
        break;
      case operation_kind::quiet:
        last = make(kind_t::passes, index, where, chain, delivered(where, stream, last));
        break;
      case operation_kind::record_event:
        last = make(kind_t::passes, index, where, chain, of({last, where.begin}));
        where.events[{static_cast<int>(host_of(operation.pe)), operation.object}] = last;
        break;
      case operation_kind::wait_event:
        last = make(kind_t::passes, index, where, chain, of({last, where.begin, event(index, where)}));
        nodes_[last].blocks = &where == &enqueued_;
        break;
      case operation_kind::kernel:
        last = kernel(index, where, stream, of({last, where.begin}));
        break;
      default:
        last = make(kind_t::passes, index, where, chain, of({last, where.begin}));
    }
    streams_[stream].last = last;
  }

  /// Returns the predecessors of an operation that waits for the stream's deliveries: the deliveries since the last such
  /// operation.
  [[nodiscard]] list delivered(place& where, std::size_t stream, std::size_t last) {
    many_.assign({last, where.begin});
    std::vector<std::size_t>& pending = streams_[stream].pending;
    many_.insert(many_.end(), pending.begin(), pending.end());
    pending.clear();  // later operations in the stream are ordered after this one
    if (where.launching != none && where.waited.insert(stream).second) {
      const std::vector<std::size_t>& before = streams_[where.launching].pending;
      many_.insert(many_.end(), before.begin(), before.end());
    }
    return many_;
  }

  std::size_t wait(std::size_t index, const place& where, std::uint32_t chain, list before, unsigned kernel) {
    const stream_operation& operation = program_.operations[index];
    const std::size_t made = make(kind_t::waits, index, where, chain, before);
    nodes_[made].link = signal_of(operation.pe, operation.object);
    nodes_[made].kernel = kernel;
    if (operation.condition.numbered) {
      nodes_[made].number = next_number(operation.pe, operation.condition.epoch, operation.condition.value);
    }
    return made;
  }

  /// Adds the notification `index`, which may be a step of a kernel. A notification that does not block is delivered later.
  std::size_t notify(std::size_t index, const place& where, std::size_t stream, std::uint32_t chain, list before,
                     unsigned kernel) {
    const stream_operation& operation = program_.operations[index];
    const std::size_t signal = signal_of(operation.target, operation.object);
    std::size_t made = 0;
    if (operation.blocking) {
      made = make(kind_t::notifies, index, where, chain, before);
      nodes_[made].kernel = kernel;
    } else {
      const std::size_t issued = make(kind_t::passes, index, where, chain, before);
      nodes_[issued].kernel = kernel;
      stream_state& own = streams_[stream];
      own.deliveries = own.deliveries == ~0U ? clocks_.new_chain(true) : own.deliveries;
      place nowhere;
      nowhere.queue = where.queue;
      made = make(kind_t::notifies, index, nowhere, own.deliveries, of({issued}));
      own.pending.push_back(made);
    }
    nodes_[made].link = signal;
    if (operation.effect.numbered) {
      nodes_[made].number = next_number(operation.pe, operation.effect.epoch, operation.effect.value);
    }
    signals_[signal].notifications.push_back(made);
    return operation.blocking ? made : made - 1;
  }

  /// Adds the first half of a call to a collective.
  std::size_t arrive(std::size_t index, const place& where, std::uint32_t chain, list before, unsigned kernel) {
    const stream_operation& operation = program_.operations[index];
    const std::size_t arrival = make(kind_t::arrives, index, where, chain, before);
    std::vector<std::size_t>& own = calls_by_[{operation.pe, operation.object}];
    nodes_[arrival].kernel = kernel;
    nodes_[arrival].link = calls_.size();
    const std::size_t number = own.size();
    own.push_back(calls_.size());
    calls_.push_back({arrival, none, operation.object, number, number == 0 ? none : calls_[own[number - 1]].end()});
    // Two calls that are matched as one collective must have the same name.
    std::vector<std::size_t>& first = first_calls_[operation.object];
    if (number == first.size()) {
      first.push_back(index);
    } else if (std::string_view(operation.name) != program_.operations[first[number]].name) {
      different_.push_back({first[number], index, number});
    }
    return arrival;
  }

  /// Adds the second half of the PE's last call for the team. A second half without a first half waits for nothing.
  std::size_t depart(std::size_t index, const place& where, std::uint32_t chain, std::initializer_list<std::size_t> before,
                     unsigned kernel) {
    const stream_operation& operation = program_.operations[index];
    const auto own = calls_by_.find({operation.pe, operation.object});
    if (own == calls_by_.end() || calls_[own->second.back()].departure != none) {
      return make(kind_t::passes, index, where, chain, of(before));
    }
    call& of_team = calls_[own->second.back()];
    std::vector<std::size_t> all(before);
    if (std::find(all.begin(), all.end(), of_team.arrival) == all.end()) {
      all.push_back(of_team.arrival);
    }
    of_team.departure = make(kind_t::departs, index, where, chain, all);
    nodes_[of_team.departure].kernel = kernel;
    nodes_[of_team.departure].link = own->second.back();
    return of_team.departure;
  }

  /// Adds a call to a collective. Returns its departure, which is the node after its arrival.
  std::size_t join(std::size_t index, const place& where, std::uint32_t chain, list before, unsigned kernel) {
    return depart(index, where, chain, {arrive(index, where, chain, before, kernel)}, kernel);
  }

  std::size_t kernel(std::size_t index, const place& where, std::size_t stream, list before) {
    const stream_operation& operation = program_.operations[index];
    const std::uint32_t chain = streams_[stream].chain;
    const unsigned launch = ++launches_;
    const std::size_t begin = make(kind_t::passes, index, where, chain, before);
    nodes_[begin].kernel = launch;
    std::map<unsigned, std::size_t> roles;
    for (const std::size_t each : parts_->steps(operation.kernel)) {
      const stream_operation& step = program_.operations[each];
      std::size_t& last = roles.try_emplace(step.role, begin).first->second;
      std::uint32_t role = chain;
      if (step.role != 0) {
        const auto [found, is_new] = roles_.try_emplace({chain, step.role}, 0);
        found->second = is_new ? clocks_.new_chain() : found->second;
        role = found->second;
      }
      if (step.kind == operation_kind::notify) {
        last = notify(each, where, stream, role, of({last}), launch);
      } else if (step.kind == operation_kind::collective) {
        last = join(each, where, role, of({last}), launch);
      } else if (step.kind == operation_kind::arrive) {
        last = arrive(each, where, role, of({last}), launch);
      } else if (step.kind == operation_kind::depart) {
        last = depart(each, where, role, {last}, launch);
      } else {
        last = wait(each, where, role, of({last}), launch);
      }
    }
    std::vector<std::size_t> ends{begin};
    for (const auto& [role, last] : roles) {
      ends.push_back(last);
    }
    const std::size_t end = make(kind_t::passes, index, where, chain, ends);
    nodes_[end].kernel = launch;
    return end;
  }

 protected:
  const program& program_;
  std::shared_ptr<program_parts> parts_;
  std::vector<node> nodes_;
  std::vector<std::size_t> host_last_;
  std::vector<std::vector<std::size_t>> host_nodes_;  ///< the host waits of each host thread, in order
  /// first one queue for each PE, which its streams share, then the queues of the streams that have their own
  std::vector<std::vector<queue_unit>> queues_;
  std::vector<signal_nodes> signals_;
  std::vector<call> calls_;
  std::vector<std::size_t> unrecorded_;  ///< waits for events that were never recorded
  std::vector<difference> different_;
  std::unordered_map<of_pe, std::uint64_t, hash_of_pe> epochs_;  ///< the last number that was taken from each epoch
  std::map<of_pe, std::vector<std::size_t>> calls_by_;           ///< indices in `calls_`, by PE and team
  clocks clocks_;

 private:
  place enqueued_;
  std::vector<std::size_t> after_;
  std::vector<std::size_t> many_;
  std::vector<stream_state> streams_;
  std::vector<std::uint32_t> host_chains_;
  std::map<std::tuple<std::size_t, int, handle>, std::size_t> inner_;
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> roles_;
  std::unordered_map<of_pe, std::size_t, hash_of_pe> signal_numbers_;
  std::map<handle, std::vector<std::size_t>> first_calls_;
  unsigned launches_ = 0;
  std::size_t next_ = 0;
};

/// Finds the nodes of a launched graph that run in every order of the graph, because everything that they depend on runs.
/// `ready(n)` becomes true for each of these nodes. Returns whether there were any new ones. `before(a, b)` must return whether
/// the graph's edges put a before b.
template <class Ready, class Done, class Before, class MayRun, class Nodes, class After>
bool make_ready(const Nodes& all, Ready ready, Done done, Before before, MayRun may_run, After after) {
  bool any = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t n : all) {
      const auto before_it = after(n);
      const bool reached =
          std::all_of(before_it.begin(), before_it.end(), [&](std::size_t other) { return done(other) || ready(other); });
      if (!ready(n) && reached &&
          may_run(n, [&](std::size_t other) { return done(other) || (ready(other) && before(other, n)); })) {
        ready(n) = true;
        changed = true;
      }
    }
    any = any || changed;
  }
  return any;
}

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
