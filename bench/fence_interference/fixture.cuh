// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The devices, the victims and noises on them, and the measurement of one set of samples.
#pragma once

#include "cases.cuh"
#include "figures.hpp"
#include "settle.hpp"
#ifdef MEMBAR_BENCH_HAS_NCCL
#include "nccl_noise.hpp"
#endif

#include <bench/common/cuda_handles.hpp>
#include <bench/common/machine_context.hpp>
#include <bench/common/statistics.hpp>
#include <membar/error.hpp>
#include <membar/launch.hpp>
#include <membar/sync_domain.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fence_interference {

/// Spins for a known time, to measure the clock rate of the multiprocessors.
__global__ void count_cycles(unsigned long long ns, double* cycles_per_ns) {
  const unsigned long long begin = membar::global_nanoseconds();
  const long long first = clock64();
  unsigned long long now = begin;
  while (now - begin < ns) {
    now = membar::global_nanoseconds();
  }
  *cycles_per_ns = static_cast<double>(clock64() - first) / static_cast<double>(now - begin);
}

inline double measured_ghz() {
  const support::device_memory<double> result(1);
  // The first run raises the clock rate from idle.
  for (int i = 0; i != 2; ++i) {
    membar::launch(membar::launch_config{1, 1}, count_cycles, 100'000'000ULL, result.get());
  }
  double ghz = 0;
  membar::check(cudaMemcpy(&ghz, result.get(), sizeof ghz, cudaMemcpyDefault), "the clock kernel failed");
  return ghz;
}

/// The rate of paced noise, as a percentage of the rate of saturating noise.
inline constexpr int default_pace = 75;

