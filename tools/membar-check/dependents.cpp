// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/text_file.hpp>
#include <membar-check/dependents.hpp>

#include <check/launch.hpp>
#include <check/program.hpp>
#include <lint/lint.hpp>
#include <ptx/decode.hpp>
#include <ptx/reader.hpp>
#include <ptx/text.hpp>
#include <sanitize/sanitize.hpp>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace check = membar::check;
namespace lint = membar::lint;
namespace ptx = membar::ptx;
namespace sanitize = membar::sanitize;
using u64 = std::uint64_t;

/// A set of bytes in a job's memory.
class byte_set {
 public:
  void add(u64 address, u64 bytes) {
    for (u64 at = address; at < address + bytes; ++at) {
      pages_[at / page_bytes].set(at % page_bytes);
    }
  }
  void add(const byte_set& other) {
    for (const auto& [number, bytes] : other.pages_) {
      pages_[number] |= bytes;
    }
  }
  [[nodiscard]] byte_set common(const byte_set& other) const {
    byte_set out;
    for (const auto& [number, bytes] : pages_) {
      if (const auto there = other.pages_.find(number); there != other.pages_.end() && (there->second & bytes).any()) {
        out.pages_[number] = there->second & bytes;
      }
    }
    return out;
  }
  [[nodiscard]] bool has_some(u64 begin, u64 end) const {
    for (auto page = pages_.lower_bound(begin / page_bytes); page != pages_.end() && page->first * page_bytes < end; ++page) {
      for (u64 at = std::max(begin, page->first * page_bytes); at < std::min(end, (page->first + 1) * page_bytes); ++at) {
        if (page->second.test(at % page_bytes)) {
          return true;
        }
      }
    }
    return false;
  }
  [[nodiscard]] bool is_empty() const noexcept { return pages_.empty(); }
  [[nodiscard]] u64 count() const {
    u64 out = 0;
    for (const auto& [number, bytes] : pages_) {
      out += bytes.count();
    }
    return out;
  }
  [[nodiscard]] u64 first() const {
    u64 at = 0;
    for (const auto& bytes = pages_.begin()->second; !bytes.test(at);) {
      ++at;
    }
    return pages_.begin()->first * page_bytes + at;
  }

 private:
  static constexpr u64 page_bytes = 4096;
  std::map<u64, std::bitset<page_bytes>> pages_{};
};

/// Weak and strong accesses, stored separately. Two strong accesses do not race.
struct accessed {
  byte_set weak{}, strong{};
  void add(const sanitize::observed_event& e, u64 address) { (e.strong ? strong : weak).add(address, e.bytes); }
  void add(const accessed& other) {
    weak.add(other.weak);
    strong.add(other.strong);
  }
  [[nodiscard]] bool has_some(u64 begin, u64 end) const { return weak.has_some(begin, end) || strong.has_some(begin, end); }
  [[nodiscard]] byte_set conflicts(const accessed& other) const {
    byte_set out = weak.common(other.weak);
    out.add(weak.common(other.strong));
    out.add(strong.common(other.weak));
    return out;
  }
};

/// A range of memory that extends from a pointer to the next known pointer or to the end of the memory.
struct stretch {
  u64 begin = 0, end = 0;
};

using places_accessed = std::map<std::string, accessed>;

/// The memory that a launch may access according to its pointers. Used for launches that could not be executed.
struct guessed_accesses {
  std::vector<stretch> memory{};
  std::string place{};  ///< the location of the first access
  bool write = false;   ///< whether some of the accesses may write
};

/// The memory that a launch accesses, as addresses of its job. "The wait" is griddepcontrol.wait, with which a programmatic
/// dependent waits for the preceding launches. Accesses before the wait are early, and accesses after it are late.
struct footprint {
  std::string why_not{};                 ///< the reason why the launch could not be executed; empty if it was executed
  accessed late_reads{}, late_writes{};  ///< the accesses after the wait
  places_accessed early_reads{}, early_writes{};
  /// accesses with `ld.global.nc` after the wait; they may be executed before the wait
  places_accessed read_only{};
  bool waits = false;           ///< whether a thread waits for the preceding launches
  bool launches_early = false;  ///< whether a block allows the next launch to start before the block has waited
  bool is_unknown = false;      ///< whether nothing is known about the kernel, not even whether it waits
  guessed_accesses may_access{}, may_access_early{};  ///< used if the launch could not be executed

