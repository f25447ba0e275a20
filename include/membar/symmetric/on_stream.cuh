// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Symmetric operations on a stream. Each call enqueues an operation and returns; the operation runs in stream order.
///
/// The backend performs the copies. All other operations are single-thread kernels in the logical remote synchronization
/// domain, so fences in the program's other kernels do not wait for their system-scope releases. As for any launch, the
/// stream's device must be current, and it must be the device of the symmetric object's PE. A wait or a barrier blocks the
/// stream until another PE acts. Therefore, first enqueue the operations that it waits for (docs/deadlocks.md), and load the
/// kernels before any operation waits.
///
/// In a captured stream, a value or condition that is passed as an argument is fixed. The graph would set the same value, or
/// wait for it, in every replay, so the second replay could read stale data. Such a call is therefore rejected. The forms with
/// an epoch (`heap.allocate<epoch>`), additions, barriers, puts and quiets are correct in every replay.
///
/// The operations that use an epoch must form a single sequence, either in one stream or in streams that are ordered by events.
/// A graph must therefore also be replayed in one stream. A signal that is numbered by epochs must start at zero, only
/// operations with these epochs may change it or wait for it, and neither the signal nor the epochs may be reset. After a wait
/// whose result is not `done`, allocate new words (recoverable.cuh).
#pragma once

#include <membar/detail/stream_handle.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/kernel_resources.hpp>
#include <membar/launch.hpp>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/epoch.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/operations.cuh>
#include <membar/symmetric/team_barrier.hpp>
#include <membar/symmetric/wait.cuh>

#include <cstddef>
#include <type_traits>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

/// Performs a backend's copy on a stream.
template <class Backend>
struct stream_transport;

template <class Backend>
  requires std::is_same_v<typename Backend::reach, peer_reach>
struct stream_transport<Backend> {
  template <class T>
  static void put(const heap<Backend>& heap, const span<T, Backend>& to, const T* from, pe other, cudaStream_t stream) {
    check(cudaMemcpyAsync(heap.address_at(to, other), from, to.size() * sizeof(T), cudaMemcpyDefault, stream),
          "pass memory of this PE, and a stream of its device");
  }
};

template <class Signal>
__global__ void notify_kernel(Signal signal, unsigned long long value, pe other) {
  notify(by_thread, signal, value, other, quiet(by_thread, signal.reach()));
}

template <class Signal, class Condition>
__global__ void wait_kernel(Signal signal, Condition condition, wait_budget budget) {
  wait(by_thread, signal, condition, budget);
}

template <class Signal, class Epoch>
__global__ void notify_next_kernel(Signal signal, Epoch sent, pe other) {
  static_cast<void>(quiet(by_thread, signal.reach()));
  notify(by_thread, signal, sent, other);
}

template <class Signal, class Epoch>
__global__ void wait_next_kernel(Signal signal, Epoch seen, unsigned long long step, wait_budget budget) {
  wait(by_thread, signal, seen, budget, step);
}

template <class Words>
__global__ void barrier_kernel(Words words, wait_budget budget) {
  barrier(by_thread, words, budget);
}

template <class Words>
__global__ void arrive_kernel(Words words) {
  static_cast<void>(arrive(by_thread, words));
}

template <class Words>
__global__ void wait_for_team_kernel(Words words, wait_budget budget) {
  wait(by_thread, words, last_arrival(words), budget);
}

template <class Reach>
__global__ void quiet_kernel(Reach reach) {
  quiet(by_thread, reach);
}

/// Throws if the stream is being captured, because `what` with `value` would be the same in every replay. `remedy` names an
/// alternative that differs in each replay.
inline void refuse_capture(cudaStream_t stream, const char* what, unsigned long long value, const char* remedy) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "pass a stream of the current device");
  if (capture != cudaStreamCaptureStatusNone) {
    throw error(cudaErrorStreamCaptureUnsupported,
                "membar: %s %llu cannot be captured in a graph: the value would be the same in every replay, so a wait could "
                "be satisfied by the value of the previous replay: %s",
                what, value, remedy);
  }
}