/// The devices, and every noise and victim on them, created on first use.
class fixture {
 public:
  /// `device` must exist. `peer` is the target of NVLink stores and all-reduces, by default the first device on NVLink. Paced
  /// noise stores `pace` percent of the saturating rate. Chains consist of `chain` kernels, by default as many as a steady time
  /// requires.
  fixture(int device, const std::optional<int>& peer, int pace = default_pace, int chain = 0)
      : device_(device), pace_(pace), chain_(chain), current_device_(device) {
    domain_count_ = membar::sync_domain_count(device_);
    find_peer(peer);
    // The scheduler fills the emptiest multiprocessors first, so a victim's block runs next to each noise block only if the
    // device is full.
    multiprocessors_ = static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device_));
    most_blocks_ = multiprocessors_ * static_cast<unsigned>(support::attribute(cudaDevAttrMaxBlocksPerMultiprocessor, device_));
    compute_capability_ = support::attribute(cudaDevAttrComputeCapabilityMajor, device_);
    ghz_ = measured_ghz();
  }

  [[nodiscard]] std::optional<int> peer() const noexcept { return peer_; }
  [[nodiscard]] double ghz() const noexcept { return ghz_; }
  [[nodiscard]] const bench_streams& streams() const noexcept { return streams_; }

  /// Returns the reason why a case cannot be measured on this machine, or an empty string if it can.
  [[nodiscard]] std::string waiver(const victim_description& victim, std::string_view noise_name, const arm& arm) const {
    if (domain_count_ < arm.domains_needed) {
      return "the device has " + std::to_string(domain_count_) + " synchronization domain" + (domain_count_ == 1 ? "" : "s") +
             ", the arm needs " + std::to_string(arm.domains_needed);
    }
    if (victim.kernel != nullptr && victim.placement == sm_placement::own_sm && multiprocessors_ <= widest_noise) {
      return "the noise needs " + std::to_string(widest_noise) + " multiprocessors and leaves none of the device's " +
             std::to_string(multiprocessors_);
    }
    if (victim.scope == thread_scope::cluster && compute_capability_ < 9) {
      return "cluster scope needs compute capability 9.0";
    }
    const bool nccl = starts_with(noise_name, "nccl");
    if ((nccl || starts_with(noise_name, "nvlink")) && !peer_) {
      return no_peer_;
    }
#ifndef MEMBAR_BENCH_HAS_NCCL
    if (nccl) {
      return "NCCL was not found when the bench was built";
    }
#endif
    if (victim.chain_queue == queue::shared && noise_name != "none" && !shares_a_queue_) {
      return "no stream of the bench was seen to share a hardware queue with NCCL's";
    }
    return "";
  }

  noise& noise_called(const std::string& name) {
    std::unique_ptr<noise>& made = noises_[name];
    if (made == nullptr) {
      made = make_noise(name);
    }
    return *made;
  }

  /// Determines, before any case, which of two streams created one after the other is assigned to the hardware queue of NCCL's
  /// stream.
  void find_queues(noise& nccl, const arm& arm) {
    double ns[2] = {};
    for (int i = 0; i != 2; ++i) {
      kernel_boundary chain(kernel_boundary::chain_form::stream, streams_.chain[i]);
      static_cast<void>(chain.measure(alone.victim, {}, 1, [] {}));
      nccl.start(arm.noise);
      ns[i] = support::median(chain.measure(arm.victim, {}, 64, [&] { nccl.feed(); }));
      static_cast<void>(nccl.stop());
    }
    own_queue_stream_ = ns[0] <= ns[1] ? 0 : 1;
    shares_a_queue_ = std::max(ns[0], ns[1]) > 1.1 * std::min(ns[0], ns[1]);
  }
  void find_queues() {
    static_cast<void>(noise_called("nccl.paced"));
    find_queues(noise_called("nccl.saturating"), domain_count_ > 1 ? separate : same);
  }

  victim& victim_called(const victim_description& description) {
    std::unique_ptr<victim>& made = victims_[description.name];
    if (made == nullptr) {
      if (description.kernel == nullptr) {
        auto chain = std::make_unique<kernel_boundary>(description.form, chain_stream(description.chain_queue));
        chain->set_chain_length(steady_length(description.form, *chain));
        made = std::move(chain);
      } else {
        made = std::make_unique<operation_victim>(
            operation_victim::setup{streams_.operation, operation_data_.get(), description.kernel, description.placement,
                                    preferred_multiprocessor(description.placement), most_blocks_, ghz_});
      }
      // Loading a kernel while another one waits can deadlock, so each kernel runs once before any noise.
      made->prepare(alone.victim);
      static_cast<void>(made->measure(alone.victim, {}, 1, [] {}));
    }
    return *made;
  }

 private:
  /// Returns the multiprocessor on which a victim should run: if it shares one with the noise, the first multiprocessor that
  /// noise of the usual extent occupies; otherwise, the last multiprocessor that this noise leaves free.
  std::size_t preferred_multiprocessor(sm_placement placement) {
    if (noise_multiprocessors_.empty()) {
      noise& spin = noise_called("spin");
      spin.start(alone.noise);
      static_cast<void>(spin.stop());
      noise_multiprocessors_ = spin.place().multiprocessors;
    }
    const bool shared = placement == sm_placement::shared_sm;
    std::size_t id = shared ? 0 : multiprocessors_ - std::size_t{1};
    while (is_noisy(noise_multiprocessors_, id) != shared) {
      id += shared ? 1 : static_cast<std::size_t>(-1);
    }
    return id;
  }

  /// Returns the number of kernels in chains of this form, which is the same in every case: large enough that, without noise,
  /// the interval of the median is narrow enough for ratios to be known, but at most `most_chain`.
  int steady_length(kernel_boundary::chain_form form, kernel_boundary& chain) {
    constexpr int sets = 9;
    constexpr int samples = 8;
    int& length = chain_lengths_.try_emplace(form, chain_).first->second;
    for (int tried = kernel_boundary::least_chain; length == 0; tried *= 2) {
      chain.set_chain_length(tried);
      chain.prepare(alone.victim);
      std::vector<double> medians;
      static_cast<void>(chain.measure(alone.victim, {}, samples, [] {}));
      for (int i = 0; i != sets; ++i) {
        medians.push_back(support::median(chain.measure(alone.victim, {}, samples, [] {})));
      }
      length = is_steady(medians) || tried == kernel_boundary::most_chain ? tried : 0;
    }
    return length;
  }

  [[nodiscard]] const support::stream& chain_stream(queue wanted) const {
    return streams_.chain[wanted == queue::own ? own_queue_stream_ : 1 - own_queue_stream_];
  }

  void find_peer(const std::optional<int>& wanted) {
    int count = 0;
    membar::check(cudaGetDeviceCount(&count));
    if (wanted) {
      static_cast<void>(membar::sync_domain_count(*wanted));
      if (*wanted == device_) {
        throw std::runtime_error("membar: --peer=" + std::to_string(*wanted) + " is the measured device itself; name another");
      }
    }
    if (count < 2) {
      no_peer_ = "needs a second GPU, but this process sees only one";
      return;
    }
    no_peer_ = wanted ? "needs NVLink to the GPU that --peer names" : "needs a second GPU that this one can access over NVLink";
    for (int candidate = 0; candidate != count; ++candidate) {
      int accessible = 0;
      if (candidate == device_ || (wanted && candidate != *wanted)) {
        continue;
      }
      membar::check(cudaDeviceCanAccessPeer(&accessible, device_, candidate));
      const std::string link = support::link_between(device_, candidate);
      // If nvidia-smi is not available, peers are on NVLink if they have native atomics.
      int atomics = 0;
      membar::check(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, device_, candidate));
      if (accessible != 0 && (starts_with(link, "NV") || (link == "unknown" && atomics != 0))) {
        membar::check(cudaDeviceEnablePeerAccess(candidate, 0));
        peer_ = candidate;
        return;
      }
    }
  }

  std::unique_ptr<noise> make_noise(const std::string& name) {
    const std::string kind = name.substr(0, name.find('.'));
    const bool paced = std::string_view(name).ends_with("paced");
    if (kind == "none") {
      return std::make_unique<silence>();
    }
    if (kind == "nccl") {
#ifdef MEMBAR_BENCH_HAS_NCCL
      constexpr int paced_blocks = 2;
      return std::make_unique<nccl_noise>(streams_, device_, *peer_, paced ? paced_blocks : 0, nccl_noise::map_choice::by_arm);
#else
      throw std::logic_error("a case that was waived has run");
#endif
    }
    constexpr kernel_noise::extent wide{widest_noise, 1024};
    constexpr kernel_noise::extent narrow{4, 1024};  // This rate is enough for a link to the host.
    if (kind == "nvlink_both") {
      const support::device_guard guard(*peer_);
      if (!peer_streams_) {
        if (const cudaError_t status = cudaDeviceEnablePeerAccess(device_, 0); status == cudaErrorPeerAccessAlreadyEnabled) {
          static_cast<void>(cudaGetLastError());  // NCCL may have enabled it already.
        } else {
          membar::check(status);
        }
        peer_streams_.emplace();
      }
      auto back = storing_to(local_target_, device_, target_bytes, wide, *peer_streams_);
      const support::device_guard here(device_);
      auto both = std::make_unique<two_way_noise>(storing_to(peer_target_, *peer_, target_bytes, wide, streams_),
                                                  std::move(back), *peer_);
      if (paced) {
        both->pace(pace_ * 0.01 * rate_of(*both), ghz_);
      }
      return both;
    }
    if (kind == "spin") {
      return std::make_unique<kernel_noise>(streams_, nullptr, 0, wide);
    }
    auto made = kind == "host"    ? storing_to(host_target_, device_, host_target_bytes, narrow, streams_)
                : kind == "local" ? storing_to(local_target_, device_, target_bytes, wide, streams_)
                                  : storing_to(peer_target_, *peer_, target_bytes, wide, streams_);
    const double saturating_gbps = rate_of(*made);
    if (paced) {
      made->pace(pace_ * 0.01 * saturating_gbps, ghz_);
    }
    return made;
  }

  /// Noise from the current device that stores to `target`. Saturating and paced noise of one kind share this object, which is
  /// created only once.
  template <class Memory>
  std::unique_ptr<kernel_noise> storing_to(std::optional<Memory>& target, int device, std::size_t bytes,
                                           kernel_noise::extent shape, const bench_streams& streams) const {
    if (!target) {
      const support::device_guard guard(device);
      target.emplace(bytes / sizeof(uint4));
    }
    return std::make_unique<kernel_noise>(streams, target->get(), bytes, shape);
  }

  /// Returns the rate of the noise by itself, measured over 30 ms.
  static double rate_of(noise& noise) {
    noise.start(alone.noise);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return noise.stop();
  }

  static constexpr unsigned widest_noise = 32;
  /// Several times as large as L2, so that local stores reach device memory.
  static constexpr std::size_t target_bytes = std::size_t{512} << 20;
  static constexpr std::size_t host_target_bytes = std::size_t{64} << 20;

  int device_;
  int pace_;
  int chain_;
  std::map<kernel_boundary::chain_form, int> chain_lengths_;
  // Selected before the streams are constructed, because they are created on the current device.
  support::device_guard current_device_;
  std::optional<int> peer_;
  std::string no_peer_;
  int domain_count_ = 1;
  int compute_capability_ = 0;
  unsigned multiprocessors_ = 0;
  unsigned most_blocks_ = 0;
  std::vector<std::uint8_t> noise_multiprocessors_;
  double ghz_ = 1;
  bench_streams streams_;
  support::device_memory<unsigned> operation_data_{32 + 1};
  int own_queue_stream_ = 0;
  bool shares_a_queue_ = false;
  std::optional<bench_streams> peer_streams_;
  std::optional<support::device_memory<uint4>> local_target_;
  std::optional<support::device_memory<uint4>> peer_target_;
  std::optional<support::pinned_memory<uint4>> host_target_;
  std::map<std::string, std::unique_ptr<noise>> noises_;
  std::map<std::string, std::unique_ptr<victim>> victims_;
};

