// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A launch on every PE of a kernel whose blocks wait for each other and for other PEs. All PEs agree first that it fits.
#pragma once

#include <membar/co_residency.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/kernel_resources.hpp>
#include <membar/launch.hpp>
#include <membar/symmetric/backend.hpp>

#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

namespace membar::inline v0_2::symmetric {

/// What a PE says about its launch before a collective launch. A value, so that tests need no machine.
struct launch_offer {
  unsigned long long blocks = 0;     ///< of its grid
  unsigned long long room = 0;       ///< how many blocks its device holds at once; 0 if it cannot launch cooperatively
  cudaError_t failed = cudaSuccess;  ///< the error of finding the room, or later of the launch
  bool wrong_streams = false;        ///< its process gave streams for some of its PEs only
};

/// Throws `error` unless every PE has room for its grid, and all grids have one size. `offers` are by PE. What it throws
/// depends on the offers alone, so every PE throws the same error.
inline void validate_collective_launch(std::span<const launch_offer> offers) {
  for (std::size_t pe = 0; pe != offers.size(); ++pe) {
    const launch_offer& each = offers[pe];
    if (each.wrong_streams) {
      throw error(
          cudaErrorInvalidValue,
          "membar: a collective launch is given up on every PE, because the process of PE %zu gave streams for some of its "
          "PEs only: give one for each, in their order, or none",
          pe);
    }
    if (each.failed != cudaSuccess) {
      throw error(
          each.failed,
          "membar: a collective launch is given up on every PE, because PE %zu could not ask its device how many blocks it "
          "holds (%s): check there the extent of the block, the shared memory, and that the program was compiled for it",
          pe, cudaGetErrorName(each.failed));
    }
  }
  for (std::size_t pe = 0; pe != offers.size(); ++pe) {
    const launch_offer& each = offers[pe];
    if (each.room == 0) {
      throw error(cudaErrorNotSupported,
                  "membar: a collective launch is given up on every PE, because PE %zu has no room for a block of it, or no "
                  "cooperative launch: make the block or its shared memory smaller, or compile the kernel with "
                  "__launch_bounds__ of the block, for fewer registers",
                  pe);
    }
    if (each.blocks > each.room) {
      throw error(cudaErrorCooperativeLaunchTooLarge,
                  "membar: a collective launch is given up on every PE, because PE %zu was to run %llu blocks that wait for "
                  "each other and "
                  "has room for %llu at once: launch at most that many on each PE, each doing more",
                  pe, each.blocks, each.room);
    }
  }
  for (std::size_t pe = 1; pe < offers.size(); ++pe) {
    if (offers[pe].blocks != offers[0].blocks) {
      throw error(
          cudaErrorInvalidValue,
          "membar: a collective launch differs between PEs: PE %zu was to run %llu blocks, and PE 0 %llu: launch the same "
          "grid on every PE",
          pe, offers[pe].blocks, offers[0].blocks);
    }
  }
}

/// Throws `error` if CUDA refused the launch on a PE.
inline void validate_launched(std::span<const launch_offer> offers) {
  for (std::size_t pe = 0; pe != offers.size(); ++pe) {
    if (offers[pe].failed != cudaSuccess) {
      throw error(
          offers[pe].failed,
          "membar: a collective launch failed on PE %zu with %s (%s), and kernels of other PEs may wait for it until their "
          "budgets end: see what else runs on that device",
          pe, cudaGetErrorName(offers[pe].failed), cudaGetErrorString(offers[pe].failed));
    }
  }
}

/// Grid, block and dynamic shared memory in bytes of a collective launch, which are the same on every PE.
struct collective_grid {
  dim3 grid{1};
  dim3 block{1};
  std::size_t dynamic_shared_bytes = 0;
};

namespace detail {

/// The offer of the current device. Loads the kernel, so that no launch waits for the loading while another PE's kernel runs.
template <class... Parameters>
[[nodiscard]] launch_offer offer_of_current_device(const collective_grid& shape, void (*kernel)(Parameters...)) noexcept {
  launch_offer offer;
  offer.blocks = static_cast<unsigned long long>(shape.grid.x) * shape.grid.y * shape.grid.z;
  try {
    int device = 0;
    int cooperates = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device));
    static_cast<void>(kernel_resources_of(kernel));  // which loads it
    offer.room = cooperates == 0 ? 0 : co_resident_blocks(kernel, shape.block, shape.dynamic_shared_bytes);
  } catch (const error& failure) {
    offer.failed = failure.code();
  }
  return offer;
}

