// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Launches rewritten kernels many times with random delays and counts how often the result is wrong. This header requires a
/// C++17 compiler and loads the CUDA driver at run time. `membar-check witness` uses this file, and its reproducers contain it.
///
/// One launch runs many copies of a grid, each with its own memory and delays. The copies are blocks with different z
/// coordinates. All copies fit on the device at once, so blocks that wait for each other run concurrently.
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
#include <string_view>
#include <utility>
#include <vector>

namespace membar_witness {

using std::size_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

constexpr size_t actor_slots = 4;
[[maybe_unused]] constexpr size_t most_sites = 32;
[[maybe_unused]] constexpr uint32_t unlikely_value = 0x9e3779b9;
[[maybe_unused]] constexpr uint64_t most_delay =
    1000000;  ///< the maximum total delay of a thread in cycles; later delays are omitted
constexpr uint64_t no_actor = ~uint64_t{0};

/// The additional parameter of a rewritten kernel. If all its members are zero, the kernel behaves like the original.
struct plan {
  uint64_t report;    ///< the address of the first copy's `report_words`
  uint64_t stride;    ///< the distance in bytes between the memory regions of consecutive copies
  uint64_t pointers;  ///< bit w is set if the 8 bytes at offset 8 w of the parameters are an address in the first copy's memory
  /// the address of the delays, in cycles, with a row of `words_of_row` words for each copy and actor, or 0 if there are no
  /// delays
  uint64_t rows;
  uint64_t limit;                ///< a thread that has run for this many cycles exits at the next loop head
  uint64_t actors[actor_slots];  ///< linear indices (block in the upper half, thread in the lower half), or `no_actor`
  uint64_t early[actor_slots];   ///< for each actor, an address in the first copy that the actor loads at each site, or 0
  uint64_t watch;                ///< which execution of the watched load reports its value; 0 if there is none
  uint64_t blocks_z;             ///< the z size of the grid of one copy; 0 if there is only one copy
};

/// Returns the number of 4-byte words for the delays of an actor.
constexpr size_t words_of_row(size_t sites) { return (sites + 3) / 4 * 4; }

/// The number of words in a kernel's report: whether a thread exited at the limit, an unused word, whether the watched load was
/// executed, and the loaded value.
[[maybe_unused]] constexpr size_t report_words = 4;

/// An object in the memory of the launches. Its addresses are the scenario's addresses. `pointers` contains the offsets of
/// words that contain an address.
struct object {
  std::string name;
  bool variable = false;  ///< whether the object is the module's variable with this name
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::vector<uint8_t> initial;  ///< the initial contents, which are padded with zeros
  std::vector<uint64_t> pointers;
};

struct launch {
  std::string kernel;
  std::array<unsigned, 3> grid{{1, 1, 1}};
  std::array<unsigned, 3> block{{1, 1, 1}};
  unsigned shared = 0;
  bool cooperative = false;
  unsigned cluster = 0;    ///< the number of blocks in a cluster; 0 if there are no clusters
  int dependent_on = -1;   ///< the launch that allows this one to start early as its dependent; -1 if there is none
  std::vector<int> after;  ///< the launches that must end before this one starts
  std::vector<uint8_t> arguments;
  std::vector<uint64_t> offsets;   ///< the offsets of the parameters
  std::vector<uint64_t> pointers;  ///< the offsets of words in the arguments that contain an address
  int sites = 1;
  std::vector<uint64_t> actors;  ///< as in `plan`
  std::vector<uint64_t> early;   ///< for each actor: a scenario address, or 0
  uint64_t watch = 0;
};

struct program {
  std::string ptx;
  std::vector<object> memory;
  std::vector<launch> launches;
  std::string one_copy;  ///< why a launch cannot run several copies; empty if it can
};

/// Thrown if there is no GPU.
struct no_gpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown if the driver did not start a launch, so nothing is known about its kernel.
struct not_launched : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// CUDA driver functions.
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
  static constexpr int cooperative = 2;  // CU_LAUNCH_ATTRIBUTE_COOPERATIVE; the next two are also values of CUlaunchAttributeID
  static constexpr int cluster = 4;
  static constexpr int overlaps_previous = 6;

  driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) {
      throw no_gpu("no CUDA driver: libcuda.so.1 cannot be loaded; run this on a machine with an NVIDIA GPU");
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
    find(to_device_later, "cuMemcpyHtoDAsync_v2");
    find(on_device, "cuMemcpyDtoDAsync_v2");
    find(to_host, "cuMemcpyDtoHAsync_v2");
    find(new_stream, "cuStreamCreate");
    find(synchronize, "cuEventSynchronize");
    find(wait_event, "cuStreamWaitEvent");
    find(new_event, "cuEventCreate");
    find(record, "cuEventRecord");
    find(launch, "cuLaunchKernelEx");
    find(blocks_of_multiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    find(error_name, "cuGetErrorName");
  }

  void require(status s, const char* what) const {
    if (s != 0) {
      throw std::runtime_error(std::string(what) + ": " + text_of(s));
    }
  }

  /// Throws `not_launched` if the driver did not start a launch, and another exception for an error in an earlier kernel.
  void require_begun(status s, const std::string& kernel) const {
    constexpr status invalid_value = 1;
    constexpr status out_of_resources = 701;
    constexpr status too_many_cooperative_blocks = 720;
    if (s == invalid_value || s == out_of_resources || s == too_many_cooperative_blocks) {
      throw not_launched("the driver did not start a launch of " + kernel + ": " + text_of(s));
    }
    require(s, "cuLaunchKernelEx");
  }

  std::string text_of(status s) const {
    const char* name = nullptr;
    error_name(s, &name);
    return name != nullptr ? name : "error " + std::to_string(s);
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
  status (*to_device_later)(address, const void*, size_t, handle) = nullptr;
  status (*on_device)(address, address, size_t, handle) = nullptr;
  status (*to_host)(void*, address, size_t, handle) = nullptr;
  status (*new_stream)(handle*, unsigned) = nullptr;
  status (*synchronize)(handle) = nullptr;
  status (*wait_event)(handle, handle, unsigned) = nullptr;
  status (*new_event)(handle*, unsigned) = nullptr;
  status (*record)(handle, handle) = nullptr;
  status (*launch)(const launch_shape*, handle, void**, void**) = nullptr;
  status (*blocks_of_multiprocessor)(int*, handle, int, size_t) = nullptr;
  status (*error_name)(status, const char**) = nullptr;

 private:
  template <class Function>
  void find(Function& f, const char* name) {
    void* const found = dlsym(library_, name);
    if (found == nullptr) {
      throw no_gpu(std::string("the CUDA driver does not provide ") + name + ": update the driver");
    }
    std::memcpy(&f, &found, sizeof f);
  }
  void* library_ = nullptr;
};

/// The memory at the end of a run, which is accessed with the scenario's addresses.
class image {
 public:
  uint64_t value(uint64_t address, int bytes) const {
    for (const part& p : parts_) {
      if (address >= p.address && address - p.address < p.bytes &&
          p.bytes - (address - p.address) >= static_cast<uint64_t>(bytes)) {
        uint64_t result = 0;
        std::memcpy(&result, data_ + p.offset + (address - p.address), static_cast<size_t>(bytes));
        return result;
      }
    }
    throw std::runtime_error("the address " + std::to_string(address) + " is not in memory that is read back");
  }
  uint64_t report(size_t word) const {
    uint64_t result = 0;
    std::memcpy(&result, data_ + report_ + 8 * word, 8);
    return result;
  }
  /// Returns whether bytes outside all objects were written.
  bool is_written_outside() const {
    return std::any_of(outside_.begin(), outside_.end(), [&](size_t at) { return data_[at] != filler; });
  }
  /// Returns all bytes. Runs that end with the same bytes have the same verdict.
  std::string_view bytes() const { return {reinterpret_cast<const char*>(data_), bytes_}; }

 private:
  friend class session;
  struct part {
    uint64_t address;
    uint64_t bytes;
    size_t offset;
  };
  static constexpr uint8_t filler = 0xa5;
  std::vector<part> parts_;
  std::vector<size_t> outside_;
  size_t report_ = 0;
  size_t bytes_ = 0;
  const uint8_t* data_ = nullptr;  ///< the memory of this run's copy
};

/// A delay, in cycles, before a site, for one of a launch's actors.
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

/// Runs a program on the first GPU. `program` must outlive the session.
class session {
 public:
  explicit session(const program& p, uint64_t limit_microseconds = 10000) : program_(p) {
    open_device();
    limit_ = limit_microseconds * static_cast<uint64_t>(kilohertz_) / 1000;
    void* module = nullptr;
    load(module);
    cuda_.require(cuda_.new_stream(&stream_, 1), "cuStreamCreate");
    cuda_.require(cuda_.new_event(&ready_, 2), "cuEventCreate");
    for (const launch& l : p.launches) {
      prepare(l, module);
    }
    choose_copies();
    place(module);
    for (size_t k = 0; k < ready_launches_.size(); ++k) {
      give_arguments(p.launches[k], ready_launches_[k]);
    }
    for (batch& b : batches_) {
      cuda_.require(cuda_.new_event(&b.done, 2), "cuEventCreate");
      b.rows = static_cast<uint8_t*>(new_host_memory(row_bytes_ * copies_));
      b.ends = static_cast<uint8_t*>(new_host_memory(end_bytes_ * copies_));
    }
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  const std::string& device() const { return device_; }
  int driver_version() const { return driver_version_; }
  double nanoseconds(uint64_t cycles) const { return 1e6 * static_cast<double>(cycles) / kilohertz_; }

  /// Returns the maximum number of runs that one call of `begin` can start.
  uint64_t copies() const { return copies_; }
  /// Returns the number of runs that put about one block on each multiprocessor. It is at most `copies()`.
  uint64_t sparse_copies() const { return sparse_copies_; }

  /// Starts runs, each with the initial memory and its own delays. At most two batches can be in flight.
  void begin(const std::vector<delays>& chosen, size_t count, bool early) {
    batch& b = batches_[begun_++ % 2];
    b.count = count;
    write_rows(b, chosen);
    cuda_.require(cuda_.to_device_later(rows_, b.rows, row_bytes_ * count, stream_), "cuMemcpyHtoDAsync");
    for (const stored& s : stored_) {
      cuda_.require(cuda_.on_device(s.at, s.initial, s.bytes * count, stream_), "cuMemcpyDtoDAsync");
    }
    const bool several = ready_launches_.size() > 1;
    if (several) {
      cuda_.require(cuda_.record(ready_, stream_), "cuEventRecord");
    }
    for (size_t k = 0; k < ready_launches_.size(); ++k) {
      start(k, count, several, early);
    }
    for (const stored& s : stored_) {
      cuda_.require(cuda_.to_host(b.ends + s.offset, s.at, s.bytes * count, stream_), "cuMemcpyDtoHAsync");
    }
    cuda_.require(cuda_.record(b.done, stream_), "cuEventRecord");
  }

  /// Waits for the oldest batch of runs in flight, and calls `each(run, image)` for each of its runs.
  template <class Each>
  void end(Each each) {
    batch& b = batches_[ended_++ % 2];
    cuda_.require(cuda_.synchronize(b.done), "a launch");
    for (size_t run = 0; run < b.count; ++run) {
      uint8_t* const data = b.ends + run * end_bytes_;
      for (const size_t at : pointer_places_) {  // addresses in this copy become addresses in the first copy
        uint64_t value = 0;
        std::memcpy(&value, data + at, 8);
        if (const uint64_t first = arena_ + run * stride_; value >= first && value - first < stride_) {
          value -= run * stride_;
          std::memcpy(data + at, &value, 8);
        }
      }
      image_.data_ = data;
      each(run, image_);
    }
  }

 private:
  struct ready {
    void* function = nullptr;
    void* stream = nullptr;
    void* done = nullptr;
    bool is_followed = false;  ///< whether a dependent launch follows it in its stream
    std::vector<uint8_t> arguments;
    plan parameters{};
    std::vector<void*> addresses;
  };
  struct stored {
    uint64_t at;
    uint64_t initial;
    uint64_t bytes;  ///< the size in one copy
    size_t offset;   ///< the offset in host memory
  };
  struct batch {
    size_t count = 0;
    void* done = nullptr;
    uint8_t* rows = nullptr;
    uint8_t* ends = nullptr;
  };

  void open_device() {
    int count = 0;
    if (cuda_.init(0) != 0 || cuda_.device_count(&count) != 0 || count == 0) {
      throw no_gpu("no GPU: the CUDA driver finds no device; run this on a machine with an NVIDIA GPU");
    }
    char name[128] = "";
    cuda_.require(cuda_.device_name(name, sizeof name, 0), "cuDeviceGetName");
    device_ = name;
    cuda_.require(cuda_.version(&driver_version_), "cuDriverGetVersion");
    cuda_.require(cuda_.device_attribute(&kilohertz_, 13, 0), "cuDeviceGetAttribute");
    cuda_.require(cuda_.device_attribute(&multiprocessors_, 16, 0), "cuDeviceGetAttribute");
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
      throw std::runtime_error("the driver cannot compile the rewritten PTX: " + cuda_.text_of(status) + " " + log.data());
    }
  }

  /// Looks up the function of a launch and assigns its stream.
  void prepare(const launch& l, void* module) {
    const bool several = program_.launches.size() > 1;
    ready r;
    cuda_.require(cuda_.function(&r.function, module, l.kernel.c_str()), ("cuModuleGetFunction " + l.kernel).c_str());
    if (l.shared != 0) {  // with static shared memory, a block may need more than is allowed without this attribute
      cuda_.require(cuda_.set_attribute(r.function, 8, static_cast<int>(l.shared)), "cuFuncSetAttribute");
    }
    r.stream = stream_;
    if (l.dependent_on >= 0) {  // the dependent launch directly follows in the same stream
      ready& before = ready_launches_[static_cast<size_t>(l.dependent_on)];
      r.stream = before.stream;
      r.done = before.done;
      before.is_followed = true;
    } else if (several) {
      cuda_.require(cuda_.new_stream(&r.stream, 1), "cuStreamCreate");
      cuda_.require(cuda_.new_event(&r.done, 2), "cuEventCreate");
    }
    ready_launches_.push_back(std::move(r));
    row_bytes_ += 4 * words_of_row(static_cast<size_t>(l.sites)) * actor_slots;
  }

  /// Sets the number of copies that run at once. All blocks of all launches must fit on the device together, because they may
  /// wait for each other.
  void choose_copies() {
    if (!program_.one_copy.empty()) {
      return;
    }
    double multiprocessors = 0;  // how many multiprocessors one copy fills
    uint64_t all_blocks = 0;
    uint64_t most = 65535;
    for (size_t k = 0; k < ready_launches_.size(); ++k) {
      const launch& l = program_.launches[k];
      const unsigned threads = l.block[0] * l.block[1] * l.block[2];
      int fit = 0;
      cuda_.require(cuda_.blocks_of_multiprocessor(&fit, ready_launches_[k].function, static_cast<int>(threads), l.shared),
                    "cuOccupancyMaxActiveBlocksPerMultiprocessor");
      const uint64_t blocks = uint64_t{l.grid[0]} * l.grid[1] * l.grid[2];
      multiprocessors += static_cast<double>(blocks) / std::max(fit, 1) * (l.cluster > 1 ? 2 : 1);
      all_blocks += blocks;
      most = std::min<uint64_t>(most, 65535 / l.grid[2]);
    }
    // blocks of different launches may leave parts of a multiprocessor empty
    const double usable = multiprocessors_ * (ready_launches_.size() > 1 ? 0.75 : 1.0);
    most = std::min<uint64_t>(most, most_bytes / std::max<uint64_t>(arena_bytes(), 1));
    copies_ = std::max<uint64_t>(1, std::min(most, static_cast<uint64_t>(usable / multiprocessors)));
    sparse_copies_ =
        std::max<uint64_t>(1, std::min(copies_, static_cast<uint64_t>(multiprocessors_) / std::max<uint64_t>(all_blocks, 1)));
  }

  void* new_host_memory(uint64_t bytes) {
    void* host = nullptr;
    cuda_.require(cuda_.allocate_host(&host, bytes), "cuMemAllocHost");
    return host;
  }

  uint64_t new_memory(uint64_t bytes) {
    unsigned long long result = 0;
    cuda_.require(cuda_.allocate(&result, bytes), "cuMemAlloc");
    return result;
  }

  /// Registers memory that is initialized before each run and read back afterwards. `initial` contains all copies.
  void store(uint64_t at, const std::vector<uint8_t>& initial) {
    const stored s{at, new_memory(initial.size()), initial.size() / copies_, end_bytes_};
    cuda_.require(cuda_.to_device(s.initial, initial.data(), initial.size()), "cuMemcpyHtoD");
    stored_.push_back(s);
    end_bytes_ += s.bytes;
  }

  /// Returns the first address of the scenario's memory, excluding variables, and the end of its last object.
  std::pair<uint64_t, uint64_t> range() const {
    uint64_t first = ~uint64_t{0};
    uint64_t last = 0;
    for (const object& o : program_.memory) {
      if (!o.variable) {
        first = std::min(first, o.address);
        last = std::max(last, o.address + o.bytes);
      }
    }
    return {last == 0 ? 0 : first / 256 * 256, (last + 255) / 256 * 256};
  }
  uint64_t arena_bytes() const { return range().second - range().first + 256; }

  /// Allocates the scenario's memory. Each copy has one allocation with the same relative addresses. Variables stay where the
  /// driver has placed them.
  void place(void* module) {
    const uint64_t first = range().first;
    stride_ = arena_bytes();
    arena_ = new_memory(stride_ * copies_);
    rows_ = new_memory(std::max<uint64_t>(row_bytes_ * copies_, 256));
    report_ = arena_ + (stride_ - 256);
    for (const object& o : program_.memory) {
      uint64_t at = arena_ + (o.address - first);
      if (o.variable) {
        unsigned long long found = 0;
        size_t size = 0;
        if (cuda_.global(&found, &size, module, o.name.c_str()) != 0) {
          continue;  // the driver omits unused variables
        }
        at = found;
      }
      moved_.push_back({o.address, o.bytes, at});
    }
    std::vector<uint8_t> initial(stride_, image::filler);
    std::vector<bool> inside(stride_);
    std::fill(initial.end() - 256, initial.end(), 0);  // the words that kernels report
    std::fill(inside.end() - 256, inside.end(), true);
    std::vector<std::pair<const object*, std::vector<uint8_t>>> variables;
    for (const object& o : program_.memory) {
      std::vector<uint8_t> own = o.initial;
      own.resize(o.bytes);
      for (const uint64_t word : o.pointers) {
        relocate(own, word);
      }
      if (o.variable) {
        variables.emplace_back(&o, std::move(own));
        continue;
      }
      const size_t offset = o.address - first;
      std::copy(own.begin(), own.end(), initial.begin() + static_cast<std::ptrdiff_t>(offset));
      std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(offset), o.bytes, true);
      image_.parts_.push_back({o.address, o.bytes, offset});
      for (const uint64_t word : o.pointers) {
        pointer_places_.push_back(offset + word);
      }
    }
    for (size_t at = 0; at < stride_; ++at) {
      if (!inside[at]) {
        image_.outside_.push_back(at);
      }
    }
    image_.report_ = stride_ - 256;
    store(arena_, all_copies(initial));
    for (const auto& [o, own] : variables) {  // if there are variables, there is only one copy
      if (const uint64_t at = actual(o->address); at != 0 && o->bytes != 0) {
        image_.parts_.push_back({o->address, o->bytes, end_bytes_});
        store(at, own);
      }
    }
    image_.bytes_ = end_bytes_;
  }

  /// Returns the initial memory of all copies. The addresses in each copy point to that copy.
  std::vector<uint8_t> all_copies(const std::vector<uint8_t>& one) const {
    std::vector<uint8_t> result;
    result.reserve(one.size() * copies_);
    for (uint64_t copy = 0; copy < copies_; ++copy) {
      result.insert(result.end(), one.begin(), one.end());
      for (const size_t at : pointer_places_) {
        uint8_t* const word = result.data() + copy * one.size() + at;
        uint64_t value = 0;
        std::memcpy(&value, word, 8);
        value += value >= arena_ && value - arena_ < stride_ ? copy * stride_ : 0;
        std::memcpy(word, &value, 8);
      }
    }
    return result;
  }

  /// Returns the device address in the first copy for a scenario address, or 0 if no object contains that address.
  uint64_t actual(uint64_t address) const {
    for (const auto& m : moved_) {
      if (address >= m[0] && address - m[0] <= m[1]) {
        return m[2] + (address - m[0]);
      }
    }
    return 0;
  }

  uint64_t relocate(std::vector<uint8_t>& bytes, uint64_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, 8);
    value = actual(value);
    std::memcpy(bytes.data() + at, &value, 8);
    return value;
  }

  void give_arguments(const launch& l, ready& r) {
    r.arguments = l.arguments;
    plan& p = r.parameters;
    for (const uint64_t at : l.pointers) {
      const uint64_t value = relocate(r.arguments, at);
      p.pointers |= copies_ > 1 && value >= arena_ && value - arena_ < stride_ && at / 8 < 64 ? uint64_t{1} << at / 8 : 0;
    }
    p.report = report_;
    p.stride = copies_ > 1 ? stride_ : 0;
    p.limit = limit_;
    p.watch = l.watch;
    p.blocks_z = l.grid[2];
    for (size_t a = 0; a < actor_slots; ++a) {
      p.actors[a] = a < l.actors.size() ? l.actors[a] : no_actor;
    }
    for (const uint64_t offset : l.offsets) {
      r.addresses.push_back(r.arguments.data() + offset);
    }
    r.addresses.push_back(&r.parameters);
  }

  /// Writes the delays of all copies. The delays of each launch are contiguous.
  void write_rows(batch& b, const std::vector<delays>& chosen) {
    std::memset(b.rows, 0, row_bytes_ * b.count);
    uint64_t begin = 0;
    for (size_t k = 0; k < ready_launches_.size(); ++k) {
      const size_t words = words_of_row(static_cast<size_t>(program_.launches[k].sites));
      ready_launches_[k].parameters.rows = rows_ + begin;
      for (size_t run = 0; run < b.count; ++run) {
        for (const delay& d : chosen[run]) {
          if (d.launch == static_cast<int>(k)) {
            const auto row = run * actor_slots + static_cast<size_t>(d.actor);
            const auto cycles = static_cast<uint32_t>(std::min(d.cycles, most_delay));
            std::memcpy(b.rows + begin + 4 * (row * words + static_cast<size_t>(d.site)), &cycles, 4);
          }
        }
      }
      begin += 4 * words * actor_slots * b.count;
    }
  }

  void start(size_t k, size_t count, bool several, bool early) {
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
    unsigned number = 0;
    if (l.cooperative) {
      attributes[number].id = driver::cooperative;
      attributes[number++].value[0] = 1;
    }
    if (l.cluster != 0) {
      attributes[number].id = driver::cluster;
      attributes[number].value[0] = l.cluster;
      attributes[number].value[1] = attributes[number].value[2] = 1;
      ++number;
    }
    if (l.dependent_on >= 0) {
      attributes[number].id = driver::overlaps_previous;
      attributes[number++].value[0] = 1;
    }
    const driver::launch_shape shape{{l.grid[0], l.grid[1], l.grid[2] * static_cast<unsigned>(count)},
                                     {l.block[0], l.block[1], l.block[2]},
                                     l.shared,
                                     r.stream,
                                     attributes,
                                     number};
    cuda_.require_begun(cuda_.launch(&shape, r.function, r.addresses.data(), nullptr), l.kernel);
    if (several && !r.is_followed) {
      cuda_.require(cuda_.record(r.done, r.stream), "cuEventRecord");
      cuda_.require(cuda_.wait_event(stream_, r.done, 0), "cuStreamWaitEvent");
    }
  }

  static constexpr uint64_t most_bytes = uint64_t{1} << 26U;  ///< the limit for the memory of all copies

  driver cuda_;
  const program& program_;
  std::string device_;
  int driver_version_ = 0;
  int kilohertz_ = 1000000;
  int multiprocessors_ = 1;
  uint64_t limit_ = 0;
  uint64_t copies_ = 1;
  uint64_t sparse_copies_ = 1;
  void* stream_ = nullptr;
  void* ready_ = nullptr;
  uint64_t arena_ = 0;                          ///< the memory of all copies
  uint64_t stride_ = 0;                         ///< the size of one copy
  uint64_t report_ = 0;                         ///< the address of the words that the first copy's kernels report
  uint64_t rows_ = 0;                           ///< the address of the delays
  uint64_t row_bytes_ = 0;                      ///< the number of bytes of delays for all launches of one copy
  uint64_t end_bytes_ = 0;                      ///< how many bytes of each copy are read back
  std::vector<std::array<uint64_t, 3>> moved_;  ///< for each object: its address, its size, and its location on the device
  std::vector<size_t> pointer_places_;          ///< the offsets of pointers in the memory of a copy
  std::vector<stored> stored_;
  std::vector<ready> ready_launches_;
  std::array<batch, 2> batches_;
  uint64_t begun_ = 0;
  uint64_t ended_ = 0;
  image image_;
};

