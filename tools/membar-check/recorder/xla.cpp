// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/xla.hpp"

#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <ptx/text.hpp>

#include "membar-check/recorder/code.hpp"
#include "membar-check/recorder/records.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

namespace {

namespace fs = std::filesystem;

std::int64_t in_nanoseconds(const timespec& time) noexcept { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::int64_t time_of(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return in_nanoseconds(now);
}

constexpr std::string_view spaces = " \t\r\n";
constexpr std::string_view dump_flag = "--xla_dump_to=";
constexpr std::string_view emitter_flag = "--xla_dump_emitter_re=";

/// The value of a flag.
struct flag_value {
  std::size_t begin, end;  ///< its place in the flags, without quotes
  std::string text;
};

/// Returns the value that XLA uses for a flag, which is the last value given. As in XLA, a value may be quoted, a backslash in
/// double quotes escapes the next character, and everything after the first word that is not a flag is ignored.
std::optional<flag_value> value_of(std::string_view flags, std::string_view name) {
  std::optional<flag_value> found;
  const auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  std::size_t at = flags.find_first_not_of(spaces);
  while (at < flags.size() && flags[at] == '-') {
    const bool is_wanted = flags.substr(at).starts_with(name);
    while (at < flags.size() && is_of_name(flags[at])) {
      ++at;
    }
    const std::string_view rest = flags.substr(at);
    const bool is_quoted = rest.starts_with("='") || rest.starts_with("=\"");
    const std::string_view ends = is_quoted ? rest.substr(1, 1) : spaces;
    at += is_quoted ? 2 : rest.starts_with('=') ? 1 : 0;
    flag_value value{at, 0, ""};
    for (; at < flags.size() && ends.find(flags[at]) == ends.npos; ++at) {
      at += is_quoted && ends == "\"" && flags[at] == '\\' && at + 1 < flags.size() ? 1 : 0;
      value.text += flags[at];
    }
    value.end = at;
    if (is_wanted) {
      found = std::move(value);
    }
    at = flags.find_first_not_of(spaces, is_quoted ? at + 1 : at);
  }
  return found;
}

/// Returns a flag's value, in quotes if necessary.
std::string in_quotes(const std::string& value) {
  if (value.find_first_of(" \t\r\n\"'\\") == std::string::npos) {
    return value;
  }
  std::string out = "\"";
  for (const char c : value) {
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out + '"';
}

/// Flags that were passed to a library. Objects of this type are never freed, because the library may keep the text.
struct given_flags {
  const void* library;
  pid_t process;
  std::string original;
  std::string text;
  std::string dump;   ///< the folder of the dump
  std::int64_t time;  ///< files in the folder that are older than this are from earlier runs; file systems use a coarse clock
  given_flags* next;
};

constinit std::atomic<given_flags*> all_given{nullptr};

using segment = ElfW(Phdr);

/// Returns the loaded library, or program, that contains an address.
std::optional<dl_phdr_info> library_of(const void* address) {
  struct search {
    std::uintptr_t address;
    std::optional<dl_phdr_info> found;
  };
  search wanted{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* given) {
        auto& s = *static_cast<search*>(given);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const segment& p = info->dlpi_phdr[i];
          if (p.p_type == PT_LOAD && s.address - (info->dlpi_addr + p.p_vaddr) < p.p_memsz) {
            s.found = *info;
          }
        }
        return s.found ? 1 : 0;
      },
      &wanted);
  return wanted.found;
}

/// Returns whether a library contains the name of the flag that selects what XLA's emitters dump. The name must be a separate
/// string; names inside other strings, such as the strings of protocol buffers, do not count.
bool knows_emitters(const dl_phdr_info& library) {
  static constexpr char name[] = "\0xla_dump_emitter_re";
  const segment* const first = library.dlpi_phdr;
  const segment* const last = first + library.dlpi_phnum;
  // Strings are next to the code only if there is no segment for read-only data. XLA's code is hundreds of MiB in size.
  const auto is_data = [](const segment& p) { return p.p_type == PT_LOAD && p.p_flags == PF_R; };
  const bool has_data = std::any_of(first, last, is_data);
  return std::any_of(first, last, [&](const segment& p) {
    const bool may_have_it = has_data ? is_data(p) : p.p_type == PT_LOAD && (p.p_flags & (PF_R | PF_W)) == PF_R;
    return may_have_it &&
           memmem(reinterpret_cast<const void*>(library.dlpi_addr + p.p_vaddr), p.p_filesz, name, sizeof name) != nullptr;
  });
}

/// Adds the flags for dumping PTX to the program's flags.
void add_dump(given_flags& to, std::string flags, bool knows_emitters) {
  if (knows_emitters) {
    const auto asked = value_of(flags, emitter_flag);
    if (asked && asked->begin != asked->end) {
      flags.insert(asked->end, ")|ptx").insert(asked->begin, "(");
    } else if (asked) {
      flags.insert(asked->begin, "ptx");
    } else {
      flags = std::string(emitter_flag) + "ptx " + flags;
    }
  }
  if (const auto asked = value_of(flags, dump_flag)) {
    to.dump = asked->text;
  } else {
    flags = std::string(dump_flag) + in_quotes(to.dump) + " " + flags;
  }
  to.text = flags.substr(0, flags.find_last_not_of(spaces) + 1);
}

/// Returns the flags for the library that calls `getenv`. The flags are created once per library, process and value of
/// XLA_FLAGS.
const char* flags_for(const void* caller, const char* original, const char* folder) {
  const std::optional<dl_phdr_info> library = library_of(caller);
  const void* const key = library ? library->dlpi_phdr : nullptr;
  const std::string_view value = original == nullptr ? "" : original;
  for (const given_flags* f = all_given.load(std::memory_order_acquire); f != nullptr; f = f->next) {
    if (f->library == key && f->process == getpid() && f->original == value) {
      return f->text.c_str();
    }
  }
  std::string flags(value);
  if (const std::size_t first = value.find_first_not_of(spaces); first != value.npos && value[first] != '-') {
    flags = text_of_file(original);  // XLA reads its flags from a file with this name.
    if (flags.empty()) {
      return original;
    }
  }
  auto* const made = new given_flags{key, getpid(), std::string(value), "", "", time_of(CLOCK_REALTIME_COARSE), nullptr};
  made->dump = std::string(folder) + "/" + std::to_string(getpid());
  add_dump(*made, std::move(flags), library && knows_emitters(*library));
  made->next = all_given.load(std::memory_order_relaxed);
  while (!all_given.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return made->text.c_str();
}

/// A file in the dump whose contents have been read.
struct dumped_file {
  std::int64_t time = 0;
  off_t bytes = 0;
  std::vector<std::string> kernels{};
};

/// Returns the names of the kernels in a file. Each file is read again only after it has changed.
const dumped_file& look_at_file(const std::string& path, const struct stat& status) {
  static auto* const known = new std::map<std::string, dumped_file>;
  dumped_file& file = (*known)[path];
  const std::int64_t time = in_nanoseconds(status.st_mtim);
  if (file.time != time || file.bytes != status.st_size) {
    file = {time, status.st_size, {}};
    const std::string text = text_of_file(path);
    for (const membar::ptx::ptx_part& p : membar::ptx::parts_of(text)) {
      if (p.kind == membar::ptx::ptx_part::kind_t::kernel) {
        file.kernels.emplace_back(p.name);
      }
    }
  }
  return file;
}

/// Returns whether this PTX may be the source of the wanted kernel's cubin.
bool fits(const wanted_kernel& wanted, const dumped_file& file) {
  const auto is_in_cubin = [&](const std::string& kernel) {
    return wanted.machine_code.find(".text." + kernel + '\0') != std::string_view::npos;
  };
  return file.time <= wanted.loaded && std::find(file.kernels.begin(), file.kernels.end(), wanted.name) != file.kernels.end() &&
         (wanted.machine_code.empty() || std::all_of(file.kernels.begin(), file.kernels.end(), is_in_cubin));
}

/// Returns the number of parameters of the kernel in the PTX.
std::size_t parameters_of(const std::string& text, std::string_view kernel) {
  std::size_t count = 0;
  for (const membar::ptx::ptx_part& p : membar::ptx::parts_of(text)) {
    if (p.kind == membar::ptx::ptx_part::kind_t::kernel && p.name == kernel) {
      const std::string_view head = p.text.substr(0, p.text.find('{'));
      for (std::size_t at = head.find(".param"); at != head.npos; at = head.find(".param", at + 1)) {
        ++count;
      }
    }
  }
  return count;
}

/// Runs in the assembler's process. Copies the assembler's PTX file to XLA's dump folder, because XLA deletes the original
/// file.
[[gnu::constructor]] void keep_ptx_of_assembler() {
  const char* const folder = std::getenv(environment::xla);
  if (folder == nullptr || std::string_view(program_invocation_short_name) != "ptxas") {
    return;
  }
  quietly([&] {
    std::error_code made;
    fs::create_directories(folder, made);
    std::istringstream words(text_of_file("/proc/self/cmdline"));
    for (std::string word; std::getline(words, word, '\0');) {
      std::error_code failed;
      if (word.ends_with(".ptx")) {
        fs::copy_file(word, fs::path(folder) / ("ptxas." + std::to_string(getpid()) + "." + fs::path(word).filename().string()),
                      failed);
      }
    }
  });
}

}  // namespace

std::int64_t file_time() noexcept { return time_of(CLOCK_REALTIME); }

dumped_ptx in_xla_dump(const wanted_kernel& wanted) {
  std::map<std::string, std::int64_t> folders{{session::get().asked().xla, 0}};
  for (const given_flags* f = all_given.load(std::memory_order_acquire); f != nullptr; f = f->next) {
    const auto known = folders.emplace(f->dump, f->time).first;
    known->second = std::min(known->second, f->time);
  }
  std::vector<std::pair<std::int64_t, std::string>> files;  // the files of the dump, each with its time
  for (const auto& [folder, begin] : folders) {
    std::error_code failed;
    for (fs::recursive_directory_iterator at(folder, failed), end; !folder.empty() && !failed && at != end;
         at.increment(failed)) {
      if (begin == 0) {
        at.disable_recursion_pending();  // each process has its own folder within this one
      }
      struct stat status {};
      const std::string path = at->path().string();
      if (at->path().extension() != ".ptx" || ::stat(path.c_str(), &status) != 0) {
        continue;
      }
      if (const dumped_file& file = look_at_file(path, status); file.time >= begin && fits(wanted, file)) {
        files.emplace_back(file.time, path);
      }
    }
  }
  std::sort(files.rbegin(), files.rend());
  dumped_ptx found;
  std::vector<std::string> different;
  for (const auto& [time, path] : files) {
    std::string text = text_of_file(path);
    std::string own = membar::ptx::with_kernels(text, {std::string(wanted.name)});
    const bool is_new = std::find(different.begin(), different.end(), own) == different.end();
    if (!is_new || parameters_of(text, wanted.name) != wanted.parameters()) {
      continue;
    }
    if (different.empty()) {
      found.text = std::move(text);
    }
    different.push_back(std::move(own));
  }
  found.choices = static_cast<unsigned>(different.size());
  return found;
}

}  // namespace membar_record

/// Replaces the C library's getenv. The result differs only for XLA_FLAGS, and only in a process that is recorded.
extern "C" __attribute__((visibility("default"))) char* getenv(const char* name) noexcept {
  // A call of getenv would call this function again. The C library's secure_getenv differs from its getenv only in programs for
  // which LD_PRELOAD has no effect.
  char* const value = secure_getenv(name);
  if (std::strcmp(name, "XLA_FLAGS") != 0) {
    return value;
  }
  const char* const folder = secure_getenv(membar_record::environment::xla);
  if (folder == nullptr || *folder == '\0') {
    return value;
  }
  const char* flags = value;
  membar_record::quietly(
      [&, caller = __builtin_return_address(0)] { flags = membar_record::flags_for(caller, value, folder); });
  return const_cast<char*>(flags);
}
