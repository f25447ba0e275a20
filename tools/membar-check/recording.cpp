// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <common/version.hpp>
#include <membar-check/recorder/records.hpp>
#include <membar-check/recording.hpp>

#include <check/launch.hpp>
#include <check/named_memory.hpp>
#include <membar/model/error.hpp>
#include <ptx/reader.hpp>
#include <ptx/text.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace membar_check {

namespace {

namespace fs = std::filesystem;
using membar::model::error;
using membar_tools::read_file;
using json = nlohmann::ordered_json;
using u64 = std::uint64_t;

/// Memory as it was before a launch.
struct recorded_memory {
  u64 address = 0;
  u64 bytes = 0;
  std::string kind{};
  int device = 0;
  bool copied = false;
  std::string contents{};  ///< without zeros at the end
};

struct recorded_variable {
  std::string name;
  u64 address = 0;
  u64 bytes = 0;
  bool copied = false;
  std::string contents{};
};

struct recorded_launch {
  int number = 0;
  std::string kernel{};
  std::string ptx{};  ///< the path of the file; empty: there is none
  std::array<unsigned, 3> grid{}, block{}, cluster{};
  unsigned shared = 0;
  bool cooperative = false, dependent = false, blocking = true;
  int domain = 0, device = 0, registers = 0, static_shared = 0, multiprocessors = 0, architecture = 0;
  u64 stream = 0;
  std::vector<std::string> arguments{};
  std::vector<recorded_memory> memory{};
  std::vector<recorded_variable> variables{};
  int graph_launch = 0, node = 0;
  std::vector<int> nodes_before{};
  std::set<int> before{};  ///< launches that have ended when this one begins, by index
  int depends_on = -1;     ///< the launch whose programmatic dependent it is
  int group = -1;
};

struct process_records {
  std::vector<recorded_launch> launches{};
  std::vector<std::string> complaints{};
  std::set<std::string> machine_code_only{};
};

std::string bytes_of_hex(const std::string& text) {
  std::string out;
  for (std::size_t k = 0; k + 1 < text.size(); k += 2) {
    out += static_cast<char>(std::stoi(text.substr(k, 2), nullptr, 16));
  }
  return out;
}

u64 word_at(const std::string& bytes, std::size_t at, std::size_t count = 8) {
  u64 out = 0;
  for (std::size_t b = 0; b < count && at + b < bytes.size(); ++b) {
    out |= u64{static_cast<unsigned char>(bytes[at + b])} << (8 * b);
  }
  return out;
}

/// What orders the launches of a process: for each stream and event the launches that come before what follows.
class launch_order {
 public:
  void add(const json& line) {
    const std::string what = line["order"];
    const int device = line["device"];
    const stream_key stream = normal(line["stream"], device);
    const u64 event = line["event"];
    if (what == "record") {
      events_[event] = streams_[stream];
    } else if (what == "wait") {
      streams_[stream].insert(events_[event].begin(), events_[event].end());
    } else if (what == "stream") {
      host_.insert(streams_[stream].begin(), streams_[stream].end());
    } else if (what == "event") {
      host_.insert(events_[event].begin(), events_[event].end());
    } else {
      const std::set<int>& launches = devices_[device];
      host_.insert(launches.begin(), launches.end());
    }
  }

  void place(std::vector<recorded_launch>& all) {
    const int mine = static_cast<int>(all.size()) - 1;
    recorded_launch& l = all.back();
    const stream_key stream = normal(l.stream, l.device);
    std::set<int> before = host_;
    const auto take = [&](const stream_key& of) { before.insert(streams_[of].begin(), streams_[of].end()); };
    take(stream);
    if (l.blocking) {  // the null stream waits for those that do not say otherwise, and they for it
      is_blocking_.insert(stream);
      for (const stream_key& other : is_blocking_) {
        if (stream == normal(0, l.device) || other == normal(0, l.device)) {
          take(other);
        }
      }
    }
    if (l.graph_launch != 0) {
      for (int i = 0; i < mine; ++i) {
        const recorded_launch& other = all[static_cast<std::size_t>(i)];
        const bool same = other.graph_launch == l.graph_launch;
        if (same && std::find(l.nodes_before.begin(), l.nodes_before.end(), other.node) == l.nodes_before.end()) {
          before.erase(i);
        }
      }
    }
    if (const auto last = last_.find(stream); l.dependent && last != last_.end() && host_.count(last->second) == 0) {
      l.depends_on = last->second;
    }
    l.before = std::move(before);
    streams_[stream].insert(mine);
    devices_[l.device].insert(mine);
    last_[stream] = mine;
  }