/// The offers of all PEs, by PE. Collective.
template <class Backend>
[[nodiscard]] std::vector<launch_offer> gathered_offers(Backend& backend, std::span<const launch_offer> mine) {
  const auto count = static_cast<std::size_t>(backend.count());
  std::vector<launch_offer> offers(count);
  std::vector<unsigned long long> own(mine.size());
  std::vector<unsigned long long> all(count);
  const auto exchange = [&](auto read, auto write) {
    for (std::size_t i = 0; i != mine.size(); ++i) {
      own[i] = read(mine[i]);
    }
    backend.all_gather(own.data(), all.data());
    for (std::size_t i = 0; i != count; ++i) {
      write(offers[i], all[i]);
    }
  };
  exchange([](const launch_offer& o) { return tagged(collective::launched, o.blocks); },
           [](launch_offer& o, unsigned long long v) { o.blocks = v; });
  // Before anything else is exchanged, because a process in another call also throws after its first exchange.
  for (int i = 1; i < backend.count(); ++i) {
    const unsigned long long theirs = offers[static_cast<std::size_t>(i)].blocks;
    if (call_of(theirs) != call_of(offers[0].blocks)) {
      refuse_difference(i, theirs, offers[0].blocks);
    }
  }
  for (launch_offer& each : offers) {
    each.blocks = value_of(each.blocks);
  }
  exchange([](const launch_offer& o) { return o.room; }, [](launch_offer& o, unsigned long long v) { o.room = v; });
  constexpr unsigned long long wrong_streams = 1ULL << 32;
  exchange(
      [](const launch_offer& o) { return static_cast<unsigned long long>(o.failed) | (o.wrong_streams ? wrong_streams : 0); },
      [](launch_offer& o, unsigned long long v) {
        o.failed = static_cast<cudaError_t>(v % wrong_streams);
        o.wrong_streams = v >= wrong_streams;
      });
  return offers;
}

}  // namespace detail

/// Launches `kernel` on every PE. The launch is cooperative, so that all blocks of a PE run at once, and in the logical remote
/// synchronization domain, so that local kernels do not wait for its writes to other PEs.
///
/// Collective: every process calls it with the same grid. `streams` has one stream for each PE of this process, in order, or
/// is empty for the default streams. `arguments(which)` returns a tuple of the kernel's arguments on that PE. All PEs of the
/// process are launched before it returns. With the peer backend the host waits for no kernel. With NVSHMEM a kernel of
/// NVSHMEM gathers the results of the launches. If it has no room beside the grid, the host waits for the grid: the grid must
/// not need this host.
///
/// Errors: `error`, the same on every PE and before any launch, naming the PE that cannot launch and its room. If CUDA refuses
/// a launch all the same, or `arguments` throws (reported as `cudaErrorUnknown`), it is an error on every PE; kernels of the
/// others may then wait until their budgets end. It does not see other kernels, of this PE or of another on the same device.
/// They delay the launch, and forever if they wait for it.
template <backend Backend, class... Parameters, class Arguments>
void collective_launch(Backend& backend, const collective_grid& shape, std::span<const cudaStream_t> streams,
                       void (*kernel)(Parameters...), Arguments arguments) {
  const pe_range local = backend.local_pes();
  std::vector<launch_offer> mine;
  for (const pe which : local) {
    try {
      const device_guard guard(backend.device_of(which));
      mine.push_back(detail::offer_of_current_device(shape, kernel));
    } catch (const error& failure) {
      mine.push_back({0, 0, failure.code(), false});
    }
    mine.back().wrong_streams = !streams.empty() && streams.size() != static_cast<std::size_t>(local.size());
  }
  validate_collective_launch(detail::gathered_offers(backend, mine));

  // No PE throws before all have reported: the others would wait forever for what this PE does not launch.
  std::size_t next = 0;
  for (const pe which : local) {
    try {
      const device_guard guard(backend.device_of(which));
      const auto config =
          launch_config{shape.grid, shape.block, streams.empty() ? nullptr : streams[next], shape.dynamic_shared_bytes}
              .with(sync_domain::remote)
              .with(cooperative{});
      std::apply([&](auto&&... values) { launch(config, kernel, static_cast<decltype(values)>(values)...); }, arguments(which));
    } catch (const error& failure) {
      mine[next].failed = failure.code();
    } catch (...) {
      mine[next].failed = cudaErrorUnknown;  // what `arguments` throws, reported to the other PEs too
    }
    ++next;
  }
  validate_launched(detail::gathered_offers(backend, mine));
}

}  // namespace membar::inline v0_2::symmetric
