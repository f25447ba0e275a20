// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Thread-local memory that is allocated on first use. A preloaded library's `thread_local` objects are taken from the stack of
/// every thread of every process, so this one is only a pointer.
#pragma once

namespace membar_domains {

/// Returns the thread's own T. If a destructor of the program runs after it is destroyed, it gets a new one, which is not
/// freed.
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
