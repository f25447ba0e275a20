// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The recording of a job: of one process, or of several processes that share memory.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace membar_check {

/// The parameters of a tensor map; numbers are as in `cuTensorMapEncodeTiled`.
struct recorded_tensor_map {
  std::uint64_t address = 0;  ///< in the process
  std::string mode{};         ///< empty: tiles
  unsigned type = 0, interleave = 0, swizzle = 0, fill = 0;
  std::vector<std::uint64_t> extents{}, strides{}, box{}, steps{};
};
inline constexpr std::size_t recorded_map_bytes = 128;

/// Indexed by the 128 bytes that the driver created.
using recorded_tensor_maps = std::map<std::string, recorded_tensor_map>;

/// Maps the addresses of a process to addresses of its job. Memory that is mapped to several addresses, in one process or in
/// several, has the address of its first mapping in the first process; all other memory of the second and later processes is
/// relocated.
struct address_space {
  struct mapping {
    std::uint64_t begin = 0, bytes = 0;
    std::uint64_t to = 0;  ///< in the job
  };
  std::uint64_t process = 0;
  std::vector<mapping> mapped{};
  std::shared_ptr<recorded_tensor_maps> tensor_maps = std::make_shared<recorded_tensor_maps>();

  /// Returns the tensor map at an offset in bytes, which may lack zeros at its end; null if there is none.
  [[nodiscard]] const recorded_tensor_map* map_at(const std::string& bytes, std::size_t at) const {
    if (tensor_maps->empty()) {
      return nullptr;
    }
    std::string map = bytes.substr(at, recorded_map_bytes);
    map.resize(recorded_map_bytes);
    const auto found = tensor_maps->find(map);
    return found == tensor_maps->end() ? nullptr : &found->second;
  }

  /// Returns the job's address of memory of `bytes` bytes; 0 if it is not an address of a program.
  [[nodiscard]] std::uint64_t in_job(std::uint64_t address, std::uint64_t bytes = 1) const noexcept {
    constexpr unsigned address_bits = 57;
    constexpr std::uint64_t lowest = 65536;
    if (address < lowest || address >> address_bits != 0) {
      return 0;
    }
    for (const mapping& m : mapped) {
      if (address < m.begin + m.bytes && m.begin < address + bytes) {
        return m.to + (address - m.begin);
      }
    }
    return address + (process << address_bits);
  }
};

using shared_space = std::shared_ptr<const address_space>;

/// Memory as it was before a launch.
struct recorded_memory {
  std::uint64_t address = 0;  ///< in the job
  std::uint64_t bytes = 0;
  std::string kind{};
  int device = 0;
  std::uint64_t range = 0;  ///< the job's address at which its range of reserved addresses would begin; 0: it is in none
  bool copied = false;
  std::string contents{};  ///< without trailing zeros
  shared_space space{};    ///< to which pointers in it refer
  std::uint64_t rest = 0;  ///< bytes from its beginning to the end of the allocation
};

struct recorded_variable {
  std::string name;
  std::uint64_t address = 0;  ///< in the job
  std::uint64_t bytes = 0;
  bool copied = false;
  std::string contents{};
};

struct recorded_launch {
  int process = 0;  ///< its number in the job
  int number = 0;   ///< in the process
  std::string kernel{};
  std::string ptx{};  ///< the path of the file; empty if there is none
  std::array<unsigned, 3> grid{}, block{}, cluster{};
  unsigned shared = 0;
  bool cooperative = false, dependent = false, blocking = true;
  int domain = 0, device = 0, registers = 0, static_shared = 0, multiprocessors = 0, architecture = 0;
  std::uint64_t stream = 0;
  std::vector<std::string> arguments{};
  std::vector<recorded_memory> memory{};
  std::vector<recorded_variable> variables{};
  shared_space space{};  ///< of the process
  int graph_launch = 0, node = 0;
  std::vector<int> nodes_before{};
  std::set<int> before{};  ///< launches that have ended when this one begins, by index
  int follows = 0;         ///< the number of the launch before it in its stream, if the recording has it; 0: not known
  int depends_on = -1;     ///< the launch whose programmatic dependent it is
  int group = -1;          ///< the number of the group of launches that becomes one scenario

  [[nodiscard]] bool in_graph_of(const recorded_launch& other) const noexcept {
    return graph_launch != 0 && graph_launch == other.graph_launch && process == other.process;
  }
};

struct recorded_job {
  int processes = 1;
  std::vector<recorded_launch> launches{};
  std::set<std::string> complaints{};
  std::set<std::string> machine_code_only{};
};

/// Returns the jobs whose records are in a folder. Throws `model::error`.
[[nodiscard]] std::vector<recorded_job> jobs_of(const std::filesystem::path& records);

/// Returns the little-endian number in the `count` bytes at `at`. Bytes past the end count as 0.
[[nodiscard]] std::uint64_t word_at(const std::string& bytes, std::size_t at, std::size_t count = 8);

}  // namespace membar_check
