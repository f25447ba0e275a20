// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The recording of a job, which consists of one process or of several processes that share memory.
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

/// The parameters of a tensor map. Enumerations have the numeric values of `cuTensorMapEncodeTiled`.
struct recorded_tensor_map {
  std::uint64_t address = 0;  ///< the address in the process
  std::string mode{};         ///< empty for tiled mode
  unsigned type = 0, interleave = 0, swizzle = 0, fill = 0;
  std::vector<std::uint64_t> extents{}, strides{}, box{}, steps{};
};
inline constexpr std::size_t recorded_map_bytes = 128;

/// Tensor maps, indexed by the 128 bytes that the driver created for each map.
using recorded_tensor_maps = std::map<std::string, recorded_tensor_map>;

/// Maps the addresses of a process to addresses of its job. Memory that is mapped to several addresses, in one process or in
/// several, has the address of its first mapping in the first process. All other memory of the second and later processes is
/// relocated.
struct address_space {
  struct mapping {
    std::uint64_t begin = 0, bytes = 0;
    std::uint64_t to = 0;  ///< the address in the job
  };
  std::uint64_t process = 0;
  std::vector<mapping> mapped{};
  std::shared_ptr<recorded_tensor_maps> tensor_maps = std::make_shared<recorded_tensor_maps>();

  /// Returns the tensor map at an offset in `bytes`, or null if there is none. Zeros at the end of `bytes` may be missing.
  [[nodiscard]] const recorded_tensor_map* map_at(const std::string& bytes, std::size_t at) const {
    if (tensor_maps->empty()) {
      return nullptr;
    }
    std::string map = bytes.substr(at, recorded_map_bytes);
    map.resize(recorded_map_bytes);
    const auto found = tensor_maps->find(map);
    return found == tensor_maps->end() ? nullptr : &found->second;
  }

  /// Returns the job's address for memory with `bytes` bytes, or 0 if programs cannot use this address.
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

/// Memory and its contents before a launch.
struct recorded_memory {
  std::uint64_t address = 0;  ///< the address in the job
  std::uint64_t bytes = 0;
  std::string kind{};
  int device = 0;
  std::uint64_t range = 0;  ///< the job's address of the reserved address range that contains the memory; 0 if there is none
  bool copied = false;
  std::string contents{};  ///< without trailing zeros
  shared_space space{};    ///< the address space of the pointers in the contents
  std::uint64_t rest = 0;  ///< the number of bytes from the beginning of the memory to the end of its allocation
};

struct recorded_variable {
  std::string name;
  std::uint64_t address = 0;  ///< the address in the job
  std::uint64_t bytes = 0;
  bool copied = false;
  std::string contents{};
};

struct recorded_launch {
  int process = 0;  ///< the number of the process in the job
  int number = 0;   ///< the number of the launch in its process
  std::string kernel{};
  std::string ptx{};         ///< the path of the PTX file; empty if there is none
  unsigned ptx_choices = 1;  ///< how many PTX texts may belong to the kernel; `ptx` is the most likely one
  std::array<unsigned, 3> grid{}, block{}, cluster{};
  unsigned shared = 0;
  bool cooperative = false, dependent = false, blocking = true;
  int domain = 0, device = 0, registers = 0, static_shared = 0, multiprocessors = 0, architecture = 0;
  std::uint64_t stream = 0;
  std::vector<std::string> arguments{};
  std::vector<recorded_memory> memory{};
  std::vector<recorded_variable> variables{};
  shared_space space{};  ///< the address space of the process
  int graph_launch = 0, node = 0;
  std::vector<int> nodes_before{};
  std::set<int> before{};  ///< the indices of launches that have ended when this launch starts
  int follows = 0;         ///< the number of the preceding launch in the same stream, if it was recorded; 0 if it is not known
  int depends_on = -1;     ///< the index of the launch on which this launch depends programmatically
  int group = -1;          ///< the number of its group; each group becomes a scenario

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

/// Returns the jobs whose records are in the folder. Throws `model::error`.
[[nodiscard]] std::vector<recorded_job> jobs_of(const std::filesystem::path& records);

/// Returns the little-endian number in the `count` bytes at offset `at`. Bytes past the end count as 0.
[[nodiscard]] std::uint64_t word_at(const std::string& bytes, std::size_t at, std::size_t count = 8);

}  // namespace membar_check
