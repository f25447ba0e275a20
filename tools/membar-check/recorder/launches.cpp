// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/launches.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "intercept/relaxed_capture.hpp"
#include "intercept/table_reader.hpp"
#include "membar-check/recorder/code.hpp"
#include "membar-check/recorder/contents.hpp"
#include "membar-check/recorder/mappings.hpp"
#include "membar-check/recorder/sharing.hpp"
#include "membar-check/recorder/tensor_maps.hpp"

namespace membar_record {

namespace {

using nlohmann::json;

/// The limits of a program's addresses. A word outside these limits is a number, not a pointer.
constexpr std::uint64_t lowest_address = 65536, end_of_addresses = std::uint64_t{1} << 57U;
constexpr std::size_t most_allocations = 64;
constexpr std::size_t most_beside = 32;
/// If a launch uses more memory than this, memory that no pointer leads to is not copied.
constexpr std::uint64_t most_bytes_with_beside = std::uint64_t{48} << 20U;
constexpr std::uint64_t page = 4096;

/// An allocation that a launch may access.
struct allocation {
  CUdeviceptr base = 0;
  std::uint64_t bytes = 0;
  unsigned kind = 0;
  bool managed = false;
  int device = 0;
  std::set<CUdeviceptr> pointers{};
  std::optional<memory_mapping> mapping{};
  bool is_beside = false;  ///< whether it is included only because it is mapped next to memory that a pointer points to
};

/// The allocations that a launch uses, by address.
class reached_memory {
 public:
  /// Adds the allocation that the word points to. Returns false if there is none.
  bool add(CUdeviceptr word) {
    if (word < lowest_address || word >= end_of_addresses) {
      return false;
    }
    for (allocation& a : all_) {
      if (word >= a.base && word - a.base < a.bytes) {
        a.pointers.insert(word);
        return true;
      }
    }
    allocation a;
    if (all_.size() == most_allocations || !ask(word, a)) {
      return false;
    }
    a.pointers.insert(word);
    all_.push_back(std::move(a));
    return true;
  }

  /// Adds the memory that is mapped next to an allocation in the same reserved address range, because kernels compute the
  /// addresses of other devices' memory from the address of their own device's memory. If two allocations have the same size,
  /// the kernel is assumed to access the same offsets in both.
  void add_what_is_beside() {
    const std::size_t pointed_to = all_.size();
    for (std::size_t k = 0; k < pointed_to; ++k) {
      const std::optional<memory_mapping> own = all_[k].mapping;
      const std::set<CUdeviceptr> pointers = all_[k].pointers;
      for (const memory_mapping& m : own ? mapped_to(own->range) : std::vector<memory_mapping>()) {
        for (const CUdeviceptr p : pointers) {
          if (m.begin != own->begin && all_.size() < pointed_to + most_beside) {
            static_cast<void>(add(m.bytes == own->bytes ? m.begin + (p - own->begin) : m.begin));
          }
        }
      }
    }
    for (std::size_t k = pointed_to; k < all_.size(); ++k) {
      all_[k].is_beside = true;
    }
  }

  [[nodiscard]] const std::vector<allocation>& all() const noexcept { return all_; }

