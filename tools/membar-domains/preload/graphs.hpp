// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the list says of kernel nodes: their domain is set before a graph is instantiated, or an executable graph is updated with it.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "membar-domains/preload/hooks.hpp"
#include "membar-domains/preload/launches.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/pointers.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

/// Sets what the list says on the kernel nodes of a graph, and of graphs in it; watch looks at them. Whether it has listed ones.
/// `print`, if any, gets what tells the graph from others.
bool move_nodes(CUgraph graph, std::uint32_t* print = nullptr);

/// The node, or every node of the graph, goes: another one may get its handle.
void forget_node(CUgraphNode node);
void forget_nodes(CUgraph graph);

/// Complains if the node of an executable graph gets a kernel or pointers for which the list decides otherwise.
void check_exchange(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& parameters);

template <hook_id Id>
CUresult on_graph_destroy(CUgraph graph) {
  if (session::get().what() != job::none) {
    forget_nodes(graph);
  }
  return next<Id>(graph);
}

template <hook_id Id>
CUresult on_graph_destroy_node(CUgraphNode node) {
  if (session::get().what() != job::none) {
    forget_node(node);
  }
  return next<Id>(node);
}

/// The functions of this name had different last parameters; all have at most five words, which are handed on.
template <hook_id Id>
CUresult on_instantiate(CUgraphExec* exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth, std::uintptr_t fifth) {
  session& of = session::get();
  memory_changed();  // by nodes that allocate
  std::uint32_t print = 0;
  const bool listed = of.what() != job::none && move_nodes(graph, of.what() == job::try_ ? &print : nullptr);
  const CUresult result = next<Id>(exec, graph, third, fourth, fifth);
  if (result == CUDA_SUCCESS && of.what() == job::try_) {
    of.holds_listed(*exec, listed);
    pace_graph(*exec, print);
  }
  return result;
}

/// An update takes nodes' attributes from the graph, so those are set first, as before an instantiation.
template <hook_id Id>
CUresult on_exec_update(CUgraphExec exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth) {
  session& of = session::get();
  const bool listed = of.what() != job::none && move_nodes(graph);
  const CUresult result = next<Id>(exec, graph, third, fourth);
  if (result == CUDA_SUCCESS && of.what() == job::try_) {
    of.holds_listed(exec, listed);
  }
  return result;
}

/// The same for a child graph. What else the executable graph holds stays.
template <hook_id Id>
CUresult on_exec_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  session& of = session::get();
  const bool listed = of.what() != job::none && move_nodes(child);
  const CUresult result = next<Id>(exec, node, child);
  if (result == CUDA_SUCCESS && listed && of.what() == job::try_) {
    of.holds_listed(exec, true);
  }
  return result;
}

/// A node of an executable graph gets another kernel and keeps its attributes: the domain cannot be changed here.
template <hook_id Id>
CUresult on_exec_node_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  session& of = session::get();
  if ((of.what() == job::apply || of.what() == job::try_) && parameters != nullptr) {
    check_exchange(node, *parameters);
  }
  return next<Id>(exec, node, parameters);
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
