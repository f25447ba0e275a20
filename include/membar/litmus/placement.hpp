// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Where the threads of a litmus test run on a machine: from the places of the model to launches, clusters, blocks and lanes,
/// or to a sentence that says what the machine lacks.
#pragma once

#include <membar/error.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/model/program.hpp>
#include <membar/sync_domain.hpp>

#include <span>
#include <string>
#include <vector>

namespace membar::litmus {

/// What of a machine decides where a test can run, as values, so that the rules hold for any machine.
struct machine {
  struct device {
    int ordinal = 0;  ///< CUDA's index
    std::string name;
    int major = 0;
    int minor = 0;
    int multiprocessors = 0;
    int domains = 1;  ///< memory synchronization domains
    bool maps_host_memory = false;
    std::vector<bool> reaches;  ///< per device of the machine: peer access, with native atomics
  };
  std::vector<device> devices;
};

/// The machine this process runs on. Without a GPU it has no devices.
[[nodiscard]] machine this_machine();

/// Where the threads of a test run.
struct placement {
  struct launch {
    int device = 0;            ///< index in `machine::devices`
    int domain = 0;            ///< physical memory synchronization domain
    std::vector<int> threads;  ///< the test threads it runs
  };
  std::vector<launch> launches;   ///< on GPUs
  std::vector<int> host_threads;  ///< the test threads that the host runs, one host thread each
  std::vector<seat> seats;        ///< per test thread
  unsigned cluster = 1;           ///< blocks per cluster, at least
  unsigned clusters = 1;          ///< clusters of an instance in a launch, at most
  unsigned slots = 1;             ///< threads of an instance in a block, at most
  bool warps_differ = false;      ///< threads of one block were given different warps

  [[nodiscard]] bool several_parties() const noexcept { return launches.size() + host_threads.size() > 1; }
};

/// Where the threads with these places run on `on`. GPU n of the test is the n-th of the devices used; other threads of a
/// device whose places say another domain are another launch. Throws `error` with one sentence if the machine lacks what the
/// places ask for.
[[nodiscard]] placement place(std::span<const model::place> places, const machine& on);

}  // namespace membar::litmus