[[nodiscard]] inline auto communication_launch(cudaStream_t stream) {
  return launch_config{1, 1, stream}.with(sync_domain::remote);
}

}  // namespace detail

/// Loads the kernels of all operations below on every PE of this process. The first launch of a kernel may wait for running
/// kernels, and one of those may in turn wait for that launch. Call this function once per backend type before the first kernel
/// that waits, and also load the program's own kernels.
///
/// CUDA: `cudaFuncGetAttributes`. Errors: throws `error` if a device has no code for them.
template <backend Backend>
void load_stream_operations(const heap<Backend>& heap) {
  using one_setter = object<signal<set>, Backend>;
  using many_adders = object<signal<add>, Backend>;
  const auto load = [](auto* kernel) { static_cast<void>(kernel_resources_of(kernel)); };
  for (const pe which : heap.backend().local_pes()) {
    const device_guard guard(heap.backend().device_of(which));
    load(detail::notify_kernel<one_setter>);
    load(detail::notify_kernel<many_adders>);
    load(detail::wait_kernel<one_setter, equals>);
    load(detail::wait_kernel<one_setter, at_least>);
    load(detail::wait_kernel<many_adders, at_least>);
    load(detail::notify_next_kernel<one_setter, object<epoch, Backend>>);
    load(detail::wait_next_kernel<one_setter, object<epoch, Backend>>);
    load(detail::wait_next_kernel<many_adders, object<epoch, Backend>>);
    load(detail::barrier_kernel<span<barrier_word, Backend>>);
    load(detail::barrier_kernel<team_words<Backend>>);
    load(detail::arrive_kernel<team_words<Backend>>);
    load(detail::wait_for_team_kernel<team_words<Backend>>);
    load(detail::quiet_kernel<typename Backend::reach>);
  }
}

/// Enqueues a copy of the objects at `from` to all objects of `to` on `other`. `from` must not be changed before the stream has
/// executed the copy.
///
/// The copy is complete for later work in the stream. Use `notify_on_stream` to inform the other PE. Peer: `cudaMemcpyAsync`.
/// NVSHMEM: `nvshmemx_putmem_on_stream`.
template <class T, backend Backend>
void put_on_stream(const heap<Backend>& heap, const span<T, Backend>& to, const std::type_identity_t<T>* from, pe other,
                   stream_handle stream) {
  static_assert(!is_word<T>, "membar: signals, counters and other words are not data: use their own operations");
  detail::stream_transport<Backend>::put(heap, to, from, other, stream);
}

/// Enqueues a notification, which releases everything that the stream has done before, including puts to `other`. Errors:
/// throws the errors of `launch`, and an `error` if the stream is being captured and the signal is a signal<set>: in that case,
/// pass an epoch or use a signal<add>.
template <class Kind, backend Backend>
void notify_on_stream(const object<signal<Kind>, Backend>& signal, unsigned long long value, pe other, stream_handle stream) {
  using address = object<symmetric::signal<Kind>, Backend>;
  if constexpr (std::is_same_v<Kind, set>) {
    detail::refuse_capture(stream, "a notification that sets a signal to", value,
                           "pass an epoch instead of the value, or add to a signal<add>");
  }
  launch(detail::communication_launch(stream), detail::notify_kernel<address>, signal, value, other);
}

/// Enqueues a notification that sets the signal to the next number of `sent`, an epoch of the stream's PE. The number is
/// determined when the notification runs, so a captured graph uses the next number in each replay. Use one epoch for each PE
/// that is notified. Errors: throws the errors of `launch`.
template <backend Backend>
void notify_on_stream(const object<signal<set>, Backend>& signal, const object<epoch, Backend>& sent, pe other,
                      stream_handle stream) {
  launch(detail::communication_launch(stream),
         detail::notify_next_kernel<object<symmetric::signal<set>, Backend>, object<epoch, Backend>>, signal, sent, other);
}