inline constexpr int chain_samples = 16;
inline constexpr int operation_samples = 64;

/// Takes one set of samples for one case: the noise starts, and the victim is timed. When the victim has ended, the noise must
/// still be running on the same multiprocessors as before.
inline void measure(fixture& on, const victim_description& description, noise& noise, const arm& arm, case_result& result) {
  victim& victim = on.victim_called(description);
  victim.prepare(arm.victim);
  const bool is_chain = description.kernel == nullptr;
  noise.stay_in_place(!is_chain);
  constexpr int attempts = 20;  // All-reduces follow one another, and the next one may run on other multiprocessors.
  for (int attempt = 0; attempt != attempts; ++attempt) {
    running_noise beside = started(noise, arm.noise);
    const occupied place = is_chain ? occupied{} : beside->place();
    beside->feed();
    const std::vector<double> ns =
        victim.measure(arm.victim, place, is_chain ? chain_samples : operation_samples, [&] { beside->feed(); });
    if (!beside->running()) {
      throw std::runtime_error("the noise ended before the victim, so their overlap was not measured");
    }
    if (!is_chain && beside->place() != place) {
      continue;
    }
    const double rate = beside.release()->stop();
    if (arm.name != alone.name) {
      result.noise_gbps.push_back(rate);
    }
    result.ns.insert(result.ns.end(), ns.begin(), ns.end());
    result.medians.push_back(support::median(ns));
    result.chain = victim.chain_length();
    return;
  }
  throw std::runtime_error("the noise moved between multiprocessors while the victim was timed, in each of " +
                           std::to_string(attempts) + " attempts");
}

}  // namespace fence_interference
