// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/check.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include "membar-domains/move_list.hpp"
#include "membar-domains/overlap.hpp"

namespace membar_domains {

namespace {

/// Returns the scope that an opcode's parts contain, or `otherwise` if they contain none. Scopes narrower than the device are
/// ignored.
scopes scope_in(const std::vector<std::string_view>& parts, scopes otherwise) {
  const auto has = [&](std::string_view word) { return std::ranges::find(parts, word) != parts.end(); };
  return has("sys")                     ? scopes{false, true}
         : has("gpu")                   ? scopes{true, false}
         : has("cta") || has("cluster") ? scopes{}
                                        : otherwise;
}

/// Returns the opcode of a PTX statement, split at its dots. Returns an empty vector if the statement is not an instruction.
std::vector<std::string_view> opcode_in(std::string_view statement) {
  constexpr std::string_view blanks = " \t\r";
  const auto next_word = [&] {
    statement.remove_prefix(std::min(statement.find_first_not_of(blanks), statement.size()));
    const std::string_view word = statement.substr(0, statement.find_first_of(blanks));
    statement.remove_prefix(word.size());
    return word;
  };
  std::string_view word = next_word();
  word = word.starts_with('@') ? next_word() : word;
  std::vector<std::string_view> parts;
  while (!word.empty()) {
    const std::string_view part = word.substr(0, word.find('.'));
    parts.push_back(part);
    word.remove_prefix(std::min(part.size() + 1, word.size()));
  }
  return parts;
}

/// Examines the code one statement at a time, because comments and names may contain any word.
synchronization in_statements(std::string_view code) {
  synchronization out;
  bool fences = false;
  bool device_accesses = false;
  constexpr scopes device{true, false};
  std::size_t at = 0;
  while (at < code.size()) {
    const std::size_t end = std::min(code.find_first_of(";\n{}", at), code.size());
    const std::vector<std::string_view> parts = opcode_in(code.substr(at, end - at));
    at = end + 1;
    const auto has = [&](std::string_view word) { return std::ranges::find(parts, word) != parts.end(); };
    const auto is = [&](std::string_view word) { return !parts.empty() && parts[0] == word; };
    if (is("membar")) {
      const scopes scope = has("sys") ? scopes{false, true} : has("gl") ? device : scope_in(parts, {});
      out.releases |= scope;
      out.acquires |= scope;
      fences = fences || scope.any();
    } else if (is("fence")) {
      const scopes scope = scope_in(parts, {});
      out.releases |= has("acquire") ? scopes{} : scope;
      out.acquires |= has("release") ? scopes{} : scope;
      fences = fences || scope.any();
    } else if ((is("ld") || is("st") || is("atom") || is("red") || is("multimem")) &&
               std::ranges::none_of(parts, [](std::string_view part) { return part.starts_with("shared"); })) {
      const bool atomic = is("atom") || is("red") || has("red") || has("ld_reduce");
      const bool strong = atomic || has("relaxed") || has("acquire") || has("release") || has("acq_rel") || has("sc");
      const scopes scope = strong ? scope_in(parts, device) : scopes{};  // `volatile` has system scope
      out.releases |= has("release") || has("acq_rel") || has("sc") ? scope : scopes{};
      out.acquires |= has("acquire") || has("acq_rel") || has("sc") ? scope : scopes{};
      out.atomics |= atomic ? scope : scopes{};
      device_accesses = device_accesses || scope.device;
    }
  }
  // A pattern that consists of a fence and an access has the narrower of the two scopes.
  out.releases.device = out.releases.device || (fences && device_accesses && out.releases.any());
  out.acquires.device = out.acquires.device || (fences && device_accesses && out.acquires.any());
  return out;
}

/// Returns the text from `at` up to the closing brace of the first block after it.
std::string_view body(std::string_view text, std::size_t at) {
  const std::size_t begin = text.find('{', at);
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) {
      return text.substr(begin, i - begin);
    }
  }
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "re"), pclose);
  std::string out;
  char part[4096];
  while (pipe) {
    const std::size_t got = std::fread(part, 1, sizeof part, pipe.get());
    if (got == 0) {
      break;
    }
    out.append(part, got);
  }
  return out;
}

}  // namespace

