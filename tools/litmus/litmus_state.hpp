// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads the initial state of a litmus file and the places of its threads.
#pragma once

#include <litmus/litmus_names.hpp>
#include <litmus/litmus_tokens.hpp>
#include <membar/model/array.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

/// A register whose first value is the address of shared memory, as a thread of its block names it.
struct remote_address {
  token word;
  int thread = 0;
  int reg = 0;
  int owner = 0;
};

class state_reader {
 public:
  explicit state_reader(litmus_names& in) : in_(in) {}

  void read_initial_state() {
    in_.expect("{", "before the initial state");
    while (!in_.at_symbol("}")) {
      if (in_.accept(";")) {
        continue;
      }
      read_initial_entry();
      if (!in_.at_symbol("}")) {
        in_.expect(";", "between entries of the initial state");
      }
    }
    in_.take();
    in_.accept(";");
    for (const auto& [index, name, word] : initial_addresses_) {
      at(in_.test.locations, index).initial = address_value(memory_named(word, name));
    }
  }

  void read_places() {
    do {
      const token word = in_.expect_word("a thread, as in 'P0@cta 0,gpu 0'");
      const std::optional<int> number = thread_number(word.text);
      if (!number) {
        fail(word, "expected a thread, as in 'P0@cta 0,gpu 0', found " + shown(word));
      }
      if (in_.thread_index(*number) >= 0) {
        fail(word, "'" + std::string(word.text) + "' is declared already");
      }
      if (count_of(in_.test.threads) == max_threads) {
        fail(word, "more than 16 threads");
      }
      in_.expect("@", "before a thread's place");
      litmus_test::thread t;
      t.number = *number;
      t.where = read_place(word);
      in_.test.threads.push_back(std::move(t));
      thread_tokens_.push_back(word);
    } while (in_.accept("|"));
    in_.expect(";", "after the threads' places");
    resolve_threads();
  }

  /// The registers whose first value is the address of another block's shared memory.
  [[nodiscard]] const std::vector<remote_address>& remote_addresses() const noexcept { return others_; }

