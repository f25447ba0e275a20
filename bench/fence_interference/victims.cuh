// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The victims: operations in a program without remote traffic, which may wait for other traffic.
#pragma once

#include "arms.hpp"
#include "noise.cuh"

#include <bench/common/cuda_handles.hpp>
#include <membar/atomic.cuh>
#include <membar/fence.cuh>
#include <membar/launch.hpp>

#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

namespace fence_interference {

/// Where a victim runs relative to the noise. A kernel boundary concerns the whole device.
enum class sm_placement { own_sm, shared_sm };

/// Returns whether noise runs on a multiprocessor. `noisy` has an entry for each multiprocessor.
[[nodiscard]] inline bool is_noisy(const std::vector<std::uint8_t>& noisy, std::size_t multiprocessor) {
  return multiprocessor < noisy.size() && noisy[multiprocessor] != 0;
}

/// An operation that is timed `samples` times; the samples are in nanoseconds.
class victim {
 public:
  virtual ~victim() = default;

  /// Creates what `measure` needs for these domains, because allocating while a kernel waits can deadlock.
  virtual void prepare(const domain_choice&) {}

  /// `between_samples` is called between samples, whenever the host gets control.
  [[nodiscard]] virtual std::vector<double> measure(const domain_choice& domains, const occupied& noise, int samples,
                                                    const std::function<void()>& between_samples) = 0;

  /// Returns the number of kernels in the chain; 0 if the victim is not a chain.
  [[nodiscard]] virtual int chain_length() const noexcept { return 0; }
};

/// A tiny kernel that writes only local memory. Its end is the measured boundary.
__global__ void tiny_local_kernel(unsigned* data, unsigned value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }

/// A chain of tiny kernels in one stream; a sample is the chain's time divided by its length.
class kernel_boundary final : public victim {
 public:
  enum class chain_form { stream, graph };
  static constexpr int least_chain = 32;
  static constexpr int most_chain = 256;  ///< A stream holds about 1000 launches.

  /// The stream belongs to the caller and outlives the victim.
  kernel_boundary(chain_form form, const support::stream& stream) : form_(form), stream_(stream) {}

  /// A longer chain averages over more launches, so its samples differ less. Call `prepare` afterwards.
  void set_chain_length(int length) noexcept { chain_length_ = length; }
  [[nodiscard]] int chain_length() const noexcept override { return chain_length_; }

  void prepare(const domain_choice& domains) override {
    if (form_ == chain_form::graph) {
      // The graph's nodes have the domain; the launching stream has the default domain, which must not matter.
      graph_.emplace(stream_.get(), [&] { launch_chain(domains); });
    }
  }

  /// Measures the chain. In the form `graph`, it measures the graph that `prepare` has captured for the same domains.
  std::vector<double> measure(const domain_choice& domains, const occupied&, int samples,
                              const std::function<void()>& between_samples) override {
    std::vector<double> ns;
    for (int i = 0; i != samples; ++i) {
      between_samples();
      begin_.record(stream_.get());
      if (form_ == chain_form::graph) {
        graph_->launch(stream_.get());
      } else {
        launch_chain(domains);
      }
      end_.record(stream_.get());
      end_.synchronize();
      ns.push_back(end_.nanoseconds_since(begin_) / chain_length_);
    }
    return ns;
  }

 private:
  static constexpr unsigned blocks = 8;
  static constexpr unsigned threads = 128;

  void launch_chain(const domain_choice& domains) {
    const auto config = membar::launch_config{blocks, threads, stream_.get()}.with(domains.domain).with(domains.map);
    for (unsigned i = 0; i != static_cast<unsigned>(chain_length_); ++i) {
      membar::launch(config, tiny_local_kernel, data_.get(), i);
    }
  }

