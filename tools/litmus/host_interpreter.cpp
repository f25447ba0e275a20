// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <litmus/host_interpreter.hpp>

#include <membar/memory_order.hpp>

#include <string>

namespace membar::litmus_files {

using membar::memory_order;
using model::instruction;
using model::opcode;

namespace {

void check(const model::litmus_test::thread& t) {
  for (std::size_t n = 0; n < t.code.size(); ++n) {
    const instruction& i = t.code[n];
    const std::string quoted = membar_tools::quote(t.text[n]) + ": ";
    if (i.code == opcode::proxy_fence) {
      refuse_line(i.line,
                  quoted + "a host thread accesses memory through only one proxy and needs no proxy fence: remove the fence");
    }
    const bool access =
        i.code == opcode::load || i.code == opcode::store || i.code == opcode::atomic || i.code == opcode::reduction;
    if (access && i.bytes == 16) {
      refuse_line(i.line, quoted + "a host thread can access only 1, 2, 4 or 8 bytes");
    }
  }
}

void fence(memory_order order) noexcept {
  switch (order) {
    case memory_order::acquire:
      return __atomic_thread_fence(__ATOMIC_ACQUIRE);
    case memory_order::release:
      return __atomic_thread_fence(__ATOMIC_RELEASE);
    case memory_order::acq_rel:
      return __atomic_thread_fence(__ATOMIC_ACQ_REL);
    default:
      return __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
}

}  // namespace

host_interpreter::host_interpreter(const run_plan& plan) : plan_(&plan), values_(plan.digits().size()) {
  const std::vector<model::litmus_test::thread>& threads = plan.test().threads;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    if (threads[t].where.host) {
      check(threads[t]);
    }
    std::array<std::int64_t, model::max_registers> initial{};
    for (std::size_t r = 0; r < threads[t].registers.size(); ++r) {
      initial[r] = plan.machine_value(threads[t].registers[r]);
    }
    initial_.push_back(initial);
  }
  for (std::size_t d = 0; d < values_.size(); ++d) {
    for (const std::int64_t value : plan.digits()[d].values) {
      values_[d].push_back(plan.machine_value(value));
    }
  }
}

bool host_interpreter::any() const noexcept {
  for (const model::litmus_test::thread& t : plan_->test().threads) {
    if (t.where.host) {
      return true;
    }
  }
  return false;
}

void host_interpreter::operator()(int thread, const litmus::instance_cells& at, const litmus::instance_digits& out) const {
  const auto t = static_cast<std::size_t>(thread);
  state now{&at, initial_[t], 0};
  const thread_end end = run(plan_->test().threads[t], now);
  for (std::size_t d = 0; d < values_.size(); ++d) {
    const outcome_digit& one = plan_->digits()[d];
    if (one.end_of == thread) {
      out.put(static_cast<int>(d), static_cast<unsigned>(end));
    } else if (one.thread() == thread) {
      out.put(static_cast<int>(d), digit(d, now.registers[static_cast<std::size_t>(one.what.index)]));
    }
  }
}

std::int64_t host_interpreter::state::value(const model::operand& o, const run_plan& plan) const noexcept {
  return o.is_register ? registers[static_cast<std::size_t>(o.index)] : plan.machine_value(o.value);
}

void host_interpreter::state::set(int reg, std::int64_t value) noexcept {
  if (reg >= 0) {
    registers[static_cast<std::size_t>(reg)] = value;
  }
}

unsigned host_interpreter::digit(std::size_t which, std::int64_t value) const noexcept {
  unsigned d = 0;
  while (d < values_[which].size() && values_[which][d] != value) {
    ++d;
  }
  return d;
}

template <int Order, int FailureOrder, class T>
T host_interpreter::update_as(const instruction& i, T* address, const state& now) const {
  const std::int64_t a = now.value(i.a, *plan_);
  switch (i.what) {
    case model::operation::compare_exchange: {
      T expected = static_cast<T>(a);
      static_cast<void>(
          __atomic_compare_exchange_n(address, &expected, static_cast<T>(now.value(i.b, *plan_)), false, Order, FailureOrder));
      return expected;
    }
    case model::operation::move:
      return __atomic_exchange_n(address, static_cast<T>(a), Order);
    case model::operation::add:
      return __atomic_fetch_add(address, static_cast<T>(a), Order);
    case model::operation::subtract:
      return __atomic_fetch_sub(address, static_cast<T>(a), Order);
    default: {
      T old = __atomic_load_n(address, __ATOMIC_RELAXED);
      while (!__atomic_compare_exchange_n(address, &old, static_cast<T>(model::apply(i.what, old, a)), false, Order,
                                          __ATOMIC_RELAXED)) {
      }
      return old;
    }
  }
}

// The order of a builtin must be a compile-time constant, because compilers replace any other order with the strongest one.
template <class T>
T host_interpreter::update(const instruction& i, T* address, const state& now) const {
  switch (i.order) {
    case memory_order::acquire:
      return update_as<__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE>(i, address, now);
    case memory_order::release:
      return update_as<__ATOMIC_RELEASE, __ATOMIC_RELAXED>(i, address, now);
    case memory_order::acq_rel:
      return update_as<__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE>(i, address, now);
    default:
      return update_as<__ATOMIC_RELAXED, __ATOMIC_RELAXED>(i, address, now);
  }
}

template <class T>
void host_interpreter::access_as(const instruction& i, T* address, state& now) const {
  if (i.code == opcode::load) {
    now.set(i.destination, i.strong && i.order == memory_order::acquire ? __atomic_load_n(address, __ATOMIC_ACQUIRE)
                                                                        : __atomic_load_n(address, __ATOMIC_RELAXED));
  } else if (i.code == opcode::store) {
    const T value = static_cast<T>(now.value(i.a, *plan_));
    if (i.strong && i.order == memory_order::release) {
      __atomic_store_n(address, value, __ATOMIC_RELEASE);
    } else {
      __atomic_store_n(address, value, __ATOMIC_RELAXED);
    }
  } else {
    now.set(i.code == opcode::atomic ? i.destination : -1, update(i, address, now));
  }
}

void host_interpreter::access(const instruction& i, char* address, state& now) const {
  switch (i.bytes) {
    case 1:
      return access_as(i, reinterpret_cast<std::int8_t*>(address), now);
    case 2:
      return access_as(i, reinterpret_cast<std::int16_t*>(address), now);
    case 4:
      return access_as(i, reinterpret_cast<std::int32_t*>(address), now);
    default:
      return access_as(i, reinterpret_cast<std::int64_t*>(address), now);
  }
}

char* host_interpreter::address_of(const instruction& i, const state& now) const {
  int location = i.target;
  if (i.indirect) {
    const std::int64_t token = now.registers[static_cast<std::size_t>(i.target)];
    const std::int64_t index = (token - address_token(0)) / 16;
    if (index < 0 || index >= static_cast<std::int64_t>(plan_->test().locations.size()) ||
        token != address_token(static_cast<int>(index)) || !plan_->may_point_to(static_cast<int>(index), i.bytes)) {
      return nullptr;
    }
    location = static_cast<int>(index);
  }
  const cell_part& part = plan_->part(location);
  return now.at->as<char>(part.cell) + part.offset;
}

thread_end host_interpreter::run(const model::litmus_test::thread& thread, state& now) const {
  for (std::size_t n = 0; n < thread.code.size();) {
    const instruction& i = thread.code[n];
    switch (i.code) {
      case opcode::load:
      case opcode::store:
      case opcode::atomic:
      case opcode::reduction: {
        char* const address = address_of(i, now);
        if (address == nullptr) {
          return thread_end::strayed;
        }
        access(i, address, now);
        break;
      }
      case opcode::fence:
        fence(i.order);
        break;
      case opcode::compute:
        now.set(i.destination, model::apply(i.what, now.value(i.a, *plan_), now.value(i.b, *plan_)));
        break;
      case opcode::branch:
      case opcode::jump:
        if (i.code == opcode::jump || model::compare(i.test, now.value(i.a, *plan_), now.value(i.b, *plan_))) {
          const auto target = static_cast<std::size_t>(i.target);
          if (target <= n && ++now.turns == jump_limit) {
            return thread_end::unfinished;
          }
          n = target;
          continue;
        }
        break;
      default:
        break;  // the constructor has already rejected this instruction
    }
    ++n;
  }
  return thread_end::reached;
}

}  // namespace membar::litmus_files
