// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A network, simulated in one process, that delays and reorders messages between PEs. The network implements the transport
/// that NVSHMEM documents, without stronger guarantees, and tries every order of deliveries that this transport allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace membar_test::late_network {

/// A step in a PE's program.
struct step {
  enum class kind_t { put, put_signal, notify, fence, quiet, wait, poll, read, free } kind = kind_t::put;
  int to = 0;        ///< the PE whose memory is accessed
  int variable = 0;  ///< the variable that is put, read or freed
  int value = 0;
  int signal = 0;  ///< The signal that is notified or waited for.
};
[[nodiscard]] inline step put(int to, int variable, int value) { return {step::kind_t::put, to, variable, value, 0}; }
[[nodiscard]] inline step put_signal(int to, int variable, int value, int signal) {
  return {step::kind_t::put_signal, to, variable, value, signal};
}
[[nodiscard]] inline step notify(int to, int signal) { return {step::kind_t::notify, to, 0, 1, signal}; }
[[nodiscard]] inline step fence() { return {step::kind_t::fence, 0, 0, 0, 0}; }
[[nodiscard]] inline step quiet() { return {step::kind_t::quiet, 0, 0, 0, 0}; }
/// Uses the transport's wait until the PE's own signal has been notified `times` times. All earlier deliveries are then
/// visible.
[[nodiscard]] inline step wait(int signal, int times = 1) { return {step::kind_t::wait, 0, 0, times, signal}; }
/// Waits for a signal with plain loads. Data that was delivered earlier may still be in flight within the PE.
[[nodiscard]] inline step poll(int signal, int times = 1) { return {step::kind_t::poll, 0, 0, times, signal}; }
[[nodiscard]] inline step read(int from, int variable) { return {step::kind_t::read, from, variable, 0, 0}; }
/// Frees a word of the PE's own memory and allocates it again, with the value 0.
[[nodiscard]] inline step free_and_allocate(int variable) { return {step::kind_t::free, 0, variable, 0, 0}; }

/// The values that each PE has read, in the order in which it read them.
using readings = std::vector<std::vector<int>>;

/// Runs `programs`, one for each PE, in every interleaving and with every order of deliveries. run() returns all possible
/// combinations of values read.
class network {
 public:
  explicit network(std::vector<std::vector<step>> programs) : programs_(std::move(programs)) {}

  [[nodiscard]] std::set<readings> run() {
    state begin;
    begin.next.resize(programs_.size());
    begin.epoch.resize(programs_.size());
    begin.read.resize(programs_.size());
    explore(begin);
    return results_;
  }

 private:
  using kind_t = step::kind_t;
  /// A message in flight. Messages that a PE sends to another PE after a fence are delivered after the sender's earlier
  /// messages to the same PE.
  struct message {
    int from, to, epoch, variable, value, signal;
    bool puts, notifies;
    auto operator<=>(const message&) const = default;
  };
  struct state {
    std::vector<std::size_t> next;
    std::vector<int> epoch;  ///< each PE's number of fences so far
    std::multiset<message> on_its_way;
    std::multiset<message> landed;  ///< Data that has been delivered but that its PE may not see yet.
    std::map<std::pair<int, int>, int> memory;
    std::map<std::pair<int, int>, int> signals;
    readings read;
    auto operator<=>(const state&) const = default;
  };

  void explore(const state& now) {
    if (!seen_.insert(now).second) {
      return;
    }
    bool ended = now.on_its_way.empty();
    for (std::size_t pe = 0; pe != programs_.size(); ++pe) {
      if (now.next[pe] != programs_[pe].size()) {
        ended = false;
        act(now, static_cast<int>(pe));
      }
    }
    for (auto each = now.on_its_way.begin(); each != now.on_its_way.end(); ++each) {
      const bool held = std::any_of(now.on_its_way.begin(), now.on_its_way.end(), [&](const message& other) {
        return other.from == each->from && other.to == each->to && other.epoch < each->epoch;
      });
      if (!held) {
        deliver(now, *each);
      }
    }
    for (auto each = now.landed.begin(); each != now.landed.end(); ++each) {
      state after = now;
      after.landed.erase(after.landed.find(*each));
      after.memory[{each->to, each->variable}] = each->value;
      explore(after);
    }
    if (ended && now.landed.empty()) {
      results_.insert(now.read);
    }
  }

  void deliver(const state& now, const message& what) {
    state after = now;
    after.on_its_way.erase(after.on_its_way.find(what));
    if (what.puts) {
      after.landed.insert(what);
      // A put's signal is delivered after the put's data.
      if (what.notifies) {
        after.on_its_way.insert({what.from, what.to, what.epoch, 0, 0, what.signal, false, true});
      }
    } else {
      ++after.signals[{what.to, what.signal}];
    }
    explore(after);
  }

  void act(const state& now, int pe) {
    const auto own = static_cast<std::size_t>(pe);
    const step& each = programs_[own][now.next[own]];
    state after = now;
    ++after.next[own];
    switch (each.kind) {
      case kind_t::put:
      case kind_t::put_signal:
      case kind_t::notify:
        after.on_its_way.insert({pe, each.to, now.epoch[own], each.variable, each.value, each.signal,
                                 each.kind != kind_t::notify, each.kind != kind_t::put});
        break;
      case kind_t::fence:
        ++after.epoch[own];
        break;
      case kind_t::quiet:
        if (std::any_of(now.on_its_way.begin(), now.on_its_way.end(), [&](const message& m) { return m.from == pe; })) {
          return;
        }
        break;
      case kind_t::wait:
      case kind_t::poll: {
        const auto found = now.signals.find({pe, each.signal});
        if (found == now.signals.end() || found->second < each.value) {
          return;
        }
        std::erase_if(after.landed, [&](const message& data) {
          const bool settles = each.kind == kind_t::wait && data.to == pe;
          if (settles) {
            after.memory[{pe, data.variable}] = data.value;
          }
          return settles;
        });
        break;
      }
      case kind_t::read: {
        const auto found = now.memory.find({each.to, each.variable});
        after.read[own].push_back(found == now.memory.end() ? 0 : found->second);
        break;
      }
      case kind_t::free:
        after.memory[{pe, each.variable}] = 0;
        break;
    }
    explore(after);
  }

  std::vector<std::vector<step>> programs_;
  std::set<state> seen_;
  std::set<readings> results_;
};

}  // namespace membar_test::late_network
