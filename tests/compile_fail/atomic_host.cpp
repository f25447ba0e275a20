// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules for atomics and fences, with the messages from a plain C++ compiler.
#include "refused.hpp"

#include <membar/atomic.hpp>
#include <membar/fence.hpp>

using namespace membar;

void host(int* object, float* number, void* anything) {
  const atomic_ref<int, thread_scope::system> n(*object);
  const atomic_ref<const int, thread_scope::system> reader = n;
  int expected = 0;
  // expect: a load cannot release, because it writes nothing: use relaxed,
  REFUSED(a_load_on_the_host_releases_nothing, static_cast<void>(n.load(release)));
  static_cast<void>(n.load(acquire));
  // expect: an atomic operation needs an order: pass relaxed, acquire
  REFUSED(a_store_on_the_host_is_given_its_order, n.store(1));
  n.store(1, release);
  // expect: the failure order of compare_exchange must be relaxed, acquire
  REFUSED(a_failure_on_the_host_releases_nothing, n.compare_exchange(expected, 1, acq_rel, release));
  n.compare_exchange(expected, 1, release, acquire);
  // expect: a reference to const can only load: use a reference to a non-const type
  REFUSED(a_reference_to_const_on_the_host_stores_nothing, reader.store(1, relaxed));
  static_cast<void>(reader.load(relaxed));
  // expect: a reference to const can only load: use a reference to a
  REFUSED(a_reference_to_const_on_the_host_adds_nothing, reader.fetch_add(1, relaxed));
  n.fetch_add(1, relaxed);
  // expect: bitwise operations support only integers: use fetch_update for
  REFUSED(no_float_on_the_host_has_bits, atomic_ref<float, thread_scope::system>(*number).fetch_xor(1, relaxed));
  atomic_ref<float, thread_scope::system>(*number).fetch_add(1, relaxed);
  // expect: only an L2 policy can follow the order of an atomic operation:
  REFUSED(a_number_is_no_policy, n.fetch_add(1, relaxed, 3));
  n.fetch_add(3, relaxed);
  // expect: an atomic object must be trivially copyable, not volatile, and 1, 2, 4, 8 or 16 bytes long
  REFUSED(no_volatile_object_on_the_host_is_atomic,
          static_cast<void>(atomic_ref<volatile int, thread_scope::system>(*static_cast<volatile int*>(anything))));
  static_cast<void>(atomic_ref<const int, thread_scope::system>(*static_cast<const int*>(anything)));
  // expect: a relaxed fence would order nothing: use acquire, release, acq_rel or seq_cst
  REFUSED(a_fence_on_the_host_is_never_relaxed, thread_fence<thread_scope::system>(relaxed));
  // expect: membar: a fence needs an order: pass acquire, release, acq_rel or seq_cst
  REFUSED(a_fence_on_the_host_has_an_order, thread_fence<thread_scope::system>());
  thread_fence<thread_scope::system>(release);
}
