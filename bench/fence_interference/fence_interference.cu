// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: do memory fences in a process wait for traffic that is not theirs, and what do memory synchronization domains
/// give back? Every case times one victim beside one noise in one arm; `--help` lists the options.

#include "arms.hpp"
#include "figures.hpp"
#include "noise.cuh"
#include "victims.cuh"
#ifdef MEMBAR_BENCH_HAS_NCCL
#include "nccl_noise.hpp"
#endif

#include <membar/error.hpp>
#include <membar/sync_domain.hpp>
#include <support/cuda_handles.hpp>
#include <support/machine_context.hpp>

#include <benchmark/benchmark.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fence_interference {
namespace {

using membar::thread_scope;

struct options {
  int device = 0;
  std::optional<int> peer;
  bool all = false;
  bool as_child = false;
  int repetitions = 9;
  std::string csv;
};

/// Whether a chain's stream shares a hardware queue with NCCL's. Streams fall on the device's queues in turn, and a queue that
/// holds work which cannot start yet slows down the other streams on it, in every arm alike.
enum class queue { own, shared };

/// A victim by name; `kernel` is null for a chain of kernels.
struct victim_description {
  std::string name;
  operation_victim::kernel_pointer kernel = nullptr;
  sm_placement placement = sm_placement::own_sm;
  thread_scope scope = thread_scope::device;
  kernel_boundary::chain_form form = kernel_boundary::chain_form::stream;
  queue chain_queue = queue::own;
};

template <class Operation>
void add_operation(std::vector<victim_description>& victims, const std::string& name, thread_scope scope) {
  victims.push_back({name + ".own_sm", timed_operation<Operation>, sm_placement::own_sm, scope});
  victims.push_back({name + ".shared_sm", timed_operation<Operation>, sm_placement::shared_sm, scope});
}

template <thread_scope Scope>
void add_fences(std::vector<victim_description>& victims) {
  const std::string name = std::string("fence.") + membar::name(Scope);
  add_operation<fence_operation<Scope, membar::acq_rel_t>>(victims, name + ".acq_rel", Scope);
  add_operation<fence_operation<Scope, membar::seq_cst_t>>(victims, name + ".seq_cst", Scope);
}

template <thread_scope Scope>
void add_accesses(std::vector<victim_description>& victims) {
  add_operation<release_store_operation<Scope>>(victims, std::string("release_store.") + membar::name(Scope), Scope);
  add_operation<acquire_load_operation<Scope>>(victims, std::string("acquire_load.") + membar::name(Scope), Scope);
}

std::vector<victim_description> all_victims() {
  std::vector<victim_description> victims;
  victims.push_back({.name = "kernel_boundary.stream", .form = kernel_boundary::chain_form::stream});
  victims.push_back({.name = "kernel_boundary.graph", .form = kernel_boundary::chain_form::graph});
  victims.push_back({.name = "kernel_boundary.shared_queue", .chain_queue = queue::shared});
  add_fences<thread_scope::block>(victims);
  add_fences<thread_scope::cluster>(victims);
  add_fences<thread_scope::device>(victims);
  add_fences<thread_scope::system>(victims);
  add_accesses<thread_scope::device>(victims);
  add_accesses<thread_scope::system>(victims);
  return victims;
}

constexpr std::string_view all_noises[] = {"spin",       "local.saturating",  "local.paced",  "host.saturating",
                                           "host.paced", "nvlink.saturating", "nvlink.paced", "nccl.saturating",
                                           "nccl.paced"};

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

/// Whether a case is run without `--all`: every arm for the kernel boundary and for the device fence that shares a
/// multiprocessor, the two decisive arms beside the noises that matter for the rest. A machine without a peer has only the host
/// as a far place.
bool in_default_set(const victim_description& victim, std::string_view noise, std::string_view arm_name, bool has_peer) {
  if (victim.kernel == nullptr) {
    return victim.chain_queue == queue::own || arm_name == "same" || arm_name == "separate";
  }
  if (victim.name == "fence.device.acq_rel.shared_sm") {
    return !starts_with(noise, "nccl");
  }
  if (arm_name != "same" && arm_name != "separate") {
    return false;
  }
  const bool wide = victim.scope == thread_scope::device || victim.scope == thread_scope::system;
  const std::string_view far = has_peer ? "nvlink" : "host";
  return (starts_with(noise, far) && (wide || noise.ends_with("saturating"))) ||
         (victim.scope == thread_scope::system && noise == "host.saturating");
}

/// Spins for a known time, to learn the rate of the multiprocessors' clock.
__global__ void count_cycles(unsigned long long ns, double* cycles_per_ns) {
  const unsigned long long begin = device_nanoseconds();
  const long long first = clock64();
  unsigned long long now = begin;
  while (now - begin < ns) {
    now = device_nanoseconds();
  }
  *cycles_per_ns = static_cast<double>(clock64() - first) / static_cast<double>(now - begin);
}

double measured_ghz() {
  const support::device_memory<double> result(1);
  // The first run brings the clock up from idle.
  for (int i = 0; i != 2; ++i) {
    membar::launch(membar::launch_config{1, 1}, count_cycles, 100'000'000ULL, result.get());
  }
  double ghz = 0;
  membar::check(cudaMemcpy(&ghz, result.get(), sizeof ghz, cudaMemcpyDefault), "cudaMemcpy", "the clock kernel failed");
  return ghz;
}

/// The devices, and every noise and victim on them, made when first needed.
class workshop {
 public:
  /// The device of `options` exists.
  explicit workshop(const options& options) : device_(options.device), current_device_(options.device) {
    domain_count_ = membar::sync_domain_count(device_);
    find_peer(options.peer);
    // The scheduler fills the emptiest multiprocessors first: only a full device has a victim's block beside each noise block.
    most_blocks_ = static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device_) *
                                         support::attribute(cudaDevAttrMaxBlocksPerMultiprocessor, device_));
    compute_capability_ = support::attribute(cudaDevAttrComputeCapabilityMajor, device_);
    ghz_ = measured_ghz();
  }

  [[nodiscard]] std::optional<int> peer() const noexcept { return peer_; }
  [[nodiscard]] double ghz() const noexcept { return ghz_; }
  [[nodiscard]] const bench_streams& streams() const noexcept { return streams_; }

  /// Why a case cannot be measured on this machine; empty if it can.
  [[nodiscard]] std::string waiver(const victim_description& victim, std::string_view noise_name, const arm& arm) const {
    if (domain_count_ < arm.domains_needed) {
      return "the device has " + std::to_string(domain_count_) + " synchronization domain" + (domain_count_ == 1 ? "" : "s") +
             ", the arm needs " + std::to_string(arm.domains_needed);
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
    if (nccl && victim.kernel != nullptr) {
      return "NCCL does not tell which multiprocessors it uses";
    }
    if (victim.chain_queue == queue::shared && noise_name != "none" && !shares_a_queue_) {
      return "no stream of the bench was seen to share a hardware queue with NCCL's";
    }
    return "";
  }

  /// The noise of that name; null for "none".
  noise* noise_called(const std::string& name) {
    if (name == "none") {
      return nullptr;
    }
    std::unique_ptr<noise>& made = noises_[name];
    if (made == nullptr) {
      made = make_noise(name);
    }
    return made.get();
  }

#ifdef MEMBAR_BENCH_HAS_NCCL
  /// Finds out, before any case, which of two streams made one after the other falls on the hardware queue of NCCL's stream.
  void find_queues(nccl_noise& noise, const arm& arm) {
    double ns[2] = {};
    for (int i = 0; i != 2; ++i) {
      kernel_boundary chain(kernel_boundary::chain_form::stream, streams_.chain[i]);
      static_cast<void>(chain.measure(alone.victim, {}, 1, [] {}));
      noise.start(arm.noise);
      ns[i] = support::median(chain.measure(arm.victim, {}, 64, [&] { noise.feed(); }));
      static_cast<void>(noise.stop());
    }
    own_queue_stream_ = ns[0] <= ns[1] ? 0 : 1;
    shares_a_queue_ = std::max(ns[0], ns[1]) > 1.1 * std::min(ns[0], ns[1]);
  }
  void find_queues() {
    static_cast<void>(noise_called("nccl.paced"));
    find_queues(dynamic_cast<nccl_noise&>(*noise_called("nccl.saturating")), domain_count_ > 1 ? separate : same);
  }
#endif

  victim& victim_called(const victim_description& description) {
    std::unique_ptr<victim>& made = victims_[description.name];
    if (made == nullptr) {
      if (description.kernel == nullptr) {
        made = std::make_unique<kernel_boundary>(description.form, chain_stream(description.chain_queue));
      } else {
        made = std::make_unique<operation_victim>(streams_.operation, description.kernel, description.placement,
                                                  preferred_multiprocessor(description.placement), most_blocks_, ghz_);
      }
      // Loading a kernel beside one that waits can deadlock, so each runs once before any noise does.
      static_cast<void>(made->measure(alone.victim, {}, 1, [] {}));
    }
    return *made;
  }

 private:
  /// The first multiprocessor that noise of the usual extent comes to run on, or the last that it leaves free.
  std::size_t preferred_multiprocessor(sm_placement placement) {
    if (noise_multiprocessors_.empty()) {
      noise& spin = *noise_called("spin");
      spin.start(alone.noise);
      static_cast<void>(spin.stop());
      noise_multiprocessors_ = spin.multiprocessors();
    }
    const bool shared = placement == sm_placement::shared_sm;
    std::size_t id = shared ? 0 : static_cast<std::size_t>(support::attribute(cudaDevAttrMultiProcessorCount, device_)) - 1;
    while (is_noisy(noise_multiprocessors_, id) != shared) {
      id += shared ? 1 : static_cast<std::size_t>(-1);
    }
    return id;
  }

  [[nodiscard]] const support::stream& chain_stream(queue wanted) const {
    return streams_.chain[wanted == queue::own ? own_queue_stream_ : 1 - own_queue_stream_];
  }

  void find_peer(const std::optional<int>& wanted) {
    int count = 0;
    membar::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (wanted) {
      static_cast<void>(membar::sync_domain_count(*wanted));
      if (*wanted == device_) {
        throw std::runtime_error("membar: --peer=" + std::to_string(*wanted) + " is the measured device itself: name another");
      }
    }
    if (count < 2) {
      no_peer_ = "needs a second GPU, this process sees one";
      return;
    }
    no_peer_ = "needs a second GPU that this one reaches over NVLink";
    for (int candidate = 0; candidate != count; ++candidate) {
      int accessible = 0;
      if (candidate == device_ || (wanted && candidate != *wanted)) {
        continue;
      }
      membar::check(cudaDeviceCanAccessPeer(&accessible, device_, candidate), "cudaDeviceCanAccessPeer");
      const std::string link = support::link_between(device_, candidate);
      if (accessible != 0 && (starts_with(link, "NV") || link == "unknown")) {
        membar::check(cudaDeviceEnablePeerAccess(candidate, 0), "cudaDeviceEnablePeerAccess");
        peer_ = candidate;
        return;
      }
    }
  }

  std::unique_ptr<noise> make_noise(const std::string& name) {
    const bool paced = std::string_view(name).ends_with("paced");
    if (starts_with(name, "nccl")) {
#ifdef MEMBAR_BENCH_HAS_NCCL
      constexpr int paced_blocks = 2;
      return std::make_unique<nccl_noise>(streams_, device_, *peer_, paced ? paced_blocks : 0, nccl_noise::map_choice::by_arm);
#else
      throw std::logic_error("a case that was waived has run");
#endif
    }
    constexpr kernel_noise::extent wide{32, 1024};
    constexpr kernel_noise::extent narrow{4, 1024};  // enough for a link to the host
    std::unique_ptr<kernel_noise> made;
    if (name == "spin") {
      return std::make_unique<kernel_noise>(streams_, nullptr, 0, wide);
    } else if (starts_with(name, "local")) {
      made = std::make_unique<kernel_noise>(streams_, target_on(device_, local_target_), target_bytes, wide);
    } else if (starts_with(name, "nvlink")) {
      made = std::make_unique<kernel_noise>(streams_, target_on(*peer_, peer_target_), target_bytes, wide);
    } else {
      made = std::make_unique<kernel_noise>(streams_, host_target(), host_target_bytes, narrow);
    }
    const double saturating_gbps = rate_of(*made);
    if (paced) {
      made->pace(paced_share * saturating_gbps, ghz_);
    }
    return made;
  }

  using device_target = std::unique_ptr<support::device_memory<uint4>>;

  /// What saturating and paced noise of a kind store to, made once.
  static uint4* target_on(int device, device_target& target) {
    if (target == nullptr) {
      const support::device_guard guard(device);
      target = std::make_unique<support::device_memory<uint4>>(target_bytes / sizeof(uint4));
    }
    return target->get();
  }
  uint4* host_target() {
    if (host_target_ == nullptr) {
      host_target_ = std::make_unique<support::pinned_memory<uint4>>(host_target_bytes / sizeof(uint4));
    }
    return host_target_->get();
  }

  /// What the noise moves by itself, over 30 ms.
  static double rate_of(kernel_noise& noise) {
    noise.start(alone.noise);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    wait_until([&] { return std::chrono::steady_clock::now() >= end; }, "the end of a 30 ms measurement");
    return noise.stop();
  }

  /// Several times the L2, so that local stores reach device memory.
  static constexpr std::size_t target_bytes = std::size_t{512} << 20;
  static constexpr std::size_t host_target_bytes = std::size_t{64} << 20;
  /// Paced noise moves this share of what saturating noise does.
  static constexpr double paced_share = 0.2;

  int device_;
  support::device_guard current_device_;  // before the streams, which are made on the current device
  std::optional<int> peer_;
  std::string no_peer_;
  int domain_count_ = 1;
  int compute_capability_ = 0;
  unsigned most_blocks_ = 0;
  std::vector<std::uint8_t> noise_multiprocessors_;
  double ghz_ = 1;
  bench_streams streams_;
  int own_queue_stream_ = 0;
  bool shares_a_queue_ = false;
  device_target local_target_;
  device_target peer_target_;
  std::unique_ptr<support::pinned_memory<uint4>> host_target_;
  std::map<std::string, std::unique_ptr<noise>> noises_;
  std::map<std::string, std::unique_ptr<victim>> victims_;
};

