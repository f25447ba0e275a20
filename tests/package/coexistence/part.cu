// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One of several translation units that use membar and are linked into a program. PART is the unit's letter.
#include <membar/aggregated.cuh>
#include <membar/cache_control.cuh>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>
#include <membar/sync/last_block.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/ticket_lock.cuh>
#include <membar/wait_budget.cuh>

#if !defined(WITHOUT_EXCEPTIONS)
#include <membar/access_policy_window.hpp>
#include <membar/constant.cuh>
#include <membar/l2_set_aside.hpp>
#include <membar/launch.hpp>
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/wait.cuh>
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

using membar::thread_scope;

template <thread_scope Scope>
struct shared_state {
  membar::atomic<unsigned, Scope> count;
  membar::atomic<float, Scope> largest;
  membar::atomic<unsigned char, Scope> byte;
  membar::ticket_lock<Scope> lock;
  membar::last_block<Scope> last;
};

extern "C" __global__ void JOIN(work_, PART)(shared_state<thread_scope::device>* state, float* in, membar::wait_result* result,
                                             unsigned* count) {
  state->count.add(1, membar::release);
  state->largest.fetch_max(in[threadIdx.x], membar::relaxed);
  state->byte.fetch_or(1, membar::acq_rel);
  membar::thread_fence<thread_scope::system>(membar::seq_cst);
  if (threadIdx.x == 0) {
    *result = state->lock.lock(membar::wait_budget::milliseconds(1));
    state->lock.unlock();
  }
  const membar::l2_policy policy = membar::cache_policy<membar::l2::evict_last>(1.0F);
  membar::store_weak(in, membar::load_weak(in, membar::l1::no_allocate, policy), policy);
  if (state->last.arrive()) {
    static_cast<void>(membar::aggregated_ref<unsigned, thread_scope::device>(*count).fetch_add(1, membar::relaxed));
  }
}

#if !defined(WITHOUT_EXCEPTIONS)
__constant__ membar::constant_table<float, 4> JOIN(table_, PART);

extern "C" __global__ void JOIN(share_,
                                PART)(membar::symmetric::object<membar::symmetric::signal<membar::symmetric::set>> signal,
                                      membar::symmetric::span<float> data, const float* from, float* out) {
  *out = JOIN(table_, PART)[threadIdx.x & 3U];
  membar::symmetric::put_signal(membar::symmetric::by_block, data, from, signal, 1, membar::symmetric::pe(1));
}

/// Launches a kernel if there is a device. Otherwise, the error message shows that host code runs.
const char* JOIN(sentence_, PART)() {
  static char sentence[256];
  try {
    membar::launch(membar::launch_config{0, 32}, JOIN(work_, PART), nullptr, nullptr, nullptr, nullptr);
    return "a grid of no block was launched";
  } catch (const membar::error& error) {
    std::snprintf(sentence, sizeof sentence, "%s", error.what());
    return sentence;
  }
}
using handler = void (*)(const char*) noexcept;
handler JOIN(exchange_handler_, PART)(handler next) { return membar::set_restore_failure_handler(next); }
#elif !defined(__CUDACC_RTC__)
const char* JOIN(sentence_, PART)() { return "membar: without exceptions"; }
#endif

#if !defined(__CUDACC_RTC__)
int JOIN(version_, PART)() { return MEMBAR_VERSION; }
#endif