/// Returns what is wrong with the memory at the end of a run, or an empty string if it is correct.
using judge = std::function<std::string(const image&)>;

/// The results of all runs of one kind.
struct tally {
  uint64_t runs = 0;
  uint64_t wrong = 0;           ///< the number of runs that failed according to the judge
  uint64_t hangs = 0;           ///< the number of runs in which a thread exited at the limit
  std::string example;          ///< the first error
  std::string fault;            ///< the driver error that ended the runs
  std::string stopped;          ///< the reason why fewer runs than requested were made
  delays smallest;              ///< the delays of the failing run with the smallest sum of delays
  uint64_t repeated = 0;        ///< the number of runs with `smallest`
  uint64_t repeated_wrong = 0;  ///< the number of those runs that failed
  uint64_t bad() const { return wrong + hangs; }
};

/// Random numbers that are the same on every machine (splitmix64).
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
  double seconds = 5;  ///< the time limit for the runs of each kind
  uint64_t seed = 1;
  bool early = false;
};

/// Runs the program with and without delays, and searches for delays that cause a failure.
class search {
 public:
  search(session& s, const program& p, judge wrong, search_options how)
      : session_(s), program_(p), judge_(std::move(wrong)), how_(how), random_(how.seed) {}

  /// Runs the program without delays.
  tally control() {
    return repeat([](delays& chosen) { chosen.clear(); }, how_.runs, how_.seconds);
  }