std::optional<synchronization> in_ptx(std::string_view text, const std::string& name) {
  for (std::size_t at = text.find(".entry"); at != std::string_view::npos; at = text.find(".entry", at + 6)) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n", at + 6);
    if (begin == std::string_view::npos || text.compare(begin, name.size(), name) != 0 ||
        (begin + name.size() < text.size() && is_word(text[begin + name.size()]))) {
      continue;
    }
    const std::string_view code = body(text, begin);
    synchronization out = in_statements(code);
    if (code.find("call") != std::string_view::npos) {
      for (std::size_t f = text.find(".func"); f != std::string_view::npos; f = text.find(".func", f + 5)) {
        const std::size_t brace = text.find_first_of("{;", f);
        if (brace != std::string_view::npos && text[brace] == '{') {
          const synchronization called = in_statements(body(text, f));
          out.releases |= called.releases;
          out.acquires |= called.acquires;
          out.atomics |= called.atomics;
        }
      }
    }
    return out;
  }
  return std::nullopt;
}

synchronization in_sass(std::string_view text) {
  scopes barriers, writes, reads, atomics;
  bool invalidates = false;
  for (std::size_t at = text.find_first_not_of(" \t\n;"); at < text.size(); at = text.find_first_not_of(" \t\n;", at)) {
    const std::string_view opcode = text.substr(at, text.find_first_of(" \t\n;", at) - at);
    at += opcode.size();
    const auto scope = [&](std::string_view before) {
      const bool strong = opcode.find(before) != std::string_view::npos;
      return scopes{strong && opcode.find(".GPU") != std::string_view::npos,
                    strong && opcode.find(".SYS") != std::string_view::npos};
    };
    if (opcode.starts_with("MEMBAR.")) {
      barriers |= scope("MEMBAR.");
    } else if (opcode.starts_with("CCTL.IVALL")) {
      invalidates = true;
    } else if (opcode.starts_with("ATOM") || opcode.starts_with("RED")) {
      atomics |= scope(".STRONG");
    } else if (opcode.starts_with("ST")) {
      writes |= scope(".STRONG");
    } else if (opcode.starts_with("LD")) {
      reads |= scope(".STRONG");
    }
  }
  writes |= atomics;
  reads |= atomics;
  synchronization out;
  out.atomics = atomics;
  if (barriers.any() && writes.any()) {
    out.releases = {barriers.device || writes.device, barriers.system && writes.system};
  }
  if ((barriers.any() || invalidates) && reads.any()) {
    out.acquires = {barriers.device || reads.device, reads.system};
  }
  return out;
}

bool needs_one_domain(const synchronization& a, const synchronization& b) noexcept {
  const auto broken = [](const scopes& one, const scopes& other) {
    return one.any() && other.any() && (one.device || other.device);
  };
  return broken(a.releases, b.acquires) || broken(a.acquires, b.releases) || broken(a.atomics, b.atomics);
}

std::optional<synchronization> code_in_image(const std::string& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  char start[4] = {};
  if (!file.read(start, sizeof start)) {
    return std::nullopt;
  }
  const bool is_elf = start[0] == 0x7f;
  if (!is_elf && static_cast<unsigned char>(start[0]) != 0x50) {  // neither ELF nor a fatbin: PTX
    std::ostringstream all;
    file.seekg(0);
    all << file.rdbuf();
    return in_ptx(all.str(), name);
  }
  if (!std::all_of(name.begin(), name.end(), is_word)) {
    return std::nullopt;
  }
  std::string tool = "cuobjdump";
  for (const char* place : {"/usr/local/cuda/bin/cuobjdump"}) {
    tool = std::filesystem::exists(place) ? place : tool;
  }
  if (!is_elf) {
    const std::string ptx = output_of(tool + " -ptx -fun '" + name + "' '" + path + "' 2> /dev/null");
    if (const auto found = in_ptx(ptx, name)) {
      return found;
    }
  }
  const std::string sass = output_of(tool + " -sass -fun '" + name + "' '" + path + "' 2> /dev/null");
  return sass.find(name) == std::string::npos ? std::nullopt : std::optional(in_sass(sass));
}

