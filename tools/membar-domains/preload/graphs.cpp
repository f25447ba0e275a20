// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/graphs.hpp"

#include <map>
#include <mutex>
#include <ranges>
#include <utility>
#include <vector>

#include "intercept/driver.hpp"
#include "membar-domains/preload/watch.hpp"

namespace membar_domains {

namespace {

/// The body graphs of conditional nodes. A new node may get the handle of a destroyed node. If the new node is conditional, its
/// bodies replace the recorded ones; otherwise, the entry is not used.
struct bodies {
  std::mutex mutex;
  std::map<CUgraphNode, std::vector<CUgraph>> of;
};

bodies& all_bodies() {
  static auto* const all = new bodies;
  return *all;
}

std::vector<CUgraphNode> nodes_in(CUgraph graph) {
  std::size_t count = 0;
  if (driver::cuGraphGetNodes_(graph, static_cast<CUgraphNode*>(nullptr), &count) != CUDA_SUCCESS || count == 0) {
    return {};
  }
  std::vector<CUgraphNode> nodes(count);
  return driver::cuGraphGetNodes_(graph, nodes.data(), &count) == CUDA_SUCCESS ? nodes : std::vector<CUgraphNode>{};
}

/// Collects the graphs in a node: the child graph or the bodies of a conditional node. Returns whether all of them are known.
bool graphs_in(CUgraphNode node, CUgraphNodeType type, std::vector<CUgraph>& out) {
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
    CUgraph child = nullptr;
    if (driver::cuGraphChildGraphNodeGetGraph_(node, &child) == CUDA_SUCCESS) {
      out.push_back(child);
    }
  } else if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    bodies& all = all_bodies();
    const std::lock_guard lock(all.mutex);
    const auto at = all.of.find(node);
    if (at == all.of.end()) {
      return false;
    }
    out = at->second;
  }
  return true;
}

}  // namespace

void remember_bodies(CUgraphNode node, const CUgraphNodeParams& parameters) {
  if (parameters.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && parameters.conditional.phGraph_out != nullptr) {
    const CUgraph* const first = parameters.conditional.phGraph_out;
    bodies& all = all_bodies();
    const std::lock_guard lock(all.mutex);
    all.of[node] = {first, first + parameters.conditional.size};
  }
}

moved_nodes::moved_nodes(CUgraph graph, mode how, std::vector<CUfunction>* candidates) : candidates_(candidates) {
  look_at(graph, how);
}

moved_nodes::~moved_nodes() {
  for (const auto& [node, id, was] : changed_ | std::views::reverse) {
    static_cast<void>(driver::cuGraphKernelNodeSetAttribute_(node, id, &was));
  }
}

void moved_nodes::look_at(CUgraph graph, mode how) {
  for (const CUgraphNode node : nodes_in(graph)) {
    CUgraphNodeType type{};
    if (driver::cuGraphNodeGetType_(node, &type) != CUDA_SUCCESS) {
      continue;
    }
    std::vector<CUgraph> inner;
    if (!graphs_in(node, type, inner) && session::get().what() != job::watch) {
      session::get().complain(
          "membar-domains did not see the creation of a conditional node in a graph, so listed kernels in the node's body are "
          "not moved");
    }
    for (const CUgraph each : inner) {
      look_at(each, how);
    }
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
      look_at_kernel(node, how);
    }
  }
}

void moved_nodes::look_at_kernel(CUgraphNode node, mode how) {
  session& of = session::get();
  CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
  if (driver::cuGraphKernelNodeGetParams_(node, &parameters) != CUDA_SUCCESS) {
    return;
  }
  if (parameters.func == nullptr) {
    of.is_a_kernel(parameters.kern);
    parameters.func = reinterpret_cast<CUfunction>(parameters.kern);
  }
  if (of.keeps_twins()) {
    print_ += print_of(of.name_of(parameters.func), parameters.gridDimX * parameters.gridDimY * parameters.gridDimZ);
  }
  if (candidates_ != nullptr) {
    const bool far = reach_of(parameters.func, parameters.kernelParams, parameters.extra) != reach::own;
    if (far || of.is_listed(parameters.func)) {
      candidates_->push_back(parameters.func);
      set(node, attribute_of({target::kind::logical_remote, 0}, how), how);
    }
    return;
  }
  if (of.what() == job::watch) {
    watch_node(node, parameters.func, parameters.kernelParams, parameters.extra);
    return;
  }
  const target to = where(parameters.func, parameters.kernelParams, parameters.extra);
  if (to.what == target::kind::leave) {
    return;
  }
  any_ = true;
  of.state().nodes.fetch_add(1, std::memory_order_relaxed);
  if (how != mode::off) {
    set(node, attribute_of(to, how), how);
  }
}

/// Sets an attribute, and keeps the previous value so that it can be restored later. In the mode `control`, does nothing if the
/// program has set its own map, because the control must not change it.
void moved_nodes::set(CUgraphNode node, const CUlaunchAttribute& to, mode how) {
  process_state& state = session::get().state();
  CUlaunchAttributeValue was{};
  if (driver::cuGraphKernelNodeGetAttribute_(node, to.id, &was) != CUDA_SUCCESS) {
    state.refused.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (how == mode::control && (was.memSyncDomainMap.default_ != 0 || was.memSyncDomainMap.remote != 1)) {
    return;
  }
  if (driver::cuGraphKernelNodeSetAttribute_(node, to.id, &to.value) == CUDA_SUCCESS) {
    changed_.push_back({node, to.id, was});
    state.nodes_moved.fetch_add(how == mode::on ? 1 : 0, std::memory_order_relaxed);
  } else {
    state.refused.fetch_add(1, std::memory_order_relaxed);
  }
}

bool decides_alike(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& parameters) {
  session& of = session::get();
  CUDA_KERNEL_NODE_PARAMS_v2 before{};
  const auto listed = [&](const CUDA_KERNEL_NODE_PARAMS_v2& p) {
    if (p.func == nullptr) {
      of.is_a_kernel(p.kern);
    }
    const CUfunction kernel = p.func == nullptr ? reinterpret_cast<CUfunction>(p.kern) : p.func;
    return where(kernel, p.kernelParams, p.extra).what != target::kind::leave;
  };
  if (driver::cuGraphKernelNodeGetParams_(node, &before) != CUDA_SUCCESS || listed(parameters) == listed(before)) {
    return true;
  }
  of.complain(
      "in a node of an executable graph, the program replaced a listed kernel with an unlisted one or vice versa (with :far, "
      "changing the kernel's pointers has the same effect), but the node keeps its domain: instantiate the graph again after "
      "the change, or remove the kernel from the list");
  of.state().refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}

}  // namespace membar_domains
