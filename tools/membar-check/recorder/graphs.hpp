// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Records the kernels of a graph at each launch of the graph, with the memory contents from before the launch.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/launches.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

/// Stores the kernel nodes of a graph that was instantiated or used to update an executable graph.
void keep_graph(CUgraphExec exec, CUgraph graph);
/// Handles a node whose kernel or arguments have been changed.
void change_node(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& parameters);
/// Handles a child graph node whose graph has been replaced by another graph with the same structure.
void change_child(CUgraphExec exec, CUgraphNode node, CUgraph child);
void drop_graph(CUgraphExec exec);
/// Records the selected kernels of a graph that is being launched.
void record_graph(CUgraphExec exec, CUstream stream);

/// Handles functions whose last parameters differ between CUDA versions. All have at most five word-sized parameters, which are
/// passed on.
template <hook_id Id>
CUresult on_instantiate(CUgraphExec* exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth, std::uintptr_t fifth) {
  const CUresult result = next<Id>(exec, graph, third, fourth, fifth);
  if (result == CUDA_SUCCESS && session::get().on()) {
    quietly([&] { keep_graph(*exec, graph); });
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_update(CUgraphExec exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth) {
  const CUresult result = next<Id>(exec, graph, third, fourth);
  if (result == CUDA_SUCCESS && session::get().on()) {
    quietly([&] { keep_graph(exec, graph); });
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_kernel_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  const CUresult result = next<Id>(exec, node, parameters);
  if (result == CUDA_SUCCESS && parameters != nullptr && session::get().on()) {
    quietly([&] { change_node(exec, node, *parameters); });
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  const CUresult result = next<Id>(exec, node, child);
  if (result == CUDA_SUCCESS && session::get().on()) {
    quietly([&] { change_child(exec, node, child); });
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_node_set(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  const CUresult result = next<Id>(exec, node, parameters);
  if (result == CUDA_SUCCESS && parameters != nullptr && session::get().on()) {
    quietly([&] {
      if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        change_child(exec, node, parameters->graph.graph);
      } else if (parameters->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        const CUDA_KERNEL_NODE_PARAMS_v3& p = parameters->kernel;
        change_node(exec, node,
                    {p.func, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes,
                     p.kernelParams, p.extra, p.kern, p.ctx});
      }
    });
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_destroy(CUgraphExec exec) {
  if (session::get().watches()) {
    quietly([&] { drop_graph(exec); });
  }
  return next<Id>(exec);
}

template <hook_id Id>
CUresult on_graph_launch(CUgraphExec exec, CUstream stream) {
  if (session::get().on() && (session::get().asked().flags & flag_dependents) != 0) {
    forget_predecessor(stream_of(stream, Id));  // the kernels of a graph are not examined
  } else if (session::get().on() && !is_captured(stream_of(stream, Id))) {
    quietly([&] { record_graph(exec, stream_of(stream, Id)); });
  }
  return next<Id>(exec, stream);
}

}  // namespace membar_record
