// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PEs of a team that write, arrive, do other work, wait, and read what the other PEs wrote. The PEs' words are stored one after
// another.
#include <membar/symmetric/barrier.cuh>

namespace symmetric = membar::symmetric;
using symmetric::by_thread, symmetric::pe;

/// A team, in the form that is passed to a kernel.
struct team_bytes {
  int first, stride, size;
  unsigned long long listed[2];
};

template <int Pes>
__device__ void take_part(symmetric::barrier_word* words, team_bytes members, int self, unsigned* cells, unsigned* sum,
                          unsigned* own_work) {
  constexpr int each = Pes + 1;
  const symmetric::peer_reach reach(pe(self), Pes, each * static_cast<long>(sizeof *words));
  const auto mine =
      symmetric::detail::access::make_span<symmetric::barrier_word, symmetric::peer_backend>(words + each * self, each, reach);
  const symmetric::team_words<> here(mine, __builtin_bit_cast(symmetric::team, members));
  constexpr auto budget = membar::wait_budget::milliseconds(10'000);
  cells[self] = 1;
  const symmetric::arrival own = symmetric::arrive(by_thread, here);
  own_work[self] += 1;
  if (symmetric::try_wait(by_thread, here, own, budget) != membar::wait_result::done) {
    __trap();
  }
  for (int rank = 0; rank != here.members().size(); ++rank) {
    sum[self] += cells[here.members()[rank].index()];
  }
  if (symmetric::try_barrier(by_thread, here, budget) != membar::wait_result::done) {
    __trap();
  }
  cells[self] = 2;  // after all threads have read
}

extern "C" __global__ void pair(symmetric::barrier_word* words, int self, unsigned* cells, unsigned* sum, unsigned* own_work) {
  take_part<3>(words, {0, 2, 2, {0, 0}}, self, cells, sum, own_work);
}

extern "C" __global__ void three(symmetric::barrier_word* words, int self, unsigned* cells, unsigned* sum, unsigned* own_work) {
  take_part<3>(words, {0, 1, 3, {0, 0}}, self, cells, sum, own_work);
}
