// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Symmetric memory over NVSHMEM: one process per GPU, on one or several machines. This header belongs to the package's
/// `nvshmem` component.
#pragma once

#include <membar/atomicity.hpp>
#include <membar/base/config.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/backend.hpp>
#include <membar/symmetric/pe.hpp>

// A plain C++ compiler needs only the host part.
#if defined(__CUDACC__)
#include <nvshmem.h>
#include <nvshmemx.h>
#else
#include <nvshmem_host.h>
#endif

#include <cstddef>
#include <cstdio>
#include <exception>
#include <type_traits>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// The reach of a PE with NVSHMEM. The reach consists of this PE's number and the number of PEs, because NVSHMEM itself locates
/// the other PEs.
class nvshmem_reach {
 public:
  MEMBAR_HOST_DEVICE constexpr nvshmem_reach(pe self, int count) noexcept : self_(self), count_(count) {}

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr pe self() const noexcept { return self_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int count() const noexcept { return count_; }

  /// Returns the object of PE `which` that corresponds to `local` on this PE, or null if loads and stores do not reach it.
  [[nodiscard]] MEMBAR_HOST_DEVICE void* direct(void* local, pe which) const noexcept {
    return nvshmem_ptr(local, which.index());
  }

 private:
  pe self_;
  int count_;
};

/// The data that processes need to find each other, as plain bytes. The process that becomes PE 0 creates the id and passes it
/// to all others, through a shared page, a file or a socket.
using nvshmem_id = nvshmemx_uniqueid_t;

/// Creates the id of a job. The calling process becomes PE 0. If it was forked, its parent must not have made a CUDA call.
[[nodiscard]] inline nvshmem_id make_nvshmem_id() {
  nvshmem_id id = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (const int status = nvshmemx_get_uniqueid(&id); status != 0) {
    throw error(cudaErrorUnknown,
                "membar: nvshmemx_get_uniqueid failed with %d: add NVSHMEM's library folder, which contains its "
                "bootstrap plugins, to LD_LIBRARY_PATH",
                status);
  }
  return id;
}

/// A session that initializes NVSHMEM at the start of its lifetime and finalizes NVSHMEM at the end. A process may create only
/// one session in its lifetime, after `cudaSetDevice` and before its backend.
///
/// Errors: if NVSHMEM cannot start, it prints a line to standard error and ends the process. The end of a session is
/// collective. An exception on one PE does not reach the other PEs. Therefore, if an exception ends a session, the session ends
/// the whole job with status 1.
class nvshmem_session {
 public:
  /// Initializes NVSHMEM with a launcher that it supports (`nvshmrun`, PMI).
  [[nodiscard]] static nvshmem_session of_launcher() {
    nvshmem_init();
    return nvshmem_session();
  }

  /// Initializes NVSHMEM as PE `rank` of `count`, with the id that all of them share.
  [[nodiscard]] static nvshmem_session of_id(int rank, int count, const nvshmem_id& id) {
    if (rank < 0 || rank >= count) {
      throw error(cudaErrorInvalidValue, "membar: PE %d of %d was requested: number the PEs from 0", rank, count);
    }
    nvshmemx_init_attr_t how = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (const int status = nvshmemx_set_attr_uniqueid_args(rank, count, &id, &how); status != 0) {
      throw error(cudaErrorInvalidValue,
                  "membar: nvshmemx_set_attr_uniqueid_args failed with %d: pass an id from make_nvshmem_id", status);
    }
    static_cast<void>(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &how));
    return nvshmem_session();
  }

