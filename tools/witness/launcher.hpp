// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Launches rewritten kernels many times with random delays, and counts how often the result is wrong. It needs a C++17 compiler and finds the
/// CUDA driver when it runs. `membar-check witness` uses it, and its reproducers include it.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace membar_witness {

using std::size_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

constexpr size_t actor_slots = 4;
constexpr size_t most_sites = 32;
[[maybe_unused]] constexpr uint32_t unlikely_value = 0x9e3779b9;
[[maybe_unused]] constexpr uint64_t most_delay =
    1000000;  ///< cycles of all delays of a thread, before those that follow are left out
constexpr uint64_t no_actor = ~uint64_t{0};

/// The additional parameter of a rewritten kernel. All zero: it does what it did before.
struct plan {
  uint64_t report;               ///< address of `report_words`
  uint64_t limit;                ///< cycles after which a thread ends at the head of a loop
  uint64_t actors[actor_slots];  ///< block in the upper half, thread in the lower half, both linear; or `no_actor`
  uint64_t early[actor_slots];   ///< an address that this actor loads at each site; 0: none
  uint64_t watch;                ///< when the watched load is executed for this time, its value is reported; 0: never
  uint64_t delays[actor_slots * most_sites];  ///< in cycles, before each site
};

/// What kernels report: 1 if a thread ended at the limit; unused; 1 if the watched load was executed, and its value.
[[maybe_unused]] constexpr size_t report_words = 4;

/// Memory of the launches. Addresses are those of the scenario; `pointers` are the places of words that hold one.
struct object {
  std::string name;
  bool variable = false;  ///< of the module, by this name
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::vector<uint8_t> initial;  ///< shorter than the object: zeros follow
  std::vector<uint64_t> pointers;
};

struct launch {
  std::string kernel;
  std::array<unsigned, 3> grid{{1, 1, 1}};
  std::array<unsigned, 3> block{{1, 1, 1}};
  unsigned shared = 0;
  bool cooperative = false;
  unsigned cluster = 0;    ///< blocks of a cluster; 0: none
  int dependent_on = -1;   ///< it may begin when this launch lets its dependents begin; -1: of none
  std::vector<int> after;  ///< launches that have ended before this one begins
  std::vector<uint8_t> arguments;
  std::vector<uint64_t> offsets;   ///< of the parameters
  std::vector<uint64_t> pointers;  ///< places of words of the arguments that hold an address
  int sites = 1;
  std::vector<uint64_t> actors;  ///< as in `plan`
  std::vector<uint64_t> early;   ///< of each actor: an address of the scenario, or 0
  uint64_t watch = 0;
};

struct program {
  std::string ptx;
  std::vector<object> memory;
  std::vector<launch> launches;
};

/// There is no GPU to run on.
struct no_gpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The functions of the driver.
class driver {
 public:
  using status = int;
  using address = unsigned long long;
  using handle = void*;

  /// CUlaunchAttribute and CUlaunchConfig.
  struct attribute {
    int id = 0;
    int unused = 0;
    unsigned value[16] = {};
  };
  struct launch_shape {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    handle stream;
    attribute* attributes;
    unsigned count;
  };
  static constexpr int cooperative = 2;  // CU_LAUNCH_ATTRIBUTE_COOPERATIVE and those that follow
  static constexpr int cluster = 4;
  static constexpr int overlaps_previous = 6;

  driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) {
      throw no_gpu("no CUDA driver: libcuda.so.1 cannot be loaded; run it on a machine with an NVIDIA GPU");
    }
    find(init, "cuInit");
    find(device_count, "cuDeviceGetCount");
    find(device_name, "cuDeviceGetName");
    find(device_attribute, "cuDeviceGetAttribute");
    find(version, "cuDriverGetVersion");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(set_current, "cuCtxSetCurrent");
    find(load, "cuModuleLoadDataEx");
    find(function, "cuModuleGetFunction");
    find(global, "cuModuleGetGlobal_v2");
    find(set_attribute, "cuFuncSetAttribute");
    find(allocate, "cuMemAlloc_v2");
    find(allocate_host, "cuMemAllocHost_v2");
    find(to_device, "cuMemcpyHtoD_v2");
    find(on_device, "cuMemcpyDtoDAsync_v2");
    find(to_host, "cuMemcpyDtoHAsync_v2");
    find(new_stream, "cuStreamCreate");
    find(synchronize, "cuStreamSynchronize");
    find(wait_event, "cuStreamWaitEvent");
    find(new_event, "cuEventCreate");
    find(record, "cuEventRecord");
    find(launch, "cuLaunchKernelEx");
    find(error_name, "cuGetErrorName");
  }

  void require(status s, const char* what) const {
    if (s != 0) {
      const char* name = nullptr;
      error_name(s, &name);
      throw std::runtime_error(std::string(what) + ": " + (name != nullptr ? name : "error " + std::to_string(s)));
    }
  }

  status (*init)(unsigned) = nullptr;
  status (*device_count)(int*) = nullptr;
  status (*device_name)(char*, int, int) = nullptr;
  status (*device_attribute)(int*, int, int) = nullptr;
  status (*version)(int*) = nullptr;
  status (*retain)(handle*, int) = nullptr;
  status (*set_current)(handle) = nullptr;
  status (*load)(handle*, const void*, unsigned, int*, void**) = nullptr;
  status (*function)(handle*, handle, const char*) = nullptr;
  status (*global)(address*, size_t*, handle, const char*) = nullptr;
  status (*set_attribute)(handle, int, int) = nullptr;
  status (*allocate)(address*, size_t) = nullptr;
  status (*allocate_host)(void**, size_t) = nullptr;
  status (*to_device)(address, const void*, size_t) = nullptr;
  status (*on_device)(address, address, size_t, handle) = nullptr;
  status (*to_host)(void*, address, size_t, handle) = nullptr;
  status (*new_stream)(handle*, unsigned) = nullptr;
  status (*synchronize)(handle) = nullptr;
  status (*wait_event)(handle, handle, unsigned) = nullptr;
  status (*new_event)(handle*, unsigned) = nullptr;
  status (*record)(handle, handle) = nullptr;
  status (*launch)(const launch_shape*, handle, void**, void**) = nullptr;
  status (*error_name)(status, const char**) = nullptr;

 private:
  template <class Function>
  void find(Function& f, const char* name) {
    void* const found = dlsym(library_, name);
    if (found == nullptr) {
      throw no_gpu(std::string("the CUDA driver has no ") + name + "; update it");
    }
    std::memcpy(&f, &found, sizeof f);
  }
  void* library_ = nullptr;
};

/// The memory at the end of a run, by the addresses of the scenario.
class image {
 public:
  uint64_t value(uint64_t address, int bytes) const {
    for (const part& p : parts_) {
      if (address >= p.address && address - p.address < p.bytes &&
          p.bytes - (address - p.address) >= static_cast<uint64_t>(bytes)) {
        uint64_t result = 0;
        std::memcpy(&result, p.data + (address - p.address), static_cast<size_t>(bytes));
        return result;
      }
    }
    throw std::runtime_error("the address " + std::to_string(address) + " is in no memory that is read back");
  }
  uint64_t report(size_t word) const { return report_[word]; }
  /// Whether bytes outside of every object were written.
  bool is_written_outside() const {
    return std::any_of(outside_.begin(), outside_.end(), [](const uint8_t* byte) { return *byte != filler; });
  }

 private:
  friend class session;
  struct part {
    uint64_t address;
    uint64_t bytes;
    const uint8_t* data;
  };
  static constexpr uint8_t filler = 0xa5;
  std::vector<part> parts_;
  std::vector<const uint8_t*> outside_;
  const uint64_t* report_ = nullptr;
};

/// A delay of an actor of a launch before a site, in cycles.
struct delay {
  int launch;
  int actor;
  int site;
  uint64_t cycles;
};
using delays = std::vector<delay>;

inline uint64_t total(const delays& all) {
  uint64_t sum = 0;
  for (const delay& d : all) {
    sum += d.cycles;
  }
  return sum;
}