 private:
  /// The handle, and the device of a stream that each device has: the null stream, of which 1 is another name, and the thread's own, 2.
  using stream_key = std::pair<u64, int>;
  static stream_key normal(u64 stream, int device) { return {stream == 1 ? 0 : stream, stream <= 2 ? device : -1}; }

  std::map<stream_key, std::set<int>> streams_;
  std::map<u64, std::set<int>> events_;
  std::map<int, std::set<int>> devices_;
  std::map<stream_key, int> last_;
  std::set<stream_key> is_blocking_;
  std::set<int> host_;
};

recorded_launch launch_of(const json& line, const fs::path& folder, const std::string& process) {
  recorded_launch l;
  const auto contents = [&](const std::string& file, std::string& into) {
    const fs::path path = folder / (process + "." + file);
    std::error_code failed;
    if (file.empty() || !fs::exists(path, failed)) {
      return false;
    }
    into = read_file(path.string());
    return true;
  };
  l.number = line["launch"];
  l.kernel = line["kernel"];
  if (const int ptx = line["ptx"]; ptx >= 0) {
    l.ptx = (folder / (process + "." + std::to_string(ptx) + ".ptx")).string();
  }
  l.grid = line["grid"];
  l.block = line["block"];
  l.cluster = line["cluster"];
  l.shared = line["shared"];
  l.cooperative = line["cooperative"];
  l.dependent = line["dependent"];
  l.blocking = line["blocking"];
  l.domain = line["domain"];
  l.device = line["device"];
  l.registers = line["registers"];
  l.static_shared = line["static_shared"];
  l.multiprocessors = line["multiprocessors"];
  l.architecture = line["architecture"];
  l.stream = line["stream"];
  for (const json& a : line.value("arguments", json::array())) {
    l.arguments.push_back(bytes_of_hex(a));
  }
  for (const json& m : line["memory"]) {
    recorded_memory r{m["address"], m["bytes"], m["kind"], m["device"]};
    r.copied = contents(m["contents"], r.contents);
    l.memory.push_back(std::move(r));
  }
  for (const json& v : line["variables"]) {
    recorded_variable r{v["name"], v["address"], v["bytes"]};
    r.copied = contents(v["contents"], r.contents);
    l.variables.push_back(std::move(r));
  }
  if (line.contains("graph")) {
    l.graph_launch = line["graph"]["launch"];
    l.node = line["graph"]["node"];
    l.nodes_before = line["graph"]["after"].get<std::vector<int>>();
  }
  return l;
}

process_records read_process(const fs::path& path) {
  process_records out;
  launch_order order;
  std::istringstream lines(read_file(path.string()));
  const std::string process = path.stem().string();
  std::map<std::string, std::string> same_file;  // by its text
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    const json line = json::parse(text, nullptr, false);
    if (line.is_discarded()) {  // the last one of a process that was ended
      break;
    }
    if (number == 1 && line.value("records", 0) != membar_record::records_version) {
      throw error("the records of '" + path.string() + "' have version " + std::to_string(line.value("records", 0)) +
                  ", and this membar-check reads version " + std::to_string(membar_record::records_version) +
                  ": use the library of the same release");
    }
    if (line.contains("complaint")) {
      out.complaints.push_back(line["complaint"]);
    } else if (line.contains("machine_code_only")) {
      out.machine_code_only.insert(line["machine_code_only"].get<std::string>());
    } else if (line.contains("order")) {
      order.add(line);
    } else if (line.contains("launch")) {
      out.launches.push_back(launch_of(line, path.parent_path(), process));
      if (std::string& ptx = out.launches.back().ptx; !ptx.empty()) {  // a module is loaded once per device
        ptx = same_file.emplace(read_file(ptx), ptx).first->second;
      }
      order.place(out.launches);
    }
  }
  return out;
}

