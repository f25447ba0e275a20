// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A C++ program that does not need CUDA: it uses the vocabulary headers and the host part of a protocol.
#include <membar/atomic.hpp>
#include <membar/fence.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <membar/version.hpp>

static_assert(__cplusplus >= 202002L, "membar::membar asks for C++20");

int main() {
  int flag = 0;
  membar::atomic_ref<int, membar::thread_scope::system>(flag).store(1, membar::release);
  membar::thread_fence<membar::thread_scope::system>(membar::acq_rel);
  return flag == 1 && name(membar::thread_scope::system)[0] == 's' && membar::version.major >= 0 ? 0 : 1;
}