  /// Runs the program with random delays, then searches for smaller delays that still cause a failure, and repeats the runs
  /// with those delays.
  tally delayed() {
    tally all = repeat([this](delays& chosen) { any(chosen); }, how_.runs, how_.seconds);
    if (all.bad() == 0 || !all.fault.empty()) {
      return all;
    }
    delays best = all.smallest;
    tally smaller;
    smaller.smallest = best;
    const tally found = repeat(
        [&](delays& chosen) {
          chosen = smaller.smallest;
          weaken(chosen);
        },
        how_.runs / 4, how_.seconds / 4, &smaller);
    all.smallest = smaller.smallest;
    all.fault = found.fault;
    if (all.fault.empty()) {
      const tally again =
          repeat([&](delays& chosen) { chosen = all.smallest; }, std::min<uint64_t>(1000, how_.runs), how_.seconds / 4);
      all.repeated = again.runs;
      all.repeated_wrong = again.bad();
    }
    return all;
  }

  /// Runs the program with these delays. In each run, every delay is scaled by a random factor from 3/4 to 5/4.
  tally around(const delays& given) {
    return repeat(
        [&](delays& chosen) {
          chosen = given;
          for (delay& d : chosen) {
            d.cycles = d.cycles * (768 + random_.below(513)) / 1024;
          }
        },
        how_.runs, how_.seconds);
  }

