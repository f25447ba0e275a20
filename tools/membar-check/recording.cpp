// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <common/version.hpp>
#include <membar-check/recorded_job.hpp>
#include <membar-check/recording.hpp>
#include <membar-check/scenario_file.hpp>
#include <membar-check/shrink.hpp>

#include <check/launch.hpp>
#include <check/named_memory.hpp>
#include <membar/model/error.hpp>
#include <ptx/reader.hpp>
#include <ptx/tensor_map.hpp>
#include <ptx/text.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace membar_check {

namespace {

namespace fs = std::filesystem;
using membar::model::error;
using membar_tools::read_file;
using membar_tools::write_file;
using u64 = std::uint64_t;

[[nodiscard]] bool overlap(const recorded_memory& a, const recorded_memory& b) noexcept {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

[[nodiscard]] bool share_memory(const recorded_launch& a, const recorded_launch& b) {
  const bool same_variables = !a.variables.empty() && a.ptx == b.ptx && a.device == b.device;
  return same_variables || std::any_of(a.memory.begin(), a.memory.end(), [&](const recorded_memory& m) {
           return std::any_of(b.memory.begin(), b.memory.end(), [&](const recorded_memory& n) { return overlap(m, n); });
         });
}

/// The maximum number of launches in a group.
constexpr std::size_t most_of_a_group = 8;

/// Groups launches into scenarios. Launches belong together if they run concurrently and share memory, or if one is a
/// programmatic dependent of the other and their code is in the same module.
class launch_groups {
 public:
  explicit launch_groups(std::vector<recorded_launch>& all) : all_(all) {
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      at(i).group = i;
      members_[i] = {i};
    }
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      for (int j = i - 1; j >= 0; --j) {
        if (j == at(i).depends_on || (at(i).before.count(j) == 0 && share_memory(at(i), at(j)))) {
          join(j, i);
        }
      }
    }
    join_between();
  }

  [[nodiscard]] std::vector<std::vector<int>> groups() const {
    std::vector<std::vector<int>> out;
    for (const auto& [first, members] : members_) {
      out.push_back(members);
    }
    return out;
  }

 private:
  [[nodiscard]] recorded_launch& at(int i) { return all_[static_cast<std::size_t>(i)]; }

  void join(int i, int j) {
    const int keep = std::min(at(i).group, at(j).group);
    const int drop = std::max(at(i).group, at(j).group);
    // Without PTX, two launches count as having the same module only if they have the same kernel.
    const bool one_module = at(i).ptx == at(j).ptx && (!at(i).ptx.empty() || at(i).kernel == at(j).kernel);
    if (keep == drop || !one_module || members_[keep].size() + members_[drop].size() > most_of_a_group) {
      return;
    }
    std::vector<int>& members = members_[keep];
    for (const int k : members_[drop]) {
      at(k).group = keep;
      members.push_back(k);
    }
    std::sort(members.begin(), members.end());
    members_.erase(drop);
  }

  /// Adds launches that run between two launches in a group and share memory with them, because these launches change the
  /// memory contents that the second launch sees.
  void join_between() {
    for (int k = 0; k < static_cast<int>(all_.size()); ++k) {
      for (int j = k + 1; j < static_cast<int>(all_.size()); ++j) {
        const std::vector<int> members = members_[at(j).group];
        const bool follows = at(j).before.count(k) != 0 && share_memory(at(j), at(k));
        if (follows && std::any_of(members.begin(), members.end(),
                                   [&](int i) { return at(k).before.count(i) != 0 && share_memory(at(k), at(i)); })) {
          join(k, j);
        }
      }
    }
  }

  std::vector<recorded_launch>& all_;
  std::map<int, std::vector<int>> members_{};  ///< the members of each group, indexed by the group's first launch
};

/// Returns a kernel's name in the form that is used in file names.
std::string short_name(const std::string& mangled) {
  std::string name = membar::check::source_name(mangled);
  constexpr std::string_view unnamed = "(anonymousnamespace)::";  // source names have no spaces
  for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed)) {
    name.erase(at, unnamed.size());
  }
  name = name.substr(0, name.find_first_of("<("));
  if (const std::size_t last = name.rfind("::"); last != std::string::npos) {
    name = name.substr(last + 2);
  }
  constexpr std::size_t most = 60;
  std::string out;
  for (const char c : name.substr(0, most)) {
    out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  }
  return out.empty() ? "kernel" : out;
}

u64 blocks_of(const std::array<unsigned, 3>& grid) { return u64{grid[0]} * grid[1] * grid[2]; }

std::string hex(u64 value) {
  std::ostringstream out;
  out << "0x" << std::hex << value;
  return out.str();
}

/// Replaces words that may be floats with zeros. Returns the elements that become unknown, for example " unknown 0-7 16-23". If
/// a word in a group of 32 bytes has the bit pattern of a normal float, all elements of the group except pointers become
/// unknown, because the words next to a float usually contain other floats, parts of floats, or half of a double.
std::string unknown_floats(std::string& contents, u64 bytes, std::size_t element, const std::vector<std::size_t>& pointers) {
  constexpr std::size_t stretch = 32;
  constexpr std::int32_t first_normal = 0x00800000;
  std::vector<std::pair<u64, u64>> ranges;  // ranges of bytes
  const auto is_pointer = [&](std::size_t at) {
    const auto behind = std::upper_bound(pointers.begin(), pointers.end(), at);
    return behind != pointers.begin() && at - *std::prev(behind) < 8;
  };
  for (std::size_t begin = 0; begin < contents.size(); begin += stretch) {
    bool floats = false;
    for (std::size_t at = begin; at < begin + stretch && !floats; at += 4) {
      const auto word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word_at(contents, at, 4)));
      floats = !is_pointer(at) && (word >= first_normal || word < -first_normal);
    }
    for (u64 at = begin; at < std::min<u64>(begin + stretch, bytes) && floats; at += element) {
      if (!is_pointer(at)) {
        if (at < contents.size()) {
          contents.replace(at, std::min<std::size_t>(element, contents.size() - at),
                           std::min<std::size_t>(element, contents.size() - at), '\0');
        }
        if (ranges.empty() || ranges.back().second != at) {
          ranges.emplace_back(at, at);
        }
        ranges.back().second = at + element;
      }
    }
  }
  std::string out = ranges.empty() ? "" : " unknown";
  for (const auto& [begin, end] : ranges) {
    out += " " + std::to_string(begin / element) + (end - begin == element ? "" : "-" + std::to_string(end / element - 1));
  }
  return out;
}