/// Noise that runs for a scope: an exception does not leave it running.
class running_noise {
 public:
  running_noise(noise* noise, const domain_choice& domains) : noise_(noise) {
    if (noise_ != nullptr) {
      noise_->start(domains);
    }
  }
  running_noise(const running_noise&) = delete;
  running_noise& operator=(const running_noise&) = delete;
  ~running_noise() {
    try {
      stop();
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "membar: the noise did not stop: %s\n", failure.what());
    }
  }

  void feed() const {
    if (noise_ != nullptr) {
      noise_->feed();
    }
  }
  [[nodiscard]] bool running() const { return noise_ == nullptr || noise_->running(); }
  [[nodiscard]] std::vector<std::uint8_t> multiprocessors() const {
    return noise_ != nullptr ? noise_->multiprocessors() : std::vector<std::uint8_t>();
  }
  /// The rate that it kept; nothing if there was none.
  std::optional<double> stop() {
    noise* const stopped = std::exchange(noise_, nullptr);
    return stopped != nullptr ? std::optional<double>(stopped->stop()) : std::nullopt;
  }

 private:
  noise* noise_;
};

constexpr int chain_samples = 16;
constexpr int operation_samples = 64;

/// One sample set of one case: the noise starts, the victim is timed, and the noise must still run when the victim has ended.
void measure(workshop& workshop, const victim_description& description, noise* noise, const arm& arm, case_result& result) {
  victim& victim = workshop.victim_called(description);
  running_noise beside(noise, arm.noise);
  const std::vector<double> ns =
      victim.measure(arm.victim, beside.multiprocessors(), description.kernel == nullptr ? chain_samples : operation_samples,
                     [&] { beside.feed(); });
  if (!beside.running()) {
    throw std::runtime_error("the noise did not run for as long as the victim: nothing is known about the two together");
  }
  if (const std::optional<double> rate = beside.stop()) {
    result.noise_gbps.push_back(*rate);
  }
  result.ns.insert(result.ns.end(), ns.begin(), ns.end());
  result.medians.push_back(support::median(ns));
}

