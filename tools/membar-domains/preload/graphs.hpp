// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the list says of kernel nodes. Their domain is set only while the driver instantiates a graph, or updates an executable graph with
/// it: before and after, the program's graph has the program's own attributes, whatever is cloned, copied or exchanged in it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "membar-domains/preload/hooks.hpp"
#include "membar-domains/preload/launches.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/pointers.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

/// The kernel nodes of a graph, and of graphs in it, as the list says, for the life of the object; watch only looks at them.
class moved_nodes {
 public:
  moved_nodes(CUgraph graph, mode how);
  ~moved_nodes();
  moved_nodes(const moved_nodes&) = delete;
  moved_nodes& operator=(const moved_nodes&) = delete;

  /// Whether there are listed ones.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// What tells the graph from others, for try.
  [[nodiscard]] std::uint32_t print() const noexcept { return print_; }

 private:
  struct change {
    CUgraphNode node;
    CUlaunchAttributeID id;
    CUlaunchAttributeValue was;
  };
  void look_at(CUgraph graph, mode how);
  void look_at_kernel(CUgraphNode node, mode how);
  void set(CUgraphNode node, const CUlaunchAttribute& to, mode how);

  std::vector<change> changed_;
  bool any_ = false;
  std::uint32_t print_ = 0;
};

/// A conditional node was made: the driver tells of its graphs now, and never again.
void remember_bodies(CUgraphNode node, const CUgraphNodeParams& parameters);

/// Complains if the node of an executable graph gets a kernel or pointers for which the list decides otherwise.
void check_exchange(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& parameters);

template <hook_id Id>
CUresult on_add_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,
                     CUgraphNodeParams* parameters) {
  const CUresult result = next<Id>(node, graph, dependencies, count, parameters);
  if (result == CUDA_SUCCESS && session::get().what() != job::none) {
    remember_bodies(*node, *parameters);
  }
  return result;
}

template <hook_id Id>
CUresult on_add_node_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                        std::size_t count, CUgraphNodeParams* parameters) {
  const CUresult result = next<Id>(node, graph, dependencies, edges, count, parameters);
  if (result == CUDA_SUCCESS && session::get().what() != job::none) {
    remember_bodies(*node, *parameters);
  }
  return result;
}

/// The functions of this name had different last parameters; all have at most five words, which are handed on.
template <hook_id Id>
CUresult on_instantiate(CUgraphExec* exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth, std::uintptr_t fifth) {
  session& of = session::get();
  memory_changed();  // by nodes that allocate
  if (of.what() == job::none) {
    return next<Id>(exec, graph, third, fourth, fifth);
  }
  const moved_nodes moved(graph, of.of_nodes());
  const CUresult result = next<Id>(exec, graph, third, fourth, fifth);
  if (result == CUDA_SUCCESS && of.what() == job::try_) {
    of.holds_listed(*exec, moved.any());
    pace_graph(*exec, moved.print());
  }
  return result;
}

/// An update takes nodes' attributes from the graph, so those are set first, as before an instantiation.
template <hook_id Id>
CUresult on_exec_update(CUgraphExec exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth) {
  session& of = session::get();
  if (of.what() == job::none) {
    return next<Id>(exec, graph, third, fourth);
  }
  const moved_nodes moved(graph, of.of_nodes());
  const CUresult result = next<Id>(exec, graph, third, fourth);
  if (result == CUDA_SUCCESS && of.what() == job::try_) {
    of.holds_listed(exec, moved.any());
  }
  return result;
}

/// The same for a child graph. What else the executable graph holds stays.
template <class Next>
CUresult with_child_moved(CUgraphExec exec, CUgraph child, Next next_function) {
  session& of = session::get();
  if (of.what() == job::none) {
    return next_function();
  }
  const moved_nodes moved(child, of.of_nodes());
  const CUresult result = next_function();
  if (result == CUDA_SUCCESS && moved.any() && of.what() == job::try_) {
    of.holds_listed(exec, true);
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return with_child_moved(exec, child, [&] { return next<Id>(exec, node, child); });
}

/// Functions that give a node of an executable graph another kernel. The node keeps its attributes: the domain cannot be changed here.
/// Earlier and later structures of parameters begin alike.
template <class Parameters>
void before_exchange(CUgraphNode node, const Parameters* p) {
  if (const job what = session::get().what(); (what == job::apply || what == job::try_) && p != nullptr) {
    CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
    parameters.func = p->func;
    parameters.kernelParams = p->kernelParams;
    parameters.extra = p->extra;
    if constexpr (requires { p->kern; }) {
      parameters.kern = p->kern;
    }
    check_exchange(node, parameters);
  }
}

template <hook_id Id>
CUresult on_exec_kernel_set_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  before_exchange(node, parameters);
  return next<Id>(exec, node, parameters);
}

template <hook_id Id>
CUresult on_exec_kernel_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  before_exchange(node, parameters);
  return next<Id>(exec, node, parameters);
}

template <hook_id Id>
CUresult on_exec_node_set(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  const auto as_it_was = [&] { return next<Id>(exec, node, parameters); };
  if (parameters != nullptr && parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return with_child_moved(exec, parameters->graph.graph, as_it_was);
  }
  if (parameters != nullptr && parameters->type == CU_GRAPH_NODE_TYPE_KERNEL) {
    before_exchange(node, &parameters->kernel);
  }
  return as_it_was();
}

/// Another executable graph may get the handle.
template <hook_id Id>
CUresult on_exec_destroy(CUgraphExec exec) {
  session& of = session::get();
  if (of.what() == job::try_) {
    of.holds_listed(exec, false);
  }
  return next<Id>(exec);
}

template <hook_id Id>
CUresult on_graph_launch(CUgraphExec exec, CUstream stream) {
  session& of = session::get();
  if (of.what() != job::try_) {
    return next<Id>(exec, stream);
  }
  timed_span span(stream_of(stream, is_per_thread(Id)));
  const CUresult result = next<Id>(exec, stream);
  span.end_graph(exec, of.listed_in(exec), of.of_nodes());
  return result;
}

}  // namespace membar_domains