/// The names that scenarios use for the values of `CUtensorMapDataType`, indexed by number. The last three are not modeled; a
/// scenario that uses them is rejected with an error message.
constexpr std::array<const char*, 16> driver_types = {
    "u8",  "u16",  "u32",     "s32",  "u64",      "s64",         "f16",          "f32",
    "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz", "16u4_align8", "16u4_align16", "16u6_align16"};

std::string type_name(const recorded_tensor_map& m) {
  return m.type < driver_types.size() ? driver_types[m.type] : "type" + std::to_string(m.type);
}

/// Returns the map in the checker's form, or nothing if the checker does not model such maps.
std::optional<membar::ptx::tensor_map> modelled(const recorded_tensor_map& m, u64 address) {
  using namespace membar::ptx;
  const auto* const type = std::find_if(std::begin(tensor_types), std::end(tensor_types),
                                        [&](const tensor_type& t) { return t.word == type_name(m); });
  const std::size_t rank = m.extents.size();
  const bool whole =
      rank >= 1 && rank <= most_dimensions && m.strides.size() + 1 == rank && m.box.size() == rank && m.steps.size() == rank;
  if (!m.mode.empty() || type == std::end(tensor_types) || m.interleave != 0 || m.swizzle > 3 || !whole) {
    return std::nullopt;
  }
  tensor_map out;
  out.address = address;
  out.rank = static_cast<int>(rank);
  out.type = static_cast<std::uint8_t>(type - std::begin(tensor_types));
  out.swizzle = static_cast<std::uint8_t>(m.swizzle);
  out.fill = static_cast<std::uint8_t>(m.fill);
  for (std::size_t d = 0; d < rank; ++d) {
    out.extents[d] = static_cast<std::uint32_t>(m.extents[d]);
    out.box[d] = static_cast<std::uint32_t>(m.box[d]);
    out.steps[d] = static_cast<std::uint32_t>(m.steps[d]);
    out.strides[d] = d == 0 ? type->bytes : m.strides[d - 1];
  }
  return out;
}

/// Returns the text of a scenario's `tensor_map` line for the map. The scenario reader rejects maps that are not modeled and
/// reports why.
std::string form_of(const recorded_tensor_map& m) {
  if (!m.mode.empty()) {
    return " " + m.mode;
  }
  const auto numbers = [](const char* name, const std::vector<u64>& all) {
    std::string out = all.empty() ? "" : std::string(" ") + name;
    for (const u64 n : all) {
      out += " " + std::to_string(n);
    }
    return out;
  };
  constexpr std::array<const char*, 7> swizzles = {"none",       "32", "64", "128", "128_atom_32", "128_atom_32_flip_8",
                                                   "128_atom_64"};
  const bool steps = std::any_of(m.steps.begin(), m.steps.end(), [](u64 n) { return n != 1; });
  return " type " + type_name(m) + numbers("dims", m.extents) + numbers("strides", m.strides) + numbers("box", m.box) +
         (steps ? numbers("element_strides", m.steps) : "") +
         (m.swizzle == 0 ? "" : std::string(" swizzle ") + (m.swizzle < swizzles.size() ? swizzles[m.swizzle] : "other")) +
         (m.interleave == 0 ? "" : " interleave " + std::to_string(16 * m.interleave)) + (m.fill == 0 ? "" : " fill nan");
}

/// Memory that a scenario's launches can access. It has a name, and an address that does not depend on the machine.
struct scenario_memory {
  recorded_memory of;
  std::string name{};
  u64 at = 0;
  bool is_elsewhere = false;  ///< whether another process maps this memory at a different offset in its reserved address range
  bool is_partial = false;    ///< whether a part of the memory was not copied, and is zero in the scenario
};

/// Writes one scenario.
class scenario_writer {
 public:
  scenario_writer(const std::vector<recorded_launch>& all, const std::vector<int>& group, const recording_options& how)
      : all_(all), how_(how) {
    for (const int i : group) {
      launches_.push_back(&all[static_cast<std::size_t>(i)]);
      grids_.push_back(launches_.back()->grid);
      indices_.push_back(i);
    }
    several_devices_ =
        std::any_of(launches_.begin(), launches_.end(), [&](const auto* l) { return l->device != launches_[0]->device; });
    gather_memory();
    name_memory();
    place_memory();
  }

  /// Replaces the recorded grids of the launches and adds a note about this to the scenario.
  void set_grids(const std::vector<std::array<std::uint32_t, 3>>& grids) { grids_ = grids; }