/// A program on the first GPU. `program` outlives it.
class session {
 public:
  explicit session(const program& p, uint64_t limit_microseconds = 10000) : program_(p) {
    open_device();
    limit_ = limit_microseconds * static_cast<uint64_t>(kilohertz_) / 1000;
    void* module = nullptr;
    load(module);
    place(module);
    const bool several = p.launches.size() > 1;
    cuda_.require(cuda_.new_stream(&stream_, 1), "cuStreamCreate");
    cuda_.require(cuda_.new_event(&ready_, 2), "cuEventCreate");
    for (const launch& l : p.launches) {
      ready r;
      cuda_.require(cuda_.function(&r.function, module, l.kernel.c_str()), ("cuModuleGetFunction " + l.kernel).c_str());
      if (l.shared > 48U * 1024U) {
        cuda_.require(cuda_.set_attribute(r.function, 8, static_cast<int>(l.shared)), "cuFuncSetAttribute");
      }
      r.stream = stream_;
      if (l.dependent_on >= 0) {  // behind that launch, with nothing between them
        ready& before = ready_launches_[static_cast<size_t>(l.dependent_on)];
        r.stream = before.stream;
        r.done = before.done;
        before.is_followed = true;
      } else if (several) {
        cuda_.require(cuda_.new_stream(&r.stream, 1), "cuStreamCreate");
        cuda_.require(cuda_.new_event(&r.done, 2), "cuEventCreate");
      }
      r.arguments = l.arguments;
      for (const uint64_t at : l.pointers) {
        relocate(r.arguments, at);
      }
      begin_plan(l, r.parameters);
      for (size_t k = 0; k < l.offsets.size(); ++k) {
        r.addresses.push_back(r.arguments.data() + l.offsets[k]);
      }
      ready_launches_.push_back(std::move(r));
    }
    for (ready& r : ready_launches_) {
      r.addresses.push_back(&r.parameters);
    }
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  const std::string& device() const { return device_; }
  int driver_version() const { return driver_version_; }
  double nanoseconds(uint64_t cycles) const { return 1e6 * static_cast<double>(cycles) / kilohertz_; }

  /// Runs all launches once, from the initial memory.
  const image& run(const delays& chosen, bool early) {
    for (ready& r : ready_launches_) {
      std::memset(r.parameters.delays, 0, sizeof r.parameters.delays);
    }
    for (const delay& d : chosen) {
      ready_launches_[static_cast<size_t>(d.launch)]
          .parameters.delays[static_cast<size_t>(d.actor) * most_sites + static_cast<size_t>(d.site)] = d.cycles;
    }
    for (const stored& s : stored_) {
      cuda_.require(cuda_.on_device(s.at, s.initial, s.bytes, stream_), "cuMemcpyDtoDAsync");
    }
    const bool several = ready_launches_.size() > 1;
    if (several) {
      cuda_.require(cuda_.record(ready_, stream_), "cuEventRecord");
    }
    for (size_t k = 0; k < ready_launches_.size(); ++k) {
      start(k, several, early);
    }
    for (const stored& s : stored_) {
      cuda_.require(cuda_.to_host(s.host, s.at, s.bytes, stream_), "cuMemcpyDtoHAsync");
    }
    cuda_.require(cuda_.synchronize(stream_), "a launch");
    return image_;
  }

 private:
  struct ready {
    void* function = nullptr;
    void* stream = nullptr;
    void* done = nullptr;
    bool is_followed = false;  ///< by a dependent launch in its stream
    std::vector<uint8_t> arguments;
    plan parameters{};
    std::array<uint64_t, actor_slots> early{};
    std::vector<void*> addresses;
  };
  struct stored {
    uint64_t at;
    uint64_t initial;
    uint64_t bytes;
    uint8_t* host;
  };

  void open_device() {
    int count = 0;
    if (cuda_.init(0) != 0 || cuda_.device_count(&count) != 0 || count == 0) {
      throw no_gpu("no GPU: the CUDA driver finds no device; run it on a machine with an NVIDIA GPU");
    }
    char name[128] = "";
    cuda_.require(cuda_.device_name(name, sizeof name, 0), "cuDeviceGetName");
    device_ = name;
    cuda_.require(cuda_.version(&driver_version_), "cuDriverGetVersion");
    cuda_.require(cuda_.device_attribute(&kilohertz_, 13, 0), "cuDeviceGetAttribute");
    void* context = nullptr;
    cuda_.require(cuda_.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    cuda_.require(cuda_.set_current(context), "cuCtxSetCurrent");
  }

  void load(void*& module) {
    std::vector<char> log(8192);
    int options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER and its size
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
    const int status = cuda_.load(&module, program_.ptx.c_str(), 2, options, values);
    if (status != 0) {
      const char* text = nullptr;
      cuda_.error_name(status, &text);
      throw std::runtime_error(std::string("the driver does not compile the rewritten PTX: ") + (text != nullptr ? text : "") +
                               " " + log.data());
    }
  }

  uint8_t* new_store(uint64_t at, const std::vector<uint8_t>& initial) {
    stored s{at, 0, initial.size(), nullptr};
    unsigned long long copy = 0;
    cuda_.require(cuda_.allocate(&copy, initial.size()), "cuMemAlloc");
    s.initial = copy;
    cuda_.require(cuda_.to_device(copy, initial.data(), initial.size()), "cuMemcpyHtoD");
    void* host = nullptr;
    cuda_.require(cuda_.allocate_host(&host, initial.size()), "cuMemAllocHost");
    s.host = static_cast<uint8_t*>(host);
    stored_.push_back(s);
    return s.host;
  }

  /// Memory of the scenario is in one allocation, at the distances that it has there, and variables are where the module has them.
  void place(void* module) {
    uint64_t first = ~uint64_t{0};
    uint64_t last = 0;
    for (const object& o : program_.memory) {
      if (!o.variable) {
        first = std::min(first, o.address);
        last = std::max(last, o.address + o.bytes);
      }
    }
    first = last == 0 ? 0 : first / 256 * 256;
    last = (last + 255) / 256 * 256;
    const uint64_t bytes = last - first + 256;
    unsigned long long arena = 0;
    cuda_.require(cuda_.allocate(&arena, bytes), "cuMemAlloc");
    report_ = arena + (bytes - 256);
    for (const object& o : program_.memory) {
      uint64_t at = arena + (o.address - first);
      if (o.variable) {
        unsigned long long found = 0;
        size_t size = 0;
        if (cuda_.global(&found, &size, module, o.name.c_str()) != 0) {
          continue;  // the driver leaves out what nothing uses
        }
        at = found;
      }
      moved_.push_back({o.address, o.bytes, at});
    }
    std::vector<uint8_t> initial(bytes, image::filler);
    std::vector<bool> inside(bytes);
    std::fill(initial.end() - 256, initial.end(), 0);  // for what kernels report
    std::fill(inside.end() - 256, inside.end(), true);
    for (const object& o : program_.memory) {
      std::vector<uint8_t> own = o.initial;
      own.resize(o.bytes);
      for (const uint64_t word : o.pointers) {
        relocate(own, word);
      }
      if (!o.variable) {
        std::copy(own.begin(), own.end(), initial.begin() + static_cast<std::ptrdiff_t>(o.address - first));
        std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(o.address - first), o.bytes, true);
      } else if (const uint64_t at = actual(o.address); at != 0 && o.bytes != 0) {
        const uint8_t* const host = new_store(at, own);
        image_.parts_.push_back({o.address, o.bytes, host});
      }
    }
    const uint8_t* const host = new_store(arena, initial);
    for (const object& o : program_.memory) {
      if (!o.variable) {
        image_.parts_.push_back({o.address, o.bytes, host + (o.address - first)});
      }
    }
    for (uint64_t at = 0; at < bytes; ++at) {
      if (!inside[at]) {
        image_.outside_.push_back(host + at);
      }
    }
    image_.report_ = reinterpret_cast<const uint64_t*>(host + (bytes - 256));
  }

  /// Where an address of the scenario is on the device; 0 if in no object.
  uint64_t actual(uint64_t address) const {
    for (const auto& m : moved_) {
      if (address >= m[0] && address - m[0] <= m[1]) {
        return m[2] + (address - m[0]);
      }
    }
    return 0;
  }

  void relocate(std::vector<uint8_t>& bytes, uint64_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, 8);
    value = actual(value);
    std::memcpy(bytes.data() + at, &value, 8);
  }

