// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Launches, on every PE, a kernel whose blocks wait for each other and for other PEs. All PEs first agree that the kernel fits
/// on their devices.
#pragma once

#include <membar/co_residency.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/kernel_resources.hpp>
#include <membar/launch.hpp>
#include <membar/launch_attribute.hpp>
#include <membar/symmetric/backend.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// The information that a PE provides about its own launch before a collective launch. This is a plain value, so that the
/// checks can be tested without a GPU.
struct launch_offer {
  unsigned long long blocks = 0;  ///< the number of blocks in the PE's grid
  /// the number of blocks that its device can hold at the same time; 0 if it cannot launch cooperatively
  unsigned long long room = 0;
  cudaError_t failed = cudaSuccess;  ///< an error that occurred when `room` was determined or, later, in the launch
  bool wrong_streams = false;        ///< whether its process passed streams for only some of its PEs
  std::array<unsigned, 3> grid{};    ///< the configuration: blocks in x, y and z
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> cluster{};
  std::size_t dynamic_shared_bytes = 0;
  unsigned long long kernel = 0;  ///< a hash of the kernel's name
  bool no_arguments = false;      ///< whether the `arguments` callback threw an exception
};

/// Throws `error` unless every PE can hold its grid and all PEs launch the same kernel in the same configuration. `offers` must
/// be in PE order. The exception depends only on the offers, so every PE throws the same error.
inline void validate_collective_launch(std::span<const launch_offer> offers) {
  for (std::size_t pe = 0; pe != offers.size(); ++pe) {
    const launch_offer& each = offers[pe];
    if (each.wrong_streams) {
      throw error(cudaErrorInvalidValue,
                  "membar: a collective launch was cancelled on every PE, because the process of PE %zu passed streams for "
                  "only some of its PEs: pass one stream for each PE, in PE order, or none",
                  pe);
    }
    if (each.no_arguments) {
      throw error(cudaErrorUnknown,
                  "membar: a collective launch was cancelled on every PE, because the function that makes the arguments threw "
                  "an exception for PE %zu: see the exception nested in that process's error",
                  pe);
    }
    if (each.failed != cudaSuccess) {
      throw error(each.failed,
                  "membar: a collective launch was cancelled on every PE, because PE %zu could not query how many blocks its "
                  "device can hold (%s): on that PE, check the block's dimensions and shared memory, and check that the "
                  "program was compiled for the device",
                  pe, cudaGetErrorName(each.failed));
    }
  }
  for (std::size_t pe = 0; pe != offers.size(); ++pe) {
    const launch_offer& each = offers[pe];
    if (each.room == 0) {
      throw error(cudaErrorNotSupported,
                  "membar: a collective launch was cancelled on every PE, because PE %zu cannot hold a single block of the "
                  "kernel, or does not support cooperative launches: make the block or its shared memory smaller, or compile "
                  "the kernel with __launch_bounds__ for this block size, so that it uses fewer registers",
                  pe);
    }
    if (each.blocks > each.room) {
      throw error(cudaErrorCooperativeLaunchTooLarge,
                  "membar: a collective launch was cancelled on every PE, because PE %zu was asked to run %llu blocks that "
                  "wait for each other, but can hold only %llu at once: launch at most that many blocks on each PE, and give "
                  "each block more work",
                  pe, each.blocks, each.room);
    }
  }
  for (std::size_t pe = 1; pe < offers.size(); ++pe) {
    const launch_offer& mine = offers[pe];
    const launch_offer& first = offers[0];
    if (mine.blocks != first.blocks) {
      throw error(
          cudaErrorInvalidValue,
          "membar: a collective launch differs between PEs: PE %zu runs %llu blocks, but PE 0 runs %llu: launch the same "
          "grid on every PE",
          pe, mine.blocks, first.blocks);
    }
    const auto same = [&](const char* what, const std::array<unsigned, 3>& here, const std::array<unsigned, 3>& there) {
      if (here != there) {
        throw error(
            cudaErrorInvalidValue,
            "membar: a collective launch differs between PEs: PE %zu has a %s of %u, %u, %u, but PE 0 has one of %u, %u, %u: "
            "launch the same configuration on every PE",
            pe, what, here[0], here[1], here[2], there[0], there[1], there[2]);
      }
    };
    same("grid", mine.grid, first.grid);
    same("block", mine.block, first.block);
    same("cluster", mine.cluster, first.cluster);
    if (mine.dynamic_shared_bytes != first.dynamic_shared_bytes) {
      throw error(cudaErrorInvalidValue,
                  "membar: a collective launch differs between PEs: PE %zu requests %zu bytes of dynamic shared memory, but PE "
                  "0 requests %zu bytes: launch the same configuration on every PE",
                  pe, mine.dynamic_shared_bytes, first.dynamic_shared_bytes);
    }
    if (mine.kernel != first.kernel) {
      throw error(cudaErrorInvalidValue,
                  "membar: a collective launch differs between PEs: PE %zu launches a different kernel than PE 0: launch the "
                  "same kernel "
                  "on every PE, and make collective launches in the same order",
                  pe);
    }
  }
}