#ifdef MEMBAR_BENCH_HAS_NCCL
/// The child's side of arm env0: all repetitions in a process where NCCL itself uses the default domain; prints what it
/// measured.
void measure_as_child(workshop& workshop, int device, int repetitions) {
  const victim_description chain = all_victims().front();
  nccl_noise noise(workshop.streams(), device, workshop.peer().value(), 0, nccl_noise::map_choice::untouched);
  workshop.find_queues(noise, env0);
  case_result result;
  for (int i = 0; i != repetitions; ++i) {
    measure(workshop, chain, &noise, env0, result);
    std::printf("median %.17g rate %.17g\n", result.medians.back(), result.noise_gbps.back());
  }
  for (const double ns : result.ns) {
    std::printf("sample %.17g\n", ns);
  }
}

/// The parent's side of arm env0.
void measure_in_child(int device, int peer, int repetitions, case_result& result) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) {
    throw std::runtime_error("the bench could not find its own executable to run the cross-check");
  }
  std::istringstream lines(
      support::output_of("NCCL_MEM_SYNC_DOMAIN=0 '" + std::string(self) + "' --as_child --device=" + std::to_string(device) +
                         " --peer=" + std::to_string(peer) + " --repetitions=" + std::to_string(repetitions)));
  for (std::string line; std::getline(lines, line);) {
    double value = 0;
    double rate = 0;
    if (std::sscanf(line.c_str(), "median %lf rate %lf", &value, &rate) == 2) {
      result.medians.push_back(value);
      result.noise_gbps.push_back(rate);
    } else if (std::sscanf(line.c_str(), "sample %lf", &value) == 1) {
      result.ns.push_back(value);
    }
  }
  if (result.ns.empty()) {
    throw std::runtime_error("the process with NCCL_MEM_SYNC_DOMAIN=0 measured nothing");
  }
}
#endif

