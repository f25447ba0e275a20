// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Applies the list to kernel nodes. The nodes' domain is set only while the driver instantiates a graph or updates an
/// executable graph. At all other times, the program's graph has the program's own attributes, however its nodes are cloned,
/// copied or replaced.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "membar-domains/preload/hooks.hpp"
#include "membar-domains/preload/launches.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/pointers.hpp"
#include "membar-domains/preload/session.hpp"
#include "membar-domains/preload/twins.hpp"

namespace membar_domains {

/// Applies the list to the kernel nodes of a graph and of the graphs nested in it while this object exists. For `watch`, only
/// examines the nodes.
class moved_nodes {
 public:
  /// If `candidates` is not null, kernels that `run` may list later are also moved, and their handles are stored in
  /// `candidates`.
  moved_nodes(CUgraph graph, mode how, std::vector<CUfunction>* candidates = nullptr);
  ~moved_nodes();
  moved_nodes(const moved_nodes&) = delete;
  moved_nodes& operator=(const moved_nodes&) = delete;

  /// Returns whether the graph has listed kernel nodes.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// Returns a value that identifies the graph for `try`.
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
  std::vector<CUfunction>* candidates_;
  bool any_ = false;
  std::uint32_t print_ = 0;
};

/// Records the body graphs of a new conditional node, because the driver does not provide them later.
void remember_bodies(CUgraphNode node, const CUgraphNodeParams& parameters);

/// Returns whether the list makes the same decision for the current kernel of a node in an executable graph and for the node's
/// new kernel and pointers. If not, records a complaint.
[[nodiscard]] bool decides_alike(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& parameters);

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

/// Returns the flags with which a function instantiates a graph. Some functions have no flags.
template <hook_id Id>
unsigned long long flags_of(std::uintptr_t third) {
  if constexpr (Id == hook_id::of_cuGraphInstantiateWithFlags) {
    return third;
  } else if constexpr (Id == hook_id::of_cuGraphInstantiateWithParams || Id == hook_id::of_cuGraphInstantiateWithParams_ptsz) {
    const auto* const parameters = reinterpret_cast<const CUDA_GRAPH_INSTANTIATE_PARAMS*>(third);
    return parameters == nullptr ? 0 : parameters->flags;
  } else {
    return 0;
  }
}

/// Handles functions whose last parameters differ between CUDA versions. All have at most five word-sized parameters, which are
/// passed on.
template <hook_id Id>
CUresult on_instantiate(CUgraphExec* exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth, std::uintptr_t fifth) {
  session& of = session::get();
  memory_changed();  // a node may have allocated memory
  if (of.what() == job::none) {
    return next<Id>(exec, graph, third, fourth, fifth);
  }
  bool listed = false;
  std::uint32_t print = 0;
  CUresult result = CUDA_SUCCESS;
  {
    const moved_nodes moved(graph, of.of_nodes());
    result = next<Id>(exec, graph, third, fourth, fifth);
    listed = moved.any();
    print = moved.print();
  }
  if (result == CUDA_SUCCESS && of.keeps_twins()) {
    of.holds_listed(*exec, listed);
    pace_graph(*exec, print);
    drop_twin(*exec);  // an earlier graph may have had the same handle
    if (of.runs() || (listed && of.alternates())) {
      make_twin(*exec, graph, flags_of<Id>(third));
    }
  }
  return result;
}

/// Handles an update of an executable graph. The update takes the nodes' attributes from the graph, so the attributes are set
/// first, as for an instantiation.
template <hook_id Id>
CUresult on_exec_update(CUgraphExec exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth) {
  session& of = session::get();
  if (of.what() == job::none) {
    return next<Id>(exec, graph, third, fourth);
  }
  bool listed = false;
  CUresult result = CUDA_SUCCESS;
  {
    const moved_nodes moved(graph, of.of_nodes());
    result = next<Id>(exec, graph, third, fourth);
    listed = moved.any();
  }
  if (result == CUDA_SUCCESS && of.keeps_twins()) {
    of.holds_listed(exec, listed);
    drop_twin(exec);
    if (of.runs() || (listed && of.alternates())) {
      make_twin(exec, graph, 0);
    }
  }
  return result;
}

/// Handles an update with a child graph. The other nodes of the executable graph do not change.
template <class Next>
CUresult with_child_moved(CUgraphExec exec, CUgraph child, Next next_function) {
  session& of = session::get();
  if (of.what() == job::none) {
    return next_function(exec);
  }
  bool listed = false;
  CUresult result = CUDA_SUCCESS;
  {
    const moved_nodes moved(child, of.of_nodes());
    result = next_function(exec);
    listed = moved.any();
  }
  if (result == CUDA_SUCCESS && of.runs()) {
    drop_twin(exec);  // the child graph may have different kernels
  } else if (result == CUDA_SUCCESS && of.what() == job::try_) {
    if (listed) {
      of.holds_listed(exec, true);
    }
    change_twin(exec, [&](CUgraphExec twin) {
      const moved_nodes moved(child, mode::on);
      return next_function(twin);
    });
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return with_child_moved(exec, child, [&](CUgraphExec of) { return next<Id>(of, node, child); });
}

/// Handles changes to an executable graph that do not affect kernels. The functions have at most four word-sized parameters,
/// which are passed on.
template <hook_id Id>
CUresult on_exec_change(CUgraphExec exec, std::uintptr_t second, std::uintptr_t third, std::uintptr_t fourth) {
  const CUresult result = next<Id>(exec, second, third, fourth);
  if (result == CUDA_SUCCESS && session::get().keeps_twins()) {
    change_twin(exec, [&](CUgraphExec twin) { return next<Id>(twin, second, third, fourth); });
  }
  return result;
}

/// Handles functions that assign another kernel to a node of an executable graph. The node keeps its attributes, so its domain
/// cannot be changed here. If the node would need another domain in the twin, the twin is dropped. The first members of older
/// and newer parameter structures are the same.
template <class Parameters, class Next>
CUresult with_exchange(CUgraphExec exec, CUgraphNode node, const Parameters* p, Next next_function) {
  const job what = session::get().what();
  if (p != nullptr && session::get().runs()) {
    const CUresult result = next_function(exec);
    if (result == CUDA_SUCCESS) {
      drop_twin(exec);  // the kernel may have changed
    }
    return result;
  }
  if ((what != job::apply && what != job::try_) || p == nullptr) {
    return next_function(exec);
  }
  CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
  parameters.func = p->func;
  parameters.kernelParams = p->kernelParams;
  parameters.extra = p->extra;
  if constexpr (requires { p->kern; }) {
    parameters.kern = p->kern;
  }
  const bool same = decides_alike(node, parameters);
  const CUresult result = next_function(exec);
  if (what == job::try_ && result == CUDA_SUCCESS) {
    same ? change_twin(exec, next_function) : drop_twin(exec);
  }
  return result;
}

template <hook_id Id>
CUresult on_exec_kernel_set_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return with_exchange(exec, node, parameters, [&](CUgraphExec of) { return next<Id>(of, node, parameters); });
}

template <hook_id Id>
CUresult on_exec_kernel_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  return with_exchange(exec, node, parameters, [&](CUgraphExec of) { return next<Id>(of, node, parameters); });
}