 private:
  static bool ask(CUdeviceptr word, allocation& a) {
    const auto attribute = [&](auto& to, CUpointer_attribute what) {
      return driver::cuPointerGetAttribute_(static_cast<void*>(&to), what, word) == CUDA_SUCCESS;
    };
    unsigned managed = 0;
    std::size_t bytes = 0;
    if (!attribute(a.kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)) {
      return false;
    }
    static_cast<void>(attribute(a.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
    if (attribute(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED)) {
      a.managed = managed != 0;
    }
    a.mapping = mapping_at(word);
    if (a.mapping) {
      a.base = a.mapping->begin;
      bytes = a.mapping->bytes;
    } else if (!attribute(a.base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) ||
               !attribute(bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE) || word < a.base || word - a.base >= bytes) {
      if (driver::cuMemGetAddressRange_(&a.base, &bytes, word) != CUDA_SUCCESS || word < a.base || word - a.base >= bytes) {
        return false;
      }
    }
    a.bytes = bytes;
    return true;
  }

  std::vector<allocation> all_;
};

/// A range of an allocation that is recorded as separate memory.
struct window {
  const allocation* of;
  CUdeviceptr begin;
  std::uint64_t bytes;
};

/// Returns the range of each allocation from its first pointer up to the size limit. Pointers beyond this range get their own
/// windows.
std::vector<window> windows_of(const std::vector<allocation>& all) {
  std::vector<window> out;
  for (const allocation& a : all) {
    CUdeviceptr covered = a.base;
    for (const CUdeviceptr p : a.pointers) {
      if (p < covered) {
        continue;
      }
      const bool small = a.bytes <= most_bytes_of_memory;
      const CUdeviceptr begin = small ? a.base : std::max(covered, p / page * page);
      const std::uint64_t bytes = std::min<std::uint64_t>(a.base + a.bytes - begin, most_bytes_of_memory);
      out.push_back({&a, begin, bytes});
      covered = begin + bytes;
    }
  }
  return out;
}

/// Returns the bytes of each argument.
std::vector<std::string> arguments_of(const kernel& k, void** parameters, void** extra) {
  std::vector<std::string> out;
  const char* buffer = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; parameters == nullptr && extra != nullptr && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = static_cast<const char*>(extra[i + 1]);
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      std::memcpy(&size, extra[i + 1], sizeof size);
    }
  }
  for (std::size_t i = 0; i < k.parameters.size(); ++i) {
    const kernel::parameter& p = k.parameters[i];
    if (parameters != nullptr) {
      out.emplace_back(static_cast<const char*>(parameters[i]), p.bytes);
    } else if (buffer != nullptr && p.offset + p.bytes <= size) {
      out.emplace_back(buffer + p.offset, p.bytes);
    } else {
      out.emplace_back(p.bytes, '\0');
    }
  }
  return out;
}

/// Calls `each` with every aligned pointer-sized word of an argument, because any of them may be a pointer.
template <class Do>
void for_each_word(const std::string& argument, const Do& each) {
  for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= argument.size(); at += sizeof(CUdeviceptr)) {
    CUdeviceptr word = 0;
    std::memcpy(&word, argument.data() + at, sizeof word);
    each(word);
  }
}

/// The properties of a launch that are determined by its attributes.
struct launch_attributes {
  unsigned cluster[3] = {0, 0, 0};
  bool cooperative = false;
  bool dependent = false;
  int domain = 0;  ///< the physical memory synchronization domain
};

launch_attributes attributes_of(const CUlaunchConfig& c, CUstream stream) {
  launch_attributes out;
  CUlaunchAttributeValue domain{};
  CUlaunchAttributeValue map{};
  map.memSyncDomainMap = {0, 1};
  static_cast<void>(driver::cuStreamGetAttribute_(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &domain));
  static_cast<void>(driver::cuStreamGetAttribute_(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &map));
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    const CUlaunchAttribute& a = c.attrs[i];
    switch (a.id) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        out.cluster[0] = a.value.clusterDim.x;
        out.cluster[1] = a.value.clusterDim.y;
        out.cluster[2] = a.value.clusterDim.z;
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        out.cooperative = a.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        out.dependent = a.value.programmaticStreamSerializationAllowed != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        domain = a.value;
        break;
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        map = a.value;
        break;
      default:
        break;
    }
  }
  out.domain =
      domain.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE ? map.memSyncDomainMap.remote : map.memSyncDomainMap.default_;
  return out;
}