/// Throws `error` if CUDA rejected the launch on a PE.
inline void validate_launched(std::span<const launch_offer> offers) {
  for (std::size_t pe = 0; pe != offers.size(); ++pe) {
    if (offers[pe].failed != cudaSuccess) {
      throw error(offers[pe].failed,
                  "membar: a collective launch failed on PE %zu with %s (%s), and kernels on other PEs may wait for that PE "
                  "until their budgets are exhausted: check what else runs on that device",
                  pe, cudaGetErrorName(offers[pe].failed), cudaGetErrorString(offers[pe].failed));
    }
  }
}

/// The grid, block, dynamic shared memory in bytes, and cluster size of a collective launch. They must be the same on every PE.
struct collective_grid {
  dim3 grid{1};
  dim3 block{1};
  std::size_t dynamic_shared_bytes = 0;
  cluster_dimensions cluster{1, 1, 1};
};

namespace detail {

/// Returns the offer of the current device. It also loads the kernel, so that no launch has to wait for loading while another
/// PE's kernel runs.
template <class... Parameters>
[[nodiscard]] launch_offer offer_of_current_device(const collective_grid& shape, void (*kernel)(Parameters...)) noexcept {
  launch_offer offer;
  offer.blocks = static_cast<unsigned long long>(shape.grid.x) * shape.grid.y * shape.grid.z;
  offer.grid = {shape.grid.x, shape.grid.y, shape.grid.z};
  offer.block = {shape.block.x, shape.block.y, shape.block.z};
  offer.cluster = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  offer.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  try {
    const char* name = nullptr;
    check(cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel)));
    for (; *name != 0; ++name) {  // computes a hash, which, unlike an address, is the same in all processes
      offer.kernel = (offer.kernel ^ static_cast<unsigned char>(*name)) * 0x100000001b3ULL + 1;
    }
    int device = 0;
    int cooperates = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device));
    static_cast<void>(kernel_resources_of(kernel));  // this call loads the kernel
    offer.room = cooperates == 0 ? 0 : co_resident_blocks(kernel, shape.block, shape.dynamic_shared_bytes, shape.cluster);
  } catch (const error& failure) {
    offer.failed = failure.code();
  }
  return offer;
}

/// Returns a hash of an offer's configuration and kernel.
[[nodiscard]] inline unsigned long long configuration_of(const launch_offer& offer) noexcept {
  unsigned long long hash = offer.kernel;
  const auto add = [&](unsigned long long value) { hash = (hash ^ (hash >> 29) ^ value) * 0x9e3779b97f4a7c15ULL + 1; };
  for (const std::array<unsigned, 3>& each : {offer.grid, offer.block, offer.cluster}) {
    for (const unsigned extent : each) {
      add(extent);
    }
  }
  add(offer.dynamic_shared_bytes);
  return hash;
}

/// The indices of the words that carry an offer to other processes.
struct offer_word {
  static constexpr int blocks = 0;  ///< with a tag that identifies the call
  static constexpr int room = 1;
  static constexpr int state = 2;          ///< the error, combined with the bits below
  static constexpr int configuration = 3;  ///< a hash of the configuration and of the kernel's name
  static constexpr int kernel = 4;
  static constexpr int dynamic_shared_bytes = 5;
  static constexpr int grid = 6;  ///< the grid's three extents, followed by the extents of the block and of the cluster
  static constexpr int end = 15;
  static constexpr unsigned long long wrong_streams = 1ULL << 32;  ///< a bit of the state
  static constexpr unsigned long long no_arguments = 1ULL << 33;
};

