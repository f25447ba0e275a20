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

/// A kernel node, with arguments of its own.
struct kernel_node {
  CUgraphNode node = nullptr;
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes{};
  std::vector<std::string> arguments{};
  std::vector<std::size_t> after{};  ///< numbers of kernel nodes
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

/// Whether the node belongs to a selected kernel, and what of it is launched.
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

/// The nodes that come after one.
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

}  // namespace

void keep_graph(CUgraphExec exec, CUgraph graph) {
  constexpr std::size_t most = 4096;
  std::size_t count = 0;
  if (driver::cuGraphGetNodes_(graph, nullptr, &count) != CUDA_SUCCESS) {
    return;
  }
  std::vector<CUgraphNode> nodes(count);
  static_cast<void>(driver::cuGraphGetNodes_(graph, nodes.data(), &count));
  std::vector<kernel_node> kept;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    kernel_node n;
    if (kept.size() < most && driver::cuGraphNodeGetType_(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_KERNEL &&
        look_at(node, n)) {
      kept.push_back(std::move(n));
    }
  }
  const edges between = kept.size() > 1 ? edges_of(graph) : edges();
  std::vector<std::set<CUgraphNode>> later;
  for (const kernel_node& n : kept) {
    later.push_back(behind(between, n.node));
  }
  // A node with more nodes behind it comes first: that is an order in which they may run.
  std::vector<std::size_t> order(kept.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return later[a].size() > later[b].size(); });
  std::vector<kernel_node> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    kernel_node n = kept[order[i]];
    for (std::size_t j = 0; j < i; ++j) {
      if (later[order[j]].contains(n.node)) {
        n.after.push_back(j);
      }
    }
    sorted.push_back(std::move(n));
  }
  kept_graphs& g = the_graphs();
  const std::lock_guard lock(g.mutex);
  g.by_exec[exec] = std::move(sorted);
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
    record_launch(config, n.function, parameters.empty() ? &none : parameters.data(), nullptr, stream, {number, i, n.after});
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