/// Whether Google Benchmark's filter selects a case.
bool selected(const std::string& name) {
  const std::string filter = benchmark::GetBenchmarkFilter();
  const bool inverted = starts_with(filter, "-");
  const bool matches =
      filter.empty() || filter == "all" || std::regex_search(name, std::regex(filter.substr(inverted ? 1 : 0)));
  return matches != inverted;
}

/// Whether it selects any case beside NCCL, whose set-up takes a while.
[[maybe_unused]] bool selects_nccl(const std::vector<victim_description>& victims) {
  for (const victim_description& victim : victims) {
    for (const std::string_view noise_name : all_noises) {
      for (const arm& arm : {same, separate, swapped, alias, map, env0}) {
        if (starts_with(noise_name, "nccl") &&
            selected(case_name{victim.name, std::string(noise_name), std::string(arm.name)}.text())) {
          return true;
        }
      }
    }
  }
  return false;
}

/// How much is done, on the terminal's last line; nothing where standard error is not a terminal.
class progress {
 public:
  void expect(const std::string& name, int sets) { expected_ += selected(name) ? sets : 0; }

  void done(const std::string& name) {
    ++done_;
    if (isatty(STDERR_FILENO) != 0) {
      std::fprintf(stderr, "\r\033[K%3d %%  %s%s", 100 * done_ / std::max(expected_, done_), name.c_str(),
                   done_ == expected_ ? "\r\033[K" : "");
    }
  }