/// Returns the extent that the word with index `word` contains: an extent of the grid, the block or the cluster.
[[nodiscard]] inline unsigned& extent_of(launch_offer& offer, int word) noexcept {
  const auto which = static_cast<std::size_t>(word - offer_word::grid);
  return (which < 3 ? offer.grid : which < 6 ? offer.block : offer.cluster)[which % 3];
}

[[nodiscard]] inline unsigned long long word_of(launch_offer offer, int word) noexcept {
  switch (word) {
    case offer_word::blocks:
      return tagged(collective::launched, offer.blocks);
    case offer_word::room:
      return offer.room;
    case offer_word::state:
      return static_cast<unsigned long long>(offer.failed) | (offer.wrong_streams ? offer_word::wrong_streams : 0) |
             (offer.no_arguments ? offer_word::no_arguments : 0);
    case offer_word::configuration:
      return configuration_of(offer);
    case offer_word::kernel:
      return offer.kernel;
    case offer_word::dynamic_shared_bytes:
      return offer.dynamic_shared_bytes;
  }
  return extent_of(offer, word);
}

inline void set_word(launch_offer& offer, int word, unsigned long long value) noexcept {
  switch (word) {
    case offer_word::blocks:
      offer.blocks = value;
      return;
    case offer_word::room:
      offer.room = value;
      return;
    case offer_word::state:
      offer.failed = static_cast<cudaError_t>(value % offer_word::wrong_streams);
      offer.wrong_streams = (value & offer_word::wrong_streams) != 0;
      offer.no_arguments = (value & offer_word::no_arguments) != 0;
      return;
    case offer_word::configuration:
    case offer_word::kernel:
      offer.kernel = value;
      return;
    case offer_word::dynamic_shared_bytes:
      offer.dynamic_shared_bytes = static_cast<std::size_t>(value);
      return;
  }
  extent_of(offer, word) = static_cast<unsigned>(value);
}

/// Throws `outer` with `inner` nested in it.
[[noreturn]] inline void throw_nested(const error& outer, const std::exception_ptr& inner) {
  try {
    std::rethrow_exception(inner);
  } catch (...) {
    std::throw_with_nested(outer);
  }
}

/// Whether the backend uses kernels to gather numbers. Such kernels may not fit on the device together with a grid that waits
/// for other PEs.
template <class Backend>
inline constexpr bool gathers_by_kernels = requires { requires Backend::gathers_by_kernels; };

/// Returns the offers of all PEs, in PE order. Collective.
template <class Backend>
[[nodiscard]] std::vector<launch_offer> gathered_offers(Backend& backend, std::span<const launch_offer> mine) {
  const auto count = static_cast<std::size_t>(backend.count());
  std::vector<launch_offer> offers(count);
  std::vector<unsigned long long> own(mine.size());
  std::vector<unsigned long long> all(count);
  const auto exchange = [&](int word) {
    for (std::size_t i = 0; i != mine.size(); ++i) {
      own[i] = word_of(mine[i], word);
    }
    backend.all_gather(own.data(), all.data());
    for (std::size_t i = 0; i != count; ++i) {
      set_word(offers[i], word, all[i]);
    }
  };
  exchange(offer_word::blocks);
  // This exchange comes before any other, because a process in a different call also throws after its first exchange.
  for (int i = 1; i < backend.count(); ++i) {
    const unsigned long long theirs = offers[static_cast<std::size_t>(i)].blocks;
    if (call_of(theirs) != call_of(offers[0].blocks)) {
      refuse_difference(i, theirs, offers[0].blocks);
    }
  }
  for (launch_offer& each : offers) {
    each.blocks = value_of(each.blocks);
  }
  exchange(offer_word::room);
  exchange(offer_word::state);
  // The individual extents are exchanged only if the hashes differ. All processes detect the difference and then exchange the
  // remaining words.
  exchange(offer_word::configuration);
  bool differ = false;
  for (const launch_offer& each : offers) {
    differ = differ || each.kernel != offers.front().kernel;
  }
  for (int word = offer_word::kernel; differ && word != offer_word::end; ++word) {
    exchange(word);
  }
  return offers;
}

}  // namespace detail

