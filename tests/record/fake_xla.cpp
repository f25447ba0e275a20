// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A library that handles XLA_FLAGS and dumps in the same way as XLA, for the tests of membar-check record. It is built twice:
/// with FAKE_XLA_KNOWS_EMITTERS, it accepts the flag that selects what emitters dump, and dumps PTX only if that flag selects
/// it. Without this macro, it dumps all PTX, as older versions of XLA do. Both variants end the process if a flag is unknown.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <string_view>

#define EXPORTED extern "C" __attribute__((visibility("default")))

#ifdef FAKE_XLA_KNOWS_EMITTERS
#define EMITTERS "xla_dump_emitter_re"
#else
#define EMITTERS ""
#endif
/// The names of the flags, concatenated.
EXPORTED const char fakeXlaFlags[];
const char fakeXlaFlags[] = "\0xla_dump_to\0xla_gpu_autotune_level\0" EMITTERS;
/// A protocol buffer may contain the name of the flag even if the flag does not exist.
EXPORTED const char fakeXlaProtocol[];
const char fakeXlaProtocol[] = "\0xla.DebugOptions.xla_dump_emitter_re";

namespace {

bool is_known(const std::string& flag) {
  const std::string_view all(fakeXlaFlags, sizeof fakeXlaFlags);
  return all.find('\0' + flag + '\0') != all.npos;
}

/// Returns the flags with their values.
std::map<std::string, std::string> flags() {
  const char* const given = std::getenv("XLA_FLAGS");
  const std::string all = given == nullptr ? "" : given;
  static const std::regex flag("--([a-z_]+)=(?:\"([^\"]*)\"|'([^']*)'|(\\S*))");
  std::map<std::string, std::string> out;
  for (std::sregex_iterator at(all.begin(), all.end(), flag), end; at != end; ++at) {
    if (!is_known((*at)[1])) {
      std::printf("Unknown flag in XLA_FLAGS: %s\n", (*at)[1].str().c_str());
      std::fflush(stdout);
      std::_Exit(134);
    }
    out[(*at)[1]] = (*at)[2].str() + (*at)[3].str() + (*at)[4].str();
  }
  return out;
}

}  // namespace

/// Prints the flags that the library sees, and whether a second call returns the same text.
EXPORTED void fakeXlaPrintFlags() {
  const char* const given = std::getenv("XLA_FLAGS");
  std::printf("flags: %s%s\n", given == nullptr ? "none" : given, given == std::getenv("XLA_FLAGS") ? "" : " (differs)");
}

/// Writes PTX to the dump. The file appears to have been written `seconds` later.
EXPORTED void fakeXlaDump(const char* ptx, int seconds) {
  const std::map<std::string, std::string> given = flags();
  const auto folder = given.find("xla_dump_to");
  const auto emitters = given.find(EMITTERS);
  const bool knows_emitters = *EMITTERS != '\0';
  const bool is_selected =
      !knows_emitters || (emitters != given.end() && std::regex_search("ptx", std::regex(emitters->second)));
  if (folder == given.end() || !is_selected) {
    return;
  }
  static int modules = 0;
  const std::string module = folder->second + "/module_" + std::to_string(++modules) + ".jit__lambda";
  std::filesystem::create_directories(module);
  const std::string file = module + (modules % 2 == 1 ? ".1.ptx" : "/1.ptx");  // XLA creates folders for some of its files
  std::filesystem::copy_file(ptx, file);
  if (seconds != 0) {
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(seconds));
  }
}
