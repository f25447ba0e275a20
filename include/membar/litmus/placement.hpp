// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines where the threads of a litmus test run on a machine. The places of the model become launches, clusters, blocks
/// and warps. If the machine does not support the places, the error states the reason.
#pragma once

#include <membar/error.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/model/program.hpp>
#include <membar/sync_domain.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// The properties of a machine that determine where a test can run. They are plain values, so that unit tests can describe any
/// machine.
struct machine {
  struct device {
    int ordinal = 0;  ///< CUDA's index of the device
    std::string name;
    int major = 0;
    int minor = 0;
    int multiprocessors = 0;
    int domains = 1;                ///< the number of memory synchronization domains
    bool maps_host_memory = false;  ///< whether mapped host memory has the same address on host and device
    std::vector<bool> reaches;      ///< per device of the machine: whether this device can access that device's memory
  };
  std::vector<device> devices;
};

/// Returns the machine that this process runs on. Without a GPU, the machine has no devices.
[[nodiscard]] inline machine this_machine() {
  machine found;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return found;
  }
  const auto attribute = [](cudaDeviceAttr which, int device) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  for (int d = 0; d < count; ++d) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, d));
    machine::device device;
    device.ordinal = d;
    device.name = properties.name;
    device.major = properties.major;
    device.minor = properties.minor;
    device.multiprocessors = properties.multiProcessorCount;
    device.domains = sync_domain_count(d);
    device.maps_host_memory = attribute(cudaDevAttrCanMapHostMemory, d) != 0 && attribute(cudaDevAttrUnifiedAddressing, d) != 0;
    for (int other = 0; other < count; ++other) {
      int reaches = other == d ? 1 : 0;
      if (other != d) {
        check(cudaDeviceCanAccessPeer(&reaches, d, other));
      }
      device.reaches.push_back(reaches != 0);
    }
    found.devices.push_back(std::move(device));
  }
  return found;
}

/// The placement of a test's threads.
struct placement {
  struct launch {
    int device = 0;            ///< the device's index in `machine::devices`
    int domain = 0;            ///< the physical memory synchronization domain
    std::vector<int> threads;  ///< the test threads that the launch runs
  };
  std::vector<launch> launches;      ///< the launches on GPUs
  std::vector<int> threads_on_host;  ///< the test threads that the host runs, each in its own thread
  std::vector<seat> seats;           ///< the seat of each test thread
  unsigned cluster = 1;              ///< the minimum number of blocks per cluster
  unsigned clusters = 1;             ///< the maximum number of clusters that an instance has in a launch
  unsigned slots = 1;                ///< the maximum number of threads that an instance has in a block
  bool warps_differ = false;         ///< whether some threads of one block must be in different warps

  /// Returns the number of launches and host threads that share the barrier at the end of each step.
  [[nodiscard]] std::size_t participants() const noexcept { return launches.size() + threads_on_host.size(); }
};

namespace detail {

/// Returns the position of `value` in `seen`, and appends `value` first if it is new.
template <class T>
[[nodiscard]] unsigned char number_of(std::vector<T>& seen, const T& value) {
  const auto found = std::find(seen.begin(), seen.end(), value);
  const auto number = static_cast<unsigned char>(found - seen.begin());
  if (found == seen.end()) {
    seen.push_back(value);
  }
  return number;
}

/// Selects the first `count` devices that can access each other. Returns false if there are fewer.
inline bool pick_peers(const machine& on, std::size_t count, std::vector<int>& picked) {
  if (picked.size() == count) {
    return true;
  }
  for (std::size_t d = picked.empty() ? 0 : static_cast<std::size_t>(picked.back()) + 1; d < on.devices.size(); ++d) {
    const bool joined = std::all_of(picked.begin(), picked.end(), [&](int p) {
      const auto other = static_cast<std::size_t>(p);
      return on.devices[d].reaches[other] && on.devices[other].reaches[d];
    });
    if (joined) {
      picked.push_back(static_cast<int>(d));
      if (pick_peers(on, count, picked)) {
        return true;
      }
      picked.pop_back();
    }
  }
  return false;
}

/// The threads that share a launch, a cluster and a block.
struct thread_groups {
  std::vector<std::pair<int, int>> launches;  ///< the GPU and the domain of each launch
  std::vector<std::pair<int, int>> blocks;    ///< the GPU and the number of each block
  /// per launch: the numbers of its clusters, and of its blocks outside of clusters
  std::vector<std::vector<std::pair<bool, int>>> clusters;
  std::vector<std::vector<std::vector<int>>> members;  ///< per launch and cluster: its blocks
  std::vector<std::vector<int>> warps;                 ///< per block: the warps of its threads

