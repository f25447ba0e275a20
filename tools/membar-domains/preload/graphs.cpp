// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/graphs.hpp"

#include <map>
#include <mutex>
#include <vector>

#include "membar-domains/preload/driver.hpp"
#include "membar-domains/preload/watch.hpp"

namespace membar_domains {

namespace {

/// The attributes of nodes that the list has changed: what they were, and became.
class changed_nodes {
 public:
  /// Sets an attribute, unless the control would change a map of the program's own.
  CUresult set(CUgraphNode node, const CUlaunchAttribute& to, mode how) {
    const std::lock_guard lock(mutex_);
    put_back(node);
    CUlaunchAttributeValue was{};
    const bool known = driver::cuGraphKernelNodeGetAttribute_(node, to.id, &was) == CUDA_SUCCESS;
    const auto& map = was.memSyncDomainMap;
    if (known && how == mode::control && (map.default_ != 0 || map.remote != 1)) {
      return CUDA_SUCCESS;
    }
    const CUresult result = driver::cuGraphKernelNodeSetAttribute_(node, to.id, &to.value);
    if (known && result == CUDA_SUCCESS) {
      changed_[node] = {to, was};
    }
    return result;
  }

  /// The list no longer names what is in the node.
  void leave(CUgraphNode node) {
    const std::lock_guard lock(mutex_);
    put_back(node);
  }

  /// Another node may get the handle.
  void forget(CUgraphNode node) {
    const std::lock_guard lock(mutex_);
    changed_.erase(node);
  }

 private:
  struct change {
    CUlaunchAttribute ours;
    CUlaunchAttributeValue was;
  };

  void put_back(CUgraphNode node) {
    const auto at = changed_.find(node);
    if (at == changed_.end()) {
      return;
    }
    const auto& [ours, was] = at->second;
    CUlaunchAttributeValue now{};
    // the program may have set the attribute itself
    if (driver::cuGraphKernelNodeGetAttribute_(node, ours.id, &now) == CUDA_SUCCESS &&
        now.memSyncDomainMap.default_ == ours.value.memSyncDomainMap.default_ &&
        now.memSyncDomainMap.remote == ours.value.memSyncDomainMap.remote) {
      static_cast<void>(driver::cuGraphKernelNodeSetAttribute_(node, ours.id, &was));
    }
    changed_.erase(at);
  }

  std::mutex mutex_;
  std::map<CUgraphNode, change> changed_;
};

changed_nodes& nodes_changed() {
  static auto* const all = new changed_nodes;
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

/// The graph in a node, or null.
CUgraph child_of(CUgraphNode node) {
  CUgraphNodeType type{};
  CUgraph child = nullptr;
  return driver::cuGraphNodeGetType_(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_GRAPH &&
                 driver::cuGraphChildGraphNodeGetGraph_(node, &child) == CUDA_SUCCESS
             ? child
             : nullptr;
}

}  // namespace

bool move_nodes(CUgraph graph, std::uint32_t* print) {
  session& of = session::get();
  bool any = false;
  for (const CUgraphNode node : nodes_in(graph)) {
    CUgraphNodeType type{};
    if (driver::cuGraphNodeGetType_(node, &type) != CUDA_SUCCESS) {
      continue;
    }
    if (const CUgraph child = child_of(node); child != nullptr) {
      any = move_nodes(child, print) || any;
    }
    CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL && of.what() != job::watch) {
      of.complain(
          "a graph has a conditional node, into whose body the library cannot look: listed kernels in it are moved if they "
          "were "
          "captured, and not if they were added as nodes");
    }
    if (type != CU_GRAPH_NODE_TYPE_KERNEL || driver::cuGraphKernelNodeGetParams_(node, &parameters) != CUDA_SUCCESS) {
      continue;
    }
    if (parameters.func == nullptr) {
      of.is_a_kernel(parameters.kern);
      parameters.func = reinterpret_cast<CUfunction>(parameters.kern);
    }
    if (of.what() == job::watch) {
      watch_node(node, parameters.func, parameters.kernelParams, parameters.extra);
      continue;
    }
    if (print != nullptr) {
      *print += print_of(of.name_of(parameters.func), parameters.gridDimX * parameters.gridDimY * parameters.gridDimZ);
    }
    const target to = where(parameters.func, parameters.kernelParams, parameters.extra);
    if (to.what == target::kind::leave) {
      nodes_changed().leave(node);
      continue;
    }
    any = true;
    of.state().nodes.fetch_add(1, std::memory_order_relaxed);
    const mode how = of.of_nodes();
    if (how == mode::off) {
      continue;
    }
    if (nodes_changed().set(node, attribute_of(to, how), how) == CUDA_SUCCESS) {
      of.state().nodes_moved.fetch_add(how == mode::on ? 1 : 0, std::memory_order_relaxed);
    } else {
      of.state().refused.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return any;
}

void forget_node(CUgraphNode node) {
  nodes_changed().forget(node);
  if (const CUgraph child = child_of(node); child != nullptr) {
    forget_nodes(child);
  }
}

void forget_nodes(CUgraph graph) {
  for (const CUgraphNode node : nodes_in(graph)) {
    forget_node(node);
  }
}

void check_exchange(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& parameters) {
  session& of = session::get();
  CUDA_KERNEL_NODE_PARAMS_v2 before{};
  const auto listed = [&](const CUDA_KERNEL_NODE_PARAMS_v2& p) {
    if (p.func == nullptr) {
      of.is_a_kernel(p.kern);
    }
    const CUfunction kernel = p.func == nullptr ? reinterpret_cast<CUfunction>(p.kern) : p.func;
    return where(kernel, p.kernelParams, p.extra).what != target::kind::leave;
  };
  if (driver::cuGraphKernelNodeGetParams_(node, &before) == CUDA_SUCCESS && listed(parameters) != listed(before)) {
    of.complain(
        "the program exchanged a listed kernel and another one in a node of an executable graph, or with :far its pointers, "
        "whose domain stays: instantiate the graph again after the exchange, or leave the kernel out of the list");
    of.state().refused.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace membar_domains
