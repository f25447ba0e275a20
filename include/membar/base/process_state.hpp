// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// State that exists once per process, even if the process loads libraries that contain different versions of membar.
///
/// These variables are outside every namespace, and have C names that end in the version of their layout. If you change a
/// layout, rename the variable. Default visibility shares them even between libraries that hide all other symbols. g++ emits an
/// inline variable as a unique symbol (`STB_GNU_UNIQUE`), and glibc's dynamic linker keeps one instance of such a symbol per
/// process, even with `dlopen` and `RTLD_LOCAL`.
#pragma once

#include <pthread.h>

#include <cstddef>

extern "C" {

/// The L2 set-aside accounting of one device. It is created on first use and exists until the process ends.
struct membar_l2_account_v1 {
  int device;
  std::size_t holders;
  std::size_t sum;    ///< the sum of the requests, each at most `largest`
  std::size_t found;  ///< the device's limit before the first request
  std::size_t largest;
  membar_l2_account_v1* next;
};

/// The accounts of all devices, and the lock that protects them and the device limits that they represent.
struct membar_l2_accounts_v1 {
  pthread_mutex_t lock;
  membar_l2_account_v1* first;
};

inline __attribute__((visibility("default"))) membar_l2_accounts_v1 membar_process_l2_accounts_v1 = {PTHREAD_MUTEX_INITIALIZER,
                                                                                                     nullptr};

/// Receives the messages about failed restores. If null, the messages are printed to stderr.
inline __attribute__((visibility("default"))) void (*membar_process_restore_failure_handler_v1)(const char*) noexcept = nullptr;

}  // extern "C"