  /// Returns the text of the scenario. `name` is the name of the scenario's file, `ptx` is the PTX text, and `source` is the
  /// name of the PTX file, or empty.
  [[nodiscard]] std::string text(const fs::path& folder, const std::string& name, const std::string& source,
                                 const std::string& ptx, bool& has_contents) {
    has_contents_ = &has_contents;
    maps_.clear();
    std::string out = "scenario 1\n" + header(ptx);
    out += source.empty() ? "# no PTX was found: membar-check attach " + name + ".scenario --source FILE.cu\n"
                          : "source " + source + "\n";
    read_layout(ptx);
    for (scenario_memory& m : memory_) {
      out += memory_line(folder, name, m);
    }
    std::set<std::pair<std::string, int>> known;
    for (const recorded_launch* l : launches_) {
      for (const recorded_variable& v : l->variables) {
        if (known.insert({v.name, several_devices_ ? l->device : 0}).second) {
          out += is_used(v.name) ? variable_line(folder, name, v, *l) : "";
        }
      }
    }
    std::string launches;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      launches += launch_line(i);
    }
    for (const auto& [form, map] : maps_) {
      out += "tensor_map " + map + form + "\n";
    }
    return out + launches;
  }

 private:
  void gather_memory() {
    for (const recorded_launch* l : launches_) {
      for (const recorded_memory& m : l->memory) {
        const auto same =
            std::find_if(memory_.begin(), memory_.end(), [&](const scenario_memory& s) { return overlap(s.of, m); });
        if (same == memory_.end()) {
          memory_.push_back({m});
        } else {
          merge(*same, m);
          merge_with_later(same);
        }
      }
    }
  }

  /// Merges memory that has grown with the memory that it now overlaps.
  void merge_with_later(std::vector<scenario_memory>::iterator larger) {
    for (auto other = larger + 1; other != memory_.end();) {
      if (overlap(larger->of, other->of)) {
        merge(*larger, other->of);
        other = memory_.erase(other);
        other = larger + 1;
      } else {
        ++other;
      }
    }
  }

  /// Merges a later window of the same allocation, which may start earlier or extend further. The result has the contents that
  /// were recorded first, before all launches.
  void merge(scenario_memory& into, const recorded_memory& m) {
    recorded_memory& of = into.of;
    const u64 begin = std::min(of.address, m.address);
    const u64 end = std::max(of.address + of.bytes, m.address + m.bytes);
    std::string contents(of.copied || m.copied ? end - begin : 0, '\0');
    for (const recorded_memory* const from : {&m, static_cast<const recorded_memory*>(&of)}) {
      if (from->copied) {
        const u64 known = std::min<u64>(from->contents.size(), from->bytes);
        contents.replace(from->address - begin, known, from->contents, 0, known);
      }
    }
    const auto is_whole = [&](const recorded_memory& x) { return x.copied && x.bytes == end - begin; };
    into.is_partial = into.is_partial || !(is_whole(of) || is_whole(m) || of.copied == m.copied);
    of.space = of.copied ? of.space : m.space;
    of.copied = of.copied || m.copied;
    of.contents = std::move(contents);
    of.address = begin;
    of.bytes = end - begin;
    into.is_elsewhere = into.is_elsewhere || (of.range != 0 && m.range != 0 && of.range != m.range);
    of.range = of.range == 0 ? m.range : of.range;
  }

  [[nodiscard]] scenario_memory* holder_of(u64 address) {
    const auto at = std::find_if(memory_.begin(), memory_.end(), [&](const scenario_memory& m) {
      return address >= m.of.address && address - m.of.address < m.of.bytes;
    });
    return at == memory_.end() ? nullptr : &*at;
  }

  void give_name(scenario_memory& m, const std::string& wanted) {
    std::string name = wanted;
    const auto taken = [&] {
      return std::any_of(memory_.begin(), memory_.end(), [&](const scenario_memory& o) { return o.name == name; });
    };
    for (int k = 2; taken(); ++k) {
      name = wanted + "_" + std::to_string(k);
    }
    m.name = name;
    named_.push_back(static_cast<std::size_t>(&m - memory_.data()));
  }

  /// Names memory after the arguments that point to it, and then after the pointers in the memory that the arguments point to.
  void name_memory() {
    for (const recorded_launch* l : launches_) {
      for (std::size_t a = 0; a < l->arguments.size(); ++a) {
        for (std::size_t at = 0; at + 8 <= l->arguments[a].size(); at += 8) {
          const recorded_tensor_map* const map = l->space->map_at(l->arguments[a], at);
          scenario_memory* const m = holder_of(l->space->in_job(map != nullptr ? map->address : word_at(l->arguments[a], at)));
          if (m != nullptr && m->name.empty()) {
            give_name(*m, "arg" + std::to_string(a) + (at == 0 ? "" : "_" + std::to_string(at)));
          }
          at += map != nullptr ? recorded_map_bytes - 8 : 0;
        }
      }
      for (const recorded_variable& v : l->variables) {
        follow(v.contents, 0, v.name, *l->space);
      }
    }
    for (std::size_t k = 0; k < named_.size(); ++k) {
      const std::string name = memory_[named_[k]].name;
      const std::string contents = memory_[named_[k]].of.contents;
      const shared_space space = memory_[named_[k]].of.space;
      follow(contents, memory_[named_[k]].of.address % 8, name, *space);
    }
    for (std::size_t k = 0; k < named_.size(); ++k) {
      for (scenario_memory& m : memory_) {
        if (m.name.empty() && m.of.range != 0 && m.of.range == memory_[named_[k]].of.range) {
          give_name(m, "beside_" + memory_[named_[k]].name);
        }
      }
    }
    // The memory is sorted in the order in which the names were found. Memory that no pointer leads to is omitted.
    std::vector<scenario_memory> kept;
    for (const std::size_t k : named_) {
      kept.push_back(std::move(memory_[k]));
    }
    memory_ = std::move(kept);
  }
  void follow(const std::string& contents, std::size_t first, const std::string& name, const address_space& space) {
    for (std::size_t at = first == 0 ? 0 : 8 - first; at + 8 <= contents.size() + 7 && at < contents.size(); at += 8) {
      const recorded_tensor_map* const map = space.map_at(contents, at);
      scenario_memory* const m = holder_of(space.in_job(map != nullptr ? map->address : word_at(contents, at)));
      if (m != nullptr && m->name.empty()) {
        give_name(*m, name + "_at_" + std::to_string(at));
      }
      at += map != nullptr ? recorded_map_bytes - 8 : 0;
    }
  }

  void place_memory() {
    constexpr u64 first = u64{1} << 36U;
    constexpr u64 page = 4096;
    u64 next = first;
    for (const scenario_memory& first_of_range : memory_) {
      if (first_of_range.at != 0) {
        continue;
      }
      // Memory objects in the same address range keep their relative offsets, because kernels compute addresses from these
      // offsets.
      std::vector<scenario_memory*> placed;
      u64 lowest = first_of_range.of.address;
      u64 end = 0;
      for (scenario_memory& m : memory_) {
        if (&m == &first_of_range || (m.of.range != 0 && m.of.range == first_of_range.of.range)) {
          placed.push_back(&m);
          lowest = std::min(lowest, m.of.address);
          end = std::max(end, m.of.address + m.of.bytes);
        }
      }
      for (scenario_memory* m : placed) {
        m->at = next + (m->of.address / 256 - lowest / 256) * 256;
      }
      next = (next + (end - lowest) + 2 * page) / page * page;
    }
  }

  /// Returns a note about memory whose relative offsets a scenario cannot keep.
  [[nodiscard]] std::string elsewhere_note() const {
    std::string names;
    for (const scenario_memory& m : memory_) {
      const bool has_neighbours = std::count_if(memory_.begin(), memory_.end(), [&](const scenario_memory& o) {
                                    return o.of.range != 0 && o.of.range == m.of.range;
                                  }) > 1;
      names += m.is_elsewhere && has_neighbours ? (names.empty() ? "" : ", ") + m.name : "";
    }
    return names.empty() ? ""
                         : "note memory that is contiguous in one process is laid out differently in another process, which a "
                           "scenario cannot express: " +
                               names + "\n";
  }

  /// Determines from the PTX where the scenario places the module's variables.
  void read_layout(const std::string& ptx) {
    const bool any = std::any_of(launches_.begin(), launches_.end(), [](const auto* l) { return !l->variables.empty(); });
    if (any && !ptx.empty()) {
      parts_ = membar::ptx::parts_of(ptx);
      try {
        module_ = membar::ptx::read_ptx(ptx);
        layout_ = membar::ptx::layout_of(*module_);
      } catch (const std::exception&) {
        module_.reset();  // the check of the scenario will report the reason
      }
    }
  }

  /// Returns the scenario's address for a pointer, or nothing if the word is not a pointer.
  [[nodiscard]] std::optional<u64> moved(u64 word, const address_space& space) {
    const u64 address = space.in_job(word);
    if (address == 0) {
      return std::nullopt;
    }
    if (const scenario_memory* const m = holder_of(address); m != nullptr) {
      return m->at + (address - m->of.address) + m->of.address % 256;
    }
    for (const recorded_launch* l : launches_) {
      for (const recorded_variable& v : l->variables) {
        if (module_ && address >= v.address && address - v.address < v.bytes && layout_.globals.count(v.name) != 0) {
          return layout_.globals.at(v.name) + (address - v.address);
        }
      }
    }
    return std::nullopt;
  }

  static void put_word(std::string& contents, std::size_t at, u64 word) {
    contents.resize(std::max(contents.size(), at + 8));
    for (unsigned b = 0; b < 8; ++b) {
      contents[at + b] = static_cast<char>(word >> (8 * b));
    }
  }

  /// Returns the name of the scenario's line for a tensor map. Maps with the same text share a line.
  std::string map_named(const recorded_tensor_map& m, const address_space& space, const std::string& wanted) {
    const u64 address = space.in_job(m.address);
    const scenario_memory* const memory = holder_of(address);
    const u64 offset = memory == nullptr ? 0 : address - memory->of.address + memory->of.address % 256;
    const std::string form = " of " + (memory == nullptr ? "memory_that_was_not_recorded" : memory->name) +
                             (offset == 0 ? "" : "+" + std::to_string(offset)) + form_of(m);
    std::string name = wanted;
    for (int k = 2; std::any_of(maps_.begin(), maps_.end(), [&](const auto& o) { return o.second == name && o.first != form; });
         ++k) {
      name = wanted + "_" + std::to_string(k);
    }
    for (const auto& [known, of_known] : maps_) {
      if (known == form) {
        return of_known;
      }
    }
    maps_.emplace_back(form, name);
    return name;
  }

  /// Returns whether the scenario contains the whole tensor, which begins at an address of the job.
  [[nodiscard]] bool is_recorded(const membar::ptx::tensor_map& map, u64 address) {
    u64 bytes = map.strides[0];
    for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
      bytes += (map.extents[d] - 1) * map.strides[d];
    }
    const scenario_memory* const m = holder_of(address);
    return m != nullptr && m->of.bytes - (address - m->of.address) >= bytes;
  }

  /// Replaces a tensor map in memory contents with the checker's encoding, and adds a line for it to the scenario if necessary.
  void put_map(std::string& contents, std::size_t at, const recorded_tensor_map& m, const address_space& space,
               std::vector<std::size_t>& pointers) {
    const auto map = modelled(m, moved(m.address, space).value_or(0));
    membar::ptx::tensor_map::words words{};
    if (map && is_recorded(*map, space.in_job(m.address))) {
      words = map->encoded();
    } else {
      static_cast<void>(map_named(m, space, "map_in_memory"));
    }
    for (const u64 w : words) {
      put_word(contents, at, w);
      pointers.push_back(at);
      at += 8;
    }
  }

  /// Replaces the pointers and tensor maps in memory contents with the scenario's pointers and tensor maps. Returns their
  /// positions.
  std::vector<std::size_t> move_pointers(std::string& contents, std::size_t first, const address_space& space) {
    std::vector<std::size_t> pointers;
    for (std::size_t at = first == 0 ? 0 : 8 - first; at < contents.size(); at += 8) {
      if (const recorded_tensor_map* const map = space.map_at(contents, at)) {
        put_map(contents, at, *map, space, pointers);
        at += recorded_map_bytes - 8;
      } else if (const auto to = moved(word_at(contents, at), space)) {
        put_word(contents, at, *to);
        pointers.push_back(at);
      }
    }
    return pointers;
  }

  /// Returns the initial contents as " = ..." or " from FILE", followed by the unknown elements.
  std::string initial(const fs::path& folder, const std::string& name, const std::string& of, std::string contents, u64 bytes,
                      std::size_t element, const std::vector<std::size_t>& pointers) {
    const std::string unknown = how_.unknown_floats ? unknown_floats(contents, bytes, element, pointers) : "";
    return known_values(folder, name, of, std::move(contents), bytes, element) + unknown;
  }

  std::string known_values(const fs::path& folder, const std::string& name, const std::string& of, std::string contents,
                           u64 bytes, std::size_t element) {
    while (!contents.empty() && contents.back() == 0) {
      contents.pop_back();
    }
    contents.resize((contents.size() + element - 1) / element * element);
    contents.resize(std::min<u64>(contents.size(), bytes / element * element));
    if (contents.empty()) {
      return "";
    }
    *has_contents_ = true;
    constexpr std::size_t most = 16;
    if (contents.size() / element <= most) {
      std::string out = " =";
      for (std::size_t at = 0; at < contents.size(); at += element) {
        const u64 value = word_at(contents, at, element);
        out += " " + (value < 1000000 ? std::to_string(value) : hex(value));
      }
      return out;
    }
    write_file((folder / (name + "." + of + ".bin")).string(), contents);
    return " from " + name + "." + of + ".bin";
  }

  [[nodiscard]] static std::string type_of(u64 bytes, std::size_t& element) {
    element = bytes % 4 == 0 ? 4 : 1;
    return (element == 4 ? "u32[" : "u8[") + std::to_string(bytes / element) + "]";
  }

  std::string memory_line(const fs::path& folder, const std::string& name, scenario_memory& m) {
    std::size_t element = 0;
    const u64 before = m.of.address % 256;  // addresses in the scenario are multiples of 256
    std::string contents = m.of.contents;
    std::vector<std::size_t> pointers = move_pointers(contents, m.of.address % 8, *m.of.space);
    contents.insert(0, before, '\0');
    for (std::size_t& at : pointers) {
      at += before;
    }
    std::string out = "memory " + m.name + " " + type_of(before + m.of.bytes, element) + " at " + hex(m.at);
    out += initial(folder, name, m.name, contents, before + m.of.bytes, element, pointers);
    out += m.of.kind == "host" ? " host" : several_devices_ ? " device " + std::to_string(m.of.device) : "";
    return out +
           (!m.of.copied   ? "   # its contents were not copied"
            : m.is_partial ? "   # a part of its contents was not copied"
                           : "") +
           "\n";
  }

  /// Returns whether a kernel or function refers to this variable.
  [[nodiscard]] bool is_used(const std::string& name) const {
    return std::any_of(parts_.begin(), parts_.end(), [&](const membar::ptx::ptx_part& p) {
      return p.kind != membar::ptx::ptx_part::kind_t::variable && p.text.find(name) != std::string_view::npos;
    });
  }

  /// Returns the line for a variable. Only variables whose contents differ from their initial values in the module get a line.
  std::string variable_line(const fs::path& folder, const std::string& name, const recorded_variable& v,
                            const recorded_launch& l) {
    if (!module_ || !v.copied) {
      return "";
    }
    const auto of =
        std::find_if(module_->variables.begin(), module_->variables.end(), [&](const auto& o) { return o.name == v.name; });
    if (of == module_->variables.end() || of->bytes != v.bytes || !of->addresses.empty()) {
      return "";
    }
    std::string contents = v.contents;
    const std::vector<std::size_t> pointers = move_pointers(contents, 0, *l.space);
    std::string begins(of->initial.begin(), of->initial.end());
    begins.resize(v.bytes);
    contents.resize(v.bytes);
    if (contents == begins && pointers.empty()) {
      return "";
    }
    std::size_t element = 0;
    const std::string type = type_of(v.bytes, element);
    const std::string values = initial(folder, name, v.name + (l.device == 0 ? "" : "." + std::to_string(l.device)), contents,
                                       v.bytes, element, pointers);
    // the contents start with zeros instead of the module's initial values
    const bool begins_anew = values.empty() || values.starts_with(" unknown");
    return "memory " + v.name + " " + type + (begins_anew ? " = 0" : "") + values +
           (several_devices_ ? " device " + std::to_string(l.device) : "") + "\n";
  }

  [[nodiscard]] std::string argument(std::size_t number, const std::string& bytes, const address_space& space) {
    const auto word = [&](std::size_t at) {
      const std::size_t count = std::min<std::size_t>(8, bytes.size() - at);
      const u64 value = word_at(bytes, at, count);
      const u64 address = count == 8 ? space.in_job(value) : 0;
      if (const scenario_memory* const m = holder_of(address); m != nullptr) {
        const u64 offset = address - m->of.address + m->of.address % 256;
        return m->name + (offset == 0 ? "" : "+" + std::to_string(offset));
      }
      const auto variable = count == 8 ? moved(value, space) : std::nullopt;
      const u64 shown = variable.value_or(value);
      return shown < 1000000 ? std::to_string(shown) : hex(shown);
    };
    if (bytes.size() <= 8) {
      return word(0);
    }
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const recorded_tensor_map* const map = at + recorded_map_bytes <= bytes.size() ? space.map_at(bytes, at) : nullptr;
      const std::string place = at == 0 ? "" : "_" + std::to_string(at);
      out += (at == 0 ? "" : " ") +
             (map != nullptr ? map_named(*map, space, "arg" + std::to_string(number) + place + "_map") : word(at));
      at += map != nullptr ? recorded_map_bytes - 8 : 0;
    }
    const bool is_map = bytes.size() == recorded_map_bytes && out.find(' ') == std::string::npos;
    return is_map ? out : "{" + out + "}";
  }

  /// Returns the scenario's number for a stream. Streams are numbered in the order of their first use. Each node of a graph has
  /// its own stream.
  [[nodiscard]] std::string stream_of(const recorded_launch& l) {
    const std::string key =
        std::to_string(l.process) +
        (l.graph_launch != 0 ? " graph " + std::to_string(l.number)
                             : " " + std::to_string(l.stream) + (l.stream <= 2 ? " " + std::to_string(l.device) : ""));
    return "s" + std::to_string(streams_.emplace(key, streams_.size() + 1).first->second);
  }

  /// Returns the part of the line that orders a launch after other launches in the scenario.
  std::string order_of(std::size_t i, std::string& comment) {
    const recorded_launch& l = *launches_[i];
    if (launches_.size() == 1) {
      return "";
    }
    const std::string mine = stream_of(l);
    std::string out = " stream " + mine;
    std::map<std::string, std::vector<std::size_t>> by_stream;
    for (std::size_t j = 0; j < i; ++j) {
      by_stream[stream_of(*launches_[j])].push_back(j);
    }
    for (const auto& [stream, launches] : by_stream) {
      const auto ended = [&](std::size_t j) { return l.before.count(indices_[j]) != 0; };
      if (stream == mine || std::none_of(launches.begin(), launches.end(), ended)) {
        continue;
      }
      if (std::all_of(launches.begin(), launches.end(), ended)) {
        out += " after " + stream;
      } else {
        comment = "   # it also follows some launches of " + stream + ", which this format cannot express";
      }
    }
    return out + (l.depends_on >= 0 ? " dependent" : "");
  }

  [[nodiscard]] static std::string shape(const std::array<unsigned, 3>& s) {
    std::string out = " " + std::to_string(s[0]);
    out += s[1] == 1 && s[2] == 1 ? "" : " " + std::to_string(s[1]);
    return out + (s[2] == 1 ? "" : " " + std::to_string(s[2]));
  }

  std::string launch_line(std::size_t i) {
    const recorded_launch& l = *launches_[i];
    std::string comment;
    std::string out = "launch " + l.kernel + " grid" + shape(grids_[i]) + " block" + shape(l.block);
    out += l.cluster[0] * l.cluster[1] * l.cluster[2] > 1 ? " cluster " + std::to_string(l.cluster[0]) : "";
    out += l.domain == 0 ? "" : " domain " + std::to_string(l.domain);
    out += l.device == 0 ? "" : " device " + std::to_string(l.device);
    out += l.shared == 0 ? "" : " shared " + std::to_string(l.shared);
    out += order_of(i, comment);
    if (!l.arguments.empty()) {
      out += " args";
      for (std::size_t a = 0; a < l.arguments.size(); ++a) {
        out += " " + argument(a, l.arguments[a], *l.space);
      }
    }
    return out + comment + "\n";
  }

  [[nodiscard]] std::string header(const std::string& ptx) const {
    std::string out = "# recorded by membar-check " + membar_tools::version_text() + "\n";
    std::set<int> processes;
    for (const recorded_launch* l : launches_) {
      processes.insert(l->process);
    }
    if (processes.size() > 1) {
      out += "# from " + std::to_string(processes.size()) +
             " processes that share memory; each process numbers its devices separately\n";
    }
    for (const recorded_launch* l : launches_) {
      out += "# " + membar_tools::shortened(membar::check::source_name(l->kernel), 160) + ": " + std::to_string(l->registers) +
             " registers, " + std::to_string(l->static_shared) + " bytes of shared memory, on sm_" +
             std::to_string(l->architecture) + " with " + std::to_string(l->multiprocessors) + " multiprocessors" +
             (l->cooperative ? "; a cooperative launch" : "") +
             (l->graph_launch != 0 ? "; a node of a graph, whose memory was copied before the graph's launch" : "") +
             (l->cluster[1] > 1 || l->cluster[2] > 1 ? "; its cluster has more dimensions than this format supports" : "") +
             "\n";
      for (int j = 0; j < indices_.front(); ++j) {
        const recorded_launch& other = all_[static_cast<std::size_t>(j)];
        if (other.group != l->group && l->before.count(j) == 0 && share_memory(*l, other)) {
          out += "# its memory was copied while " + membar_tools::shortened(membar::check::source_name(other.kernel), 80) +
                 ", which is not in this scenario, may have written it\n";
          break;
        }
      }
    }
    std::set<std::string> notes;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const recorded_launch& l = *launches_[i];
      if (grids_[i] != l.grid) {
        notes.insert("note " + std::to_string(blocks_of(grids_[i])) + " of the " + std::to_string(blocks_of(l.grid)) +
                     " blocks of " + short_name(l.kernel) + ", by --shrink\n");
      }
      if (l.ptx_choices > 1) {
        notes.insert("note PTX of " + short_name(l.kernel) + ": the newest of " + std::to_string(l.ptx_choices) +
                     " in XLA's dump\n");
      }
    }
    for (const std::string& note : notes) {
      out += note;
    }
    out += uncopied_note() + elsewhere_note();
    const std::size_t target = ptx.find(".target");
    if (target != std::string::npos) {
      const std::string of = ptx.substr(target + 8, ptx.find_first_of(",\n\r", target) - target - 8);
      const std::string number = of.substr(std::min(of.find('_') + 1, of.size()));
      if (std::atoi(number.c_str()) != launches_.front()->architecture) {
        out += "note PTX of " + of + ", recorded on sm_" + std::to_string(launches_.front()->architecture) + "\n";
      }
    }
    return out;
  }

  /// Returns the note on memory whose initial contents are unknown, or an empty string.
  [[nodiscard]] std::string uncopied_note() const {
    std::string names;
    for (const scenario_memory& m : memory_) {
      names += m.of.copied ? "" : (names.empty() ? "" : ", ") + m.name;
    }
    return names.empty() ? "" : "note memory that was not copied begins as 0: " + membar_tools::shortened(names, 80) + "\n";
  }

  const std::vector<recorded_launch>& all_;
  const recording_options& how_;
  std::vector<const recorded_launch*> launches_{};
  std::vector<int> indices_{};
  std::vector<std::array<unsigned, 3>> grids_{};  ///< the grids of `launches_`
  std::vector<scenario_memory> memory_{};
  std::vector<std::size_t> named_{};
  std::map<std::string, std::size_t> streams_{};
  std::vector<std::pair<std::string, std::string>> maps_{};  ///< the text and the name of each tensor map
  std::optional<membar::ptx::ptx_module> module_{};
  membar::ptx::module_layout layout_{};
  std::vector<membar::ptx::ptx_part> parts_{};
  bool several_devices_ = false;
  bool* has_contents_ = nullptr;
};

