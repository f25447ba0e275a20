// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/launch.hpp>
#include <check/liveness.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <ptx/decode.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

/// Returns the demangled form of a mangled name. Any other name is returned unchanged.
[[nodiscard]] std::string plain_name(const std::string& mangled) {
  if (mangled.rfind("_Z", 0) != 0) {  // the demangler would interpret "a" as a type
    return mangled;
  }
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                     std::free);
  return status == 0 && plain != nullptr ? plain.get() : mangled;
}

/// Returns a variable's mangled name without the suffix "_$_0" that nvcc appends to make the names of variables unique.
[[nodiscard]] std::string without_suffix(const std::string& mangled) {
  const std::size_t last = mangled.find_last_not_of("0123456789");
  const bool suffix =
      last != std::string::npos && last >= 2 && last + 1 < mangled.size() && mangled.substr(last - 2, 3) == "_$_";
  return suffix ? mangled.substr(0, last - 2) : mangled;
}

/// Returns the name of a function's variable as it is spelled in the source: "cells" for "sum<3>(unsigned int)::cells".
[[nodiscard]] std::string variable_name(const std::string& mangled) {
  const std::string text = plain_name(without_suffix(mangled));
  const std::size_t last = text.rfind("::");
  return last == std::string::npos ? text : text.substr(last + 2);
}

/// Returns whether a kernel reads the address of the grid workspace of cooperative groups. `grid_group` reads this address, and
/// its `sync` traps if the address is 0, as it is in a launch that is not cooperative. Source:
/// cooperative_groups/details/driver_abi.h of the toolkit.
[[nodiscard]] bool has_workspace(const kernel_code& kernel) {
  return std::any_of(kernel.code.begin(), kernel.code.end(), [](const instruction& i) {
    return std::any_of(i.by.begin(), i.by.end(), [](const source_operand& o) {
      return o.kind == source_operand::kind_t::special &&
             (o.machine == special::workspace_high || o.machine == special::workspace_low);
    });
  });
}

/// Returns whether a kernel takes the generic address of its parameters.
[[nodiscard]] bool takes_address_of_parameters(const kernel_code& kernel) {
  return std::any_of(kernel.code.begin(), kernel.code.end(), [](const instruction& i) {
    return (i.code == op::to_generic || i.code == op::from_generic) && i.space == state_space::param;
  });
}

[[nodiscard]] std::array<std::uint32_t, 3> coordinates(std::uint64_t n, const std::array<std::uint32_t, 3>& shape) {
  return {static_cast<std::uint32_t>(n % shape[0]), static_cast<std::uint32_t>(n / shape[0] % shape[1]),
          static_cast<std::uint32_t>(n / shape[0] / shape[1])};
}

/// Throws if a launch cannot be checked.
void check_size(const launch_request& request, std::uint64_t blocks, std::uint64_t size, std::uint64_t before,
                std::uint64_t most) {
  const kernel_code& kernel = *request.kernel;
  if (blocks == 0 || size == 0 || before + blocks * size > most) {
    throw model::error("the launch of '" + kernel.name + "' would bring the total to " +
                       std::to_string(before + blocks * size) + " threads; the number must be from 1 to " +
                       std::to_string(most) + ": make the grid or the block smaller" +
                       (most == most_threads ? "; 'membar-check sanitize' accepts full-size launches" : ""));
  }
  if (size > most_threads_of_a_block) {
    throw model::error("the launch of '" + kernel.name + "' has blocks of " + std::to_string(size) +
                       " threads; CUDA allows at most " + std::to_string(most_threads_of_a_block) + ": make the block smaller");
  }
  if (request.cluster > 0 && (blocks % static_cast<std::uint64_t>(request.cluster) != 0 || request.grid[0] != blocks)) {
    throw model::error("the launch of '" + kernel.name + "' has " + std::to_string(blocks) + " blocks in clusters of " +
                       std::to_string(request.cluster) +
                       ": a cluster extends along x, and the number of blocks must be a multiple of the cluster size");
  }
  if (request.arguments.size() != kernel.parameter_bytes) {
    throw model::error("the launch of '" + kernel.name + "' has " + std::to_string(request.arguments.size()) +
                       " bytes of arguments, but the kernel's parameters occupy " + std::to_string(kernel.parameter_bytes));
  }
}

