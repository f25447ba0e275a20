// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each GPU sets its own byte of a word, and waits for the whole word (vllm #2760).
#include "spin.cuh"

#include <membar/load_store.cuh>

template <bool Mended>
__global__ void meet_by_bytes(unsigned long long* words, unsigned* flags, int self, unsigned* late) {
  using membar::thread_scope;
  if constexpr (Mended) {  // one word for each GPU
    for (int peer = 0; peer < 2; ++peer) {
      membar::store<thread_scope::system>(&flags[2 * peer + self], 1U, membar::release);
    }
    spin(late, [&] {
      return membar::load<thread_scope::system>(&flags[2 * self], membar::acquire) == 1 &&
             membar::load<thread_scope::system>(&flags[2 * self + 1], membar::acquire) == 1;
    });
  } else {
    for (int peer = 0; peer < 2; ++peer) {
      reinterpret_cast<volatile unsigned char*>(&words[peer])[self] = 1;
    }
    spin(late, [&] { return static_cast<volatile unsigned long long*>(words)[self] == 0x0101; });
  }
}
template __global__ void meet_by_bytes<false>(unsigned long long*, unsigned*, int, unsigned*);
template __global__ void meet_by_bytes<true>(unsigned long long*, unsigned*, int, unsigned*);