  /// Returns whether the launch after this one starts only after the launch before this one has ended.
  [[nodiscard]] bool launches_after_wait() const noexcept { return waits && !launches_early; }
  [[nodiscard]] accessed reads() const { return all(early_reads, late_reads); }
  [[nodiscard]] accessed writes() const { return all(early_writes, late_writes); }

 private:
  [[nodiscard]] static accessed all(const places_accessed& early, accessed out) {
    for (const auto& [place, a] : early) {
      out.add(a);
    }
    return out;
  }
};

/// The module of a kernel. Several launches may share it.
struct loaded_kernel {
  std::optional<ptx::ptx_module> module{};
  ptx::module_layout layout{};
  std::shared_ptr<const ptx::kernel_code> code{};
  std::string why_not{};
};

const char* const nothing_ptx =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry membar_kernel_before()\n{\n  ret;\n}\n";

/// Returns the source line of an instruction. For a library function, this is the line of the call. Without line information,
/// returns the text of the instruction.
std::string place_of(const ptx::kernel_code& code, const ptx::instruction& i) {
  const auto name = [&](int file) {
    return file > 0 && static_cast<std::size_t>(file) < code.files.size()
               ? std::filesystem::path(code.files[static_cast<std::size_t>(file)]).filename().string()
               : std::string();
  };
  const std::string file = name(i.user_file);
  return i.user_line > 0 && !file.empty() ? file + ":" + std::to_string(i.user_line) : i.text;
}

/// Relocates memory for the engine. Memory at its original GPU addresses could overlap the engine's address windows.
class moved_memory {
 public:
  explicit moved_memory(const recorded_launch& l) : of_(l) {
    constexpr u64 most_bytes = u64{1} << 28U;
    for (const recorded_memory& m : l.memory) {
      u64 end = m.address + std::min(std::max(m.rest, m.bytes), most_bytes);
      for (const recorded_memory& other : l.memory) {
        end = other.address > m.address ? std::min(end, other.address) : end;
      }
      pieces_.push_back({&m, m.address, end - m.address});
    }
  }

  [[nodiscard]] static u64 to_engine(u64 address) noexcept { return (address & (base - 1)) | base; }

  /// Returns the job's address for an address in the engine, or 0 if it is not in recorded memory.
  [[nodiscard]] u64 to_job(u64 address) const {
    for (const piece& m : pieces_) {
      if (const u64 at = to_engine(m.address); address >= at && address - at < m.bytes) {
        return m.address + (address - at);
      }
    }
    for (const auto& [at, v] : variables_) {
      if (address >= at && address - at < v->bytes) {
        return v->address + (address - at);
      }
    }
    return 0;
  }

  /// Relocates the words of `bytes` that point to recorded memory.
  void move_pointers(std::vector<std::uint8_t>& bytes, const address_space& space) const {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      u64 word = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        word |= u64{bytes[at + k]} << (8 * k);
      }
      const u64 to = moved(space.in_job(word));
      for (std::size_t k = 0; k < 8 && to != 0; ++k) {
        bytes[at + k] = static_cast<std::uint8_t>(to >> (8 * k));
      }
    }
  }

  void add_to(check::program& p, const ptx::module_layout& layout) {
    for (const recorded_variable& v : of_.variables) {
      const auto at = layout.globals.find(v.name);
      const auto object = std::ranges::find_if(
          p.memory, [&](const check::memory_object& o) { return at != layout.globals.end() && o.address == at->second; });
      if (object == p.memory.end()) {
        continue;
      }
      variables_.emplace_back(at->second, &v);
      if (v.copied) {
        object->initial.assign(v.contents.begin(), v.contents.end());
      }
    }
    for (const piece& m : pieces_) {
      std::vector<std::uint8_t> contents(m.of->contents.begin(), m.of->contents.end());
      contents.resize((contents.size() + 7) / 8 * 8);
      move_pointers(contents, *of_.space);
      contents.resize(std::min<std::size_t>(contents.size(), m.bytes));
      check::add_memory(p, "memory " + std::to_string(p.memory.size()), m.bytes, std::move(contents), true, false,
                        to_engine(m.address));
    }
  }

 private:
  static constexpr u64 base = u64{1} << 45U;
  /// Recorded memory with the rest of its allocation. Bytes that were not recorded are assumed to be zero.
  struct piece {
    const recorded_memory* of = nullptr;
    u64 address = 0, bytes = 0;
  };

  [[nodiscard]] u64 moved(u64 address) const {
    for (const piece& m : pieces_) {
      if (address >= m.address && address - m.address <= m.bytes) {
        return to_engine(address);
      }
    }
    for (const auto& [at, v] : variables_) {
      if (address >= v->address && address - v->address < v->bytes) {
        return at + (address - v->address);
      }
    }
    return 0;
  }

  const recorded_launch& of_;
  std::vector<piece> pieces_{};
  std::vector<std::pair<u64, const recorded_variable*>> variables_{};
};