  /// Determines the launch of thread `t`, and the parts of its seat that do not depend on other threads.
  void add(placement& where, std::size_t t, const model::place& p, int device) {
    seat& s = where.seats[t];
    s.launch = number_of(launches, {p.gpu, p.domain});
    if (s.launch == where.launches.size()) {
      where.launches.push_back({device, p.domain, {}});
      clusters.emplace_back();
      members.emplace_back();
    }
    where.launches[s.launch].threads.push_back(static_cast<int>(t));
    s.group = number_of(blocks, {p.gpu, p.block});
    if (s.group == warps.size()) {
      warps.emplace_back();
    }
    s.slot = static_cast<unsigned char>(warps[s.group].size());
    warps[s.group].push_back(p.warp);
    s.cluster_group = number_of(clusters[s.launch], {p.cluster >= 0, p.cluster >= 0 ? p.cluster : p.block});
    if (s.cluster_group == members[s.launch].size()) {
      members[s.launch].emplace_back();
    }
    s.rank = number_of(members[s.launch][s.cluster_group], p.block);
  }
};

/// Chooses the cluster size; the largest cluster that the test needs has `ranks` blocks. Throws `error` if the devices do not
/// support it.
inline void fit_to_devices(placement& where, const machine& on, std::size_t ranks) {
  if (where.participants() > static_cast<std::size_t>(max_participants)) {
    throw error(cudaErrorNotSupported,
                "membar: the test needs %zu launches and host threads in total, but a run can have at most %d: place threads "
                "in fewer domains",
                where.participants(), max_participants);
  }
  for (const placement::launch& l : where.launches) {
    const machine::device& facts = on.devices[static_cast<std::size_t>(l.device)];
    if (ranks > 1 && facts.major < 9) {
      throw error(cudaErrorNotSupported,
                  "membar: the test needs a thread block cluster, which requires compute capability 9.0, but %s has %d.%d: "
                  "run it on a newer device",
                  facts.name.c_str(), facts.major, facts.minor);
    }
    if (!where.threads_on_host.empty() && !facts.maps_host_memory) {
      throw error(cudaErrorNotSupported,
                  "membar: the test needs memory that the host and %s access at the same address, but that device cannot map "
                  "such memory: place no thread on the host",
                  facts.name.c_str());
    }
  }
  constexpr std::size_t portable_cluster = 8;
  while (where.cluster < ranks) {
    where.cluster *= 2;
  }
  if (where.cluster > portable_cluster) {
    throw error(cudaErrorNotSupported,
                "membar: the test needs a cluster of %zu blocks, but only clusters of up to %zu blocks work on every device: "
                "use fewer blocks",
                ranks, portable_cluster);
  }
}

}  // namespace detail

/// Returns where threads with these places run on the machine.
/// * The GPUs of a test are the first devices that can access each other.
/// * The threads of one GPU and one domain share a launch.
/// * Blocks of one cluster need a cluster launch. Other blocks do not need one: each of them counts as a cluster of its own.
/// * Threads of one block whose places name different warps run in different warps; otherwise the parameters decide.
///
/// Errors: throws `error`, whose message states what the machine does not support.
[[nodiscard]] inline placement place_threads(std::span<const model::place> places, const machine& on) {
  if (places.empty() || places.size() > static_cast<std::size_t>(max_threads)) {
    throw error(cudaErrorInvalidValue, "membar: the test has %zu threads: write a test with 1 to %d threads", places.size(),
                max_threads);
  }
  if (on.devices.empty()) {
    throw error(cudaErrorNoDevice,
                "membar: the test needs a GPU, but CUDA finds none on this machine: check CUDA_VISIBLE_DEVICES");
  }
  placement where;
  where.seats.resize(places.size());
  std::vector<int> gpus;
  for (const model::place& p : places) {
    if (!p.host) {
      static_cast<void>(detail::number_of(gpus, p.gpu));
    }
  }
  if (gpus.empty()) {
    throw error(cudaErrorInvalidValue, "membar: every thread of the test is on the host: place at least one on a GPU");
  }
  std::vector<int> devices;
  if (!detail::pick_peers(on, gpus.size(), devices)) {
    throw error(cudaErrorPeerAccessUnsupported,
                "membar: the test needs %zu GPUs that can access each other's memory, but no %zu of this machine's %zu GPUs "
                "can: check that CUDA_VISIBLE_DEVICES does not hide any",
                gpus.size(), gpus.size(), on.devices.size());
  }
  detail::thread_groups groups;
  for (std::size_t t = 0; t < places.size(); ++t) {
    const model::place& p = places[t];
    if (p.host) {
      continue;
    }
    const int device = devices[detail::number_of(gpus, p.gpu)];
    const machine::device& facts = on.devices[static_cast<std::size_t>(device)];
    if (p.domain < 0 || p.domain >= facts.domains) {
      throw error(cudaErrorNotSupported,
                  "membar: the test needs memory synchronization domain %d, but the number of domains on %s is %d; domains "
                  "require compute capability 9.0: run the test on such a device, or use a smaller domain number",
                  p.domain, facts.name.c_str(), facts.domains);
    }
    groups.add(where, t, p, device);
  }
  std::size_t ranks = 1;
  for (std::size_t t = 0; t < places.size(); ++t) {
    seat& s = where.seats[t];
    if (places[t].host) {
      s.launch = static_cast<unsigned char>(where.launches.size() + where.threads_on_host.size());
      where.threads_on_host.push_back(static_cast<int>(t));
      continue;
    }
    const std::vector<int>& of_block = groups.warps[s.group];
    s.slots = static_cast<unsigned char>(of_block.size());
    s.cluster_groups = static_cast<unsigned char>(groups.clusters[s.launch].size());
    ranks = std::max(ranks, groups.members[s.launch][s.cluster_group].size());
    where.slots = std::max(where.slots, static_cast<unsigned>(s.slots));
    where.clusters = std::max(where.clusters, static_cast<unsigned>(s.cluster_groups));
    where.warps_differ =
        where.warps_differ || std::any_of(of_block.begin(), of_block.end(), [&](int w) { return w != of_block.front(); });
  }
  detail::fit_to_devices(where, on, ranks);
  return where;
}

/// Returns where the threads of `test` run on the machine; see the overload for places.
template <class Test>
  requires requires(const Test& test) { test.threads.front().where; }
[[nodiscard]] placement place_threads(const Test& test, const machine& on) {
  std::vector<model::place> places;
  for (const auto& thread : test.threads) {
    places.push_back(thread.where);
  }
  return place_threads(std::span<const model::place>(places), on);
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
