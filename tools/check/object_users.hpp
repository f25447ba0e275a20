// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which memory objects the host and the devices access in the explored executions.
#pragma once

#include <check/graph.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

/// Collects the users of each object of a program.
class object_users {
 public:
  /// `p` must outlive this object.
  explicit object_users(const program& p) : program_(p), users_(p.memory.size()) {
    for (std::size_t o = 0; o < p.memory.size(); ++o) {
      order_.push_back(static_cast<int>(o));
    }
    std::sort(order_.begin(), order_.end(), [&](int x, int y) { return object(x).address < object(y).address; });
  }

  /// Returns whether the host or several devices may access any object.
  [[nodiscard]] bool may_be_system_wide() const {
    const auto& threads = program_.threads;
    return has_host_memory() || std::any_of(threads.begin(), threads.end(), [&](const thread_context& c) {
             return c.where.host || c.where.gpu != threads.front().where.gpu;
           });
  }

  [[nodiscard]] bool has_host_memory() const {
    return std::any_of(program_.memory.begin(), program_.memory.end(), [](const memory_object& o) { return o.host; });
  }

  /// Records the accesses of an execution.
  void add(const graph& g) {
    for (int t = 0; t < model::count_of(g.threads); ++t) {
      const graph_event* const issue = model::at(g.threads, t).issue;
      for (const graph_event* e : model::at(g.threads, t).events) {
        if (e->kind == model::event_kind::read || e->kind == model::event_kind::write) {
          add(issue != nullptr ? issue->thread : t, *e);
        }
      }
    }
  }

  /// Returns the number of the object at an address, or -1 if there is none.
  [[nodiscard]] int object_at(std::uint64_t address) const {
    const auto after =
        std::upper_bound(order_.begin(), order_.end(), address, [&](std::uint64_t a, int o) { return a < object(o).address; });
    if (after == order_.begin()) {
      return -1;
    }
    const int o = *(after - 1);
    return address - object(o).address < object(o).bytes ? o : -1;
  }

  /// Returns whether the host or several devices use an object: the scenario declares it in host memory, or the host or several
  /// devices have accessed it.
  [[nodiscard]] bool is_system_wide(int o) const {
    const use& u = model::at(users_, o);
    return object(o).host || u.host_reads || u.host_writes || (u.devices & (u.devices - 1)) != 0;
  }

  /// Returns whether an object is in host memory but no host thread has accessed it.
  [[nodiscard]] bool is_left_to_the_host(int o) const {
    const use& u = model::at(users_, o);
    return object(o).host && !u.host_reads && !u.host_writes;
  }

  /// Returns a warning for each object in host memory that a kernel writes and no host thread reads.
  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> result;
    for (int o = 0; o < model::count_of(users_); ++o) {
      const use& u = model::at(users_, o);
      if (object(o).host && u.device_writes && !u.host_reads) {
        result.push_back("host memory '" + object(o).name + "' is written, but no host thread of the scenario reads it");
      }
    }
    return result;
  }

 private:
  struct use {
    std::uint32_t devices = 0;  ///< one bit for each device
    bool device_writes = false;
    bool host_reads = false;
    bool host_writes = false;
  };

  [[nodiscard]] const memory_object& object(int o) const { return model::at(program_.memory, o); }

  void add(int thread, const graph_event& e) {
    const int o = object_at(e.address);
    if (o < 0) {
      return;
    }
    use& u = model::at(users_, o);
    const model::place& where = model::at(program_.threads, thread).where;
    const bool writes = e.kind == model::event_kind::write || e.same_value;
    if (where.host) {
      (writes ? u.host_writes : u.host_reads) = true;
    } else {
      u.devices |= 1U << static_cast<unsigned>(where.gpu);
      u.device_writes = u.device_writes || writes;
    }
  }

  const program& program_;
  std::vector<use> users_;
  std::vector<int> order_{};  ///< the objects, sorted by address
};

}  // namespace membar::check