/// Adds the launches that precede a new launch.
void add_order(program& p, const launch_request& request) {
  p.launches_before.push_back(request.after);
  if (!request.dependent) {  // a dependent launch may end before a launch that allowed it to begin
    std::vector<int>& before = p.launches_before.back();
    for (std::size_t k = 0; k < before.size(); ++k) {
      if (p.dependent[static_cast<std::size_t>(before[k])]) {
        const std::vector<int>& further = model::at(p.launches_before, before[k]);
        before.insert(before.end(), further.begin(), further.end());
      }
    }
  }
  p.dependent.push_back(request.dependent);
}

}  // namespace

std::string source_name(const std::string& mangled) {
  std::string text = plain_name(mangled);
  int depth = 0;
  std::size_t begin = 0;
  std::size_t end = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (depth == 0 && text[i] == '(' && text.substr(i, 21) != "(anonymous namespace)") {
      end = i;
      break;
    }
    depth += text[i] == '<' || text[i] == '(' ? 1 : text[i] == '>' || text[i] == ')' ? -1 : 0;
    begin = depth == 0 && text[i] == ' ' ? i + 1 : begin;
  }
  text = text.substr(begin, end - begin);
  for (std::size_t at = text.find("unsigned int"); at != std::string::npos; at = text.find("unsigned int")) {
    text.erase(at + std::string_view("unsigned").size(), std::string_view(" int").size());
  }
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

std::uint64_t add_memory(program& p, std::string name, std::uint64_t bytes, std::vector<std::uint8_t> initial, bool initialised,
                         bool constant, std::uint64_t at) {
  std::uint64_t end = global_window + first_offset;
  for (const memory_object& o : p.memory) {
    if (o.address < shared_window) {
      end = std::max(end, o.address + o.bytes + 256);
    }
  }
  const std::uint64_t address = at != 0 ? at : aligned(end, 256);
  if (bytes == 0 || bytes > (std::uint64_t{1} << 28U)) {
    throw model::error("the memory '" + name + "' has " + std::to_string(bytes) +
                       " bytes; the size must be from 1 byte to 256 MiB: change its number of elements");
  }
  for (const memory_object& o : p.memory) {
    if (at != 0 && at < o.address + o.bytes && o.address < at + bytes) {
      throw model::error("the memory '" + name + "' overlaps '" + o.name + "': give it another address");
    }
  }
  p.memory.push_back({std::move(name), address, bytes, initialised, constant, std::move(initial)});
  return address;
}

void add_variables(program& p, const ptx_module& module, const module_layout& layout, const std::string& suffix) {
  for (const ptx_variable& v : module.variables) {
    if (v.space == state_space::shared || v.bytes == 0) {
      continue;
    }
    const std::uint64_t address = layout.globals.at(v.name);
    const auto is_it = [&](const memory_object& o) { return o.address == address; };
    if (v.managed && std::any_of(p.memory.begin(), p.memory.end(), is_it)) {
      continue;
    }
    p.memory.push_back(
        {v.name + (v.managed ? "" : suffix), address, v.bytes, true, v.space == state_space::constant, v.initial});
    p.memory.back().type = v.type;
    for (const ptx_variable::address& a : v.addresses) {  // function addresses remain 0, because nothing calls them
      const auto place = layout.globals.find(a.of);
      for (std::size_t k = 0; k < 8 && place != layout.globals.end() && a.at + k < v.bytes; ++k) {
        p.memory.back().initial[a.at + k] = static_cast<std::uint8_t>((place->second + a.added) >> (8 * k));
      }
    }
  }
}