  void begin_plan(const launch& l, plan& p) {
    p.report = report_;
    p.limit = limit_;
    p.watch = l.watch;
    for (size_t a = 0; a < actor_slots; ++a) {
      p.actors[a] = a < l.actors.size() ? l.actors[a] : no_actor;
    }
  }

  void start(size_t k, bool several, bool early) {
    const launch& l = program_.launches[k];
    ready& r = ready_launches_[k];
    for (size_t a = 0; a < actor_slots; ++a) {
      r.parameters.early[a] = early && a < l.early.size() && l.early[a] != 0 ? actual(l.early[a]) : 0;
    }
    if (several && l.dependent_on < 0) {
      cuda_.require(cuda_.wait_event(r.stream, ready_, 0), "cuStreamWaitEvent");
      for (const int before : l.after) {
        cuda_.require(cuda_.wait_event(r.stream, ready_launches_[static_cast<size_t>(before)].done, 0), "cuStreamWaitEvent");
      }
    }
    driver::attribute attributes[3];
    unsigned count = 0;
    if (l.cooperative) {
      attributes[count].id = driver::cooperative;
      attributes[count++].value[0] = 1;
    }
    if (l.cluster != 0) {
      attributes[count].id = driver::cluster;
      attributes[count].value[0] = l.cluster;
      attributes[count].value[1] = attributes[count].value[2] = 1;
      ++count;
    }
    if (l.dependent_on >= 0) {
      attributes[count].id = driver::overlaps_previous;
      attributes[count++].value[0] = 1;
    }
    const driver::launch_shape shape{
        {l.grid[0], l.grid[1], l.grid[2]}, {l.block[0], l.block[1], l.block[2]}, l.shared, r.stream, attributes, count};
    cuda_.require(cuda_.launch(&shape, r.function, r.addresses.data(), nullptr), "cuLaunchKernelEx");
    if (several && !r.is_followed) {
      cuda_.require(cuda_.record(r.done, r.stream), "cuEventRecord");
      cuda_.require(cuda_.wait_event(stream_, r.done, 0), "cuStreamWaitEvent");
    }
  }