/// Returns a sentence that explains how to build the program with PTX for all kernels.
std::string how_to_get_ptx() {
  return "To get PTX, build with nvcc's -gencode arch=compute_90,code=compute_90 ('membar-check record --build -- make' sets "
         "NVCC_APPEND_FLAGS and TORCH_CUDA_ARCH_LIST=9.0+PTX), let NVRTC compile for compute_90 instead of sm_90, or compile "
         "the source: "
         "membar-check attach NAME.scenario --source FILE.cu";
}

/// Writes the scenarios of all recorded jobs to a folder.
class recording_writer {
 public:
  recording_writer(const fs::path& output, const recording_options& how) : output_(output), how_(how) {
    umask(0077);  // recordings contain the program's data
    std::error_code failed;
    fs::create_directories(output, failed);
  }

  void add(recorded_job& job) {
    for (const std::vector<int>& group : launch_groups(job.launches).groups()) {
      write(job.launches, group);
    }
    for (const std::string& c : job.complaints) {
      say(c);
    }
    for (const std::string& k : job.machine_code_only) {
      machine_code_only_.insert(membar::check::source_name(k));
    }
  }

  [[nodiscard]] recording end() {
    if (!machine_code_only_.empty()) {
      std::string names;
      for (const std::string& n : machine_code_only_) {
        names += (names.empty() ? "" : ", ") + n;
      }
      const bool one = machine_code_only_.size() == 1;
      say(std::to_string(machine_code_only_.size()) + (one ? " kernel has" : " kernels have") + " only machine code: " +
          membar_tools::shortened(names, 160) + ". They are not recorded unless --kernels names them. " + how_to_get_ptx());
    }
    if (shrunk_ != 0) {
      say("--shrink recorded " + std::to_string(shrunk_) + (shrunk_ == 1 ? " launch" : " launches") +
          " with fewer blocks: the result line says how many");
    }
    if (too_large_ != 0) {
      say(std::to_string(too_large_) + (too_large_ == 1 ? " launch has" : " launches have") +
          " more threads than can be explored (" + std::to_string(membar::check::most_threads) +
          "): record the smallest test of the program, " + (how_.shrink ? "" : "let --shrink try fewer blocks, ") +
          "or run membar-check sanitize, which executes launches of any size");
    }
    result_.kernels = static_cast<int>(kernels_.size());
    return std::move(result_);
  }

