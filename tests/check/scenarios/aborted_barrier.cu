// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recoverable barrier that was aborted before the block arrived. The block does not arrive, and the result names the PE for
// which it would have waited.
#include <membar/symmetric/recoverable.cuh>

namespace symmetric = membar::symmetric;
using make = symmetric::detail::access;
using symmetric::pe, symmetric::peer_backend;

extern "C" __global__ void aborted(symmetric::barrier_word* words, symmetric::abort_flag* flags, int self,
                                   unsigned long long* told) {
  const symmetric::peer_reach of_words(pe(self), 3, 4 * static_cast<long>(sizeof *words));
  const symmetric::peer_reach of_flags(pe(self), 3, static_cast<long>(sizeof *flags));
  const auto mine = make::make_span<symmetric::barrier_word, peer_backend>(words + 4 * self, 4, of_words);
  const auto flag = make::make_object<symmetric::abort_flag, peer_backend>(flags + self, of_flags);
  symmetric::detail::missing_pe last;
  const bool done = symmetric::detail::barrier_unless_aborted(mine, membar::wait_budget::milliseconds(10'000), flag, last);
  told[0] = last.expected;
  told[1] = last.seen;
  told[2] = static_cast<unsigned long long>(last.pe);
  told[3] = done ? 1 : 0;
}