template <hook_id Id>
CUresult on_exec_node_set(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  const auto as_it_was = [&](CUgraphExec of) { return next<Id>(of, node, parameters); };
  if (parameters != nullptr && parameters->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return with_child_moved(exec, parameters->graph.graph, as_it_was);
  }
  if (parameters != nullptr && parameters->type == CU_GRAPH_NODE_TYPE_KERNEL) {
    return with_exchange(exec, node, &parameters->kernel, as_it_was);
  }
  const CUresult result = as_it_was(exec);
  if (result == CUDA_SUCCESS && session::get().keeps_twins()) {
    change_twin(exec, as_it_was);
  }
  return result;
}

/// Handles the destruction of an executable graph. Another executable graph may then get the same handle.
template <hook_id Id>
CUresult on_exec_destroy(CUgraphExec exec) {
  session& of = session::get();
  if (of.keeps_twins()) {
    of.holds_listed(exec, false);
    drop_twin(exec);
  }
  return next<Id>(exec);
}

template <hook_id Id>
CUresult on_graph_launch(CUgraphExec exec, CUstream stream) {
  session& of = session::get();
  const CUstream into = stream_of(stream, is_per_thread(Id));
  if (of.what() == job::watch) {
    const recorded_work keep(into);
    return next<Id>(exec, stream);
  }
  if (!of.keeps_twins()) {
    return next<Id>(exec, stream);
  }
  if (capturing(into)) {
    return next<Id>(exec, stream);
  }
  const turn_of_graph turn = begin_turn(exec, into);
  if (of.what() != job::try_) {
    const CUresult result = next<Id>(turn.exec, stream);
    end_turn(exec, into);
    return result;
  }
  timed_span span(into);
  const CUresult result = next<Id>(turn.exec, stream);
  span.end_graph(exec, turn.listed || of.listed_in(exec), turn.how);
  end_turn(exec, into);
  return result;
}

}  // namespace membar_domains