  /// Throws `error` for a block or a cluster that is in two places.
  void check_places() const {
    for (std::size_t i = 0; i < in_.test.threads.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const place& x = in_.test.threads[j].where;
        const place& y = in_.test.threads[i].where;
        if (x.host || y.host || x.gpu != y.gpu) {
          continue;
        }
        if (x.block == y.block && x.cluster != y.cluster) {
          fail(thread_tokens_[i], "cta " + std::to_string(y.block) + " is in two clusters");
        }
        if (x.block == y.block && x.domain != y.domain) {
          fail(thread_tokens_[i], "cta " + std::to_string(y.block) + " is in two domains");
        }
        if (x.cluster >= 0 && x.cluster == y.cluster && x.domain != y.domain) {
          fail(thread_tokens_[i], "cluster " + std::to_string(y.cluster) + " is in two domains");
        }
      }
    }
  }

 private:
  struct pending_register {
    token word;
    int thread = 0;
    std::string name;
    std::int64_t value = 0;
    std::string address_of;
    int of_thread = -1;  ///< number of the thread whose block the address belongs to; -1: its own
  };
  struct initial_address {
    int index = 0;
    std::string name;
    token word;
  };
  struct precedence {
    token word;
    int before = 0;
    int after = 0;
    bool launches = false;
  };

  void read_initial_entry() {
    token word = in_.peek();
    if (word.what == token_kind::number) {
      in_.take();
      in_.expect(":", "after a thread's number");
      read_initial_register(word, static_cast<int>(word.value));
      return;
    }
    if (word.what == token_kind::symbol && word.text == "[") {  // [x] = 1
      in_.take();
      word = in_.expect_word("a location");
      in_.expect("]", "after a location");
    } else {
      word = in_.expect_word("a location or a register");
    }
    static constexpr std::string_view types[] = {"int", "unsigned", "long", "uint32_t", "int32_t", "uint64_t", "int64_t"};
    if (std::find(std::begin(types), std::end(types), word.text) != std::end(types) && in_.peek().what == token_kind::word) {
      word = in_.take();
    }
    const std::optional<int> thread = thread_number(word.text);
    if (thread && in_.at_symbol(":")) {
      in_.take();
      read_initial_register(word, *thread);
      return;
    }
    if (thread && (in_.at_word("precedes") || in_.at_word("launches"))) {
      const bool launches = in_.at_word("launches");
      in_.take();
      const token other = in_.expect_word("a thread");
      const std::optional<int> after = thread_number(other.text);
      if (!after) {
        fail(other, "expected a thread, found " + shown(other));
      }
      precedes_.push_back({word, *thread, *after, launches});
      return;
    }
    const std::string name = in_.location_name(word);
    if (!given_.insert(name).second) {
      fail(word, "'" + name + "' has an initial value already");
    }
    if (in_.at_symbol("@")) {
      in_.take();
      read_view(word, name);
      return;
    }
    if (const std::size_t bracket = name.find('['); bracket != std::string::npos && !in_.at_symbol("=")) {
      declare_array(word, name.substr(0, bracket), std::stoi(name.substr(bracket + 1)));
      return;
    }
    const int index = in_.location_for(word, name);
    if (in_.accept("=")) {
      read_initial_value(index);
    }
  }

  // A number, or the address of a location.
  void read_initial_value(int index) {
    in_.accept("&");
    if (in_.peek().what == token_kind::word) {
      const token target = in_.take();
      initial_addresses_.push_back({index, in_.location_name(target), target});
    } else {
      at(in_.test.locations, index).initial = in_.expect_number("an initial value");
    }
  }

  // x[3]; declares x, x[1] and x[2].
  void declare_array(const token& word, const std::string& name, int elements) {
    for (int i = 0; i < elements; ++i) {
      in_.location_for(word, i == 0 ? name : name + "[" + std::to_string(i) + "]");
    }
  }

  // m @ multimem aliases x, y;
  void read_multimem(const token& word, const std::string& name) {
    std::vector<int> objects;
    do {
      const token object = in_.expect_word("a location");
      const std::string object_name = in_.location_name(object);
      const int of = in_.find_location(object_name);
      if (of < 0) {
        fail(object, "'" + object_name + "' is not declared before its multimem address");
      }
      const location& l = at(in_.test.locations, of);
      if (l.arrivals != 0 || l.physical != of || in_.is_declared_shared(object_name)) {
        fail(object,
             "'" + object_name + "' is no object of a multimem address: that is one in global memory, by its own address");
      }
      if (std::find(objects.begin(), objects.end(), of) != objects.end()) {
        fail(object, "'" + object_name + "' is an object of this multimem address already");
      }
      objects.push_back(of);
    } while (in_.accept(","));
    if (in_.find_location(name) >= 0 || name.find('[') != std::string::npos) {
      fail(word, "'" + name + "' is declared already, or is an element, and no name of a multimem address");
    }
    in_.declare_multimem(word, name, objects);
  }

  // s @ surface aliases x;   b @ mbarrier 2;
  void read_view(const token& word, const std::string& name) {
    const token how = in_.expect_word("a proxy, 'shared' or 'mbarrier'");
    const std::string kind_name = lower(how.text);
    if (kind_name == "shared") {
      const std::size_t bracket = name.find('[');
      in_.declare_shared(name.substr(0, bracket));
      if (in_.accept("=")) {
        read_initial_value(in_.location_for(word, name));
      } else {
        declare_array(word, name.substr(0, bracket), bracket == std::string::npos ? 1 : std::stoi(name.substr(bracket + 1)));
      }
      return;
    }
    if (kind_name == "mbarrier") {
      const token count = in_.peek();
      const int arrivals = in_.expect_small("an expected count");
      if (arrivals < 1) {
        fail(count, "an mbarrier expects at least one arrival");
      }
      at(in_.test.locations, in_.location_for(word, name)).arrivals = arrivals;
      return;
    }
    if (kind_name != "generic" && kind_name != "surface" && kind_name != "texture" && kind_name != "constant" &&
        kind_name != "multimem") {
      fail(how, "expected generic, surface, texture, constant, multimem, shared or mbarrier, found " + shown(how));
    }
    const token aliases = in_.expect_word("'aliases'");
    if (lower(aliases.text) != "aliases") {
      fail(aliases, "expected 'aliases', found " + shown(aliases));
    }
    if (kind_name == "multimem") {
      read_multimem(word, name);
      return;
    }
    const token target = in_.expect_word("a location");
    const std::string target_name = in_.location_name(target);
    const int of = in_.find_location(target_name);
    if (of < 0) {
      fail(target, "'" + target_name + "' is not declared before its alias");
    }
    if (in_.find_location(name) >= 0) {
      fail(word, "'" + name + "' is declared already");
    }
    const int index = in_.declare(word, name);
    const location base = at(in_.test.locations, of);
    location& l = at(in_.test.locations, index);
    l.physical = base.physical;
    // a generic alias is a virtual address of its own; a surface, texture or constant is a view of the address it names
    l.address = kind_name == "generic" ? index : base.address;
    l.initial = base.initial;
  }

  void read_initial_register(const token& word, int thread) {
    const token reg = in_.expect_word("a register");
    pending_register p{word, thread, std::string(reg.text), 0, {}};
    if (in_.accept("=")) {
      in_.accept("&");
      if (in_.peek().what == token_kind::word) {
        token target = in_.take();
        if (const std::optional<int> other = thread_number(target.text); other && in_.accept(":")) {
          p.of_thread = *other;
          target = in_.expect_word("a location");
        }
        p.address_of = in_.location_name(target);
      } else {
        p.value = in_.expect_number("an initial value");
      }
    }
    pending_.push_back(p);
  }

  [[nodiscard]] place read_place(const token& thread) {
    place where;
    std::set<std::string> given;
    do {
      const token word = in_.expect_word("cta, cluster, domain, gpu or host");
      const std::string what = lower(word.text);
      if (!given.insert(what).second) {
        fail(word, "'" + what + "' is given twice");
      }
      if (what == "host") {
        where.host = true;
        continue;
      }
      int* const member = what == "cta"       ? &where.block
                          : what == "cluster" ? &where.cluster
                          : what == "domain"  ? &where.domain
                          : what == "gpu"     ? &where.gpu
                          : what == "warp"    ? &where.warp
                                              : nullptr;
      if (member == nullptr) {
        fail(word, "expected cta, cluster, domain, gpu or host, found " + shown(word));
      }
      *member = in_.expect_small("a number");
    } while (in_.accept(","));
    if (where.host) {
      if (given.size() != 1) {
        fail(thread, "a host thread has no other place");
      }
    } else if (given.count("cta") == 0 || given.count("gpu") == 0) {
      fail(thread, "a place needs both cta and gpu");
    }
    return where;
  }

  // A location whose address is asked for.
  [[nodiscard]] int memory_named(const token& word, const std::string& name) {
    const int index = in_.location_for(word, name);
    if (at(in_.test.locations, index).arrivals != 0) {
      fail(word, "'" + name + "' is an mbarrier, which no address reaches: instructions on it name it");
    }
    return index;
  }

  // The initial state names threads before they are declared.
  void resolve_threads() {
    for (const pending_register& p : pending_) {
      const int thread = in_.thread_index(p.thread);
      if (thread < 0) {
        fail(p.word, "there is no thread P" + std::to_string(p.thread));
      }
      const int reg = in_.register_for(p.word, thread, p.name);
      std::int64_t value = p.value;
      if (!p.address_of.empty()) {
        value = address_value(memory_named(p.word, p.address_of));
      }
      if (p.of_thread >= 0) {
        if (in_.thread_index(p.of_thread) < 0) {
          fail(p.word, "there is no thread P" + std::to_string(p.of_thread));
        }
        in_.declare_shared(p.address_of.substr(0, p.address_of.find('[')));
        others_.push_back({p.word, thread, reg, in_.thread_index(p.of_thread)});
      }
      at(at(in_.test.threads, thread).registers, reg) = value;
    }
    for (const auto& [word, before, after, launches] : precedes_) {
      if (in_.thread_index(before) < 0 || in_.thread_index(after) < 0) {
        fail(word, "there is no thread P" + std::to_string(in_.thread_index(before) < 0 ? before : after));
      }
      (launches ? in_.test.launches : in_.test.api).push_back({in_.thread_index(before), in_.thread_index(after)});
    }
  }

  litmus_names& in_;
  std::vector<remote_address> others_;
  std::set<std::string> given_;  ///< locations with an entry
  std::vector<token> thread_tokens_;
  std::vector<pending_register> pending_;
  std::vector<initial_address> initial_addresses_;
  std::vector<precedence> precedes_;
};

}  // namespace membar::litmus_files::detail