[[nodiscard]] bool overlap(const recorded_memory& a, const recorded_memory& b) noexcept {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

[[nodiscard]] bool share_memory(const recorded_launch& a, const recorded_launch& b) {
  const bool same_variables = !a.variables.empty() && a.ptx == b.ptx && a.device == b.device;
  return same_variables || std::any_of(a.memory.begin(), a.memory.end(), [&](const recorded_memory& m) {
           return std::any_of(b.memory.begin(), b.memory.end(), [&](const recorded_memory& n) { return overlap(m, n); });
         });
}

/// The most launches of a scenario.
constexpr std::size_t most_of_a_group = 8;

/// Launches that run at once, or of which one depends programmatically on another, become one scenario if their code is of one module.
std::vector<std::vector<int>> groups_of(std::vector<recorded_launch>& all) {
  std::vector<std::vector<int>> groups;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    recorded_launch& l = all[static_cast<std::size_t>(i)];
    int with = l.depends_on;
    for (int j = i - 1; j >= 0 && with < 0; --j) {
      const recorded_launch& other = all[static_cast<std::size_t>(j)];
      with = l.before.count(j) == 0 && share_memory(l, other) ? j : -1;
    }
    const bool joins = with >= 0 && !l.ptx.empty() && all[static_cast<std::size_t>(with)].ptx == l.ptx;
    if (joins && groups[static_cast<std::size_t>(all[static_cast<std::size_t>(with)].group)].size() < most_of_a_group) {
      l.group = all[static_cast<std::size_t>(with)].group;
      groups[static_cast<std::size_t>(l.group)].push_back(i);
    } else {
      l.group = static_cast<int>(groups.size());
      groups.push_back({i});
    }
  }
  return groups;
}

/// The name of a kernel in a file's name.
std::string short_name(const std::string& mangled) {
  std::string name = membar::check::source_name(mangled);
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

std::string hex(u64 value) {
  std::ostringstream out;
  out << "0x" << std::hex << value;
  return out.str();
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw error("cannot write '" + path.string() + "': name another folder by --output");
  }
}

/// Memory of a scenario: what its launches reach, with a name, and an address that does not depend on the machine.
struct scenario_memory {
  recorded_memory of;
  std::string name{};
  u64 at = 0;
};

/// Writes one scenario.
class scenario_writer {
 public:
  scenario_writer(const std::vector<recorded_launch>& all, const std::vector<int>& group) : all_(all) {
    for (const int i : group) {
      launches_.push_back(&all[static_cast<std::size_t>(i)]);
      indices_.push_back(i);
    }
    several_devices_ =
        std::any_of(launches_.begin(), launches_.end(), [&](const auto* l) { return l->device != launches_[0]->device; });
    gather_memory();
    name_memory();
    place_memory();
  }