/// Launches `kernel` on every PE. The launch is cooperative, so that all blocks of a PE run concurrently. The launch uses the
/// logical remote synchronization domain, so that local kernels do not wait for this kernel's writes to other PEs.
///
/// Collective: every process must call it with the same kernel and configuration. `streams` must contain one stream for each PE
/// of this process, in PE order, or be empty for the default streams. `arguments(which)` must return a tuple of the kernel's
/// arguments on that PE. This callback is called before anything is launched. When the call returns, the kernels of all PEs of
/// this process have been launched. The host does not wait for them.
///
/// Errors: every PE throws the same `error`, before anything is launched, if a PE cannot launch, if the PEs' launches differ,
/// or if `arguments` threw an exception. The error names the PE and, depending on the case, the number of blocks that it can
/// hold or the difference. In the process where `arguments` threw, that exception is nested in the error
/// (`std::rethrow_if_nested`). If CUDA nevertheless rejects a launch, every PE throws an error, provided that the backend
/// gathers numbers without kernels, as the peer backend does. With NVSHMEM, only the affected PE throws an error: the kernels
/// that would inform the other PEs may not fit on the device after the launch. The other PEs' kernels may then wait until their
/// budgets are used up. The checks do not account for other kernels on the device, whether they belong to this PE or to another
/// PE on the same device. Such kernels delay the launch, and block it forever if they wait for it.
template <backend Backend, class... Parameters, class Arguments>
void collective_launch(Backend& backend, const collective_grid& shape, std::span<const cudaStream_t> streams,
                       void (*kernel)(Parameters...), Arguments arguments) {
  const pe_range local = backend.local_pes();
  std::vector<launch_offer> mine(static_cast<std::size_t>(local.size()));
  std::vector<decltype(arguments(local.front()))>
      values;  // has fewer elements than PEs only if a PE reports an error; then nothing is launched
  std::exception_ptr thrown;
  std::size_t next = 0;
  for (const pe which : local) {
    launch_offer& offer = mine[next++];
    try {
      const device_guard guard(backend.device_of(which));
      offer = detail::offer_of_current_device(shape, kernel);
      try {
        values.push_back(arguments(which));
      } catch (...) {
        offer.no_arguments = true;  // this is also reported to the other PEs
        thrown = thrown ? thrown : std::current_exception();
      }
    } catch (const error& failure) {
      offer = {};
      offer.failed = failure.code();
    }
    offer.wrong_streams = !streams.empty() && streams.size() != mine.size();
  }
  try {
    validate_collective_launch(detail::gathered_offers(backend, mine));
  } catch (const error& agreed) {
    if (thrown) {
      detail::throw_nested(agreed, thrown);
    }
    throw;
  }

  // No PE throws before all PEs have reported. Otherwise, the other PEs would wait forever for a kernel that this PE does not
  // launch.
  next = 0;
  for (const pe which : local) {
    try {
      const device_guard guard(backend.device_of(which));
      const auto config =
          launch_config{shape.grid, shape.block, streams.empty() ? nullptr : streams[next], shape.dynamic_shared_bytes}
              .with(sync_domain::remote)
              .with(cooperative{});
      const auto launch_with = [&](const auto& configured) {
        std::apply([&](auto&&... each) { launch(configured, kernel, std::move(each)...); }, std::move(values[next]));
      };
      if (shape.cluster == cluster_dimensions{1, 1, 1}) {
        launch_with(config);
      } else {
        launch_with(config.with(shape.cluster));
      }
    } catch (const error& failure) {
      mine[next].failed = failure.code();
    }
    ++next;
  }
  if constexpr (detail::gathers_by_kernels<Backend>) {
    std::vector<launch_offer> launched(static_cast<std::size_t>(backend.count()));
    for (std::size_t i = 0; i != mine.size(); ++i) {
      launched[static_cast<std::size_t>(local.front().index()) + i] = mine[i];
    }
    validate_launched(launched);
  } else {
    validate_launched(detail::gathered_offers(backend, mine));
  }
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
