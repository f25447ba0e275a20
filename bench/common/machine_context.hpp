// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The conditions of a measurement that do not depend on the program: device, driver, link, and the location of the host's
/// memory.
#pragma once

#include <bench/common/include_hash.hpp>

#include <membar/error.hpp>
#include <membar/sync_domain.hpp>
#include <membar/version.hpp>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace support {

using context_entries = std::vector<std::pair<std::string, std::string>>;

/// A command's output, and its exit status as `pclose` returns it (-1 if the command cannot run).
struct command_result {
  std::string output;
  int status = -1;
};

/// Runs a command, which inherits the calling program's standard error.
[[nodiscard]] inline command_result run_command(const std::string& command) {
  command_result result;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return result;
  }
  for (char buffer[256]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) {
    result.output += buffer;
  }
  result.status = pclose(pipe);
  return result;
}

/// Returns a command's standard output, or an empty string if the command cannot run.
[[nodiscard]] inline std::string output_of(const std::string& command) { return run_command(command + " 2>/dev/null").output; }

/// Returns a CUDA version number such as 13000 as "13.0".
[[nodiscard]] inline std::string dotted_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

[[nodiscard]] inline int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  membar::check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

[[nodiscard]] inline std::string lower_case(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return text;
}

/// Returns the device's address on the PCI bus in the form that Linux uses for folder names.
[[nodiscard]] inline std::string pci_address(int device) {
  char address[32] = {};
  membar::check(cudaDeviceGetPCIBusId(address, sizeof address, device));
  return lower_case(address);
}

/// Returns the host's NUMA node to which the device is attached, or "unknown".
[[nodiscard]] inline std::string numa_node(int device) {
  std::ifstream file("/sys/bus/pci/devices/" + pci_address(device) + "/numa_node");
  int node = -1;
  return file >> node && node >= 0 ? std::to_string(node) : "unknown";
}

/// Returns the link between two devices as `nvidia-smi topo` names it: "NV18" means 18 NVLinks. Returns "unknown" if it cannot
/// be determined.
///
/// `nvidia-smi` numbers devices in PCI order and lists all of them, so this function finds them by PCI address.
[[nodiscard]] inline std::string link_between(int device, int peer) {
  const auto smi_index = [](int cuda_device) {
    std::istringstream lines(output_of("nvidia-smi --query-gpu=index,pci.bus_id --format=csv,noheader"));
    for (std::string line; std::getline(lines, line);) {
      // nvidia-smi writes the PCI segment with eight digits, CUDA with four, so CUDA's address is a suffix of nvidia-smi's.
      if (lower_case(line).find(pci_address(cuda_device)) != std::string::npos) {
        return std::stoi(line);
      }
    }
    return -1;
  };
  const int row = smi_index(device);
  const int column = smi_index(peer);
  if (row < 0 || column < 0) {
    return "unknown";
  }
  std::istringstream lines(output_of("nvidia-smi topo -m"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string heading;
    std::string cell;
    cells >> heading;
    for (int i = 0; i <= column; ++i) {
      cells >> cell;
    }
    // The table's first line consists of device names, and its cells are also names.
    if (heading == "GPU" + std::to_string(row) && cells && cell.rfind("GPU", 0) != 0) {
      return cell;
    }
  }
  return "unknown";
}

/// Returns the context of every measurement: headers, device, device count, driver, CUDA, NUMA node, date.
[[nodiscard]] inline context_entries machine_context(int device) {
  cudaDeviceProp properties{};
  membar::check(cudaGetDeviceProperties(&properties, device));
  int count = 0;
  int runtime = 0;
  int driver = 0;
  membar::check(cudaGetDeviceCount(&count));
  membar::check(cudaRuntimeGetVersion(&runtime));
  membar::check(cudaDriverGetVersion(&driver));
  std::string driver_name;
  std::getline(std::istringstream(output_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader")), driver_name);
  char date[32] = {};
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return {
      {"membar_version", std::to_string(membar::version.major) + "." + std::to_string(membar::version.minor) + "." +
                             std::to_string(membar::version.patch)},
      {"include", include_hash()},
      {"date", date},
      {"gpu", properties.name},
      {"gpu_count", std::to_string(count)},
      {"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
      {"sm_count", std::to_string(properties.multiProcessorCount)},
      {"driver", driver_name.empty() ? "CUDA " + dotted_version(driver) : driver_name},
      {"cuda_runtime", dotted_version(runtime)},
      {"sync_domain_count", std::to_string(membar::sync_domain_count(device))},
      {"numa", "GPU on node " + numa_node(device)},
  };
}

}  // namespace support