namespace {

using name_pair = std::pair<std::uint32_t, std::uint32_t>;  // a kernel to move and another kernel

/// Returns the names of kernels that ran concurrently on a device, as pairs.
std::set<name_pair> pairs_at_once(const records& of, const std::set<std::uint32_t>& far) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<interval>> remote;  // by device and name
  const auto is_far = [&](const kernel_record& k) { return far.contains(k.name) && !k.near; };
  for (const kernel_record& k : of.kernels) {
    if (is_far(k)) {
      remote[{k.device, k.name}].push_back({static_cast<std::int64_t>(k.start), static_cast<std::int64_t>(k.end)});
    }
  }
  for (auto& [where, intervals] : remote) {
    intervals = merge(std::move(intervals));
  }
  std::set<name_pair> pairs;
  for (const kernel_record& k : of.kernels) {
    if (is_far(k) || k.end < k.start + 2) {
      continue;
    }
    for (const auto& [where, intervals] : remote) {
      if (where.first == k.device && !pairs.contains({where.second, k.name}) &&
          overlaps(intervals, static_cast<std::int64_t>(k.start) + 1, static_cast<std::int64_t>(k.end) - 1)) {
        pairs.insert({where.second, k.name});
      }
    }
  }
  return pairs;
}

/// The recorded kernels with the same name. Determines which of them may have used a pointer.
class kernels_of_name {
 public:
  kernels_of_name(const records& of, std::uint32_t name) {
    for (const kernel_record& k : of.kernels) {
      if (k.name == name) {
        (k.graph == 0 ? launched_ : in_graphs_).push_back(&k);
      }
    }
    std::ranges::sort(launched_, {}, &kernel_record::launch);
    const auto told = of.launched.find(name);
    const bool distinct = std::ranges::adjacent_find(launched_, {}, &kernel_record::launch) ==
                          launched_.end();  // CUPTI gives each launch its own number
    ordered_ = told != of.launched.end() && told->second >= launched_.size() && distinct;
    missing_ = ordered_ ? told->second - launched_.size() : 0;
  }

  /// Returns the kernels that may have used a pointer. CUPTI numbers launches in the order in which they were made. Some
  /// launches may be missing from the records, and the records do not show which ones.
  [[nodiscard]] std::vector<const kernel_record*> in(const pointer_uses& uses) const {
    std::vector<const kernel_record*> out = uses.in_graphs ? in_graphs_ : std::vector<const kernel_record*>{};
    // Launches without far pointers are not moved.
    std::erase_if(out, [](const kernel_record* k) { return k->near; });
    for (std::uint64_t i = 0; i < launched_.size() && uses.first <= uses.last; ++i) {
      if (!launched_[i]->near && (!ordered_ || (i <= uses.last && i + missing_ >= uses.first))) {
        out.push_back(launched_[i]);
      }
    }
    return out;
  }

 private:
  std::vector<const kernel_record*> launched_, in_graphs_;
  bool ordered_ = false;
  std::uint64_t missing_ = 0;
};

/// Returns whether kernels with these two names ran concurrently on a device and may have been given the same pointer.
bool shared_at_once(const records& of, std::uint32_t far, std::uint32_t near) {
  const auto known = of.pointers.find(far);
  const auto others = of.pointers.find(near);
  if (known == of.pointers.end() || others == of.pointers.end()) {
    return false;
  }
  std::set<std::pair<pointer_uses, pointer_uses>> uses;
  for (const auto& [pointer, in] : others->second) {
    if (const auto same = known->second.find(pointer); same != known->second.end()) {
      uses.insert({same->second, in});
    }
  }
  const kernels_of_name ours(of, far);
  const kernels_of_name theirs(of, near);
  return std::ranges::any_of(uses, [&](const auto& both) {
    std::map<std::uint32_t, std::vector<interval>> by_device;
    for (const kernel_record* const k : ours.in(both.first)) {
      by_device[k->device].push_back({static_cast<std::int64_t>(k->start), static_cast<std::int64_t>(k->end)});
    }
    for (auto& [device, intervals] : by_device) {
      intervals = merge(std::move(intervals));
    }
    return std::ranges::any_of(theirs.in(both.second), [&](const kernel_record* const k) {
      const auto at = by_device.find(k->device);
      return at != by_device.end() && k->end >= k->start + 2 &&
             overlaps(at->second, static_cast<std::int64_t>(k->start) + 1, static_cast<std::int64_t>(k->end) - 1);
    });
  });
}

}  // namespace