/// The launches that have been recorded. Identical launches are recorded only once.
class recorded_launches {
 public:
  struct place {
    unsigned number = 0;  ///< the number of the launch, or of an identical earlier launch; 0 if the launch is not recorded
    bool is_new = false;
  };
  /// Returns the number of a launch in a stream, and forgets the stream's last launch until `keep_last` is called.
  place number_of(unsigned generation, const std::string& kernel, const std::string& key, CUstream stream) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_) {
      keys_.clear();
      counts_.clear();
      last_.clear();
      generation_ = generation;
    }
    last_.erase(stream);
    if (const auto known = keys_.find(key); known != keys_.end()) {
      return {known->second, false};
    }
    if (++counts_[kernel] <= most_launches_of_a_kernel) {
      const unsigned number = session::get().next_launch();
      keys_.emplace(key, number);
      return {number, true};
    }
    session::get().complain("'" + kernel + "' was launched in more than " + std::to_string(most_launches_of_a_kernel) +
                            " different ways, and only the first " + std::to_string(most_launches_of_a_kernel) +
                            " are recorded");
    return {};
  }
  /// Returns the number of the last launch in a stream. Returns 0 if that launch was not recorded or if other work has been
  /// enqueued since.
  unsigned last_of(unsigned generation, CUstream stream) {
    const std::lock_guard lock(mutex_);
    const auto last = last_.find(stream);
    return generation != generation_ || last == last_.end() ? 0 : last->second;
  }
  void keep_last(CUstream stream, unsigned number) {
    const std::lock_guard lock(mutex_);
    last_[stream] = number;
  }
  void forget_last(CUstream stream) {
    const std::lock_guard lock(mutex_);
    last_.erase(stream);
  }
  void forget_last() {
    const std::lock_guard lock(mutex_);
    last_.clear();
  }
  static recorded_launches& get() {
    static auto* const one = new recorded_launches;
    return *one;
  }

 private:
  std::mutex mutex_;
  unsigned generation_ = 0;
  std::map<std::string, unsigned> keys_;
  std::map<std::string, unsigned> counts_;
  std::map<CUstream, unsigned> last_;
};

/// Returns whether the current device can copy the memory. Mapped memory is only readable if the program has granted access.
bool is_readable(const window& w) {
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  unsigned long long flags = 0;
  return !w.of->mapping || (driver::cuCtxGetDevice_(&here.id) == CUDA_SUCCESS &&
                            driver::cuMemGetAccess_(&flags, &here, w.begin) == CUDA_SUCCESS && flags != 0);
}

/// Copies memory contents before a launch.
class memory_copier {
 public:
  memory_copier(unsigned number, CUstream stream, copied_memory* copied)
      : number_(number), stream_(stream), copied_(copied == nullptr ? &own_ : copied) {}

