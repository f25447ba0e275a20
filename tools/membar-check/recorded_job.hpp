// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the preloaded library recorded of a job: of one process, or of several that share memory by CUDA IPC.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace membar_check {

/// The addresses of a process as addresses of its job. Memory that another process has shared is where that process has it; everything else of the
/// second and further processes is moved out of the way.
struct address_space {
  struct mapping {
    std::uint64_t begin = 0, bytes = 0;
    std::uint64_t to = 0;  ///< in the job
  };
  std::uint64_t process = 0;
  std::vector<mapping> mapped{};

  /// Where the job has memory of `bytes` bytes; 0 if it is not an address of a program.
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
  bool copied = false;
  std::string contents{};  ///< without zeros at the end
  shared_space space{};    ///< that pointers in it are of
  std::uint64_t rest = 0;  ///< bytes from its begin to the end of the allocation
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
  std::string ptx{};  ///< the path of the file; empty: there is none
  std::array<unsigned, 3> grid{}, block{}, cluster{};
  unsigned shared = 0;
  bool cooperative = false, dependent = false, blocking = true;
  int domain = 0, device = 0, registers = 0, static_shared = 0, multiprocessors = 0, architecture = 0;
  std::uint64_t stream = 0;
  std::vector<std::string> arguments{};
  std::vector<recorded_memory> memory{};
  std::vector<recorded_variable> variables{};
  shared_space space{};  ///< of its process
  int graph_launch = 0, node = 0;
  std::vector<int> nodes_before{};
  std::set<int> before{};  ///< launches that have ended when this one begins, by index
  int follows = 0;         ///< the number of the launch before it in its stream, where that was asked for; 0: none is known
  int depends_on = -1;     ///< the launch whose programmatic dependent it is
  int group = -1;          ///< of launches that become one scenario

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

/// The jobs that a folder has the records of. Throws `model::error`.
[[nodiscard]] std::vector<recorded_job> jobs_of(const std::filesystem::path& records);

/// A number of `count` bytes, the lowest first, of which those behind the end are 0.
[[nodiscard]] std::uint64_t word_at(const std::string& bytes, std::size_t at, std::size_t count = 8);

}  // namespace membar_check
