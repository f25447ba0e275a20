// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a process has once, although several of its libraries may contain membar, of different versions.
///
/// So it is outside every namespace, under names of C that end in the version of their layout. Anyone who changes a layout gives
/// the variable a new name. Default visibility also holds for libraries that hide everything else. g++ makes an inline variable a unique
/// symbol (`STB_GNU_UNIQUE`), which the dynamic linker of glibc keeps once for a process, also for `dlopen` with `RTLD_LOCAL`.
#pragma once

#include <pthread.h>

#include <cstddef>

extern "C" {

/// What is held of the L2 of one device. Made at its first use and kept until the process ends.
struct membar_l2_account_v1 {
  int device;
  std::size_t holders;
  std::size_t sum;    ///< of what the holders asked for, each at most `largest`
  std::size_t found;  ///< the limit before the first holder
  std::size_t largest;
  membar_l2_account_v1* next;
};

/// The accounts of all devices, and the lock of them and of the limits that they represent.
struct membar_l2_accounts_v1 {
  pthread_mutex_t lock;
  membar_l2_account_v1* first;
};

inline __attribute__((visibility("default"))) membar_l2_accounts_v1 membar_process_l2_accounts_v1 = {PTHREAD_MUTEX_INITIALIZER,
                                                                                                     nullptr};

/// Receives the sentences of failed restores. Null: they are printed to stderr.
inline __attribute__((visibility("default"))) void (*membar_process_restore_failure_handler_v1)(const char*) noexcept = nullptr;

}  // extern "C"
