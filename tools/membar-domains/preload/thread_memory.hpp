// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Thread-local memory that is allocated on first use. The `thread_local` objects of a preloaded library take space from the
/// stack of every thread of every process, so here only a pointer is `thread_local`.
#pragma once

namespace membar_domains {

/// Returns the thread's own object of type T. If a destructor of the program runs after the object has been destroyed, it gets
/// a new one, which is not freed.
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