 private:
  void say(const std::string& sentence) {
    if (std::find(result_.sentences.begin(), result_.sentences.end(), sentence) == result_.sentences.end()) {
      result_.sentences.push_back(sentence);
    }
  }

  void write(const std::vector<recorded_launch>& all, const std::vector<int>& group) {
    const recorded_launch& first = all[static_cast<std::size_t>(group.front())];
    const std::string base = short_name(first.kernel);
    const std::string name = base + "_" + std::to_string(++numbers_[base]);
    std::vector<std::string> kernels;
    u64 threads = 0;
    for (const int i : group) {
      const recorded_launch& l = all[static_cast<std::size_t>(i)];
      kernels.push_back(l.kernel);
      kernels_.insert(l.kernel);
      threads += blocks_of(l.grid) * blocks_of(l.block);
      ++result_.launches;
    }
    const std::string ptx = first.ptx.empty() ? "" : membar::ptx::with_kernels(read_file(first.ptx), kernels);
    scenario_writer writer(all, group, how_);
    const std::string source = ptx.empty() ? "" : source_file(base, ptx);
    std::string text = writer.text(output_, name, source, ptx, result_.has_contents);
    const bool too_large = threads > static_cast<u64>(membar::check::most_threads);
    if (too_large && how_.shrink && !ptx.empty() && shrinks(writer, name, text, ptx)) {
      text = writer.text(output_, name, source, ptx, result_.has_contents);
    } else if (too_large) {
      ++too_large_;
    }
    result_.scenarios.push_back((output_ / (name + ".scenario")).string());
    write_file(result_.scenarios.back(), text);
  }