  /// Reserves space for these memory ranges, except for those that have already been copied. Returns false if there is not
  /// enough space.
  bool reserve(const std::vector<std::pair<CUdeviceptr, std::uint64_t>>& all) {
    std::uint64_t bytes = 0;
    std::size_t pieces = 0;
    for (const auto& piece : all) {
      const bool is_new = !copied_->contains(piece);
      bytes += is_new ? piece.second : 0;
      pieces += is_new ? 1 : 0;
    }
    bytes_ = bytes;
    has_room_ = pieces == 0 || into_.reserve(bytes, pieces);
    has_pieces_ = has_room_ && pieces != 0;
    return has_room_;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Returns the name of the file with the contents of a range for which space was reserved. Returns an empty string if the
  /// contents are not available.
  std::string file_of(CUdeviceptr from, std::uint64_t bytes) {
    if (const auto known = copied_->find({from, bytes}); known != copied_->end()) {
      return known->second;
    }
    const std::string file = std::to_string(number_) + "." + std::to_string(piece_++) + ".bin";
    if (!has_pieces_ || !into_.add(file, from, bytes, stream_)) {
      return "";
    }
    return (*copied_)[{from, bytes}] = file;
  }
  void finish() {
    if (has_pieces_) {
      into_.finish(stream_);
    }
  }

 private:
  launch_copies into_{};
  copied_memory own_{};
  unsigned number_;
  CUstream stream_;
  copied_memory* copied_;
  unsigned piece_ = 0;
  std::uint64_t bytes_ = 0;
  bool has_room_ = false;
  bool has_pieces_ = false;
};

/// Returns the memory to copy for a launch: the memory that its pointers lead to, the module's variables and, up to a size
/// limit, adjacent memory.
std::vector<std::pair<CUdeviceptr, std::uint64_t>> pieces_of(const kernel& k, const std::vector<window>& windows, bool beside) {
  std::vector<std::pair<CUdeviceptr, std::uint64_t>> out;
  std::uint64_t bytes = 0;
  for (const bool is_beside : {false, true}) {
    for (const window& w : windows) {
      const bool fits = !is_beside || (beside && bytes + w.bytes <= most_bytes_with_beside);
      if (w.of->is_beside == is_beside && fits && is_readable(w)) {
        out.emplace_back(w.begin, w.bytes);
        bytes += w.bytes;
      }
    }
  }
  for (const kernel::variable& v : k.variables) {
    out.emplace_back(v.address, std::min<std::uint64_t>(v.bytes, most_bytes_of_memory));
  }
  return out;
}

/// Copies the windows and the module's variables, and adds their descriptions to the record.
void record_memory(json& line, const kernel& k, const std::vector<window>& windows, unsigned number, bool copies,
                   CUstream stream, copied_memory* copied) {
  memory_copier copier(number, stream, copied);
  std::set<std::pair<CUdeviceptr, std::uint64_t>> pieces;
  for (const bool beside : {true, false}) {
    const auto wanted = pieces_of(k, windows, beside);
    if (copies && pieces.empty() && copier.reserve(wanted)) {
      pieces.insert(wanted.begin(), wanted.end());
    }
  }
  if (copies && pieces.empty() && copier.bytes() != 0) {
    session::get().complain("a launch of '" + k.name + "' uses " + std::to_string(copier.bytes()) +
                            " bytes of memory, which do not fit into the recorder's 128 MiB of pinned memory, so their "
                            "contents were not recorded: record a smaller launch");
  }
  const auto copy = [&](CUdeviceptr from, std::uint64_t count) {
    return pieces.contains({from, count}) ? copier.file_of(from, count) : std::string();
  };
  line["memory"] = json::array();
  for (const window& w : windows) {
    line["memory"].push_back({{"address", w.begin},
                              {"bytes", w.bytes},
                              {"allocation", {w.of->base, w.of->bytes}},
                              {"range", w.of->mapping ? w.of->mapping->range : 0},
                              {"kind", w.of->managed                      ? "managed"
                                       : w.of->kind == CU_MEMORYTYPE_HOST ? "host"
                                                                          : "device"},
                              {"device", w.of->device},
                              {"contents", copy(w.begin, w.bytes)}});
  }
  line["variables"] = json::array();
  for (const kernel::variable& v : k.variables) {
    const std::uint64_t count = std::min<std::uint64_t>(v.bytes, most_bytes_of_memory);
    line["variables"].push_back(
        {{"name", v.name}, {"address", v.address}, {"bytes", v.bytes}, {"contents", copy(v.address, count)}});
  }
  copier.finish();
}

json description_of(const CUlaunchConfig& c, const launch_attributes& a, const kernel& k, CUstream stream) {
  CUdevice device = 0;
  int processors = 0;
  int major = 0;
  int minor = 0;
  unsigned flags = 0;
  static_cast<void>(driver::cuCtxGetDevice_(&device));
  static_cast<void>(driver::cuDeviceGetAttribute_(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  static_cast<void>(driver::cuDeviceGetAttribute_(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  static_cast<void>(driver::cuDeviceGetAttribute_(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  static_cast<void>(driver::cuStreamGetFlags_(stream, &flags));
  return {{"kernel", k.name},
          {"ptx", k.ptx},
          {"ptx_choices", k.ptx_choices},
          {"grid", {c.gridDimX, c.gridDimY, c.gridDimZ}},
          {"block", {c.blockDimX, c.blockDimY, c.blockDimZ}},
          {"cluster", {a.cluster[0], a.cluster[1], a.cluster[2]}},
          {"shared", c.sharedMemBytes},
          {"cooperative", a.cooperative},
          {"dependent", a.dependent},
          {"domain", a.domain},
          {"device", device},
          {"stream", reinterpret_cast<std::uintptr_t>(stream)},
          {"blocking", (flags & CU_STREAM_NON_BLOCKING) == 0},
          {"registers", k.registers},
          {"static_shared", k.static_shared},
          {"multiprocessors", processors},
          {"architecture", 10 * major + minor}};
}

unsigned record(const CUlaunchConfig& c, const kernel& k, void** parameters, void** extra, CUstream stream,
                const launch_origin& from) {
  session& s = session::get();
  const unsigned generation = s.generation();
  const std::vector<std::string> arguments = arguments_of(k, parameters, extra);
  const launch_attributes attributes = attributes_of(c, stream);
  json line = description_of(c, attributes, k, stream);
  reached_memory reached;
  const bool of_dependents = (s.asked().flags & flag_dependents) != 0;
  if (of_dependents) {
    line["follows"] = recorded_launches::get().last_of(generation, stream);
  }
  std::string key = line.dump() + std::to_string(from.node);
  for (const std::string& argument : arguments) {
    for_each_word(argument, [&](CUdeviceptr word) {
      if (reached.add(word)) {
        key += " " + std::to_string(word);
      }
    });
    for_each_tensor_map(argument, [&](std::string_view map, CUdeviceptr address) {
      static_cast<void>(reached.add(address));
      key += " map " + hex_of(map);
    });
    line["arguments"].push_back(hex_of(argument));
  }
  const auto [number, is_new] = recorded_launches::get().number_of(generation, k.name, key, stream);
  if (!is_new) {
    recorded_launches::get().keep_last(stream, number);
    return 0;
  }
  std::vector<CUdeviceptr> tables;
  for (const allocation& a : reached.all()) {
    if (a.kind == CU_MEMORYTYPE_DEVICE) {
      tables.insert(tables.end(), a.pointers.begin(), a.pointers.end());
    }
  }
  for (const CUdeviceptr table : tables) {
    const auto words = intercept::words_at(table / sizeof(CUdeviceptr) * sizeof(CUdeviceptr));
    for (const CUdeviceptr word : words) {
      static_cast<void>(reached.add(word));
    }
    for_each_tensor_map({reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]},
                        [&](std::string_view, CUdeviceptr address) { static_cast<void>(reached.add(address)); });
  }
  reached.add_what_is_beside();
  line["launch"] = number;
  if (from.graph_launch != 0) {
    line["graph"] = {{"launch", from.graph_launch}, {"node", from.node}, {"after", from.after}};
  }
  // If a copy precedes a programmatic dependent launch, the copy waits for the preceding kernel to end. The two kernels then no
  // longer overlap.
  const bool copies = (s.asked().flags & flag_no_contents) == 0;
  quietly([&] { record_memory(line, k, windows_of(reached.all()), number, copies, stream, from.copied); });
  // Recordings of several processes are merged by this time, which is taken after the copies were requested. The process that
  // was the first to request its copies comes first, because its copies show the memory before both launches.
  line["time"] = session::time();
  s.write(line.dump(-1, ' ', true, json::error_handler_t::replace));
  recorded_launches::get().keep_last(stream, number);  // the copies have been requested before this point
  return number;
}

}  // namespace

passing_kernels& passing_kernels::make() {
  if (mine_ == nullptr) {
    mine_ = new passing_kernels;
    struct owner {
      ~owner() {
        delete mine_;
        mine_ = nullptr;
      }
    };
    static thread_local const owner ends;
    static_cast<void>(ends);
  }
  return *mine_;
}

bool is_captured(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver::cuStreamIsCapturing_(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

namespace {

void complain_about_captured(const CUlaunchConfig& config) {
  const bool is_dependent = std::any_of(config.attrs, config.attrs + config.numAttrs, [](const CUlaunchAttribute& a) {
    return a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION && a.value.programmaticStreamSerializationAllowed != 0;
  });
  if (is_dependent && (session::get().asked().flags & flag_dependents) != 0) {
    session::get().complain(
        "programmatic dependent launches were captured into a graph, and --pdl does not examine graphs: run the program "
        "without graphs");
  }
}

}  // namespace

unsigned record_launch(const CUlaunchConfig& config, CUfunction handle, void** parameters, void** extra, CUstream stream,
                       const launch_origin& from) noexcept {
  unsigned number = 0;
  quietly([&] {
    session& s = session::get();
    const unsigned generation = s.generation();
    if (s.on() && is_captured(stream)) {  // calls that a capture does not allow would invalidate the program's capture
      complain_about_captured(config);
      return;
    }
    const membar::intercept::relaxed_capture relaxed;  // another thread may be capturing a stream
    const kernel* const k = s.on() ? kernel_of(handle) : nullptr;
    if (k == nullptr || !k->selected) {
      if (!s.strips()) {
        passing_kernels::make().place_of(handle) = {handle, generation};
      }
      return;
    }
    number = record(config, *k, parameters, extra, stream, from);
  });
  return number;
}

void forget_predecessor(CUstream stream) noexcept {
  quietly([&] { recorded_launches::get().forget_last(stream); });
}

void forget_predecessors() noexcept {
  quietly([] { recorded_launches::get().forget_last(); });
}

stripped_launch::stripped_launch(const CUlaunchConfig& of) : config(of) {
  for (unsigned i = 0; i < of.numAttrs; ++i) {
    const CUlaunchAttribute& a = of.attrs[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
      events.push_back(a.value.programmaticEvent.event);
    } else if (a.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      attributes.push_back(a);
    }
  }
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
}

}  // namespace membar_record