  /// Initializes NVSHMEM with the ranks of an MPI communicator: pass the address of an `MPI_Comm`, after `MPI_Init`.
  [[nodiscard]] static nvshmem_session of_mpi(void* communicator) {
    nvshmemx_init_attr_t how = NVSHMEMX_INIT_ATTR_INITIALIZER;
    how.mpi_comm = communicator;
    static_cast<void>(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &how));
    return nvshmem_session();
  }

  /// Uses NVSHMEM that the program, or a library in it, has initialized and must also finalize, after the backend is destroyed.
  /// Nothing happens at the end of this session. Errors: throws `error` if NVSHMEM is not initialized.
  [[nodiscard]] static nvshmem_session of_program() {
    if (const int status = nvshmemx_init_status(); status < NVSHMEM_STATUS_IS_INITIALIZED || status == NVSHMEM_STATUS_INVALID) {
      throw error(cudaErrorInitializationError,
                  "membar: the program has not initialized NVSHMEM: call nvshmem_init or "
                  "nvshmemx_init_attr first, or use of_launcher, of_id or of_mpi");
    }
    nvshmem_session session;
    session.open_ = false;
    return session;
  }

  nvshmem_session(nvshmem_session&& other) noexcept
      : open_(std::exchange(other.open_, false)), exceptions_(other.exceptions_) {}
  nvshmem_session& operator=(nvshmem_session&&) = delete;
  ~nvshmem_session() {
    if (!open_) {
      return;
    }
    if (std::uncaught_exceptions() > exceptions_) {
      // The other PEs are executing different code and would never join this PE in nvshmem_finalize.
      std::fprintf(stderr,
                   "membar: an exception ends the NVSHMEM session of PE %d, and therefore the job: to read the exception's "
                   "message, catch the exception while the session exists\n",
                   nvshmem_my_pe());
      std::fflush(nullptr);
      nvshmem_global_exit(1);
    } else {
      nvshmem_finalize();
    }
  }

  [[nodiscard]] pe self() const noexcept { return pe(nvshmem_my_pe()); }
  [[nodiscard]] int count() const noexcept { return nvshmem_n_pes(); }

 private:
  nvshmem_session() = default;

  bool open_ = true;
  int exceptions_ = std::uncaught_exceptions();
};

namespace detail {

/// An allocation in NVSHMEM's heap, which all processes create together, and free together with `close`. An allocation that is
/// not closed exists until NVSHMEM ends, because a destructor does not wait for other PEs.
class nvshmem_region {
 public:
  nvshmem_region(pe self, int count, std::size_t bytes)
      : memory_(nvshmem_align(alignment, bytes)), bytes_(bytes), self_(self), count_(count) {
    if (memory_ == nullptr) {
      throw error(
          cudaErrorMemoryAllocation,
          "membar: NVSHMEM's heap cannot hold %zu bytes: set NVSHMEM_SYMMETRIC_SIZE to a larger size before the program starts",
          bytes);
    }
  }
  nvshmem_region(nvshmem_region&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_), self_(other.self_), count_(other.count_) {}
  nvshmem_region& operator=(nvshmem_region&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~nvshmem_region() = default;

  /// Frees the allocation. Collective.
  void close() {
    if (memory_ != nullptr) {
      nvshmem_free(std::exchange(memory_, nullptr));
    }
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] void* base(pe) const noexcept { return memory_; }
  [[nodiscard]] nvshmem_reach reach_of(pe) const noexcept { return {self_, count_}; }

 private:
  static constexpr std::size_t alignment = 65536;

  void* memory_;
  std::size_t bytes_;
  pe self_;
  int count_;
};

}  // namespace detail

/// The NVSHMEM backend: each process is one PE. `nvshmem_backend` guarantees only that data is visible at its destination,
/// which holds on every cluster. `basic_nvshmem_backend<visibility::everywhere>` is for machines on which loads and stores
/// reach every PE; its constructor checks this.
///
/// The backend supports the AMOs that NVSHMEM provides: additions, compare-and-swap and bitwise operations on integers, and
/// loads, stores and exchanges of all types. Requires: NVSHMEM 3; relocatable device code. Errors: throws `error` on every PE.
/// The session must outlive the backend, which must outlive its heaps.
template <visibility Visible>
class basic_nvshmem_backend {
 public:
  static constexpr visibility visible = Visible;
  /// This is true because `all_gather` runs kernels, which need free resources on the device.
  static constexpr bool gathers_by_kernels = true;
  using reach = nvshmem_reach;
  using region = detail::nvshmem_region;

