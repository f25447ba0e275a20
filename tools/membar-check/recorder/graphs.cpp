// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/graphs.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "membar-check/recorder/code.hpp"
#include "membar-check/recorder/order.hpp"

namespace membar_record {

namespace {

/// A kernel node with its own copy of the arguments.
struct kernel_node {
  CUgraphNode node = nullptr;
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes{};
  std::vector<std::string> arguments{};
  std::vector<std::size_t> after{};   ///< the indices of the kernel nodes on which it depends
  std::vector<CUgraphNode> within{};  ///< the child graph nodes that contain it, innermost first
};

struct kept_graphs {
  std::mutex mutex;
  std::unordered_map<CUgraphExec, std::vector<kernel_node>> by_exec;
  unsigned launches = 0;
};

kept_graphs& the_graphs() {
  static auto* const one = new kept_graphs;
  return *one;
}

void set_arguments(kernel_node& n, const CUDA_KERNEL_NODE_PARAMS_v2& p, const kernel& k) {
  n.arguments.clear();
  for (std::size_t i = 0; i < k.parameters.size() && p.kernelParams != nullptr; ++i) {
    n.arguments.emplace_back(static_cast<const char*>(p.kernelParams[i]), k.parameters[i].bytes);
  }
}

/// Returns whether the node launches a selected kernel. In that case, `n` is set to a description of the launch.
bool look_at(CUgraphNode node, kernel_node& n) {
  CUDA_KERNEL_NODE_PARAMS_v2 p{};
  if (driver::cuGraphKernelNodeGetParams_(node, &p) != CUDA_SUCCESS) {
    return false;
  }
  n.node = node;
  n.function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  const kernel* const k = kernel_of(n.function);
  if (!k->selected) {
    return false;
  }
  n.config = {p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes, nullptr, nullptr, 0};
  for (const CUlaunchAttributeID id : {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                       CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP}) {
    CUlaunchAttribute a{};
    a.id = id;
    if (driver::cuGraphKernelNodeGetAttribute_(node, id, &a.value) == CUDA_SUCCESS) {
      n.attributes.push_back(a);
    }
  }
  set_arguments(n, p, *k);
  return true;
}

using edges = std::multimap<CUgraphNode, CUgraphNode>;

edges edges_of(CUgraph graph) {
  edges out;
  std::size_t count = 0;
  if (driver::cuGraphGetEdges_(graph, nullptr, nullptr, nullptr, &count) != CUDA_SUCCESS) {
    return out;
  }
  std::vector<CUgraphNode> from(count);
  std::vector<CUgraphNode> to(count);
  std::vector<CUgraphEdgeData> data(count);
  if (driver::cuGraphGetEdges_(graph, from.data(), to.data(), data.data(), &count) == CUDA_SUCCESS) {
    for (std::size_t i = 0; i < count; ++i) {
      out.emplace(from[i], to[i]);
    }
  }
  return out;
}

/// Returns the nodes that depend on a node, directly or indirectly.
std::set<CUgraphNode> behind(const edges& all, CUgraphNode node) {
  std::set<CUgraphNode> out;
  std::vector<CUgraphNode> next{node};
  while (!next.empty()) {
    const CUgraphNode one = next.back();
    next.pop_back();
    const auto [begin, end] = all.equal_range(one);
    for (auto e = begin; e != end; ++e) {
      if (out.insert(e->second).second) {
        next.push_back(e->second);
      }
    }
  }
  return out;
}

/// The limits for the number of kernels in a graph and for the nesting depth of graphs.
constexpr std::size_t most_kernels = 4096;
constexpr int most_depth = 16;

/// Returns the selected kernels of a graph and its child graphs in a possible order of execution.
std::vector<kernel_node> kernels_of(CUgraph graph, int depth = 0) {
  struct item {
    CUgraphNode node;
    std::vector<kernel_node> kernels;  ///< a single kernel, or the kernels of a child graph
    std::set<CUgraphNode> later;
  };
  std::size_t count = 0;
  if (depth == most_depth || driver::cuGraphGetNodes_(graph, nullptr, &count) != CUDA_SUCCESS) {
    return {};
  }
  std::vector<CUgraphNode> nodes(count);
  static_cast<void>(driver::cuGraphGetNodes_(graph, nodes.data(), &count));
  std::vector<item> items;
  std::size_t kept = 0;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    CUgraph child = nullptr;
    kernel_node n;
    item i{node, {}, {}};
    if (kept >= most_kernels || driver::cuGraphNodeGetType_(node, &type) != CUDA_SUCCESS) {
      continue;
    }
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && look_at(node, n)) {
      i.kernels.push_back(std::move(n));
    } else if (type == CU_GRAPH_NODE_TYPE_GRAPH && driver::cuGraphChildGraphNodeGetGraph_(node, &child) == CUDA_SUCCESS) {
      i.kernels = kernels_of(child, depth + 1);
      for (kernel_node& k : i.kernels) {
        k.within.push_back(node);
      }
    }
    if (!i.kernels.empty()) {
      kept += i.kernels.size();
      items.push_back(std::move(i));
    }
  }
  const edges between = items.size() > 1 ? edges_of(graph) : edges();
  for (item& i : items) {
    i.later = behind(between, i.node);
  }
  // A node has more direct and indirect dependents than any node that depends on it, so sorting by their number gives a
  // possible order of execution.
  std::stable_sort(items.begin(), items.end(), [](const item& a, const item& b) { return a.later.size() > b.later.size(); });
  std::vector<kernel_node> out;
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t begin = out.size();
    begins.push_back(begin);
    std::vector<std::size_t> before;
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t k = begins[j]; k < begins[j + 1] && items[j].later.contains(items[i].node); ++k) {
        before.push_back(k);
      }
    }
    for (kernel_node& k : items[i].kernels) {
      for (std::size_t& a : k.after) {
        a += begin;
      }
      k.after.insert(k.after.begin(), before.begin(), before.end());
      out.push_back(std::move(k));
    }
  }
  return out;
}

}  // namespace