 private:
  /// the maximum number of launches with a hanging thread. The number is limited because each such launch takes the whole time
  /// limit
  static constexpr uint64_t most_hangs = 50;
  static constexpr size_t most_verdicts = 64;

  /// The judge's verdict on a final state of memory.
  struct verdict {
    std::string bytes;
    std::string wrong;
    bool hang = false;
  };

  /// Returns the number of runs in a launch. Copies on one multiprocessor share its L1 cache, and many copies load the memory
  /// system. Therefore, out of 11 launches, 8 have about one block on each multiprocessor, two have four times as many copies,
  /// and one has the maximum number of copies.
  uint64_t size_of_launch(uint64_t number) const {
    const uint64_t step = number % 11;
    return step < 8    ? session_.sparse_copies()
           : step < 10 ? std::min(4 * session_.sparse_copies(), session_.copies())
                       : session_.copies();
  }

  /// Runs the program with the delays that `choose` sets. Two launches are in flight at a time: the results of one are judged
  /// while the next one runs.
  template <class Choose>
  tally repeat(Choose choose, uint64_t runs, double seconds, tally* smaller = nullptr) {
    tally t;
    std::array<std::vector<delays>, 2> chosen;
    for (std::vector<delays>& c : chosen) {
      c.resize(session_.copies());
    }
    const auto first = std::chrono::steady_clock::now();
    uint64_t started = 0;
    uint64_t begun = 0;
    uint64_t ended = 0;
    uint64_t with_hangs = 0;
    try {
      for (;;) {
        const bool more = started < runs && with_hangs < most_hangs &&
                          std::chrono::duration<double>(std::chrono::steady_clock::now() - first).count() < seconds;
        if (more) {
          const uint64_t size = smaller == nullptr ? size_of_launch(begun) : session_.sparse_copies();
          const uint64_t count = std::min(size, runs - started);
          scales_ = 1 + random_.below(11);
          for (uint64_t run = 0; run < count; ++run) {
            choose(chosen[begun % 2][run]);
          }
          session_.begin(chosen[begun % 2], count, how_.early);
          started += count;
          ++begun;
        }
        if (begun == ended) {
          t.stopped = started >= runs           ? ""
                      : with_hangs < most_hangs ? "the time limit was reached"
                                                : "threads hung in " + std::to_string(with_hangs) + " launches";
          break;
        }
        if (begun == ended + 2 || !more) {
          const uint64_t hangs = t.hangs;
          session_.end([&](size_t run, const image& end) { count_run(t, end, chosen[ended % 2][run], smaller); });
          ++ended;
          with_hangs += t.hangs != hangs ? 1 : 0;
        }
      }
    } catch (const not_launched&) {
      throw;
    } catch (const std::runtime_error& e) {
      t.fault = e.what();
    }
    return t;
  }

