// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of atomics and fences, with the messages of a plain C++ compiler.
#include "refused.hpp"

#include <membar/atomic.hpp>
#include <membar/fence.hpp>

using namespace membar;

void host(int* object, float* number, void* anything) {
  const atomic_ref<int, thread_scope::system> n(*object);
  const atomic_ref<const int, thread_scope::system> reader = n;
  int expected = 0;
  // expect: a load takes relaxed, acquire or seq_cst: it has nothing to release
  REFUSED(a_load_on_the_host_releases_nothing, static_cast<void>(n.load(release)));
  static_cast<void>(n.load(acquire));
  // expect: an atomic operation needs an order: add relaxed, acquire
  REFUSED(a_store_on_the_host_is_given_its_order, n.store(1));
  n.store(1, release);
  // expect: a compare_exchange that fails takes relaxed, acquire or seq_cst
  REFUSED(a_failure_on_the_host_releases_nothing, n.compare_exchange(expected, 1, acq_rel, release));
  n.compare_exchange(expected, 1, release, acquire);
  // expect: a reference to const only loads: refer to the object itself to change it
  REFUSED(a_reference_to_const_on_the_host_stores_nothing, reader.store(1, relaxed));
  static_cast<void>(reader.load(relaxed));
  // expect: a reference to const only loads: refer to the object itself
  REFUSED(a_reference_to_const_on_the_host_adds_nothing, reader.fetch_add(1, relaxed));
  n.fetch_add(1, relaxed);
  // expect: bitwise operations take integers: use fetch_update for other types
  REFUSED(no_float_on_the_host_has_bits, atomic_ref<float, thread_scope::system>(*number).fetch_xor(1, relaxed));
  atomic_ref<float, thread_scope::system>(*number).fetch_add(1, relaxed);
  // expect: what follows the order of an atomic operation is an L2 policy
  REFUSED(a_number_is_no_policy, n.fetch_add(1, relaxed, 3));
  n.fetch_add(3, relaxed);
  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes, which is not volatile
  REFUSED(no_volatile_object_on_the_host_is_atomic,
          static_cast<void>(atomic_ref<volatile int, thread_scope::system>(*static_cast<volatile int*>(anything))));
  static_cast<void>(atomic_ref<const int, thread_scope::system>(*static_cast<const int*>(anything)));
  // expect: a fence takes acquire, release, acq_rel or seq_cst: a relaxed fence would order nothing
  REFUSED(a_fence_on_the_host_is_never_relaxed, thread_fence<thread_scope::system>(relaxed));
  thread_fence<thread_scope::system>(release);
}
