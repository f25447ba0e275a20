// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/text_file.hpp>
#include <membar-check/recorded_job.hpp>
#include <membar-check/recorder/records.hpp>

#include <membar/model/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

namespace membar_check {

namespace {

namespace fs = std::filesystem;
using membar::model::error;
using membar_tools::read_file;
using json = nlohmann::ordered_json;
using u64 = std::uint64_t;

/// The maximum number of devices in a scenario.
constexpr std::size_t most_devices = 16;
constexpr std::size_t most_processes = 64;  ///< the maximum number of processes in a job

std::string bytes_of_hex(const std::string& text) {
  std::string out;
  for (std::size_t k = 0; k + 1 < text.size(); k += 2) {
    out += static_cast<char>(std::stoi(text.substr(k, 2), nullptr, 16));
  }
  return out;
}

/// The recorded lines of one process.
struct process_file {
  fs::path path;
  std::vector<json> lines{};
};

process_file lines_of(const fs::path& path) {
  process_file out{path};
  std::istringstream text(read_file(path.string()));
  for (std::string one; std::getline(text, one);) {
    json line = json::parse(one, nullptr, false);
    if (line.is_discarded()) {  // the last line of a process that was killed may be incomplete
      break;
    }
    if (out.lines.empty() && line.value("records", 0) != membar_record::records_version) {
      throw error("the records of '" + path.string() + "' have version " + std::to_string(line.value("records", 0)) +
                  ", but this membar-check reads version " + std::to_string(membar_record::records_version) +
                  ": use the library from the same release");
    }
    out.lines.push_back(std::move(line));
  }
  return out;
}

/// Determines the order of a job's launches: for each stream and each event, the launches that precede later work in the stream
/// or work that waits for the event. Launches that the host of one process has waited for precede all launches that any process
/// starts later.
class launch_order {
 public:
  void add(const json& line, int process, int device) {
    const std::string what = line["order"];
    const stream_key stream = normal(line["stream"], process, device);
    const std::pair<u64, int> event(line["event"], process);
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
    const stream_key stream = normal(l.stream, l.process, l.device);
    const stream_key null = normal(0, l.process, l.device);
    std::set<int> before = host_;
    const auto take = [&](const stream_key& of) { before.insert(streams_[of].begin(), streams_[of].end()); };
    take(stream);
    if (l.blocking) {  // the null stream and the blocking streams wait for each other
      is_blocking_.insert(stream);
      for (const stream_key& other : is_blocking_) {
        if (std::get<1>(other) == l.process && (stream == null || other == null)) {
          take(other);
        }
      }
    }
    for (int i = 0; i < mine; ++i) {
      const recorded_launch& other = all[static_cast<std::size_t>(i)];
      if (l.in_graph_of(other) && std::find(l.nodes_before.begin(), l.nodes_before.end(), other.node) == l.nodes_before.end()) {
        before.erase(i);
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
  /// The stream's handle, its process and its device. The device is needed for the streams that exist once per device: the null
  /// stream, whose handle may also be 1, and the per-thread stream, whose handle is 2.
  using stream_key = std::tuple<u64, int, int>;
  static stream_key normal(u64 stream, int process, int device) {
    return {stream == 1 ? 0 : stream, process, stream <= 2 ? device : -1};
  }

  std::map<stream_key, std::set<int>> streams_;
  std::map<std::pair<u64, int>, std::set<int>> events_;
  std::map<int, std::set<int>> devices_;
  std::map<stream_key, int> last_;
  std::set<stream_key> is_blocking_;
  std::set<int> host_;
};

recorded_tensor_map tensor_map_of(const json& line) {
  const auto numbers = [&](const char* name) { return line.value(name, std::vector<u64>()); };
  return {line["address"],
          line.value("mode", ""),
          line.value("type", 0U),
          line.value("interleave", 0U),
          line.value("swizzle", 0U),
          line.value("fill", 0U),
          numbers("dims"),
          numbers("strides"),
          numbers("box"),
          numbers("element_strides")};
}

/// Parses a launch. The result contains addresses of the launch's process.
recorded_launch launch_of(const json& line, const fs::path& records) {
  recorded_launch l;
  const std::string process = (records.parent_path() / records.stem()).string();
  const auto contents = [&](const std::string& file, std::string& into) {
    const fs::path path = process + "." + file;
    std::error_code failed;
    if (file.empty() || !fs::exists(path, failed)) {
      return false;
    }
    into = read_file(path.string());
    return true;
  };
  l.number = line["launch"];
  l.kernel = line["kernel"];
  l.follows = line.value("follows", 0);
  if (const int ptx = line["ptx"]; ptx >= 0) {
    l.ptx = process + "." + std::to_string(ptx) + ".ptx";
    l.ptx_choices = line["ptx_choices"];
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
    recorded_memory r{m["address"], m["bytes"], m["kind"], m["device"], m["range"]};
    r.copied = contents(m["contents"], r.contents);
    r.rest = m["allocation"][0].get<u64>() + m["allocation"][1].get<u64>() - r.address;
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

/// Memory that a process shares with others.
struct shared_memory {
  std::size_t process = 0;
  u64 address = 0;  ///< the address in that process to which the handle refers
  u64 begin = 0, bytes = 0;
};

/// Memory shared between processes, in all jobs. Memory from cuMemCreate has a name in each process that has created or
/// imported it.
struct all_shared {
  std::map<std::string, shared_memory> handles{};  ///< CUDA IPC handles, by their bytes
  /// by name: the process that created the memory, and the device
  std::map<std::string, std::pair<std::size_t, int>> creators{};
  /// by mark: the process that exported the memory, and its name there
  std::map<std::string, std::pair<std::size_t, std::string>> exported{};
  std::map<std::string, std::string> imported{};  ///< by name: the mark of the imported memory

  void add(const json& line, std::size_t process) {
    if (line.contains("shares")) {
      handles[line["shares"]] = {process, line["address"], line["begin"], line["bytes"]};
    } else if (line.contains("creates")) {
      creators[line["creates"]] = {process, line["device"]};
    } else if (line.contains("exports")) {
      exported[line["mark"]] = {process, line["exports"]};
    } else if (line.contains("imports")) {
      imported[line["imports"]] = line["mark"];
    }
  }
  /// Returns the memory's original name: the name in the process that created it, or in the first recorded process that
  /// imported it.
  [[nodiscard]] std::string first_name(std::string name) const {
    for (std::size_t k = 0; k <= imported.size(); ++k) {
      const auto mark = imported.find(name);
      const auto from = mark == imported.end() ? exported.end() : exported.find(mark->second);
      if (from == exported.end()) {
        break;
      }
      name = from->second.second;
    }
    return name;
  }
  /// Returns the process that shared the memory that this line imports. Returns nothing if the line imports no memory or the
  /// process is not known.
  [[nodiscard]] std::optional<std::size_t> giver(const json& line) const {
    if (line.contains("maps")) {
      const auto shared = handles.find(line["maps"].get<std::string>());
      return shared == handles.end() ? std::nullopt : std::optional(shared->second.process);
    }
    if (line.contains("imports")) {
      const auto shared = exported.find(line["mark"].get<std::string>());
      return shared == exported.end() ? std::nullopt : std::optional(shared->second.first);
    }
    return std::nullopt;
  }
};

/// Identifies identical PTX texts. A module is loaded once per device and process, so a job has many files with the same text.
class same_ptx {
 public:
  /// Returns the path of the first file with the same text.
  const std::string& first_of(const std::string& path) {
    const auto [known, is_new] = first_.emplace(path, "");
    if (is_new) {
      known->second = by_text_.emplace(read_file(path), path).first->second;
    }
    return known->second;
  }

 private:
  std::map<std::string, std::string> first_, by_text_;
};

/// Processes the recorded lines of several processes in chronological order.
class job_reader {
 public:
  /// `members` contains each process's number in `shared`.
  job_reader(std::vector<const process_file*> files, const std::vector<std::size_t>& members, const all_shared& shared)
      : files_(std::move(files)), shared_(shared), spaces_(files_.size()) {
    std::set<std::pair<int, int>> devices;
    for (std::size_t p = 0; p < files_.size(); ++p) {
      numbers_[members[p]] = p;
      auto space = std::make_shared<address_space>();
      space->process = p;
      spaces_[p] = std::move(space);
      for (const json& line : files_[p]->lines) {
        if (line.contains("launch")) {
          devices.insert({static_cast<int>(p), line["device"].get<int>()});
        } else if (line.contains("places")) {
          const u64 begin = line["address"].get<u64>() - line["offset"].get<u64>();
          places_.emplace(shared_.first_name(line["places"]), spaces_[p]->in_job(begin));
        }
      }
    }
    for (const auto& key : devices) {
      const int next = static_cast<int>(devices_.size());
      devices_[key] = files_.size() == 1 ? key.second : next;
    }
    for (const auto& [name, place] : places_) {
      const auto creator = shared_.creators.find(name);
      const auto number = creator == shared_.creators.end() ? numbers_.end() : numbers_.find(creator->second.first);
      owners_[place] = number == numbers_.end() ? 0 : device(number->second, creator->second.second);
    }
  }

  [[nodiscard]] std::size_t devices() const noexcept { return devices_.size(); }

  [[nodiscard]] recorded_job read() {
    job_.processes = static_cast<int>(files_.size());
    std::vector<std::size_t> next(files_.size());
    const auto time = [&](std::size_t p) { return files_[p]->lines[next[p]].value("time", u64{0}); };
    for (;;) {
      std::size_t first = files_.size();
      for (std::size_t p = 0; p < files_.size(); ++p) {
        if (next[p] < files_[p]->lines.size() && (first == files_.size() || time(p) < time(first))) {
          first = p;
        }
      }
      if (first == files_.size()) {
        return std::move(job_);
      }
      read(files_[first]->lines[next[first]++], first);
    }
  }

 private:
  void read(const json& line, std::size_t process) {
    if (line.contains("complaint")) {
      job_.complaints.insert(line["complaint"].get<std::string>());
    } else if (line.contains("machine_code_only")) {
      job_.machine_code_only.insert(line["machine_code_only"].get<std::string>());
    } else if (line.contains("tensor_map")) {
      (*spaces_[process]->tensor_maps)[bytes_of_hex(line["tensor_map"])] = tensor_map_of(line);
    } else if (line.contains("maps")) {
      add_opened(line, process);
    } else if (line.contains("places")) {
      const u64 at = line["address"];
      const u64 bytes = line["bytes"];
      const u64 to = places_.at(shared_.first_name(line["places"])) + line["offset"].get<u64>();
      if (to != spaces_[process]->in_job(at, bytes)) {
        add_mapping({at, bytes, to}, process);
      }
    } else if (line.contains("imports")) {
      if (!shared_.giver(line)) {
        job_.complaints.insert(
            "the program imported memory from a file descriptor or a fabric handle that no recorded process has exported, so "
            "the launches of the processes that share this memory are recorded as separate scenarios: record all processes "
            "with one command");
      }
    } else if (line.contains("unmaps")) {
      auto space = std::make_shared<address_space>(*spaces_[process]);
      const u64 at = line["unmaps"];
      const u64 bytes = line.value("bytes", u64{1});
      std::erase_if(space->mapped, [&](const auto& m) { return at < m.begin + m.bytes && m.begin < at + bytes; });
      spaces_[process] = std::move(space);
    } else if (line.contains("order")) {
      order_.add(line, static_cast<int>(process), device(process, line["device"]));
    } else if (line.contains("launch")) {
      job_.launches.push_back(launch_of(line, files_[process]->path));
      finish(job_.launches.back(), process);
      order_.place(job_.launches);
    }
  }

  /// Adds memory that was opened through CUDA IPC.
  void add_opened(const json& line, std::size_t process) {
    const auto shared = shared_.handles.find(line["maps"].get<std::string>());
    const auto owner = shared == shared_.handles.end() ? numbers_.end() : numbers_.find(shared->second.process);
    if (owner == numbers_.end()) {
      return;
    }
    const shared_memory& m = shared->second;
    address_space of_owner;  // translates the owner's address, regardless of what the owner has mapped there
    of_owner.process = owner->second;
    add_mapping({line["address"].get<u64>() - (m.address - m.begin), m.bytes, of_owner.in_job(m.begin)}, process);
  }

  void add_mapping(const address_space::mapping& of, std::size_t process) {
    auto space = std::make_shared<address_space>(*spaces_[process]);
    space->mapped.push_back(of);
    spaces_[process] = std::move(space);
  }

  void finish(recorded_launch& l, std::size_t process) {
    l.process = static_cast<int>(process);
    l.space = spaces_[process];
    for (recorded_memory& m : l.memory) {
      const u64 address = l.space->in_job(m.address, m.bytes);
      m.range = m.range == 0 ? 0 : address - (m.address - m.range);
      m.address = address;
      m.device = owner_of(m, process);
      m.space = l.space;
    }
    std::erase_if(l.memory, [](const recorded_memory& m) { return m.address == 0; });
    for (recorded_variable& v : l.variables) {
      v.address = l.space->in_job(v.address);
    }
    l.device = device(process, l.device);
    l.ptx = l.ptx.empty() ? "" : ptx_.first_of(l.ptx);
  }

  /// Returns the job's number for the device that owns the memory. The owner is the device of the process that created the
  /// memory, if that process is known.
  [[nodiscard]] int owner_of(const recorded_memory& m, std::size_t process) const {
    const auto created = m.range == 0 ? owners_.end() : owners_.upper_bound(m.address);
    const bool is_known = m.range != 0 && created != owners_.begin();
    return is_known ? std::prev(created)->second : device(process, m.device);
  }

  /// Returns the job's number for a device of a process.
  [[nodiscard]] int device(std::size_t process, int of_process) const {
    const auto known = devices_.find({static_cast<int>(process), of_process});
    return known != devices_.end() ? known->second : files_.size() == 1 ? of_process : 0;
  }

  std::vector<const process_file*> files_;
  const all_shared& shared_;
  std::map<std::size_t, std::size_t> numbers_{};
  std::map<std::string, u64> places_{};  ///< by the original name of memory from cuMemCreate: its address in the job
  std::map<u64, int> owners_{};          ///< by such an address: the owner's device number in the job
  std::vector<shared_space> spaces_;
  std::map<std::pair<int, int>, int> devices_{};
  launch_order order_{};
  same_ptx ptx_{};
  recorded_job job_{};
};

/// Assigns each process to a job. Returns, for each process, the smallest number of a process in the same job.
std::vector<std::size_t> joined(const std::vector<process_file>& files, const all_shared& shared) {
  std::vector<std::size_t> job(files.size());
  std::iota(job.begin(), job.end(), std::size_t{0});
  for (std::size_t p = 0; p < files.size(); ++p) {
    for (const json& line : files[p].lines) {
      if (const auto giver = shared.giver(line)) {
        const std::size_t keep = std::min(job[p], job[*giver]);
        const std::size_t drop = std::max(job[p], job[*giver]);
        std::replace(job.begin(), job.end(), drop, keep);
      }
    }
  }
  return job;
}

}  // namespace

std::uint64_t word_at(const std::string& bytes, std::size_t at, std::size_t count) {
  u64 out = 0;
  for (std::size_t b = 0; b < count && at + b < bytes.size(); ++b) {
    out |= u64{static_cast<unsigned char>(bytes[at + b])} << (8 * b);
  }
  return out;
}

std::vector<recorded_job> jobs_of(const fs::path& records) {
  std::vector<std::pair<long, fs::path>> processes;
  for (const fs::directory_entry& entry : fs::directory_iterator(records)) {
    if (entry.path().extension() == ".records") {
      processes.emplace_back(std::atol(entry.path().stem().c_str()), entry.path());
    }
  }
  std::sort(processes.begin(), processes.end());
  std::vector<process_file> files;
  all_shared shared;
  for (const auto& [pid, path] : processes) {
    files.push_back(lines_of(path));
    for (const json& line : files.back().lines) {
      shared.add(line, files.size() - 1);
    }
  }
  const std::vector<std::size_t> job = joined(files, shared);
  std::vector<recorded_job> out;
  for (std::size_t first = 0; first < files.size(); ++first) {
    std::vector<const process_file*> of_job;
    std::vector<std::size_t> members;
    for (std::size_t p = first; p < files.size(); ++p) {
      if (job[p] == first) {
        of_job.push_back(&files[p]);
        members.push_back(p);
      }
    }
    if (members.empty()) {
      continue;
    }
    job_reader reader(of_job, members, shared);
    if (reader.devices() <= most_devices && members.size() <= most_processes) {
      out.push_back(reader.read());
      continue;
    }
    for (std::size_t p = 0; p < members.size(); ++p) {
      out.push_back(job_reader({of_job[p]}, {members[p]}, shared).read());
    }
    out.back().complaints.insert(std::to_string(members.size()) + " processes share memory on " +
                                 std::to_string(reader.devices()) +
                                 " devices, but a scenario has at most 16 devices and 64 processes, so the launches of each "
                                 "process are recorded as separate scenarios");
  }
  return out;
}

}  // namespace membar_check
