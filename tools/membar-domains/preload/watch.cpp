// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/watch.hpp"

#include <cupti.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "intercept/driver.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/pointers.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

namespace {

/// The CUPTI functions that recording needs. The library is loaded only for `watch`, because even loading it takes time.
struct cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiGetResultString) words = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiFinalize) finalize = nullptr;
};
cupti api;

constexpr std::uint64_t most_kernels = 600'000;
constexpr std::size_t buffer_bytes = std::size_t{4} << 20;

bool load() {
  const char* const named = std::getenv(environment::cupti);
  void* library = nullptr;
  for (const char* name :
       {"libcupti.so.13", "libcupti.so.12"}) {  // the program's own CUPTI, which a profiler in the program would also use
    library = library == nullptr ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : library;
  }
  for (const char* name : {named, "libcupti.so.13", "libcupti.so.12", MEMBAR_DOMAINS_CUPTI_OF_THE_BUILD,
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"}) {
    library = library == nullptr && name != nullptr && *name != '\0' ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : library;
  }
  if (library == nullptr) {
    return false;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find(api.register_callbacks, "cuptiActivityRegisterCallbacks") && find(api.enable, "cuptiActivityEnable") &&
         find(api.disable, "cuptiActivityDisable") && find(api.next_record, "cuptiActivityGetNextRecord") &&
         find(api.flush_all, "cuptiActivityFlushAll") && find(api.flush_period, "cuptiActivityFlushPeriod") &&
         find(api.dropped, "cuptiActivityGetNumDroppedRecords") && find(api.words, "cuptiGetResultString") &&
         find(api.subscribe, "cuptiSubscribe") && find(api.enable_domain, "cuptiEnableDomain") &&
         find(api.finalize, "cuptiFinalize");
}

std::mutex names_mutex;
std::unordered_map<std::string, std::uint32_t>& names() {
  static auto* const all = new std::unordered_map<std::string, std::uint32_t>;
  return *all;
}

/// Returns the number that represents a name in the records. A new name is also written to the records.
std::uint32_t id_of(const char* name) {
  const std::lock_guard lock(names_mutex);
  const auto [at, is_new] = names().try_emplace(name, static_cast<std::uint32_t>(names().size()));
  if (is_new) {
    session::get().write("N %u %s\n", at->second, name);
  }
  return at->second;
}

/// Returns whether the blocks of a launch fill the device's multiprocessors. The result depends on the numbers of threads,
/// blocks and registers, and on the size of shared memory.
bool fills_device(const CUpti_ActivityKernel10& k) {
  static constexpr std::array<CUdevice_attribute, 5> asked{
      CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
      CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR};
  static std::mutex mutex;
  static auto* const devices = new std::map<std::uint32_t, std::array<std::int64_t, 5>>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = devices->try_emplace(k.deviceId);
  for (std::size_t i = 0; is_new && i < asked.size(); ++i) {
    int value = 0;
    static_cast<void>(driver::cuDeviceGetAttribute_(&value, asked[i], static_cast<CUdevice>(k.deviceId)));
    at->second[i] = value;
  }
  const auto& [multiprocessors, threads, blocks, registers, shared] = at->second;
  const std::int64_t in_block = std::int64_t{k.blockX} * k.blockY * k.blockZ;
  const std::int64_t in_grid = std::int64_t{k.gridX} * k.gridY * k.gridZ;
  if (in_block <= 0 || multiprocessors <= 0) {
    return false;
  }
  std::int64_t at_once = std::min(threads / in_block, blocks);
  if (k.registersPerThread != 0) {
    at_once = std::min(at_once, registers / (in_block * k.registersPerThread));
  }
  if (const std::int64_t uses = std::int64_t{k.staticSharedMemory} + k.dynamicSharedMemory; uses > 0) {
    at_once = std::min(at_once, shared / uses);
  }
  return at_once > 0 && in_grid >= at_once * multiprocessors;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  process_state& state = session::get().state();
  CUpti_Activity* record = nullptr;
  while (api.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      continue;
    }
    if (state.recorded.load(std::memory_order_relaxed) >= most_kernels) {
      state.lost.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    // Kernel10 was added in CUDA 13. Older records have the same layout up to graphId.
    const auto* const k = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    const std::uint32_t name = id_of(k->name == nullptr ? "?" : k->name);
    session::get().write("K %u %u %u %llu %llu %u %u %d\n", k->deviceId, k->streamId, k->graphId,
                         static_cast<unsigned long long>(k->start), static_cast<unsigned long long>(k->end), name,
                         k->correlationId, fills_device(*k) ? 1 : 0);
    state.recorded.fetch_add(1, std::memory_order_relaxed);
  }
  std::size_t dropped = 0;
  if (api.dropped(context, stream, &dropped) == CUPTI_SUCCESS) {
    state.lost.fetch_add(dropped, std::memory_order_relaxed);
  }
  std::free(buffer);
}

std::atomic<bool> started = false;

std::atomic<bool> attached = false;

/// A callback for driver calls. Detaches CUPTI at the end of a call, where its manual allows this.
void CUPTIAPI leave_at_the_end(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* call) {
  if (static_cast<const CUpti_CallbackData*>(call)->callbackSite == CUPTI_API_EXIT && attached.exchange(false)) {
    static_cast<void>(api.finalize());
  }
}

/// The streams that work was launched into.
struct used_streams {
  std::shared_timed_mutex launching;  ///< held in shared mode during a launch
  std::mutex mutex;                   ///< protects `all`
  std::map<CUstream, CUcontext> all;  ///< all streams except the default streams
  std::set<CUcontext> legacy;         ///< the contexts whose legacy default stream was used
  bool per_thread = false;  ///< whether a per-thread default stream was used; other threads' streams cannot be queried

  /// Returns whether all launched work has finished. Work in destroyed streams counts as finished.
  [[nodiscard]] bool idle() {
    const std::lock_guard lock(mutex);
    const auto runs = [](CUcontext context, CUstream stream) {
      return driver::cuCtxSetCurrent_(context) == CUDA_SUCCESS &&
             (capturing(stream) || driver::cuStreamQuery_(stream) == CUDA_ERROR_NOT_READY);
    };
    return !per_thread && std::ranges::none_of(legacy, [&](CUcontext context) { return runs(context, nullptr); }) &&
           std::ranges::none_of(all, [&](const auto& one) { return runs(one.second, one.first); });
  }
};
used_streams& used() {
  static auto* const one = new used_streams;
  return *one;
}

}  // namespace

recorded_work::recorded_work(CUstream stream) {
  if (!session::get().runs() || session::get().what() != job::watch) {
    return;
  }
  used_streams& streams = used();
  launching_ = std::shared_lock(streams.launching);
  CUcontext context = nullptr;
  static_cast<void>(driver::cuCtxGetCurrent_(&context));
  const std::lock_guard lock(streams.mutex);
  if (stream == CU_STREAM_PER_THREAD) {
    streams.per_thread = true;
  } else if (stream == nullptr || stream == CU_STREAM_LEGACY) {
    streams.legacy.insert(context);
  } else {
    streams.all[stream] = context;
  }
}

void watch_destroyed(CUstream stream) {
  if (session::get().runs() && session::get().what() == job::watch) {
    used_streams& streams = used();
    const std::lock_guard lock(streams.mutex);
    streams.all.erase(stream);
  }
}

bool watch_detach() {
  if (!attached) {
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  const std::unique_lock hold(used().launching, end);
  while (hold && !used().idle()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  // There can be only one subscriber. If another profiler has subscribed, CUPTI stays attached.
  CUpti_SubscriberHandle all = nullptr;
  if (hold && api.subscribe(&all, reinterpret_cast<CUpti_CallbackFunc>(leave_at_the_end), nullptr) != CUPTI_SUCCESS) {
    attached = false;
  } else if (hold && api.enable_domain(1, all, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS) {
    int version = 0;
    static_cast<void>(driver::cuDriverGetVersion_(&version));
  }
  return !attached;
}

void watch_start() {
  static std::atomic<bool> asked = false;
  if (asked.exchange(true)) {
    return;
  }
  if (!load()) {
    session::get().complain(
        std::string(
            "watch needs CUPTI, which was not found: add the folder of libcupti.so to LD_LIBRARY_PATH, or name the file in ") +
        environment::cupti);
    return;
  }
  CUptiResult result = api.register_callbacks(give_buffer, take_buffer);
  if (result == CUPTI_SUCCESS) {
    result = api.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  }
  if (result != CUPTI_SUCCESS) {
    const char* words = "unknown";
    static_cast<void>(api.words(result, &words));
    session::get().complain(std::string("CUPTI cannot record kernels (") + words +
                            "): another profiler is using it, or its version does not match the driver. Run watch without the "
                            "profiler, or with the driver's CUPTI");
    return;
  }
  static_cast<void>(api.flush_period(500));
  started = true;
  attached = true;
}

namespace {

/// Returns whether attributes move a kernel out of the default domain. `get(which, value)` reads an attribute and returns
/// whether it is set.
template <class Get>
bool isolated_by(Get get) {
  CUlaunchAttributeValue domain{};
  CUlaunchAttributeValue map{};
  const bool remote =
      get(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, domain) && domain.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  if (!get(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, map)) {
    return remote;
  }
  return (remote ? map.memSyncDomainMap.remote : map.memSyncDomainMap.default_) != 0;
}

/// A pointer that was passed to launches of kernels with the same name.
struct kept_pointer {
  unsigned times = 0;  ///< how many launches had this pointer, if its memory belongs to the current device
  pointer_uses in;
};

/// The uncaptured launches of all kernels with the same name, in order, stored as alternating runs of far launches and other
/// launches. CUPTI numbers launches in the same order but does not report their arguments.
struct launches {
  std::atomic<int> under_way{0};
  std::atomic<bool> mixed_up{false};  ///< whether two threads launched concurrently, so that the order is not known
  std::unordered_map<CUdeviceptr, kept_pointer> pointers;  ///< used by the check
  std::uint64_t outside = 0;                               ///< the number of launches that were not captured
  std::optional<bool> listed;                              ///< whether the kernel's name is listed
  /// the number of pointers that were followed, for a kernel that is not listed
  unsigned followed = 0;
  /// whether any launches were seen, and whether all their pointers are known
  bool any_seen = false, all_seen = true;
  reach reason = reach::own;  ///< the farthest memory to which any launch had a pointer
  std::vector<std::pair<bool, std::uint64_t>> runs;
  std::uint64_t far_nodes = 0, near_nodes = 0;  ///< the numbers of nodes in instantiated graphs
  /// whether any launch or node requests another domain, and whether any uses the default domain
  bool any_isolated = false, any_default = false;
  /// Evaluates `isolated_by` for a launch or node. The driver is queried at each launch until one launch has used the default
  /// domain.
  template <class Get>
  void count(Get get) {
    if (!any_default) {
      (isolated_by(get) ? any_isolated : any_default) = true;
    }
  }
};

struct launches_of_names {
  std::mutex mutex;
  std::unordered_map<CUfunction, std::uint32_t> ids;
  unsigned generation = 0;  ///< the generation for which `ids` is valid
  std::map<std::uint32_t, launches> all;
};
launches_of_names& watched() {
  static auto* const one = new launches_of_names;
  return *one;
}

std::pair<std::uint32_t, launches*> of_kernel(launches_of_names& w, CUfunction kernel) {
  session& of = session::get();
  if (const unsigned now = of.generation(); w.generation != now) {
    w.ids.clear();
    w.generation = now;
  }
  const auto [at, is_new] = w.ids.try_emplace(kernel, 0);
  if (is_new) {
    at->second = id_of(of.name_of(kernel).c_str());
  }
  return {at->second, &w.all[at->second]};
}

/// Records each pointer of a launch once, and also the pointers in the memory that it points to, which may be a table. For
/// listed kernels, this memory is read for each of the first 64 launches with the pointer and then less and less often, because
/// a table may change. For other kernels, it is read once for each of the first 16 pointers.
class kept_pointers {
 public:
  /// `outside` is set if the launch is not captured. The number of the launch is then the number of such launches before it.
  kept_pointers(launches& of, bool is_listed, bool outside) : of_(of), listed_(is_listed), outside_(outside) {}

  void operator()(CUdeviceptr pointer, bool own) {
    const unsigned count = ++keep(pointer).times;
    const bool often = count <= 64 || (count & (count - 1)) == 0;
    if (own && (listed_ ? often : count == 1 && ++of_.followed <= 16)) {
      const bool read = look_into_table(pointer, [&](CUdeviceptr word, bool) { keep(word); });
      of_.all_seen = of_.all_seen && (read || !listed_);
    }
  }

 private:
  kept_pointer& keep(CUdeviceptr pointer) {
    kept_pointer& kept = of_.pointers[pointer];
    if (!outside_) {
      kept.in.in_graphs = true;
    } else {
      kept.in.first = kept.in.first > kept.in.last ? of_.outside : kept.in.first;
      kept.in.last = of_.outside;
    }
    return kept;
  }

  launches& of_;
  bool listed_, outside_;
};

reach keep_pointers(launches& of, CUfunction kernel, void** parameters, void** extra, bool outside) {
  if (!session::get().checks()) {
    return reach_of(kernel, parameters, extra);
  }
  of.listed = of.listed ? of.listed : session::get().is_listed(kernel);
  kept_pointers keep(of, of.reason != reach::own || *of.listed, outside);
  const pointers_of_launch seen = look_at_pointers(kernel, parameters, extra, std::ref(keep));
  of.all_seen = of.all_seen && seen.all;
  of.any_seen = true;
  return seen.to;
}

void give_reason(std::uint32_t id, launches& of, reach to) {
  if (to != reach::own && of.reason != reach::peer && to != of.reason) {
    of.reason = to;  // a peer takes precedence over the host
    session::get().write("R %u %s\n", id, to == reach::peer ? "pointer to a peer" : "pointer to host memory");
  }
}

}  // namespace

watched_launch::watched_launch(const CUlaunchConfig& config, CUstream stream, CUfunction kernel, void** parameters,
                               void** extra, bool captured)
    : work_(stream) {
  launches_of_names& w = watched();
  const std::lock_guard lock(w.mutex);
  const auto [id, of] = of_kernel(w, kernel);
  const reach to = keep_pointers(*of, kernel, parameters, extra, !captured);
  give_reason(id, *of, to);
  of->count([&](CUlaunchAttributeID which, CUlaunchAttributeValue& value) {
    const CUlaunchAttribute* const begin = config.attrs;
    const CUlaunchAttribute* const end = begin + config.numAttrs;
    const CUlaunchAttribute* const own = std::find_if(begin, end, [&](const auto& a) { return a.id == which; });
    value = own != end ? own->value : value;
    return own != end || driver::cuStreamGetAttribute_(stream, which, &value) == CUDA_SUCCESS;
  });
  if (captured) {
    return;  // the node is examined when its graph is instantiated
  }
  of_ = &of->under_way;
  if (of_->fetch_add(1, std::memory_order_acq_rel) != 0) {
    of->mixed_up = true;
  }
  const bool far = to != reach::own;
  if (of->runs.empty() || of->runs.back().first != far) {
    of->runs.emplace_back(far, 0);
  }
  ++of->runs.back().second;
  ++of->outside;
}

void watch_node(CUgraphNode node, CUfunction kernel, void** parameters, void** extra) {
  launches_of_names& w = watched();
  const std::lock_guard lock(w.mutex);
  const auto [id, of] = of_kernel(w, kernel);
  const reach to = keep_pointers(*of, kernel, parameters, extra, false);
  give_reason(id, *of, to);
  of->count([&](CUlaunchAttributeID which, CUlaunchAttributeValue& value) {
    return driver::cuGraphKernelNodeGetAttribute_(node, which, &value) == CUDA_SUCCESS;
  });
  ++(to == reach::own ? of->near_nodes : of->far_nodes);
}

void watch_finish() {
  if (started.exchange(false)) {
    static_cast<void>(api.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    static_cast<void>(api.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  }
  session& to = session::get();
  launches_of_names& w = watched();
  const std::lock_guard lock(w.mutex);
  for (const auto& [id, of] : w.all) {
    if (of.any_isolated && !of.any_default) {
      to.write("D %u\n", id);
    }
    if (of.any_seen) {
      to.write("S %u %d %s\n", id, of.all_seen ? 1 : 0, of.mixed_up ? "?" : std::to_string(of.outside).c_str());
    }
    for (const auto& [pointer, kept] : of.pointers) {
      to.write("P %u %llu %d %llu %llu\n", id, static_cast<unsigned long long>(pointer), kept.in.in_graphs ? 1 : 0,
               static_cast<unsigned long long>(kept.in.first), static_cast<unsigned long long>(kept.in.last));
    }
    if (of.reason == reach::own) {
      continue;
    }
    std::string runs;
    for (const auto& [far, count] : of.runs) {
      runs += (far ? " f" : " n") + std::to_string(count);
    }
    to.write("E %u%s\n", id, of.mixed_up ? " ?" : runs.c_str());
    to.write("G %u %llu %llu\n", id, static_cast<unsigned long long>(of.far_nodes),
             static_cast<unsigned long long>(of.near_nodes));
  }
  to.flush();
}

}  // namespace membar_domains