 private:
  int expected_ = 0;
  int done_ = 0;
};

void print_help() {
  std::printf(
      "fence_interference: do memory fences wait for traffic that is not theirs, and what do synchronization domains give "
      "back?\n"
      "  --all                    every victim beside every noise in every arm (default: the decisive 250 or so)\n"
      "  --device=N               the GPU to measure (default: 0)\n"
      "  --peer=N                 the GPU that NVLink stores and NCCL's all-reduce go to (default: the first on NVLink)\n"
      "  --csv=FILE               also write comma-separated values\n"
      "  --benchmark_out=FILE     also write JSON\n"
      "  --benchmark_filter=REGEX only cases victim/noise/arm that match, such as 'kernel_boundary.*/nccl'\n"
      "  --benchmark_list_tests=true and the other options of Google Benchmark\n"
      "  --repetitions=N          sample sets of a case, spread over the run (default: 9)\n");
}

/// An integer option's value, or an error that says what was wrong with it.
int to_number(const char* option, const char* text, int least) {
  char* end = nullptr;
  constexpr int most = 1000;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most) {
    throw std::runtime_error(std::string("membar: ") + option + "=" + text + " is not a number from " + std::to_string(least) +
                             " to " + std::to_string(most));
  }
  return static_cast<int>(value);
}