  void count_run(tally& t, const image& end, const delays& chosen, tally* smaller) {
    ++t.runs;
    const verdict& v = verdict_on(end);
    if (v.wrong.empty()) {
      return;
    }
    t.example = t.bad() == 0 ? v.wrong : t.example;
    if (t.bad() == 0 || total(chosen) < total(t.smallest)) {
      t.smallest = chosen;
    }
    if (smaller != nullptr && total(chosen) < total(smaller->smallest)) {
      smaller->smallest = chosen;
    }
    (v.hang ? t.hangs : t.wrong) += 1;
  }

  /// Returns the verdict on a final state of memory. Most runs end in one of a few states of memory, and each state is judged
  /// only once.
  const verdict& verdict_on(const image& end) {
    const std::string_view bytes = end.bytes();
    for (size_t k = 0; k < verdicts_.size(); ++k) {
      if (verdicts_[k].bytes == bytes) {
        if (k != 0) {
          std::swap(verdicts_[k], verdicts_[k - 1]);
        }
        return verdicts_[k == 0 ? 0 : k - 1];
      }
    }
    verdict v{std::string(bytes), {}, end.report(0) != 0};
    v.wrong = v.hang ? "a thread did not leave a loop" : judge_(end);
    if (verdicts_.size() == most_verdicts) {
      verdicts_.pop_back();
    }
    verdicts_.push_back(std::move(v));
    return verdicts_.back();
  }

  /// Sets one to four random delays of 64 to 131,072 cycles. In some launches the upper limit is smaller.
  void any(delays& result) {
    result.clear();
    const uint64_t count = 1 + random_.below(4);
    for (uint64_t k = 0; k < count; ++k) {
      const int l = static_cast<int>(random_.below(program_.launches.size()));
      const launch& of = program_.launches[static_cast<size_t>(l)];
      const int actor = static_cast<int>(random_.below(of.actors.size()));
      const int site = static_cast<int>(random_.below(static_cast<uint64_t>(of.sites)));
      const uint64_t scale = uint64_t{64} << random_.below(scales_);
      if (!of.actors.empty()) {
        add(result, {l, actor, site, scale + random_.below(scale)});
      }
    }
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

  /// Weakens the delays: omits one of them, or reduces one or all of them.
  void weaken(delays& given) {
    if (given.empty()) {
      return;
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
  }

  session& session_;
  const program& program_;
  judge judge_;
  search_options how_;
  random_numbers random_;
  uint64_t scales_ = 11;  ///< the number of possible scales of the delays in a launch
  std::vector<verdict> verdicts_;
};

}  // namespace membar_witness