  int chain_length_ = least_chain;
  chain_form form_;
  const support::stream& stream_;
  std::optional<support::executable_graph> graph_;
  support::event begin_;
  support::event end_;
  support::device_memory<unsigned> data_{std::size_t{blocks} * threads};
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool has_cluster_scope = false;
#else
inline constexpr bool has_cluster_scope = true;
#endif

/// An operation that is timed inside a kernel: one operation after one local store per lane.
template <membar::thread_scope Scope, class Order>
struct fence_operation {
  __device__ static unsigned run(unsigned*) {
    if constexpr (Scope == membar::thread_scope::cluster && !has_cluster_scope) {
      __trap();  // This never happens: the cases of this victim are waived if there are no clusters.
    } else {
      membar::thread_fence<Scope>(Order{});
    }
    return 0;
  }
};
template <membar::thread_scope Scope>
struct release_store_operation {
  __device__ static unsigned run(unsigned* flag) {
    membar::atomic_ref<unsigned, Scope>(*flag).store(1, membar::release);
    return 0;
  }
};
template <membar::thread_scope Scope>
struct acquire_load_operation {
  __device__ static unsigned run(unsigned* flag) { return membar::atomic_ref<unsigned, Scope>(*flag).load(membar::acquire); }
};

/// The multiprocessors on which a victim may run, and the words that its blocks use to agree on the block that measures.
struct placement_control {
  static constexpr unsigned most_multiprocessors = 512;
  unsigned char allowed[most_multiprocessors];
  unsigned claimed;
  unsigned gone;
  unsigned measured;  ///< The samples that the measuring block has taken.
};

/// How long the blocks wait for each other while they look for a block that may measure.
inline constexpr unsigned long long placement_ns = 50'000'000;

/// One block, on an allowed multiprocessor, times `samples` operations in cycles. The other blocks only fill the device, so
/// that every multiprocessor has a block until the measuring block has been found; the other blocks exit before the measurement
/// begins.
template <class Operation>
__global__ void timed_operation(placement_control* control, unsigned* data, unsigned* cycles, int samples,
                                unsigned long long deadline_ns) {
  using device_counter = membar::atomic_ref<unsigned, membar::thread_scope::device>;
  __shared__ unsigned measures;
  const unsigned long long begin = membar::global_nanoseconds();
  const auto before_ns = [&](unsigned long long limit) { return membar::global_nanoseconds() - begin < limit; };
  if (threadIdx.x == 0) {
    unsigned unclaimed = 0;
    measures = control->allowed[multiprocessor_id()] != 0 &&
               device_counter(control->claimed).compare_exchange(unclaimed, 1, membar::relaxed, membar::relaxed);
    if (measures != 0) {
      while (device_counter(control->gone).load(membar::relaxed) != gridDim.x - 1 && before_ns(placement_ns)) {
      }
    } else {
      while (device_counter(control->claimed).load(membar::relaxed) == 0 && before_ns(placement_ns)) {
      }
      device_counter(control->gone).fetch_add(1, membar::relaxed);
    }
  }
  __syncthreads();
  if (measures == 0) {
    return;
  }
  extern __shared__ unsigned elapsed[];
  unsigned* const flag = data + 32;
  int taken = 0;
  // The first rounds load instructions and are not kept.
  constexpr int warm_up = 8;
  for (int i = -warm_up; i != samples && before_ns(deadline_ns); ++i) {
    data[threadIdx.x] = static_cast<unsigned>(i);
    __syncwarp();
    const long long before = clock64();
    const unsigned value = Operation::run(flag);
    if (value > 1) {
      __trap();  // The condition is never true: it makes the clock read wait for a loaded value.
    }
    const long long after = clock64();
    if (i >= 0 && threadIdx.x == 0) {
      elapsed[i] = static_cast<unsigned>(after - before);
    }
    taken = i + 1;
  }
  __syncwarp();
  for (int i = static_cast<int>(threadIdx.x); i < taken; i += 32) {
    cycles[i] = elapsed[i];
  }
  if (threadIdx.x == 0) {
    control->measured = static_cast<unsigned>(max(taken, 0));
  }
}

/// An operation inside a kernel, on a multiprocessor that is selected according to where the noise runs.
///
/// Latencies differ between multiprocessors by more than some of the measured effects. Every case of a victim, including the
/// one without noise, is therefore measured on the same multiprocessor if the noise allows it.
class operation_victim final : public victim {
 public:
  using kernel_pointer = void (*)(placement_control*, unsigned*, unsigned*, int, unsigned long long);

  struct setup {
    const support::stream& stream;
    unsigned* data;  ///< A cache line and a word in it. All victims use the same line and word, because the path to L2 differs
                     ///< between lines.
    kernel_pointer kernel;
    sm_placement placement;
    std::size_t preferred_multiprocessor;
    unsigned blocks;  ///< Blocks that fill the device even if no noise runs.
    double ghz;       ///< The clock rate of the multiprocessors.
  };

  explicit operation_victim(const setup& how) : how_(how) {}

  std::vector<double> measure(const domain_choice& domains, const occupied& noise, int samples,
                              const std::function<void()>& between_samples) override {
    const std::vector<std::uint8_t>& noisy = noise.multiprocessors;
    if (samples > most_samples) {
      throw std::logic_error("more samples were requested than the victim has space for");
    }
    placement_control& request = host_control_[0];
    request = {};
    const bool shared = how_.placement == sm_placement::shared_sm;
    const bool as_preferred = noisy.empty() || is_noisy(noisy, how_.preferred_multiprocessor) == shared;
    for (std::size_t i = 0; i != placement_control::most_multiprocessors; ++i) {
      request.allowed[i] = as_preferred ? i == how_.preferred_multiprocessor : is_noisy(noisy, i) == shared;
    }
    membar::check(cudaMemcpyAsync(control_.get(), &request, sizeof request, cudaMemcpyDefault, how_.stream.get()));
    const membar::launch_config config(how_.blocks, 32, how_.stream.get(),
                                       static_cast<std::size_t>(samples) * sizeof(unsigned));
    const auto in_domain = config.with(domains.domain).with(domains.map);
    const auto launch = [&](const auto& configured) {
      membar::launch(configured, how_.kernel, control_.get(), how_.data, cycles_.get(), samples, deadline_ns);
    };
    noise.least_shared_memory ? launch(with_least_shared_memory(in_domain)) : launch(in_domain);
    membar::check(cudaMemcpyAsync(&request, control_.get(), sizeof request, cudaMemcpyDefault, how_.stream.get()));
    membar::check(cudaMemcpyAsync(host_cycles_.get(), cycles_.get(), cycles_.size() * sizeof(unsigned), cudaMemcpyDefault,
                                  how_.stream.get()));
    while (!how_.stream.idle()) {
      between_samples();
    }
    if (request.claimed == 0) {
      throw std::runtime_error(shared ? "no block of the victim shared a multiprocessor with the noise"
                                      : "no multiprocessor was free of noise");
    }
    if (request.measured == 0) {
      throw std::runtime_error("the victim took no sample within its deadline");
    }
    std::vector<double> ns(request.measured);
    for (std::size_t i = 0; i != ns.size(); ++i) {
      ns[i] = host_cycles_[i] / how_.ghz;
    }
    return ns;
  }

  static constexpr int most_samples = 1024;

 private:
  static constexpr unsigned long long deadline_ns = 1'000'000'000;

  setup how_;
  support::device_memory<placement_control> control_{1};
  support::device_memory<unsigned> cycles_{most_samples};
  support::pinned_memory<placement_control> host_control_{1};
  support::pinned_memory<unsigned> host_cycles_{most_samples};
};

}  // namespace fence_interference