  /// Reduces the grids of a scenario. Returns false if there are no suitable smaller grids.
  bool shrinks(scenario_writer& writer, const std::string& name, const std::string& text, const std::string& ptx) {
    const std::string path = (output_ / (name + ".scenario")).string();
    try {
      const smaller_grids smaller = smaller_grids_of(scenario_of(path, text), ptx);
      if (!smaller.grids.empty()) {
        writer.set_grids(smaller.grids);
        ++shrunk_;
        return true;
      }
      say("--shrink did not change " + name + ", because " + membar_tools::shortened(smaller.why_not, 200));
    } catch (const std::exception&) {
      // the check of the scenario will report the reason
    }
    return false;
  }

  /// Returns the name of the file with this PTX. Each PTX is written only once.
  std::string source_file(const std::string& base, const std::string& ptx) {
    std::string& file = sources_[ptx];
    if (file.empty()) {
      const int number = ++source_numbers_[base];
      file = base + (number == 1 ? "" : "_" + std::to_string(number)) + ".ptx";
      write_file((output_ / file).string(), ptx);
    }
    return file;
  }

  fs::path output_;
  recording_options how_;
  recording result_{};
  std::map<std::string, int> numbers_{}, source_numbers_{};
  std::map<std::string, std::string> sources_{};
  std::set<std::string> kernels_{}, machine_code_only_{};
  int too_large_ = 0;
  int shrunk_ = 0;
};

}  // namespace

