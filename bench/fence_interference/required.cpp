// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "required.hpp"

#include <membar/memory_order.hpp>
#include <membar/model/test.hpp>
#include <membar/thread_scope.hpp>

#include <sstream>
#include <stdexcept>
#include <string>

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

constexpr thread_scope device = thread_scope::device;
constexpr thread_scope system_wide = thread_scope::system;

/// An instruction whose scope is known only at run time.
model::instruction at(thread_scope scope, model::instruction what) {
  what.scope = scope;
  return what;
}
template <class Order>
model::instruction load_at(thread_scope scope, model::reg to, model::variable from, Order order) {
  return at(scope, model::load<system_wide>(to, from, order));
}
template <class Order>
model::instruction raise_at(thread_scope scope, model::variable what, Order order) {
  return at(scope, model::store<system_wide>(what, 1, order));
}
template <class Order>
model::instruction fence_at(thread_scope scope, Order order) {
  return at(scope, model::thread_fence<system_wide>(order));
}

/// Determines the requirement for a victim that ends with `operations` at `scope`. The last operation publishes `flag`. A
/// victim without operations is the end of a kernel that another kernel follows in the same stream.
template <class... Operations>
requirement decide(const arm& arm, thread_scope scope, const Operations&... operations) {
  const auto beside = [&](int block) { return model::in_domain(model::block(block), arm.victim.physical()); };
  const model::place noise_place = model::in_domain(model::block(0), arm.noise.physical());
  const model::place victim_place = model::in_cluster(beside(1), 1);
  // The observer is at the most distant place that the scope includes.
  const model::place observer_place = scope == thread_scope::block     ? victim_place
                                      : scope == thread_scope::cluster ? model::in_cluster(beside(2), 1)
                                      : scope == device                ? beside(2)
                                                                       : model::host();
  // The noise stores and, if the victim reads the noise's flag, raises the flag at the scope at which the victim reads it. The
  // victim must wait for the stores that a later observer is guaranteed to see.
  const auto waits_for = [&](model::variable data, thread_scope look_scope, const auto&... look) {
    const auto noise =
        model::thread(noise_place, model::store(noise_data, 1), raise_at(look_scope, noise_flag, membar::release));
    const auto victim = model::thread(victim_place, look..., model::store(own_data, 1), operations...);
    // If the victim reads the flag, the wait is required only in executions in which the flag was raised.
    const model::condition missed = in(1, seen) == static_cast<int>(sizeof...(look)) && in(2, value) == 0;
    if constexpr (sizeof...(operations) == 0) {
      const auto observer = model::thread(observer_place, model::load(value, data));
      return model::forbidden(model::litmus(noise, victim, observer).ordered(1, 2).when(missed));
    } else {
      const auto observer = model::thread(observer_place, load_at(scope, seen, flag, membar::relaxed),
                                          fence_at(scope, membar::acq_rel), model::load(value, data));
      return model::forbidden(model::litmus(noise, victim, observer).when(missed && in(2, seen) == 1));
    }
  };
  return {.own = waits_for(own_data, device),
          .noise = waits_for(noise_data, device),
          .noise_seen_at_device_scope = waits_for(noise_data, device, load_at(device, seen, noise_flag, membar::acquire)),
          .noise_seen_at_system_scope =
              waits_for(noise_data, system_wide, load_at(system_wide, seen, noise_flag, membar::acquire))};
}

}  // namespace

requirement requirement_of(std::string_view victim, const arm& arm) {
  std::istringstream name{std::string(victim)};
  std::string operation, scope_name, order;
  std::getline(name, operation, '.') && std::getline(name, scope_name, '.') && std::getline(name, order, '.');
  if (operation == "kernel_boundary") {
    return decide(arm, device);
  }
  for (const thread_scope scope : {thread_scope::block, thread_scope::cluster, device, system_wide}) {
    if (scope_name != membar::name(scope)) {
      continue;
    }
    const model::instruction publish = raise_at(scope, flag, membar::relaxed);
    if (operation == "release_store") {
      return decide(arm, scope, raise_at(scope, flag, membar::release));
    }
    if (operation == "acquire_load") {
      return decide(arm, scope, load_at(scope, value, other, membar::acquire), publish);
    }
    return decide(arm, scope, order == "seq_cst" ? fence_at(scope, membar::seq_cst) : fence_at(scope, membar::acq_rel),
                  publish);
  }
  throw std::logic_error("the victim " + std::string(victim) + " has no scope that is known");
}

}  // namespace fence_interference