  /// `name`: of the scenario's file; `ptx`: its text, and `source` the name of its file, or empty.
  [[nodiscard]] std::string text(const fs::path& folder, const std::string& name, const std::string& source,
                                 const std::string& ptx, bool& has_contents) {
    has_contents_ = &has_contents;
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
          out += is_used(v.name) ? variable_line(folder, name, v, l->device) : "";
        }
      }
    }
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      out += launch_line(i);
    }
    return out;
  }

 private:
  void gather_memory() {
    for (const recorded_launch* l : launches_) {
      for (const recorded_memory& m : l->memory) {
        const auto same =
            std::find_if(memory_.begin(), memory_.end(), [&](const scenario_memory& s) { return overlap(s.of, m); });
        if (same == memory_.end()) {
          memory_.push_back({m});
        } else if (m.address + m.bytes > same->of.address + same->of.bytes) {
          same->of.bytes = m.address + m.bytes - same->of.address;  // a later window of one allocation reaches further
        }
      }
    }
  }

  [[nodiscard]] scenario_memory* holder_of(u64 word) {
    const auto at = std::find_if(memory_.begin(), memory_.end(), [&](const scenario_memory& m) {
      return word >= m.of.address && word - m.of.address < m.of.bytes;
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

  /// Names follow the arguments, and then the pointers in what they lead to.
  void name_memory() {
    for (const recorded_launch* l : launches_) {
      for (std::size_t a = 0; a < l->arguments.size(); ++a) {
        for (std::size_t at = 0; at + 8 <= l->arguments[a].size(); at += 8) {
          scenario_memory* const m = holder_of(word_at(l->arguments[a], at));
          if (m != nullptr && m->name.empty()) {
            give_name(*m, "arg" + std::to_string(a) + (at == 0 ? "" : "_" + std::to_string(at)));
          }
        }
      }
      for (const recorded_variable& v : l->variables) {
        follow(v.contents, 0, v.name);
      }
    }
    for (std::size_t k = 0; k < named_.size(); ++k) {
      const std::string name = memory_[named_[k]].name;
      const std::string contents = memory_[named_[k]].of.contents;
      follow(contents, memory_[named_[k]].of.address % 8, name);
    }
    // In the order of their names' discovery; what nothing leads to is left out.
    std::vector<scenario_memory> kept;
    for (const std::size_t k : named_) {
      kept.push_back(std::move(memory_[k]));
    }
    memory_ = std::move(kept);
  }
  void follow(const std::string& contents, std::size_t first, const std::string& name) {
    for (std::size_t at = first == 0 ? 0 : 8 - first; at + 8 <= contents.size() + 7 && at < contents.size(); at += 8) {
      const u64 word = word_at(contents, at);
      scenario_memory* const m = word < 65536 ? nullptr : holder_of(word);
      if (m != nullptr && m->name.empty()) {
        give_name(*m, name + "_at_" + std::to_string(at));
      }
    }
  }

  void place_memory() {
    constexpr u64 first = u64{1} << 36U;
    constexpr u64 page = 4096;
    u64 next = first;
    for (scenario_memory& m : memory_) {
      m.at = next;
      next = (m.at + m.of.bytes + 2 * page) / page * page;
    }
  }

  /// Where the variables of the module are in the scenario.
  void read_layout(const std::string& ptx) {
    const bool any = std::any_of(launches_.begin(), launches_.end(), [](const auto* l) { return !l->variables.empty(); });
    if (any && !ptx.empty()) {
      parts_ = membar::ptx::parts_of(ptx);
      try {
        module_ = membar::ptx::read_ptx(ptx);
        layout_ = membar::ptx::layout_of(*module_);
      } catch (const std::exception&) {
        module_.reset();  // the scenario says why when it is checked
      }
    }
  }

  /// The address in the scenario that a pointer becomes; nothing if it is none.
  [[nodiscard]] std::optional<u64> moved(u64 word) {
    if (const scenario_memory* const m = word < 65536 ? nullptr : holder_of(word); m != nullptr) {
      return m->at + (word - m->of.address) + m->of.address % 256;
    }
    for (const recorded_launch* l : launches_) {
      for (const recorded_variable& v : l->variables) {
        if (module_ && word >= v.address && word - v.address < v.bytes && layout_.globals.count(v.name) != 0) {
          return layout_.globals.at(v.name) + (word - v.address);
        }
      }
    }
    return std::nullopt;
  }

  /// The contents with pointers as they are in the scenario. Whether there are pointers.
  bool move_pointers(std::string& contents, std::size_t first) {
    bool any = false;
    for (std::size_t at = first == 0 ? 0 : 8 - first; at < contents.size(); at += 8) {
      if (const auto to = moved(word_at(contents, at))) {
        contents.resize(std::max(contents.size(), at + 8));
        for (unsigned b = 0; b < 8; ++b) {
          contents[at + b] = static_cast<char>(*to >> (8 * b));
        }
        any = true;
      }
    }
    return any;
  }

  /// " = ..." or " from FILE".
  std::string initial(const fs::path& folder, const std::string& name, const std::string& of, std::string contents, u64 bytes,
                      std::size_t element) {
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
    write_file(folder / (name + "." + of + ".bin"), contents);
    return " from " + name + "." + of + ".bin";
  }

  [[nodiscard]] static std::string type_of(u64 bytes, std::size_t& element) {
    element = bytes % 4 == 0 ? 4 : 1;
    return (element == 4 ? "u32[" : "u8[") + std::to_string(bytes / element) + "]";
  }

  std::string memory_line(const fs::path& folder, const std::string& name, scenario_memory& m) {
    std::size_t element = 0;
    const u64 before = m.of.address % 256;  // the address in the file is a multiple of 256
    std::string contents = m.of.contents;
    move_pointers(contents, m.of.address % 8);
    contents.insert(0, before, '\0');
    std::string out = "memory " + m.name + " " + type_of(before + m.of.bytes, element) + " at " + hex(m.at);
    out += initial(folder, name, m.name, contents, before + m.of.bytes, element);
    out += m.of.kind == "host" ? " host" : several_devices_ ? " device " + std::to_string(m.of.device) : "";
    return out + (m.of.copied ? "" : "   # its contents were not copied") + "\n";
  }

  /// Whether a kernel or function names the variable.
  [[nodiscard]] bool is_used(const std::string& name) const {
    return std::any_of(parts_.begin(), parts_.end(), [&](const membar::ptx::ptx_part& p) {
      return p.kind != membar::ptx::ptx_part::kind_t::variable && p.text.find(name) != std::string_view::npos;
    });
  }

  /// Only variables that do not begin as their module says.
  std::string variable_line(const fs::path& folder, const std::string& name, const recorded_variable& v, int device) {
    if (!module_ || !v.copied) {
      return "";
    }
    const auto of =
        std::find_if(module_->variables.begin(), module_->variables.end(), [&](const auto& o) { return o.name == v.name; });
    if (of == module_->variables.end() || of->bytes != v.bytes || !of->addresses.empty()) {
      return "";
    }
    std::string contents = v.contents;
    const bool points = move_pointers(contents, 0);
    std::string begins(of->initial.begin(), of->initial.end());
    begins.resize(v.bytes);
    contents.resize(v.bytes);
    if (contents == begins && !points) {
      return "";
    }
    std::size_t element = 0;
    const std::string type = type_of(v.bytes, element);
    const std::string values =
        initial(folder, name, v.name + (device == 0 ? "" : "." + std::to_string(device)), contents, v.bytes, element);
    return "memory " + v.name + " " + type + (values.empty() ? " = 0" : values) +
           (several_devices_ ? " device " + std::to_string(device) : "") + "\n";
  }

  [[nodiscard]] std::string argument(const std::string& bytes) {
    const auto word = [&](std::size_t at) {
      const std::size_t count = std::min<std::size_t>(8, bytes.size() - at);
      const u64 value = word_at(bytes, at, count);
      const scenario_memory* const m = count == 8 && value >= 65536 ? holder_of(value) : nullptr;
      if (m != nullptr) {
        const u64 offset = value - m->of.address + m->of.address % 256;
        return m->name + (offset == 0 ? "" : "+" + std::to_string(offset));
      }
      const auto variable = count == 8 ? moved(value) : std::nullopt;
      const u64 shown = variable.value_or(value);
      return shown < 1000000 ? std::to_string(shown) : hex(shown);
    };
    if (bytes.size() <= 8) {
      return word(0);
    }
    std::string out = "{";
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      out += (at == 0 ? "" : " ") + word(at);
    }
    return out + "}";
  }

  /// The streams of the scenario are numbered as they come. A node of a graph has one of its own.
  [[nodiscard]] std::string stream_of(const recorded_launch& l) {
    const std::string key = l.graph_launch != 0
                                ? "graph " + std::to_string(l.number)
                                : std::to_string(l.stream) + (l.stream <= 2 ? " " + std::to_string(l.device) : "");
    return "s" + std::to_string(streams_.emplace(key, streams_.size() + 1).first->second);
  }

  /// What orders a launch after others of the scenario.
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
        comment = "   # it also comes after some launches of " + stream + ", which this format cannot say";
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
    std::string out = "launch " + l.kernel + " grid" + shape(l.grid) + " block" + shape(l.block);
    out += l.cluster[0] * l.cluster[1] * l.cluster[2] > 1 ? " cluster " + std::to_string(l.cluster[0]) : "";
    out += l.domain == 0 ? "" : " domain " + std::to_string(l.domain);
    out += l.device == 0 ? "" : " device " + std::to_string(l.device);
    out += l.shared == 0 ? "" : " shared " + std::to_string(l.shared);
    out += order_of(i, comment);
    if (!l.arguments.empty()) {
      out += " args";
      for (const std::string& a : l.arguments) {
        out += " " + argument(a);
      }
    }
    return out + comment + "\n";
  }

  [[nodiscard]] std::string header(const std::string& ptx) const {
    std::string out = "# recorded by membar-check " + membar_tools::version_text() + "\n";
    for (const recorded_launch* l : launches_) {
      out += "# " + membar_tools::shortened(membar::check::source_name(l->kernel), 160) + ": " + std::to_string(l->registers) +
             " registers, " + std::to_string(l->static_shared) + " bytes of shared memory, on sm_" +
             std::to_string(l->architecture) + " with " + std::to_string(l->multiprocessors) + " multiprocessors" +
             (l->cooperative ? "; a cooperative launch" : "") +
             (l->graph_launch != 0 ? "; a node of a graph, with memory from before the graph's launch" : "") +
             (l->cluster[1] > 1 || l->cluster[2] > 1 ? "; its cluster has more dimensions than this format" : "") + "\n";
      for (int j = 0; j < indices_.front(); ++j) {
        const recorded_launch& other = all_[static_cast<std::size_t>(j)];
        if (other.group != l->group && l->before.count(j) == 0 && share_memory(*l, other)) {
          out += "# its memory was copied while " + membar_tools::shortened(membar::check::source_name(other.kernel), 80) +
                 ", which is not in this scenario, may have written it\n";
          break;
        }
      }
    }
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

  const std::vector<recorded_launch>& all_;
  std::vector<const recorded_launch*> launches_{};
  std::vector<int> indices_{};
  std::vector<scenario_memory> memory_{};
  std::vector<std::size_t> named_{};
  std::map<std::string, std::size_t> streams_{};
  std::optional<membar::ptx::ptx_module> module_{};
  membar::ptx::module_layout layout_{};
  std::vector<membar::ptx::ptx_part> parts_{};
  bool several_devices_ = false;
  bool* has_contents_ = nullptr;
};

/// How a build gets PTX of its kernels.
std::string how_to_get_ptx() {
  return "To have PTX, build with nvcc's -gencode arch=compute_90,code=compute_90 ('membar-check record --build -- make' sets "
         "NVCC_APPEND_FLAGS and TORCH_CUDA_ARCH_LIST=9.0+PTX), let NVRTC compile for compute_90 instead of sm_90, or compile "
         "the source: "
         "membar-check attach NAME.scenario --source FILE.cu";
}

/// All scenarios of a folder.
class recording_writer {
 public:
  explicit recording_writer(const fs::path& output) : output_(output) {
    umask(0077);  // recordings hold the program's data
    std::error_code failed;
    fs::create_directories(output, failed);
  }

  void add(process_records& p) {
    for (const std::vector<int>& group : groups_of(p.launches)) {
      write(p.launches, group);
    }
    for (const std::string& c : p.complaints) {
      say(c);
    }
    for (const std::string& k : p.machine_code_only) {
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
      say(std::to_string(machine_code_only_.size()) + (one ? " kernel has" : " kernels have") + " machine code only: " +
          membar_tools::shortened(names, 160) + ". Unless --kernels names them, they are not recorded. " + how_to_get_ptx());
    }
    if (too_large_ != 0) {
      say(std::to_string(too_large_) + (too_large_ == 1 ? " launch has" : " launches have") +
          " more threads than can be explored (" + std::to_string(membar::check::most_threads) +
          "): record the smallest test of the program");
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
    unsigned long long threads = 0;
    for (const int i : group) {
      const recorded_launch& l = all[static_cast<std::size_t>(i)];
      kernels.push_back(l.kernel);
      kernels_.insert(l.kernel);
      threads += 1ULL * l.grid[0] * l.grid[1] * l.grid[2] * l.block[0] * l.block[1] * l.block[2];
      ++result_.launches;
    }
    too_large_ += threads > static_cast<unsigned long long>(membar::check::most_threads) ? 1 : 0;
    const std::string ptx = first.ptx.empty() ? "" : membar::ptx::with_kernels(read_file(first.ptx), kernels);
    scenario_writer writer(all, group);
    const std::string source = ptx.empty() ? "" : source_file(base, ptx);
    const std::string text = writer.text(output_, name, source, ptx, result_.has_contents);
    write_file(output_ / (name + ".scenario"), text);
    result_.scenarios.push_back((output_ / (name + ".scenario")).string());
  }

  /// The file with this PTX, which is written once.
  std::string source_file(const std::string& base, const std::string& ptx) {
    std::string& file = sources_[ptx];
    if (file.empty()) {
      const int number = ++source_numbers_[base];
      file = base + (number == 1 ? "" : "_" + std::to_string(number)) + ".ptx";
      write_file(output_ / file, ptx);
    }
    return file;
  }

  fs::path output_;
  recording result_{};
  std::map<std::string, int> numbers_{}, source_numbers_{};
  std::map<std::string, std::string> sources_{};
  std::set<std::string> kernels_{}, machine_code_only_{};
  int too_large_ = 0;
};

}  // namespace

recording write_recording(const fs::path& records, const fs::path& output) {
  std::vector<std::pair<long, fs::path>> processes;
  for (const fs::directory_entry& entry : fs::directory_iterator(records)) {
    if (entry.path().extension() == ".records") {
      processes.emplace_back(std::atol(entry.path().stem().c_str()), entry.path());
    }
  }
  std::sort(processes.begin(), processes.end());
  recording_writer out(output);
  for (const auto& [pid, path] : processes) {
    process_records p = read_process(path);
    out.add(p);
  }
  return out.end();
}

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
      const std::string kernel = line.substr(7, line.find(' ', 7) - 7);
      if (!membar::ptx::defines_kernel(ptx, kernel)) {
        std::vector<std::string> all;
        for (const membar::ptx::ptx_part& p : membar::ptx::parts_of(ptx)) {
          if (p.kind == membar::ptx::ptx_part::kind_t::kernel) {
            all.emplace_back(p.name);
          }
        }
        throw error("the source has no kernel " + membar_tools::quote(kernel) + membar::check::did_you_mean(kernel, all) +
                    ": compile it with the definitions and options of the program's build");
      }
      kernels.push_back(kernel);
      text += placed ? "" : "source " + source + "\n";
      placed = true;
    }
    text += line + "\n";
  }
  if (kernels.empty()) {
    throw error("'" + scenario.string() + "' launches nothing: it is not a recording");
  }
  umask(0077);
  const fs::path to = scenario.parent_path() / source;
  write_file(to, membar::ptx::with_kernels(ptx, kernels));
  write_file(scenario, text);
  return to.string();
}

}  // namespace membar_check