recording write_recording(const fs::path& records, const fs::path& output, const recording_options& how) {
  recording_writer out(output, how);
  std::vector<recorded_job> jobs = jobs_of(records);
  for (recorded_job& job : jobs) {
    out.add(job);
  }
  recording made = out.end();
  made.used_cuda = !jobs.empty();
  return made;
}

namespace {

/// Returns the mangled name without the words that nvcc uses to distinguish translation units: the name of an anonymous
/// namespace, `<length>_GLOBAL__N__<hash>...`, and the prefix of kernels in relocatable code, `__nv_static_<length>__...`.
/// These words contain a hash, which differs between two compilations of the same kernel.
std::string without_unit(std::string name) {
  constexpr std::string_view prefix = "__nv_static_";
  if (name.starts_with(prefix)) {
    const std::size_t length_end = name.find("__", prefix.size());
    const std::size_t skipped = std::strtoul(name.c_str() + prefix.size(), nullptr, 10) + 2;
    if (length_end != std::string::npos && length_end + skipped < name.size()) {
      name.erase(0, length_end + skipped);
    }
  }
  constexpr std::string_view unit = "_GLOBAL__N_";
  for (std::size_t at = name.find(unit); at != std::string::npos; at = name.find(unit, at + unit.size())) {
    std::size_t digits = at;
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) {
      --digits;
    }
    const std::size_t length = std::strtoul(name.c_str() + digits, nullptr, 10);
    if (length > unit.size() && at + length <= name.size()) {
      name.erase(at + unit.size(), length - unit.size());
      name.erase(digits, at - digits);
      at = digits;
    }
  }
  return name;
}