  /// Uses the current device, which must be the session's device.
  explicit basic_nvshmem_backend(const nvshmem_session& session)
      : self_(session.self()), count_(session.count()), scratch_(self_, count_, 3 * bytes_of_all()) {
    check(cudaGetDevice(&device_), "check with nvidia-smi that the CUDA driver and the device work");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    if constexpr (visible == visibility::everywhere) {
      require_direct_reach();
    }
  }
  basic_nvshmem_backend(const basic_nvshmem_backend&) = delete;
  basic_nvshmem_backend& operator=(const basic_nvshmem_backend&) = delete;
  ~basic_nvshmem_backend() { membar::detail::report_failed_restore(cudaStreamDestroy(stream_)); }

  [[nodiscard]] int count() const noexcept { return count_; }
  /// Returns the PE of this process.
  [[nodiscard]] pe_range local_pes() const noexcept { return {self_, 1}; }
  [[nodiscard]] int device_of(pe) const noexcept { return device_; }

  /// Returns whether NVSHMEM supports `use`.
  [[nodiscard]] atomicity supports(const atomic_use& use) const noexcept {
    switch (use.operation) {
      case atomic_operation::load_or_store:
      case atomic_operation::exchange:
      case atomic_operation::integer_add:
      case atomic_operation::compare_exchange:
      case atomic_operation::bitwise_and:
      case atomic_operation::bitwise_or:
      case atomic_operation::bitwise_xor:
        return {true, "NVSHMEM supports this atomic operation between all PEs"};
      case atomic_operation::integer_min:
      case atomic_operation::integer_max:
      case atomic_operation::increment:
      case atomic_operation::decrement:
      case atomic_operation::float_add:
      case atomic_operation::float_min:
      case atomic_operation::float_max:
        break;
    }
    return {false, "NVSHMEM does not support this operation"};
  }

  /// Gathers one number from every process. Collective.
  void all_gather(const unsigned long long* mine, unsigned long long* all) {
    auto* const source = static_cast<unsigned long long*>(scratch_.base(self_));
    // Two result buffers alternate, because a fast process may write the next result while another process still reads this
    // one.
    unsigned long long* const gathered = source + static_cast<std::size_t>(count_) * (1 + turn_);
    turn_ = 1 - turn_;
    const std::size_t word = sizeof(unsigned long long);
    check(cudaMemcpyAsync(source, mine, word, cudaMemcpyHostToDevice, stream_));
    if (const int status = nvshmemx_fcollectmem_on_stream(NVSHMEM_TEAM_WORLD, gathered, source, word, stream_); status != 0) {
      throw error(
          cudaErrorUnknown,
          "membar: nvshmemx_fcollectmem_on_stream failed with %d: see the standard error of the other processes, one of which "
          "may have ended, and restart the job",
          status);
    }
    check(cudaMemcpyAsync(all, gathered, bytes_of_all(), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_), "a kernel failed");
  }

  [[nodiscard]] region map(std::size_t bytes) const { return region(self_, count_, bytes); }

  /// Completes all puts of all PEs at their destinations. Collective. NVSHMEM's barrier guarantees this for all remote memory
  /// updates that any PE issued before the barrier.
  void complete() {
    nvshmemx_barrier_all_on_stream(stream_);
    check(cudaStreamSynchronize(stream_), "a kernel failed");
  }

 private:
  [[nodiscard]] std::size_t bytes_of_all() const noexcept {
    return static_cast<std::size_t>(count_) * sizeof(unsigned long long);
  }

  void require_direct_reach() {
    int out_of_reach = -1;
    for (int i = 0; i != count_; ++i) {
      if (nvshmem_ptr(scratch_.base(self_), i) == nullptr) {
        out_of_reach = i;
      }
    }
    const auto all = detail::gathered(*this, static_cast<unsigned long long>(out_of_reach + 1));
    for (int i = 0; i != count_; ++i) {
      if (const unsigned long long other = all[static_cast<std::size_t>(i)]; other != 0) {
        check(cudaStreamDestroy(stream_));
        throw error(
            cudaErrorNotSupported,
            "membar: the visibility class 'everywhere' was requested, but loads and stores of PE %d cannot reach PE %d: use "
            "nvshmem_backend, which is destination_only",
            i, static_cast<int>(other) - 1);
      }
    }
  }

  pe self_;
  int count_;
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  region scratch_;
  std::size_t turn_ = 0;
};

using nvshmem_backend = basic_nvshmem_backend<visibility::destination_only>;

static_assert(backend<nvshmem_backend>);

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
