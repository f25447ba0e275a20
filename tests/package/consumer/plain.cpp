// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A C++ program that needs nothing of CUDA: the vocabulary is all it uses.
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <membar/version.hpp>

static_assert(__cplusplus >= 202002L, "membar::membar asks for C++20");

int main() { return name(membar::thread_scope::system)[0] == 's' && membar::version.major >= 0 ? 0 : 1; }
