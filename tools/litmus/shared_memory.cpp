// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <litmus/shared_memory.hpp>

#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace membar::litmus_files::detail {

using membar_tools::quote;

namespace {

using model::error;

class shared_memory {
 public:
  explicit shared_memory(declarations& names) : names_(names), test_(names.test) {}

  /// Replaces each location in shared memory by one location per block. Throws `error` for memory that cannot be shared memory.
  void divide(const std::vector<remote_address>& remote) {
    const int named = count_of(test_.locations);
    std::vector<bool> shared;
    for (int l = 0; l < named; ++l) {
      shared.push_back(is_shared(l));
    }
    for (int l = 0; l < named; ++l) {
      if (at(shared, l)) {
        check(l);
        divide(l, remote);
      }
    }
    for (const remote_address& r : remote) {
      const std::int64_t old = at(at(test_.threads, r.thread).registers, r.reg);
      if (!same_cluster(at(test_.threads, r.thread).where, at(test_.threads, r.owner).where)) {
        fail(r.word, "P" + std::to_string(at(test_.threads, r.thread).number) + " is not in the cluster of P" +
                         std::to_string(at(test_.threads, r.owner).number) +
                         ", whose shared memory it accesses: only threads of the same cluster can access it");
      }
      for (const auto& [instance, index] : instances_) {
        if (address_value(instance.first) == old && same_block_of(instance.second, r.owner)) {
          at(at(test_.threads, r.thread).registers, r.reg) = address_value(index);
        }
      }
    }
  }

 private:
  // Calls `use(thread, instruction, location, state space)` for each operand of an instruction that refers to the location.
  template <class Use>
  void for_each_access(int location_index, const Use& use) {
    for (int t = 0; t < count_of(test_.threads); ++t) {
      for (instruction& i : at(test_.threads, t).code) {
        const bool copies = i.code == opcode::async_copy;
        if ((accesses_memory(i.code) || copies) && !i.indirect && i.target == location_index) {
          use(t, i, i.target, i.space);
        }
        if (copies && !i.source_indirect && i.source == location_index) {
          use(t, i, i.source, i.source_space);
        }
        const bool of_map = i.code == opcode::proxy_fence && i.restricted && !i.indirect;
        int& map = of_map ? i.target : i.tensor_map;
        if (map == location_index && (copies || of_map)) {
          use(t, i, map, state_space::global);
        }
      }
    }
  }

  [[nodiscard]] bool is_shared(int location_index) {
    const std::string array = array_of(location_index);
    bool shared = names_.is_declared_shared(array);
    for (int l = 0; l < count_of(test_.locations); ++l) {
      if (array_of(l) == array) {
        for_each_access(l, [&](int, const instruction&, int, state_space space) {
          shared = shared || space == state_space::shared || space == state_space::shared_cluster;
        });
      }
    }
    return shared;
  }

  // Returns the name of the array that contains a location, or the location's own name, without the prefix for a block.
  [[nodiscard]] std::string array_of(int location_index) const {
    const std::string& full = at(test_.location_names, location_index);
    const std::string name = full.substr(full.find(':') + 1);
    return name.substr(0, name.find('['));
  }

  void check(int l) {
    const std::string& name = at(test_.location_names, l);
    for (int other = 0; other < count_of(test_.locations); ++other) {
      const location& o = at(test_.locations, other);
      if ((o.physical == l || other == l) && (o.physical != other || o.arrivals != 0)) {
        throw error(quote(name) + " is shared memory, which cannot be an alias, use another proxy or be an mbarrier");
      }
      if (o.initial == address_value(l)) {
        throw error(quote(at(test_.location_names, other)) + " holds the address of " + quote(name) +
                    ", which is shared memory, so each block has its own copy: initialize a register with the address instead");
      }
    }
    for_each_access(l, [&](int t, const instruction& i, int, state_space space) {
      if (space == state_space::global) {
        throw error(i.line, 1, quote(name) + " is shared memory, but this access is to global memory");
      }
      if (at(test_.threads, t).where.host) {
        throw error(i.line, 1, quote(name) + " is shared memory, which a host thread cannot access");
      }
    });
  }

  [[nodiscard]] bool same_block_of(int one, int other) const {
    return same_block(at(test_.threads, one).where, at(test_.threads, other).where);
  }

  // Creates one location for each block that uses location `l`.
  void divide(int l, const std::vector<remote_address>& remote) {
    std::vector<int> owners;
    const auto add = [&](int thread) {
      for (const int owner : owners) {
        if (same_block_of(owner, thread)) {
          return;
        }
      }
      for (int t = 0; t < count_of(test_.threads); ++t) {
        if (same_block_of(t, thread)) {
          owners.push_back(t);
          return;
        }
      }
    };
    const auto holds_address = [&](int thread, int reg) {
      return at(at(test_.threads, thread).registers, reg) == address_value(l);
    };
    const auto is_remote = [&](int thread, int reg) {
      for (const remote_address& r : remote) {
        if (r.thread == thread && r.reg == reg) {
          return true;
        }
      }
      return false;
    };
    for_each_access(l, [&](int t, const instruction&, int, state_space) { add(t); });
    for (int t = 0; t < count_of(test_.threads); ++t) {
      for (int reg = 0; reg < count_of(at(test_.threads, t).registers); ++reg) {
        if (holds_address(t, reg) && !is_remote(t, reg)) {
          add(t);
        }
      }
    }
    for (const remote_address& r : remote) {
      if (holds_address(r.thread, r.reg)) {
        add(r.owner);
      }
    }
    for (int t = 0; t < count_of(test_.threads) && owners.empty(); ++t) {
      if (!at(test_.threads, t).where.host) {
        add(t);
      }
    }
    if (owners.empty()) {
      throw error(quote(at(test_.location_names, l)) + " is shared memory, but all threads are on the host");
    }
    const std::string name = at(test_.location_names, l);
    for (std::size_t k = 0; k < owners.size(); ++k) {
      const std::string full =
          owners.size() == 1 ? name : "P" + std::to_string(at(test_.threads, owners[k]).number) + ":" + name;
      int index = l;
      if (k == 0) {
        at(test_.location_names, l) = full;
      } else {
        index = names_.declare({}, full);
        at(test_.locations, index).initial = at(test_.locations, l).initial;
      }
      at(test_.locations, index).owner = owners[k];
      instances_[{l, owners[k]}] = index;
    }
    for (const int owner : owners) {
      const int index = instances_[{l, owner}];
      if (index == l) {
        continue;
      }
      for_each_access(
          l, [&](int t, const instruction&, int& named, state_space) { named = same_block_of(t, owner) ? index : named; });
      for (int t = 0; t < count_of(test_.threads); ++t) {
        if (!same_block_of(t, owner)) {
          continue;
        }
        for (int reg = 0; reg < count_of(at(test_.threads, t).registers); ++reg) {
          if (holds_address(t, reg) && !is_remote(t, reg)) {
            at(at(test_.threads, t).registers, reg) = address_value(index);
          }
        }
      }
    }
  }

  declarations& names_;
  litmus_test& test_;
  std::map<std::pair<int, int>, int> instances_;  ///< the original location and a thread of a block -> the block's location
};

}  // namespace

void divide_shared_memory(declarations& names, const std::vector<remote_address>& remote) {
  shared_memory(names).divide(remote);
}

}  // namespace membar::litmus_files::detail
