// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "required.hpp"

#include <membar/memory_order.hpp>
#include <membar/model/test.hpp>
#include <membar/thread_scope.hpp>

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace fence_interference {
namespace {

namespace model = membar::model;
using membar::thread_scope;
using model::in;

constexpr model::variable own_data{0};
constexpr model::variable noise_data{1};
constexpr model::variable noise_flag{2};
constexpr model::variable flag{3};
constexpr model::variable other{4};
constexpr model::reg seen{0};
constexpr model::reg value{1};

/// Where the two sides and the observer run.
struct places {
  model::place noise;
  model::place victim;
  model::place observer;
};

template <thread_scope Scope>
places places_in(const arm& arm) {
  const auto victim = model::in_cluster(model::in_domain(model::block(1), arm.victim.physical()), 1);
  const auto beside = [&](int block) { return model::in_domain(model::block(block), arm.victim.physical()); };
  places result{model::in_domain(model::block(0), arm.noise.physical()), victim, model::host()};
  if constexpr (Scope == thread_scope::block) {
    result.observer = victim;
  } else if constexpr (Scope == thread_scope::cluster) {
    result.observer = model::in_cluster(beside(2), 1);
  } else if constexpr (Scope == thread_scope::device) {
    result.observer = beside(2);
  }
  return result;
}

/// The noise stores and raises its flag, at the scope that a victim which looks at the flag would use.
template <thread_scope Look>
auto noise_thread(const places& where) {
  return model::thread(where.noise, model::store(noise_data, 1), model::store<Look>(noise_flag, 1, membar::release));
}

/// Decides the four questions for one kind of victim. `question(data, look...)` builds the test in which the victim first
/// executes `look` and an observer afterwards misses the store to `data`: what is forbidden must be waited for.
template <class Question>
requirement decide(const Question& question) {
  const auto acquire_at_device = model::load<thread_scope::device>(seen, noise_flag, membar::acquire);
  const auto acquire_at_system = model::load<thread_scope::system>(seen, noise_flag, membar::acquire);
  return {
      .own = model::forbidden(question.template missed<thread_scope::device>(own_data)),
      .noise = model::forbidden(question.template missed<thread_scope::device>(noise_data)),
      .noise_seen_at_device_scope =
          model::forbidden(question.template missed<thread_scope::device>(noise_data, acquire_at_device)),
      .noise_seen_at_system_scope =
          model::forbidden(question.template missed<thread_scope::system>(noise_data, acquire_at_system)),
  };
}

/// What the victim saw of the noise's flag, where it looked: the wait is in question only if the flag was up.
template <class... Look>
model::condition looked() {
  return in(1, seen) == (sizeof...(Look) == 0 ? 0 : 1);
}

/// A victim whose operation, at `Scope`, precedes or is the publication of `flag`.
template <thread_scope Scope, class... Operations>
struct operation_question {
  places where;
  std::tuple<Operations...> operations;

  template <thread_scope Noise, class... Look>
  auto missed(model::variable data, const Look&... look) const {
    const auto victim = std::apply(
        [&](const auto&... operation) { return model::thread(where.victim, look..., model::store(own_data, 1), operation...); },
        operations);
    const auto observer = model::thread(where.observer, model::load<Scope>(seen, flag, membar::relaxed),
                                        model::thread_fence<Scope>(membar::acq_rel), model::load(value, data));
    return model::litmus(noise_thread<Noise>(where), victim, observer)
        .when(looked<Look...>() && in(2, seen) == 1 && in(2, value) == 0);
  }
};

template <thread_scope Scope, class... Operations>
requirement decide_operation(const arm& arm, const Operations&... operations) {
  return decide(operation_question<Scope, Operations...>{places_in<Scope>(arm), {operations...}});
}

/// A victim that ends, and a kernel after it in its stream.
struct boundary_question {
  places where;

  template <thread_scope Noise, class... Look>
  auto missed(model::variable data, const Look&... look) const {
    return model::litmus(noise_thread<Noise>(where), model::thread(where.victim, look..., model::store(own_data, 1)),
                         model::thread(where.observer, model::load(value, data)))
        .ordered(1, 2)
        .when(looked<Look...>() && in(2, value) == 0);
  }
};

template <thread_scope Scope>
requirement decide_at(std::string_view operation, std::string_view order, const arm& arm) {
  const auto publish = model::store<Scope>(flag, 1, membar::relaxed);
  if (operation == "release_store") {
    return decide_operation<Scope>(arm, model::store<Scope>(flag, 1, membar::release));
  }
  if (operation == "acquire_load") {
    return decide_operation<Scope>(arm, model::load<Scope>(value, other, membar::acquire), publish);
  }
  return order == "seq_cst" ? decide_operation<Scope>(arm, model::thread_fence<Scope>(membar::seq_cst), publish)
                            : decide_operation<Scope>(arm, model::thread_fence<Scope>(membar::acq_rel), publish);
}

}  // namespace

requirement requirement_of(std::string_view victim, const arm& arm) {
  std::istringstream name{std::string(victim)};
  std::string operation, scope, order;
  std::getline(name, operation, '.') && std::getline(name, scope, '.') && std::getline(name, order, '.');
  if (operation == "kernel_boundary") {
    return decide(boundary_question{places_in<thread_scope::device>(arm)});
  }
  const std::pair<thread_scope, requirement (*)(std::string_view, std::string_view, const fence_interference::arm&)> scopes[] =
      {{thread_scope::block, decide_at<thread_scope::block>},
       {thread_scope::cluster, decide_at<thread_scope::cluster>},
       {thread_scope::device, decide_at<thread_scope::device>},
       {thread_scope::system, decide_at<thread_scope::system>}};
  for (const auto& [known, decide_there] : scopes) {
    if (scope == membar::name(known)) {
      return decide_there(operation, order, arm);
    }
  }
  throw std::logic_error("the victim " + std::string(victim) + " has no scope that is known");
}

}  // namespace fence_interference