/// Returns the name that a recorded kernel has in the PTX.
std::string kernel_in(const std::string& ptx, const std::string& recorded) {
  if (membar::ptx::defines_kernel(ptx, recorded)) {
    return recorded;
  }
  std::vector<std::string> all;
  for (const membar::ptx::ptx_part& p : membar::ptx::parts_of(ptx)) {
    if (p.kind == membar::ptx::ptx_part::kind_t::kernel) {
      all.emplace_back(p.name);
    }
  }
  const auto same = std::find_if(all.begin(), all.end(),
                                 [&](const std::string& name) { return without_unit(name) == without_unit(recorded); });
  if (same == all.end()) {
    throw error("the source has no kernel " + membar_tools::quote(recorded) + membar::check::did_you_mean(recorded, all) +
                ": compile it with the definitions and options of the program's build");
  }
  return *same;
}

}  // namespace

std::string attach_ptx(const fs::path& scenario, const std::string& ptx) {
  std::istringstream lines(read_file(scenario.string()));
  std::vector<std::string> kernels;
  std::string text;
  bool placed = false;
  const std::string source = scenario.stem().string() + ".ptx";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("source ") || line.starts_with("# no PTX was found")) {
      line = "source " + source;
      placed = true;
    } else if (line.starts_with("launch ")) {
      const std::size_t end = std::min(line.find(' ', 7), line.size());
      const std::string kernel = kernel_in(ptx, line.substr(7, end - 7));
      line.replace(7, end - 7, kernel);
      kernels.push_back(kernel);
      text += placed ? "" : "source " + source + "\n";
      placed = true;
    }
    text += line + "\n";
  }
  if (kernels.empty()) {
    throw error("'" + scenario.string() +
                "' launches nothing, so it is not a recording: name a scenario that membar-check record wrote");
  }
  umask(0077);
  const fs::path to = scenario.parent_path() / source;
  write_file(to.string(), membar::ptx::with_kernels(ptx, kernels));
  write_file(scenario.string(), text);
  return to.string();
}

}  // namespace membar_check