void check(const records& of, const std::function<std::string(std::uint32_t, const std::string&)>& why_remote,
           const std::function<std::optional<synchronization>(std::uint32_t)>& code_of, check_report& into) {
  std::set<std::uint32_t> far;
  for (const auto& [id, name] : of.names) {
    if (!why_remote(id, name).empty() && !of.already_isolated.contains(id)) {
      far.insert(id);
    }
  }
  std::set<std::uint32_t> unseen;
  std::map<std::uint32_t, std::optional<synchronization>> code;
  const auto looked_at = [&](std::uint32_t id) {
    const auto [at, is_new] = code.try_emplace(id);
    if (is_new) {
      at->second = code_of(id);
      if (!at->second) {
        into.without_code.push_back(short_name(of.names.at(id)));
      }
    }
    return at->second;
  };
  for (const auto& [far_id, near_id] : pairs_at_once(of, far)) {
    ++into.pairs;
    const std::string& name = of.names.at(far_id);
    const std::string both = short_name(name) + " and " + short_name(of.names.at(near_id)) + " ran at the same time";
    const auto warn = [&](const std::string& sentence) {
      into.warnings.push_back(sentence);
      into.warned[name].insert(sentence);
    };
    std::string not_seen;
    for (const std::uint32_t id : {far_id, near_id}) {
      if (!of.looked_at.contains(id) && unseen.insert(id).second) {
        ++into.without_arguments;
      }
      not_seen = of.looked_at.contains(id) ? not_seen : short_name(of.names.at(id));
    }
    if (!not_seen.empty()) {
      warn(both + ". Not all pointers of " + not_seen +
           " could be read (from its launches, its argument sizes, or a table of pointers), so the two may share memory.");
      continue;
    }
    if (!shared_at_once(of, far_id, near_id)) {
      continue;
    }
    ++into.sharing;
    const auto a = looked_at(far_id);
    const auto b = looked_at(near_id);
    const std::string given = both + " and received the same pointer";
    if (!a || !b) {
      warn(given + ", and the code of " + short_name(of.names.at(a ? near_id : far_id)) +
           " could not be read: move both or neither.");
    } else if (needs_one_domain(*a, *b)) {
      warn(given +
           ". Either one releases and the other acquires, or both use atomics. At least one side's scope is narrower than "
           "system scope, and therefore does not order anything across domains: move both or neither, and use try with "
           "--whole-runs.");
    } else {
      warn(given + ": move both or neither.");
    }
  }
}

std::string text(const check_report& report) {
  std::string out;
  const std::set<std::string> warnings(report.warnings.begin(), report.warnings.end());
  for (const std::string& warning : warnings) {
    out += "WARNING: " + warning + "\n";
  }
  const std::set<std::string> names(report.without_code.begin(), report.without_code.end());
  std::string unread;
  for (const std::string& name : names) {
    unread += (unread.empty() ? "" : ", ") + name;
  }
  return out + "The check examined " + grouped(report.pairs) + (report.pairs == 1 ? " pair" : " pairs") +
         " of a kernel to move and another kernel that ran at the same time; " + grouped(report.sharing) +
         " received the same pointer." +
         (unread.empty()
              ? ""
              : " The code of these kernels could not be read (they have no PTX, and no cuobjdump could disassemble them): " +
                    unread + ".") +
         (report.without_arguments == 0
              ? ""
              : " For " + grouped(report.without_arguments) + " kernels, not all pointers could be read.") +
         " The check does not detect pointers behind more than one table in device memory, or buffers that overlap but start "
         "at "
         "different addresses.\n";
}

}  // namespace membar_domains