  driver cuda_;
  const program& program_;
  std::string device_;
  int driver_version_ = 0;
  int kilohertz_ = 1000000;
  uint64_t limit_ = 0;
  void* stream_ = nullptr;
  void* ready_ = nullptr;
  uint64_t report_ = 0;
  std::vector<std::array<uint64_t, 3>> moved_;  ///< address, bytes, and where they are on the device
  std::vector<stored> stored_;
  std::vector<ready> ready_launches_;
  image image_;
};

/// Says what is wrong with the memory at the end of a run, or nothing.
using judge = std::function<std::string(const image&)>;

/// Runs of one kind.
struct tally {
  uint64_t runs = 0;
  uint64_t wrong = 0;           ///< by the judge
  uint64_t hangs = 0;           ///< a thread ended at the limit of its loops
  std::string example;          ///< what was wrong first
  std::string fault;            ///< the driver's error that ended the runs
  delays smallest;              ///< of the runs that went wrong, those of the smallest sum
  uint64_t repeated = 0;        ///< runs with `smallest`
  uint64_t repeated_wrong = 0;  ///< that went wrong
  uint64_t bad() const { return wrong + hangs; }
};

/// Random numbers, the same on every machine (splitmix64).
class random_numbers {
 public:
  explicit random_numbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  uint64_t below(uint64_t n) { return n == 0 ? 0 : next() % n; }

 private:
  uint64_t state_;
};

struct search_options {
  uint64_t runs = 20000;
  double seconds = 5;  ///< for each kind of runs
  uint64_t seed = 1;
  bool early = false;
};

/// Runs with chosen delays.
class search {
 public:
  search(session& s, const program& p, judge wrong, search_options how)
      : session_(s), program_(p), judge_(std::move(wrong)), how_(how), random_(how.seed) {}

