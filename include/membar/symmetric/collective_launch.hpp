// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A launch on every PE of a kernel whose blocks wait for each other and for other PEs: all PEs agree first that it fits.
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

namespace membar {

/// What a PE says before a collective launch. Values, so that the agreement is tested with made-up machines.
struct launch_offer {
  unsigned long long wanted = 0;     ///< blocks
  unsigned long long possible = 0;   ///< that its device holds at once; 0 where it cannot launch cooperatively
  cudaError_t failed = cudaSuccess;  ///< the question itself, or later the launch
  bool wrong_streams = false;        ///< its process gave a stream for some of its PEs and not for others
};

/// Throws `error` unless every PE can launch what it wants, and all want the same. What it throws depends on the offers
/// alone, so that every PE that has them throws the same. `offers` are by PE.
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
    if (each.possible == 0) {
      throw error(cudaErrorNotSupported,
                  "membar: a collective launch is given up on every PE, because PE %zu has no room for a block of it, or no "
                  "cooperative launch: make the block or its shared memory smaller, or compile the kernel with "
                  "__launch_bounds__ of the block, for fewer registers",
                  pe);
    }
    if (each.wanted > each.possible) {
      throw error(
          cudaErrorCooperativeLaunchTooLarge,
          "membar: a collective launch is given up on every PE, because PE %zu wants %llu blocks that wait for each other and "
          "has room for %llu at once: launch at most that many on each, each doing more",
          pe, each.wanted, each.possible);
    }
  }
  for (std::size_t pe = 1; pe < offers.size(); ++pe) {
    if (offers[pe].wanted != offers[0].wanted) {
      throw error(
          cudaErrorInvalidValue,
          "membar: a collective launch differs between PEs: PE %zu wants %llu blocks, and PE 0 wants %llu: launch the same "
          "grid on every PE",
          pe, offers[pe].wanted, offers[0].wanted);
    }
  }
}

/// Throws `error` if CUDA refused the launch on a PE after all.
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

/// Grid, block and dynamic shared memory in bytes of a collective launch: the same on every PE.
struct collective_grid {
  dim3 grid{1};
  dim3 block{1};
  std::size_t dynamic_shared_bytes = 0;
};

namespace detail {

/// What the current device says. Loads the kernel, so that no launch waits for that while another PE's kernel runs.
template <class... Parameters>
[[nodiscard]] launch_offer offer_of_current_device(const collective_grid& shape, void (*kernel)(Parameters...)) noexcept {
  launch_offer offer;
  offer.wanted = static_cast<unsigned long long>(shape.grid.x) * shape.grid.y * shape.grid.z;
  try {
    int device = 0;
    int cooperates = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device));
    static_cast<void>(kernel_resources_of(kernel));  // which loads it
    offer.possible = cooperates == 0 ? 0 : co_resident_blocks(kernel, shape.block, shape.dynamic_shared_bytes);
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
  exchange([](const launch_offer& o) { return told(collective::launched, o.wanted); },
           [](launch_offer& o, unsigned long long v) { o.wanted = v; });
  // Before anything else is exchanged: a process in another call throws after its first exchange, too.
  for (int i = 1; i < backend.count(); ++i) {
    const unsigned long long theirs = offers[static_cast<std::size_t>(i)].wanted;
    if (call_of(theirs) != call_of(offers[0].wanted)) {
      refuse_difference(i, theirs, offers[0].wanted);
    }
  }
  for (launch_offer& each : offers) {
    each.wanted = value_of(each.wanted);
  }
  exchange([](const launch_offer& o) { return o.possible; }, [](launch_offer& o, unsigned long long v) { o.possible = v; });
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

/// Launches `kernel` on every PE: cooperatively, so that all blocks of a PE run at once, and in the logical remote
/// synchronization domain, so that local kernels do not wait for its writes to other PEs.
///
/// Collective: every process calls it with the same grid. `streams` has one for each PE of this process, in order, or is
/// empty for the default streams; `arguments(which)` gives a tuple of what the kernel takes on that PE. All PEs of the
/// process are launched before it returns. The host waits for none of them with the peer backend; with NVSHMEM how the launches
/// went is gathered by a kernel of NVSHMEM's, which may have no room beside the grid: then the host waits for the kernel, and
/// what the kernel waits for must not need this host. Errors: `error`, the same on every PE and
/// before anything is launched, naming the PE that cannot, and what it wants and has room for. A launch that CUDA refuses
/// nevertheless, or an exception of `arguments` (reported as `cudaErrorUnknown`), is an error on every PE, after which kernels
/// of the others may wait for it until their budgets end. What it does not see: other kernels, which delay the launch, and for
/// ever if they wait for this one; on a PE that is one of several on a device, those of the others.
template <symmetric_backend Backend, class... Parameters, class Arguments>
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

  // Nobody throws before all have said how it went: the others would wait for ever for what this PE does not launch.
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
      mine[next].failed = cudaErrorUnknown;  // what `arguments` throws: the other PEs are told of it all the same
    }
    ++next;
  }
  validate_launched(detail::gathered_offers(backend, mine));
}

}  // namespace membar