/// The pointers in all launches. If nothing else is known about the memory, these pointers divide it into ranges.
class known_pointers {
 public:
  void add(const recorded_launch& l) {
    for (const std::string& argument : l.arguments) {
      for (std::size_t at = 0; at + 8 <= argument.size(); at += 8) {
        if (const stretch s = memory_of(l, l.space->in_job(word_at(argument, at))); s.begin != 0) {
          all_.insert(s.begin);
        }
      }
    }
  }
  /// Returns the range from the pointer at this position in the argument to the next pointer or to the end of the memory.
  [[nodiscard]] std::optional<stretch> of(const recorded_launch& l, std::size_t argument, std::size_t at) const {
    stretch s = memory_of(l, l.space->in_job(word_at(l.arguments[argument], at)));
    if (s.begin == 0) {
      return std::nullopt;
    }
    if (const auto next = all_.upper_bound(s.begin); next != all_.end()) {
      s.end = std::min(s.end, *next);
    }
    return s;
  }

 private:
  [[nodiscard]] static stretch memory_of(const recorded_launch& l, u64 address) {
    for (const recorded_memory& m : l.memory) {
      if (address >= m.address && address - m.address < m.bytes) {
        return {address, m.address + m.bytes};
      }
    }
    return {};
  }
  std::set<u64> all_{};
};

/// Executes a launch and records its accesses.
class launch_reader {
 public:
  launch_reader(const recorded_launch& l, const loaded_kernel& k, const known_pointers& pointers)
      : launch_(l), kernel_(k), pointers_(pointers) {}

  [[nodiscard]] footprint read() {
    if (kernel_.code == nullptr) {
      out_.why_not = kernel_.why_not;
    } else {
      try {
        execute();
      } catch (const std::exception& e) {
        out_.why_not = e.what();
      }
    }
    if (!out_.why_not.empty()) {
      guess();
    }
    return std::move(out_);
  }

 private:
  void execute() {
    constexpr u64 most_instructions = 1'000'000'000;
    check::program p;
    check::add_variables(p, *kernel_.module, kernel_.layout);
    moved_memory memory(launch_);
    memory.add_to(p, kernel_.layout);
    const ptx::ptx_module nothing = ptx::read_ptx(nothing_ptx);
    check::launch_request before;
    before.kernel =
        std::make_shared<const ptx::kernel_code>(ptx::decode_kernel(nothing, ptx::layout_of(nothing), nothing.functions[0]));
    check::launch_request mine = request(memory);
    std::vector<check::planned_launch> launches;
    launches.push_back(check::plan_launch(p, before, 0, 0));
    mine.after = {0};
    mine.dependent = true;
    launches.push_back(check::plan_launch(p, mine, 1, 1));
    sanitize::sanitize_options how;
    how.schedules = 1;
    how.most_instructions = most_instructions;
    how.observe = [&](const sanitize::observed_event& e) { observe(e, memory); };
    const sanitize::sanitize_result done = sanitize::sanitize(p, launches, {}, how);
    for (const sanitize::sanitizer_finding& f : done.findings) {
      using enum check::check_status;
      if (f.found.status != race && f.found.status != uninitialised) {
        out_.why_not = f.found.message;
      }
    }
  }