void keep_graph(CUgraphExec exec, CUgraph graph) {
  std::vector<kernel_node> kernels = kernels_of(graph);
  kept_graphs& g = the_graphs();
  const std::lock_guard lock(g.mutex);
  g.by_exec[exec] = std::move(kernels);
}

void change_child(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  std::vector<kernel_node> kernels = kernels_of(child);
  kept_graphs& g = the_graphs();
  const std::lock_guard lock(g.mutex);
  std::size_t next = 0;
  for (kernel_node& n : g.by_exec[exec]) {
    if (std::find(n.within.begin(), n.within.end(), node) != n.within.end() && next < kernels.size()) {
      kernel_node& now = kernels[next++];
      n.function = now.function;
      n.config = now.config;
      n.arguments = std::move(now.arguments);
    }
  }
}

void change_node(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& p) {
  const CUfunction function = p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  const kernel* const k = kernel_of(function);
  kept_graphs& g = the_graphs();
  const std::lock_guard lock(g.mutex);
  for (kernel_node& n : g.by_exec[exec]) {
    if (n.node == node) {
      n.function = function;
      n.config = {p.gridDimX,  p.gridDimY,       p.gridDimZ, p.blockDimX, p.blockDimY,
                  p.blockDimZ, p.sharedMemBytes, nullptr,    nullptr,     0};
      set_arguments(n, p, *k);
    }
  }
}

void drop_graph(CUgraphExec exec) {
  kept_graphs& g = the_graphs();
  const std::lock_guard lock(g.mutex);
  g.by_exec.erase(exec);
}

void record_graph(CUgraphExec exec, CUstream stream) {
  kept_graphs& g = the_graphs();
  std::vector<kernel_node> nodes;
  unsigned number = 0;
  {
    const std::lock_guard lock(g.mutex);
    const auto at = g.by_exec.find(exec);
    if (at == g.by_exec.end() || at->second.empty()) {
      return;
    }
    nodes = at->second;
    number = ++g.launches;
  }
  copied_memory copied;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    kernel_node& n = nodes[i];
    std::vector<void*> parameters;
    for (std::string& argument : n.arguments) {
      parameters.push_back(argument.data());
    }
    CUlaunchConfig config = n.config;
    config.hStream = stream;
    config.attrs = n.attributes.data();
    config.numAttrs = static_cast<unsigned>(n.attributes.size());
    void* none = nullptr;
    record_launch(config, n.function, parameters.empty() ? &none : parameters.data(), nullptr, stream,
                  {number, i, n.after, &copied});
  }
}

void record_order(const char* what, CUstream stream, CUevent event) noexcept {
  constexpr unsigned most = 100'000;
  static std::atomic<unsigned> lines{0};
  if (lines.fetch_add(1, std::memory_order_relaxed) < most) {
    quietly([&] {
      CUdevice device = 0;
      static_cast<void>(driver::cuCtxGetDevice_(&device));
      session::get().write(nlohmann::json{{"order", what},
                                          {"time", session::time()},
                                          {"device", device},
                                          {"stream", reinterpret_cast<std::uintptr_t>(stream)},
                                          {"event", reinterpret_cast<std::uintptr_t>(event)}}
                               .dump());
    });
  }
}

}  // namespace membar_record
