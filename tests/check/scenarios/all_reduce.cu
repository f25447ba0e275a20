// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduces of bfloat16 values, performed by one thread on each of several PEs; a stream runs several all-reduces in
// succession.
#include <membar/symmetric/all_reduce.cuh>

namespace symmetric = membar::symmetric;
using element = __nv_bfloat16;
using memory = symmetric::all_reduce_memory<element, symmetric::peer_backend>;
using box = symmetric::detail::reduced_vector<element>;
using vector = symmetric::detail::reduced_vector<element>;

/// Returns PE `self`'s span of `each` objects. The objects of all `count` PEs are stored one after another.
template <class T>
__device__ symmetric::span<T> of(T* all, int self, int count, int each) {
  return symmetric::detail::access::make_span<T, symmetric::peer_backend>(
      all + each * self, static_cast<std::size_t>(each),
      symmetric::peer_reach(symmetric::pe(self), count, each * static_cast<long>(sizeof(T))));
}

/// Memory for the boxes of `pieces`, or for staged vectors of `part`.
struct places {
  box* boxes;
  symmetric::signal<symmetric::set>* ended;
  symmetric::barrier_word* words;
  vector* staged;
  symmetric::abort_flag* stop;
  unsigned long long* rounds;
  unsigned long long* failure;

  __device__ memory on(int self, int count, int pieces, int part) const {
    return {of(boxes, self, count, 3 * count * pieces),
            of(ended, self, count, count),
            of(words, self, count, 2 * (count + 1)),
            of(staged, self, count, 2 * count * part),
            of(stop, self, count, 1)[0],
            rounds + self,
            failure + self,
            static_cast<std::size_t>(part),
            membar::wait_budget::milliseconds(1000),
            false};
  }
};

extern "C" __global__ void one_shot(box* boxes, symmetric::signal<symmetric::set>* ended, symmetric::abort_flag* stop,
                                    unsigned long long* rounds, unsigned long long* failure, int self, int count, int pieces,
                                    const element* in, element* out, unsigned long long size) {
  const memory all = places{boxes, ended, nullptr, nullptr, stop, rounds, failure}.on(self, count, pieces, 0);
  static_cast<void>(symmetric::all_reduce_in_one_shot<membar::sum>(in + 8 * self, out + 8 * self, size, all));
}

extern "C" __global__ void two_shots(symmetric::barrier_word* words, vector* staged, symmetric::abort_flag* stop,
                                     unsigned long long* failure, int self, int count, int part, const element* in,
                                     element* out, int each, unsigned long long size) {
  const memory all = places{nullptr, nullptr, words, staged, stop, nullptr, failure}.on(self, count, 0, part);
  static_cast<void>(symmetric::detail::reduce_in_two_shots<membar::sum>(in + each * self, out + each * self, size, all));
}