/// Takes the bench's own options out of the command line and leaves the rest to Google Benchmark.
options parse(int& argc, char** argv) {
  options parsed;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&](std::string_view name) -> const char* {
      return starts_with(argument, name) ? argv[i] + name.size() : nullptr;
    };
    if (argument == "--all") {
      parsed.all = true;
    } else if (argument == "--as_child") {
      parsed.as_child = true;
    } else if (const char* device = value("--device=")) {
      parsed.device = to_number("--device", device, 0);
    } else if (const char* peer = value("--peer=")) {
      parsed.peer = to_number("--peer", peer, 0);
    } else if (const char* repetitions = value("--repetitions=")) {
      parsed.repetitions = to_number("--repetitions", repetitions, 1);
    } else if (const char* csv = value("--csv=")) {
      parsed.csv = csv;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return parsed;
}

/// Refuses an output path before an hour is spent on measuring.
void require_writable(const std::string& path) {
  if (!path.empty() && !std::ofstream(path, std::ios::app)) {
    throw std::runtime_error("membar: cannot write to " + path + ": name a file in a folder that exists and is writable");
  }
}

/// Registers one case. `run` measures one sample set; a case with a note measures nothing.
template <class Run>
void register_case(const case_name& name, case_result& result, progress& progress, int sets, Run run) {
  benchmark::internal::Benchmark* const registered =
      benchmark::RegisterBenchmark(name.text().c_str(), [&result, &progress, run, text = name.text()](benchmark::State& state) {
        for (auto _ : state) {
          if (result.note.empty()) {
            try {
              run();
            } catch (const std::exception& failure) {
              result.note = std::string("failed: ") + failure.what();
            }
          }
          state.SetIterationTime(result.medians.empty() ? 0 : result.medians.back() * 1e-9);
        }
        progress.done(text);
        if (starts_with(result.note, "failed: ")) {
          result.ns.clear();
          state.SkipWithError(result.note.c_str());
        } else {
          state.SetLabel(result.note);
        }
      });
  registered->Iterations(1)->UseManualTime()->Unit(benchmark::kNanosecond)->Repetitions(sets);
  progress.expect(name.text(), sets);
}

