// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Copies between the host and this PE's symmetric objects. The functions return only when the copy is complete.
///
/// `cudaMemcpy` and `cudaMemset` may return before they have finished: this applies to copies from pageable memory or within a
/// device, and to every memset of device memory. The next operation on the heap, in another stream or on another PE, may then
/// run first. There are two remedies, both of which this header supports: an asynchronous copy followed by a wait for its
/// stream, or a flag on the context or on the allocation that makes such calls synchronous.
#pragma once

#include <membar/detail/driver_function.hpp>
#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/object.hpp>

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

using membar::detail::as_runtime;
using membar::detail::driver_function;

inline void validate_copy(std::size_t here, std::size_t there, const char* direction) {
  if (here != there) {
    throw error(cudaErrorInvalidValue,
                "membar: %zu host objects cannot be copied %s %zu symmetric objects: pass the same number, or a subspan", here,
                direction, there);
  }
}

/// Copies in the stream and waits for the stream.
inline void copy_and_wait(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
        "pass objects of this process and a stream of the PE's device");
  check(cudaStreamSynchronize(stream), "an earlier operation in the stream failed");
}

struct copy_flag_calls {
  decltype(cuPointerGetAttribute)* pointer_get = driver_function<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
  decltype(cuPointerSetAttribute)* pointer_set = driver_function<decltype(cuPointerSetAttribute)>("cuPointerSetAttribute");
  decltype(cuCtxGetFlags)* context_get = driver_function<decltype(cuCtxGetFlags)>("cuCtxGetFlags");
};

[[nodiscard]] inline const copy_flag_calls& copy_flags() {
  static const copy_flag_calls calls;
  return calls;
}

/// Returns whether copies are synchronous in the context of the current device. Creates the context if it does not exist yet.
[[nodiscard]] inline bool context_is_synchronous() {
  check(cudaFree(nullptr), "check with nvidia-smi that the CUDA driver and the device work");
  unsigned flags = 0;
  check(as_runtime(copy_flags().context_get(&flags)));
  constexpr unsigned sync_memops = 0x80;  // CU_CTX_SYNC_MEMOPS, which toolkits before 12.1 do not define
  return (flags & sync_memops) != 0;
}

[[nodiscard]] inline bool allocation_is_synchronous(const void* memory) {
  unsigned value = 0;
  const CUresult status = copy_flags().pointer_get(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                   static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory)));
  // Memory that the driver maps, such as a symmetric heap's memory, has no such attribute.
  return status == CUDA_SUCCESS && value != 0;
}

template <class T>
[[nodiscard]] constexpr bool require_copyable() noexcept {
  static_assert(
      !is_word<T>,
      "membar: signals, counters and other words cannot be copied: they are initially zero, and change only through their own "
      "operations");
  return !is_word<T>;
}

}  // namespace detail

/// Copies `from` to this PE's objects at `to`, in `stream`, and returns when the copy is complete.
///
/// Everything that is enqueued afterwards, on any stream of any PE, is ordered after the copy. The call waits for all work in
/// the stream. If this work includes a wait for another PE whose notification has not been enqueued yet, the call deadlocks.
/// Errors: throws `error` if the sizes differ or if a CUDA call fails.
template <class T, class Backend>
void copy_to([[maybe_unused]] const span<T, Backend>& to, [[maybe_unused]] std::type_identity_t<std::span<const T>> from,
             [[maybe_unused]] stream_handle stream) {
  if constexpr (detail::require_copyable<T>()) {
    detail::validate_copy(from.size(), to.size(), "to");
    detail::copy_and_wait(to.local(), from.data(), from.size_bytes(), stream);
  }
}

/// Copies this PE's objects at `from` to `to`, in `stream`, and returns when the copy is complete.
template <class T, class Backend>
void copy_from([[maybe_unused]] std::type_identity_t<std::span<T>> to, [[maybe_unused]] const span<T, Backend>& from,
               [[maybe_unused]] stream_handle stream) {
  if constexpr (detail::require_copyable<T>()) {
    detail::validate_copy(to.size(), from.size(), "from");
    detail::copy_and_wait(to.data(), from.local(), to.size_bytes(), stream);
  }
}

/// Sets every byte of this PE's objects to `value`, in `stream`, and returns when the operation is complete.
template <class T, class Backend>
void fill_bytes([[maybe_unused]] const span<T, Backend>& objects, [[maybe_unused]] unsigned char value,
                [[maybe_unused]] stream_handle stream) {
  if constexpr (detail::require_copyable<T>()) {
    check(cudaMemsetAsync(objects.local(), value, objects.size() * sizeof(T), stream),
          "pass objects of this process and a stream of the PE's device");
    check(cudaStreamSynchronize(stream), "an earlier operation in the stream failed");
  }
}

/// Returns whether `cudaMemcpy` and `cudaMemset` on this memory are complete when they return, because of a flag on the
/// allocation or on the current device's context. For memory that the driver maps, there is only the context's flag. The PE's
/// device must be current.
[[nodiscard]] inline bool copies_are_synchronous(const void* memory) {
  return detail::allocation_is_synchronous(memory) || detail::context_is_synchronous();
}

/// Copies `from` to this PE's objects at `to` without a stream, if a flag makes that safe. Errors: throws `error` and copies
/// nothing if no flag is set or if the sizes differ. The PE's device must be current.
template <class T, class Backend>
void copy_to([[maybe_unused]] const span<T, Backend>& to, [[maybe_unused]] std::type_identity_t<std::span<const T>> from) {
  if constexpr (detail::require_copyable<T>()) {
    detail::validate_copy(from.size(), to.size(), "to");
    if (!copies_are_synchronous(to.local())) {
      throw error(cudaErrorNotPermitted,
                  "membar: a copy to PE %d's symmetric memory without a stream may return before it has finished: pass a "
                  "stream, or make "
                  "copies synchronous (synchronous_copies, or CU_CTX_SYNC_MEMOPS where the context is created)",
                  to.self().index());
    }
    check(cudaMemcpy(to.local(), from.data(), from.size_bytes(), cudaMemcpyDefault), "pass objects of this process");
  }
}

/// Makes host copies of one allocation synchronous for the lifetime of the object (`CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`).
///
/// Use it for memory from `cudaMalloc`, that is, for a heap of plain allocations (`peer_memory::plain`). Memory that the driver
/// maps takes the flag from its context, so the constructor throws `error` for it. A flag that was already set stays set.
class synchronous_copies {
 public:
  [[nodiscard("destroying this object restores the flag: give the object a name")]] explicit synchronous_copies(void* memory)
      : memory_(static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory))),
        set_(!detail::allocation_is_synchronous(memory)) {
    if (set_) {
      if (const CUresult status = set(1); status != CUDA_SUCCESS) {
        throw error(detail::as_runtime(status),
                    "membar: host copies of the memory at %p cannot be made synchronous (%s), because memory that the driver "
                    "maps takes this flag from its context: create the context with CU_CTX_SYNC_MEMOPS, or copy with a stream",
                    memory, cudaGetErrorName(detail::as_runtime(status)));
      }
    }
  }
  synchronous_copies(const synchronous_copies&) = delete;
  synchronous_copies& operator=(const synchronous_copies&) = delete;
  ~synchronous_copies() {
    if (set_) {
      membar::detail::report_failed_restore(detail::as_runtime(set(0)));
    }
  }

 private:
  [[nodiscard]] CUresult set(unsigned value) const {
    return detail::copy_flags().pointer_set(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory_);
  }

  CUdeviceptr memory_;
  bool set_;
};

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
