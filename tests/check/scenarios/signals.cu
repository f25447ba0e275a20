// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts and signals between two PEs, each with one thread, in rounds that reuse the same memory. A wait that times out traps
// without a message. The PEs' objects are stored one after another.
#include <cstdio>
#define printf(...) static_cast<void>(0)
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/peer_backend.hpp>
#include <membar/symmetric/wait.cuh>

namespace symmetric = membar::symmetric;
using symmetric::by_thread, symmetric::pe;
using make = symmetric::detail::access;
using backend = symmetric::peer_backend;
using set_signal = symmetric::signal<symmetric::set>;
using add_signal = symmetric::signal<symmetric::add>;

template <class T>
__device__ symmetric::object<T, backend> on_each(T* first, int self, int pes) {
  return make::make_object<T, backend>(first + self, symmetric::peer_reach(pe(self), pes, static_cast<long>(sizeof *first)));
}

constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

/// PE 0 puts a number with a signal, and PE 1 answers after it has read it.
extern "C" __global__ void ping(unsigned long long* numbers, set_signal* signals, int self, unsigned rounds, unsigned* wrong) {
  const auto number = on_each(numbers, self, 2);
  const auto signal = on_each(signals, self, 2);
  for (unsigned long long round = 1; round <= rounds; ++round) {
    if (self == 0) {
      put_signal(by_thread, number, &round, signal, round, pe(1));
      wait(by_thread, signal, symmetric::at_least(round), long_enough);
    } else {
      wait(by_thread, signal, symmetric::at_least(round), long_enough);
      *wrong += *number.local() != round ? 1 : 0;
      notify(by_thread, signal, round, pe(0));
    }
  }
}

/// Each PE except PE 0 puts a number and increments a counter. PE 0 waits for all of them.
extern "C" __global__ void gather(unsigned long long* numbers, add_signal* arrived, int self, int pes, unsigned* sum) {
  const auto signal = on_each(arrived, self, pes);
  const symmetric::peer_reach reach(pe(self), pes, 4 * static_cast<long>(sizeof *numbers));
  const auto row = make::make_span<unsigned long long, backend>(numbers + 4 * self, 4, reach);
  if (self == 0) {
    wait(by_thread, signal, symmetric::at_least(static_cast<unsigned long long>(pes - 1)), long_enough);
    for (int other = 1; other < pes; ++other) {
      *sum += static_cast<unsigned>(row.local()[other]);
    }
  } else {
    const unsigned long long one = 1;
    put_signal(by_thread, row[static_cast<std::size_t>(self)], &one, signal, 1, pe(0));
  }
}

/// Two puts, a fence, and one signal for both.
extern "C" __global__ void two_puts(unsigned long long* first, unsigned long long* second, set_signal* signals, int self,
                                    unsigned* sum) {
  const auto a = on_each(first, self, 2);
  const auto b = on_each(second, self, 2);
  const auto signal = on_each(signals, self, 2);
  if (self == 0) {
    const unsigned long long value = 3;
    put(by_thread, a, &value, pe(1));
    put(by_thread, b, &value, pe(1));
    notify(by_thread, signal, 1, pe(1), fence(by_thread, a.reach()));
  } else {
    wait(by_thread, signal, symmetric::equals(1), long_enough);
    *sum = static_cast<unsigned>(*a.local() + *b.local());
  }
}