  [[nodiscard]] check::launch_request request(const moved_memory& memory) const {
    check::launch_request r;
    r.kernel = kernel_.code;
    r.grid = launch_.grid;
    r.block = launch_.block;
    r.cluster = static_cast<int>(std::max(launch_.cluster[0] * launch_.cluster[1] * launch_.cluster[2], 1U));
    r.cluster = r.cluster == 1 ? 0 : r.cluster;
    r.dynamic_shared = launch_.shared;
    r.arguments.resize(kernel_.code->parameter_bytes);
    for (std::size_t k = 0; k < launch_.arguments.size() && k < kernel_.code->parameters.size(); ++k) {
      std::vector<std::uint8_t> bytes(launch_.arguments[k].begin(), launch_.arguments[k].end());
      memory.move_pointers(bytes, *launch_.space);
      const std::size_t at = kernel_.code->parameter_offsets[k];
      std::copy_n(bytes.begin(), std::min(bytes.size(), r.arguments.size() - std::min(at, r.arguments.size())),
                  r.arguments.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return r;
  }

  void observe(const sanitize::observed_event& e, const moved_memory& memory) {
    using enum sanitize::observed_event::kind_t;
    if (e.launch != 1) {
      return;
    }
    if (e.kind == launch_dependents) {
      out_.launches_early = out_.launches_early || e.early;
      return;
    }
    if (e.kind == wait_for_launches) {
      out_.waits = true;
      return;
    }
    const u64 at = memory.to_job(e.address);
    if (at == 0) {
      return;
    }
    if (e.early) {
      place(e.kind == read ? out_.early_reads : out_.early_writes, e).add(e, at);
      return;
    }
    (e.kind == read ? out_.late_reads : out_.late_writes).add(e, at);
    if (e.kind == read && e.by->non_coherent) {
      place(out_.read_only, e).add(e, at);
    }
  }
  accessed& place(places_accessed& all, const sanitize::observed_event& e) const { return all[place_of(*kernel_.code, *e.by)]; }

  /// Determines the memory that the launch's pointers point to.
  void guess() {
    const std::string why_not = std::move(out_.why_not);
    out_ = {};
    out_.why_not = why_not;
    add_pointers(out_.may_access, [](std::size_t) { return true; });
    out_.may_access.write = true;
    if (kernel_.code == nullptr) {
      out_.may_access_early = out_.may_access;
      out_.is_unknown = true;
      return;
    }
    const lint::kernel_view view(*kernel_.code, kernel_.layout);
    const auto is = [&](ptx::op code) {
      return std::ranges::any_of(kernel_.code->code, [&](const ptx::instruction& i) { return i.code == code; });
    };
    out_.waits = is(ptx::op::grid_wait);
    out_.launches_early = is(ptx::op::grid_launch);
    out_.may_access.write = false;
    add_accesses(out_.may_access, view.data.accesses());
    add_accesses(out_.may_access_early, out_.waits ? lint::early_accesses(view) : view.data.accesses());
  }

  template <class Keep>
  void add_pointers(guessed_accesses& to, Keep keep) const {
    for (std::size_t k = 0; k < launch_.arguments.size(); ++k) {
      for (std::size_t at = 0; at + 8 <= launch_.arguments[k].size(); at += 8) {
        const bool kept = kernel_.code == nullptr || keep(kernel_.code->parameter_offsets[k] + at);
        if (const auto s = pointers_.of(launch_, k, at); s && kept) {
          to.memory.push_back(*s);
        }
      }
    }
  }

  template <class Accesses>
  void add_accesses(guessed_accesses& to, const Accesses& accesses) const {
    for (const lint::access& a : accesses) {
      if (a.space != ptx::state_space::global && !a.origins.empty()) {
        continue;
      }
      to.place = to.place.empty() ? place_of(*kernel_.code, kernel_.code->code[static_cast<std::size_t>(a.at)]) : to.place;
      to.write = to.write || a.writes;
      add_pointers(to, [&](std::size_t offset) {
        return a.origins.empty() || std::ranges::any_of(a.origins, [&](const lint::origin& o) {
                 return o.number == static_cast<std::int64_t>(offset);
               });
      });
    }
  }

  const recorded_launch& launch_;
  const loaded_kernel& kernel_;
  const known_pointers& pointers_;
  footprint out_{};
};

std::string bytes_text(u64 count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

/// Analyzes the launches of a job.
class job_analysis {
 public:
  job_analysis(const recorded_job& job, dependents_report& out) : job_(job), out_(out) {
    for (const recorded_launch& l : job.launches) {
      numbers_[{l.process, l.number}] = &l;
      pointers_.add(l);
    }
  }

  void run() {
    for (const recorded_launch& l : job_.launches) {
      if (!l.dependent) {
        continue;
      }
      ++out_.launches;
      if (before(l) == nullptr) {
        ++out_.without_predecessor;
      } else if (!look_at(l)) {
        ++out_.right;
      }
    }
  }

 private:
  [[nodiscard]] const recorded_launch* before(const recorded_launch& l) const {
    const auto at = numbers_.find({l.process, l.follows});
    return l.follows == 0 || at == numbers_.end() ? nullptr : at->second;
  }

  /// A launch that precedes another launch, and the points at which it is known to have ended.
  struct earlier_launch {
    const recorded_launch* of = nullptr;
    bool predecessor = true;
    bool ended_at_begin = false;  ///< whether the preceding launch has ended when the other launch starts
    bool ended_at_wait = true;    ///< whether the preceding launch has ended when the other launch has waited
    /// the name of a kernel that runs between the two launches and whose PTX could not be read, or an empty string; if that
    /// kernel waits, no access is too early
    std::string unknown{};

    /// Returns the launch before this one, which is `before`. `its` is the footprint of this launch. If this launch waits, its
    /// end implies that `before` has ended. If this launch waits before it allows the next launch to start, the start of the
    /// next launch also implies that `before` has ended.
    [[nodiscard]] earlier_launch next(const recorded_launch* before, const footprint& its) const {
      const bool launches_after_wait = its.launches_after_wait();
      earlier_launch out{before,
                         false,
                         launches_after_wait || (its.waits && ended_at_begin),
                         launches_after_wait || (its.waits && ended_at_wait),
                         {}};
      if (its.is_unknown) {
        out.unknown = check::source_name(of->kernel);
      } else if (its.waits && !launches_after_wait) {
        out.unknown = unknown;
      }
      return out;
    }
  };

  /// Returns whether the launch accesses memory too early, that is, while an earlier launch may still be running.
  bool look_at(const recorded_launch& l) {
    constexpr int most_before = 8;
    bool wrong = false;
    earlier_launch other{before(l)};
    for (int k = 0; k < most_before && other.of != nullptr; ++k) {
      wrong = (!other.ended_at_begin && compare(l, other)) || wrong;
      if (!other.of->dependent) {
        break;
      }
      other = other.next(before(*other.of), footprint_of(*other.of));
    }
    return wrong;
  }

  bool compare(const recorded_launch& l, const earlier_launch& other) {
    const footprint& mine = footprint_of(l);
    const footprint& its = footprint_of(*other.of);
    dependent_row row{dependent_row::verdict_t::wrong,
                      check::source_name(l.kernel),
                      check::source_name(other.of->kernel),
                      other.predecessor,
                      "none",
                      "none",
                      {},
                      1};
    if (!mine.why_not.empty() || !its.why_not.empty()) {
      return compare_stretches(mine, its, other, std::move(row));
    }
    const auto hits = [&](const places_accessed& places, const accessed& of, std::string& text, const std::string& what) {
      byte_set all;
      std::string where;
      for (const auto& [place, a] : places) {
        if (const byte_set common = a.conflicts(of); !common.is_empty()) {
          all.add(common);
          where += (where.empty() ? "" : ", ") + place;
        }
      }
      if (!all.is_empty()) {
        text =
            (text == "none" ? "" : text + "; ") + bytes_text(all.count()) + " " + name_of(l, all.first()) + what + ", " + where;
      }
      return !all.is_empty();
    };
    const accessed written = its.writes();
    accessed touched = its.reads();
    touched.add(written);
    const bool reads = hits(mine.early_reads, written, row.reads, "");
    const bool cached = other.ended_at_wait && hits(mine.read_only, written, row.reads, " by ld.global.nc after the wait");
    const bool late_reads = !other.ended_at_wait && hits({{"after the wait", mine.late_reads}}, written, row.reads, "");
    const bool writes = hits(mine.early_writes, touched, row.writes, "");
    const bool late_writes = !other.ended_at_wait && hits({{"after the wait", mine.late_writes}}, touched, row.writes, "");
    if (!reads && !cached && !late_reads && !writes && !late_writes) {
      return false;
    }
    if (reads || late_reads) {
      row.sentence = "reads memory that " + row.other + " writes";
    } else if (cached) {
      row.sentence = "may read, before it waits, memory that " + row.other + " writes";
    }
    if (writes || late_writes) {
      row.sentence += (row.sentence.empty() ? "" : ", and ") + ("writes memory that " + row.other + " accesses");
    }
    finish(std::move(row), other, late_reads || late_writes);
    return true;
  }

  /// Compares the memory that the launches' pointers point to. Used if at least one of the two launches could not be executed.
  bool compare_stretches(const footprint& mine, const footprint& its, const earlier_launch& other, dependent_row row) {
    const std::string why = !mine.why_not.empty() ? row.kernel + ": " + mine.why_not : row.other + ": " + its.why_not;
    bool found = false;
    if (!mine.why_not.empty()) {
      const guessed_accesses& may = other.ended_at_wait ? mine.may_access_early : mine.may_access;
      accessed theirs = its.writes();
      if (may.write) {
        theirs.add(its.reads());
      }
      found = std::ranges::any_of(may.memory, [&](const stretch& s) {
        return theirs.has_some(s.begin, s.end) ||
               std::ranges::any_of(its.may_access.memory, [&](const stretch& o) { return s.begin < o.end && o.begin < s.end; });
      });
      row.reads = found ? "some" + (may.place.empty() ? "" : ", " + may.place) : row.reads;
      row.writes = found && may.write ? "some" : row.writes;
    } else {
      const auto some = [&](const places_accessed& places, std::string& text) {
        for (const auto& [place, a] : places) {
          const bool here =
              std::ranges::any_of(its.may_access.memory, [&](const stretch& s) { return a.has_some(s.begin, s.end); });
          text = here ? (text == "none" ? "some, " : text + ", ") + place : text;
          found = found || here;
        }
      };
      some(mine.early_reads, row.reads);
      some(mine.early_writes, row.writes);
      if (!other.ended_at_wait) {
        some({{"after the wait", mine.late_reads}}, row.reads);
        some({{"after the wait", mine.late_writes}}, row.writes);
      }
    }
    if (found) {
      row.verdict = dependent_row::verdict_t::possible;
      row.sentence = "it may access memory that " + row.other +
                     " accesses, according to the launches' pointers; one of the two launches could not be executed: " + why;
      finish(std::move(row), other, false);
    }
    return found;
  }

  void finish(dependent_row row, const earlier_launch& other, bool late) {
    if (!other.unknown.empty()) {
      row.verdict = dependent_row::verdict_t::possible;
      row.sentence += ", unless " + other.unknown + ", which runs between them, waits (its PTX could not be read)";
    } else if (late) {
      row.sentence += ", and the kernel between them does not wait for it";
    }
    add(std::move(row));
  }

  /// Returns a description such as "at byte 16 of argument 0", based on the nearest pointer at or below the address.
  [[nodiscard]] static std::string name_of(const recorded_launch& l, u64 address) {
    std::string name = "of memory reached through a pointer in memory";
    u64 nearest = 0;
    for (std::size_t k = 0; k < l.arguments.size(); ++k) {
      for (std::size_t at = 0; at + 8 <= l.arguments[k].size(); at += 8) {
        const u64 pointer = l.space->in_job(word_at(l.arguments[k], at));
        const bool inside = std::ranges::any_of(l.memory, [&](const recorded_memory& m) {
          return pointer >= m.address && pointer - m.address < m.bytes && address >= m.address && address - m.address < m.bytes;
        });
        if (inside && pointer <= address && pointer >= nearest) {
          nearest = pointer;
          name =
              "of argument " + std::to_string(k) + (l.arguments[k].size() > 8 ? " (its byte " + std::to_string(at) + ")" : "");
        }
      }
    }
    for (const recorded_variable& v : l.variables) {
      name = address >= v.address && address - v.address < v.bytes ? "of the variable " + v.name : name;
    }
    return name;
  }

  void add(dependent_row row) {
    const auto same = std::ranges::find_if(out_.rows, [&](const dependent_row& r) {
      return std::tie(r.verdict, r.kernel, r.other, r.reads, r.writes, r.sentence) ==
             std::tie(row.verdict, row.kernel, row.other, row.reads, row.writes, row.sentence);
    });
    if (same == out_.rows.end()) {
      out_.rows.push_back(std::move(row));
    } else {
      ++same->launches;
    }
  }

  const footprint& footprint_of(const recorded_launch& l) {
    const auto [at, is_new] = footprints_.try_emplace(&l);
    if (is_new) {
      at->second = launch_reader(l, kernel_of(l), pointers_).read();
    }
    return at->second;
  }

  const loaded_kernel& kernel_of(const recorded_launch& l) {
    const auto [at, is_new] = kernels_.try_emplace({l.ptx, l.kernel});
    loaded_kernel& k = at->second;
    if (!is_new) {
      return k;
    }
    if (l.ptx.empty()) {
      k.why_not = "it has only machine code";
      return k;
    }
    try {
      k.module = ptx::read_ptx(ptx::with_kernels(membar_tools::read_file(l.ptx), {l.kernel}));
      k.layout = ptx::layout_of(*k.module);
      const auto f = std::ranges::find_if(k.module->functions,
                                          [&](const ptx::ptx_function& one) { return one.kernel && one.name == l.kernel; });
      k.code = std::make_shared<const ptx::kernel_code>(ptx::decode_kernel(*k.module, k.layout, *f));
    } catch (const std::exception& e) {
      k.why_not = e.what();
    }
    return k;
  }

  const recorded_job& job_;
  dependents_report& out_;
  std::map<std::pair<int, int>, const recorded_launch*> numbers_{};
  known_pointers pointers_{};
  std::map<std::pair<std::string, std::string>, loaded_kernel> kernels_{};
  std::map<const recorded_launch*, footprint> footprints_{};
};

}  // namespace

std::string dependents_report::text() const {
  std::vector<std::vector<std::string>> cells{{"kernel", "predecessor", "early reads", "early writes", "verdict"}};
  for (const dependent_row& r : rows) {
    cells.push_back({r.kernel, r.other + (r.predecessor ? "" : " (earlier)"), r.reads, r.writes,
                     (r.verdict == dependent_row::verdict_t::wrong ? "wrong: " : "possible: ") + r.sentence +
                         (r.launches == 1 ? "" : " (" + std::to_string(r.launches) + " launches)")});
  }
  std::ostringstream out;
  if (!rows.empty()) {
    std::vector<std::size_t> widths(cells[0].size(), 0);
    for (const auto& row : cells) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        widths[c] = std::max(widths[c], row[c].size());
      }
    }
    for (const auto& row : cells) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        out << row[c] << (c + 1 == row.size() ? "\n" : std::string(widths[c] - row[c].size() + 2, ' '));
      }
    }
  }
  out << launches << (launches == 1 ? " programmatic dependent launch" : " different programmatic dependent launches") << ", "
      << right << " right";
  if (without_predecessor != 0) {
    out << ", " << without_predecessor << " without a known preceding kernel";
  }
  out << "\n";
  return out.str();
}

dependents_report dependents_of(const std::vector<recorded_job>& jobs) {
  dependents_report out;
  for (const recorded_job& job : jobs) {
    job_analysis(job, out).run();
    for (const std::string& c : job.complaints) {
      out.sentences.push_back(c);
    }
  }
  return out;
}

}  // namespace membar_check