planned_launch plan_launch(program& p, const launch_request& request, int first_block, std::uint64_t threads_before,
                           std::uint64_t most) {
  const kernel_code& kernel = *request.kernel;
  planned_launch result;
  for (std::size_t k = 0; k < 3; ++k) {
    result.blocks = std::min<std::uint64_t>(result.blocks * request.grid[k], 1U << 24U);
    result.block_size = std::min<std::uint64_t>(result.block_size * request.block[k], 1U << 20U);
  }
  check_size(request, result.blocks, result.block_size, threads_before, most);
  result.request = request;
  result.number = model::count_of(p.launches_before);
  result.first_block = first_block;
  add_order(p, request);
  if (std::find(p.kernels.begin(), p.kernels.end(), request.kernel) == p.kernels.end()) {
    p.kernels.push_back(request.kernel);
  }
  result.workspace =  // the workspace begins with its own size, followed by the barrier
      has_workspace(kernel) ? add_memory(p, "the grid's barrier", 8, {8, 0, 0, 0, 0, 0, 0, 0}) : 0;
  result.parameters_at = takes_address_of_parameters(kernel)
                             ? add_memory(p, "the parameters of " + source_name(kernel.name), request.arguments.size(),
                                          request.arguments, true, true)
                             : 0;
  return result;
}

thread_context context_of(const planned_launch& launch, std::uint64_t b, std::uint64_t t) {
  const launch_request& request = launch.request;
  const int first_block = launch.first_block;
  thread_context c;
  c.kernel = request.kernel.get();
  c.threads = request.block;
  c.blocks = request.grid;
  c.thread = coordinates(t, request.block);
  c.block = coordinates(b, request.grid);
  c.block_number = first_block + static_cast<int>(b);
  c.where.gpu = request.device;
  c.where.host = request.host;
  c.where.domain = request.domain;
  c.where.block = first_block + static_cast<int>(b);
  c.where.cluster = request.cluster > 0 ? first_block + static_cast<int>(b) / request.cluster : -1;
  if (request.cluster > 0) {
    c.cluster_rank = static_cast<std::uint32_t>(b) % static_cast<std::uint32_t>(request.cluster);
    c.cluster_blocks = static_cast<std::uint32_t>(request.cluster);
    c.explicit_cluster = true;
    c.pairs = request.kernel->pairs && request.cluster % 2 == 0;
  }
  c.where.warp = static_cast<int>(t / 32);
  c.launch = launch.number;
  c.workspace = launch.workspace;
  c.parameters_at = launch.parameters_at;
  c.parameters = request.arguments;
  c.dynamic_shared = static_cast<std::uint32_t>(request.dynamic_shared);
  return c;
}

std::vector<memory_object> shared_objects(const launch_request& request, int number) {
  std::vector<memory_object> result;
  if (request.kernel->tensor_memory) {
    result.push_back({std::string("tensor memory") + of_block + std::to_string(number),
                      thread_context::tensor_base(number),
                      tensor_bytes,
                      false,
                      false,
                      {}});
  }
  for (const auto& [variable, offset] : request.kernel->shared) {
    const std::uint64_t bytes = variable.bytes != 0 ? variable.bytes : request.dynamic_shared;
    const std::uint64_t address = shared_window + (static_cast<std::uint64_t>(number) << 32U) + offset;
    const bool known = std::any_of(result.begin(), result.end(), [&](const auto& o) { return o.address == address; });
    if (bytes != 0 && !known) {
      result.push_back({variable_name(variable.name) + of_block + std::to_string(number), address, bytes, false, false, {}});
      result.back().type = variable.type;
    }
  }
  return result;
}

int add_launch(program& p, const launch_request& request) {
  int first_block = 0;
  for (const thread_context& c : p.threads) {
    first_block = std::max(first_block, c.block_number + 1);
  }
  const planned_launch launch = plan_launch(p, request, first_block, p.threads.size(), most_threads);
  for (std::uint64_t b = 0; b < launch.blocks; ++b) {
    for (memory_object& o : shared_objects(request, first_block + static_cast<int>(b))) {
      p.memory.push_back(std::move(o));
    }
    for (std::uint64_t t = 0; t < launch.block_size; ++t) {
      thread_context c = context_of(launch, b, t);
      c.number_in_program = model::count_of(p.threads);
      c.registers = register_use_of(c, !request.host);
      p.threads.push_back(std::move(c));
    }
  }
  return launch.number;
}

}  // namespace membar::check