  /// Runs without delays.
  tally control() {
    return repeat([] { return delays(); }, how_.runs, how_.seconds);
  }

  /// Runs with random delays; then looks for a smaller delay that shows it, and repeats that.
  tally delayed() {
    tally all = repeat([this] { return any(); }, how_.runs, how_.seconds);
    if (all.bad() == 0 || !all.fault.empty()) {
      return all;
    }
    delays best = all.smallest;
    tally smaller;
    smaller.smallest = best;
    const tally found = repeat([&] { return weaker(smaller.smallest); }, how_.runs / 4, how_.seconds / 4, &smaller);
    all.smallest = smaller.smallest;
    all.fault = found.fault;
    if (all.fault.empty()) {
      const tally again = repeat([&] { return all.smallest; }, std::min<uint64_t>(1000, how_.runs), how_.seconds / 4);
      all.repeated = again.runs;
      all.repeated_wrong = again.bad();
    }
    return all;
  }

  /// Runs with these delays, each scaled by a random factor from 3/4 to 5/4.
  tally around(const delays& given) {
    return repeat(
        [&] {
          delays result = given;
          for (delay& d : result) {
            d.cycles = d.cycles * (768 + random_.below(513)) / 1024;
          }
          return result;
        },
        how_.runs, how_.seconds);
  }

 private:
  static constexpr uint64_t most_hangs = 50;  ///< of a kind of runs, of which each takes the whole limit

  template <class Choose>
  tally repeat(Choose choose, uint64_t runs, double seconds, tally* smaller = nullptr) {
    tally t;
    const auto begin = std::chrono::steady_clock::now();
    try {
      while (t.runs < runs && t.hangs < most_hangs &&
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
        const delays chosen = choose();
        const image& end = session_.run(chosen, how_.early);
        ++t.runs;
        const bool hang = end.report(0) != 0;
        const std::string what = hang ? std::string("a thread did not come out of a loop") : judge_(end);
        if (what.empty()) {
          continue;
        }
        t.example = t.bad() == 0 ? what : t.example;
        if (t.bad() == 0 || total(chosen) < total(t.smallest)) {
          t.smallest = chosen;
        }
        if (smaller != nullptr && total(chosen) < total(smaller->smallest)) {
          smaller->smallest = chosen;
        }
        (hang ? t.hangs : t.wrong) += 1;
      }
    } catch (const std::runtime_error& e) {
      t.fault = e.what();
    }
    return t;
  }

  /// One to four delays of 64 to 131,072 cycles.
  delays any() {
    delays result;
    const uint64_t count = 1 + random_.below(4);
    for (uint64_t k = 0; k < count; ++k) {
      const int l = static_cast<int>(random_.below(program_.launches.size()));
      const launch& of = program_.launches[static_cast<size_t>(l)];
      const int actor = static_cast<int>(random_.below(of.actors.size()));
      const int site = static_cast<int>(random_.below(static_cast<uint64_t>(of.sites)));
      const uint64_t scale = uint64_t{64} << random_.below(11);
      if (!of.actors.empty()) {
        add(result, {l, actor, site, scale + random_.below(scale)});
      }
    }
    return result;
  }

  static void add(delays& all, const delay& d) {
    for (delay& known : all) {
      if (known.launch == d.launch && known.actor == d.actor && known.site == d.site) {
        known.cycles = d.cycles;
        return;
      }
    }
    all.push_back(d);
  }

  /// Without one of the delays, or with one or all of them smaller.
  delays weaker(delays given) {
    if (given.empty()) {
      return given;
    }
    const size_t which = random_.below(given.size());
    switch (random_.below(3)) {
      case 0:
        given.erase(given.begin() + static_cast<std::ptrdiff_t>(which));
        break;
      case 1:
        given[which].cycles = given[which].cycles * (256 + random_.below(768)) / 1024;
        break;
      default:
        for (delay& d : given) {
          d.cycles = d.cycles * (512 + random_.below(512)) / 1024;
        }
    }
    return given;
  }

  session& session_;
  const program& program_;
  judge judge_;
  search_options how_;
  random_numbers random_;
};

}  // namespace membar_witness