/// Enqueues a wait for a signal of the stream's PE. The wait is an acquire for later work in the stream. If the budget is used
/// up first, the kernel prints what it waited for, and later calls on the stream report a failed kernel. Errors: throws the
/// errors of `launch`, and an `error` if the stream is being captured: in that case, pass an epoch.
template <class Kind, backend Backend, class Condition>
  requires std::is_same_v<Condition, equals> || std::is_same_v<Condition, at_least>
void wait_on_stream(const object<signal<Kind>, Backend>& signal, Condition condition, wait_budget budget,
                    stream_handle stream) {
  using address = object<symmetric::signal<Kind>, Backend>;
  detail::refuse_capture(stream, "a wait that compares a signal with", condition.value(),
                         "pass an epoch instead of the condition");
  launch(detail::communication_launch(stream), detail::wait_kernel<address, Condition>, signal, condition, budget);
}

/// Enqueues a wait for the next number of `seen`, an epoch of the stream's PE: the number of the previous wait plus `step`. The
/// number is determined when the wait runs, so a captured graph waits for the next number in each replay. `step` is the total
/// that all senders add between two waits, and 1 for a signal<set>. If the budget is used up first, the kernel fails in the
/// same way as for a wait with a condition. Errors: throws the errors of `launch`.
template <class Kind, backend Backend>
void wait_on_stream(const object<signal<Kind>, Backend>& signal, const object<epoch, Backend>& seen, wait_budget budget,
                    stream_handle stream, unsigned long long step = 1) {
  launch(detail::communication_launch(stream),
         detail::wait_next_kernel<object<symmetric::signal<Kind>, Backend>, object<epoch, Backend>>, signal, seen, step,
         budget);
}

/// Enqueues this PE's part of a barrier across all PEs. No kernel may use `words` at the same time.
template <backend Backend>
void barrier_on_stream(const span<barrier_word, Backend>& words, wait_budget budget, stream_handle stream) {
  launch(detail::communication_launch(stream), detail::barrier_kernel<span<barrier_word, Backend>>, words, budget);
}

/// Enqueues one PE's part of a barrier across its team. `which` must be the stream's PE. Barriers of two teams may run
/// concurrently, on two streams.
///
/// Synchronizes like `barrier`, and is an acquire for later work in the stream. Errors: throws the errors of `launch`, and an
/// `error` if the PE is not in the team or belongs to another process, if the team is in use on another stream or its work
/// there has not ended (`stream_guard`), or if an earlier arrival has not been waited for. In a captured stream, nothing runs
/// yet, so hold `team.guard(which)` where the graph is launched.
template <backend Backend>
void barrier_on_stream(team_barrier<Backend>& team, pe which, wait_budget budget, stream_handle stream) {
  const auto held = team.take(which, stream);
  launch(detail::communication_launch(stream), detail::barrier_kernel<team_words<Backend>>, team.on(which), budget);
}

/// Enqueues the first half of a barrier across the team: everything that the stream has done so far is visible to the other PEs
/// after their wait. The team belongs to this stream and this thread until `wait_on_stream`. If this call is in a capture,
/// `wait_on_stream` must be in the same capture.
///
/// Errors: the same as for `barrier_on_stream`.
template <backend Backend>
void arrive_on_stream(team_barrier<Backend>& team, pe which, stream_handle stream) {
  team.arrive(which, stream, [&] {
    launch(detail::communication_launch(stream), detail::arrive_kernel<team_words<Backend>>, team.on(which));
  });
}

/// Enqueues the second half of a barrier: later work in the stream sees everything that every PE in the team did before it
/// arrived.
///
/// Errors: the same as for `barrier_on_stream`; also throws `error` if there is no preceding arrival.
template <backend Backend>
void wait_on_stream(team_barrier<Backend>& team, pe which, wait_budget budget, stream_handle stream) {
  team.wait(which, stream, [&] {
    launch(detail::communication_launch(stream), detail::wait_for_team_kernel<team_words<Backend>>, team.on(which), budget);
  });
}

/// Enqueues the completion of all puts that the stream has started.
template <reach Reach>
void quiet_on_stream(const Reach& reach, stream_handle stream) {
  launch(detail::communication_launch(stream), detail::quiet_kernel<Reach>, reach);
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