int run(int argc, char** argv) {
  options options = parse(argc, argv);
  // The cases' sample sets are interleaved, so that a drift of the machine falls on all arms alike.
  char interleave[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> arguments{argv[0], interleave};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int argument_count = static_cast<int>(arguments.size());
  std::string json;
  for (const char* argument : arguments) {
    json = starts_with(argument, "--benchmark_out=") ? argument + std::strlen("--benchmark_out=") : json;
  }
  benchmark::Initialize(&argument_count, arguments.data(), print_help);
  if (benchmark::ReportUnrecognizedArguments(argument_count, arguments.data())) {
    std::fprintf(stderr, "membar: --help lists the options\n");
    return 1;
  }
  require_writable(json);
  require_writable(options.csv);

  support::context_entries context;
  std::unique_ptr<workshop> bench;
  std::string no_device;
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    no_device = std::string("no CUDA device (") + cudaGetErrorString(status) + ")";
    std::printf("membar: %s: every case is waived\n", no_device.c_str());
  } else {
    static_cast<void>(membar::sync_domain_count(options.device));  // says which devices there are, if not this one
    bench = std::make_unique<workshop>(options);
    if (options.as_child) {
#ifdef MEMBAR_BENCH_HAS_NCCL
      measure_as_child(*bench, options.device, options.repetitions);
#endif
      return 0;
    }
    context = support::machine_context(options.device);
    char mhz[16] = {};
    std::snprintf(mhz, sizeof mhz, "%.0f", bench->ghz() * 1e3);
    context.emplace_back("sm_clock_mhz", mhz);
    context.emplace_back("link", bench->peer() ? support::link_between(options.device, *bench->peer()) : "no peer");
#ifdef MEMBAR_BENCH_HAS_NCCL
    context.emplace_back("nccl_version", nccl_version());
#endif
    context.emplace_back("command", "fence_interference" + std::string(options.all ? " --all" : ""));
  }

  const std::vector<victim_description> victims = all_victims();
#ifdef MEMBAR_BENCH_HAS_NCCL
  if (bench != nullptr && bench->peer() && selects_nccl(victims)) {
    bench->find_queues();
  }
#endif
  result_table table;
  progress progress;
  const auto add = [&](const victim_description& victim, std::string_view noise_name, const arm& arm) {
    const case_name name{victim.name, std::string(noise_name), std::string(arm.name)};
    case_result& result = table.add(name);
    const std::string reason = bench == nullptr ? no_device : bench->waiver(victim, noise_name, arm);
    result.note = reason.empty() ? "" : "waived: " + reason;
    const int sets = reason.empty() ? options.repetitions : 1;
    if (arm.name == env0.name) {
      register_case(name, result, progress, 1, [&bench, &options, &result] {
#ifdef MEMBAR_BENCH_HAS_NCCL
        measure_in_child(options.device, bench->peer().value(), options.repetitions, result);
#endif
      });
    } else {
      register_case(name, result, progress, sets, [&bench, &victim, &arm, &result, noise_text = name.noise] {
        measure(*bench, victim, bench->noise_called(noise_text), arm, result);
      });
    }
  };
  for (const victim_description& victim : victims) {
    add(victim, "none", alone);
    for (const std::string_view noise_name : all_noises) {
      if (victim.chain_queue == queue::shared && !starts_with(noise_name, "nccl")) {
        continue;
      }
      for (const arm& arm : domain_arms) {
        if (options.all || in_default_set(victim, noise_name, arm.name, bench != nullptr && bench->peer())) {
          add(victim, noise_name, arm);
        }
      }
      if (victim.name == victims.front().name && noise_name == "nccl.saturating") {
        add(victim, noise_name, env0);
      }
    }
  }

  const double ghz = bench != nullptr ? bench->ghz() : 0;
  table_reporter display(table, context, ghz);
  json_file_reporter file(table, context, ghz);
  const std::size_t matched =
      json.empty() ? benchmark::RunSpecifiedBenchmarks(&display) : benchmark::RunSpecifiedBenchmarks(&display, &file);
  if (matched == 0) {
    std::fprintf(stderr, "membar: no case matches --benchmark_filter=%s: --benchmark_list_tests=true prints their names\n",
                 benchmark::GetBenchmarkFilter().c_str());
    return 1;
  }
  if (!options.csv.empty()) {
    std::ofstream csv(options.csv);
    write_csv(csv, table, ghz);
  }
  return 0;
}

}  // namespace
}  // namespace fence_interference

int main(int argc, char** argv) {
  try {
    return fence_interference::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
