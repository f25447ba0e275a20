// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory of each thread that uses it. What a preloaded library has as `thread_local` is taken from the stack of every thread of every
/// process, so it is a pointer.
#pragma once

namespace membar_domains {

/// The thread's own T. A destructor of the program's that runs after ours gets a new one, which stays.
template <class T>
T& of_thread() {
  static thread_local T* memory = nullptr;
  struct owner {
    ~owner() {
      delete memory;
      memory = nullptr;
    }
  };
  if (memory == nullptr) {
    memory = new T;
    static thread_local const owner ends;
    static_cast<void>(ends);
  }
  return *memory;
}

}  // namespace membar_domains
