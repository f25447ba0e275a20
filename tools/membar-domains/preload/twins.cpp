// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/twins.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "intercept/driver.hpp"
#include "membar-domains/preload/graphs.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

namespace {

struct twin {
  CUgraphExec moved = nullptr;
  unsigned launches = 0;
  CUstream last = nullptr;          ///< the stream of the last launch
  CUevent ended = nullptr;          ///< recorded after that launch
  std::vector<CUfunction> kernels;  ///< for `run`: the kernels that are moved in the twin
  unsigned generation = 0;          ///< the session's generation for which `allowed` is valid
  bool allowed = true;
  /// for `run`: whether a graph was launched after the decision; from then on, the same executable graph is always launched,
  /// and CUDA orders its launches
  bool settled = false;
};

struct all_twins {
  std::mutex mutex;
  std::unordered_map<CUgraphExec, twin> of;
};

all_twins& twins() {
  static auto* const all = new all_twins;
  return *all;
}

/// Returns the twin of an executable graph, or an empty one if there is none.
twin twin_of(CUgraphExec exec) {
  all_twins& all = twins();
  const std::lock_guard lock(all.mutex);
  const auto at = all.of.find(exec);
  return at == all.of.end() ? twin{} : at->second;
}

}  // namespace

void make_twin(CUgraphExec exec, CUgraph graph, unsigned long long flags) {
  drop_twin(exec);
  twin made;
  constexpr auto upload = static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
  constexpr auto by_device = static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if ((flags & by_device) == 0) {
    const moved_nodes moved(graph, mode::on, session::get().runs() ? &made.kernels : nullptr);
    if (session::get().runs() && made.kernels.empty()) {
      return;
    }
    result = driver::cuGraphInstantiateWithFlags_(&made.moved, graph, flags & ~upload);
  }
  if (result != CUDA_SUCCESS ||
      driver::cuEventCreate_(&made.ended, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING)) != CUDA_SUCCESS) {
    session::get().state().graphs_alone.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  all_twins& all = twins();
  const std::lock_guard lock(all.mutex);
  all.of[exec] = made;
}

void change_twin(CUgraphExec exec, const std::function<CUresult(CUgraphExec)>& change) {
  const twin of = twin_of(exec);
  if (of.moved != nullptr && change(of.moved) != CUDA_SUCCESS) {
    drop_twin(exec);
    session::get().state().graphs_alone.fetch_add(1, std::memory_order_relaxed);
  }
}

void drop_twin(CUgraphExec exec) {
  all_twins& all = twins();
  twin of;
  {
    const std::lock_guard lock(all.mutex);
    const auto at = all.of.find(exec);
    if (at == all.of.end()) {
      return;
    }
    of = at->second;
    all.of.erase(at);
  }
  static_cast<void>(driver::cuGraphExecDestroy_(of.moved));
  static_cast<void>(driver::cuEventDestroy_(of.ended));
}

turn_of_graph begin_turn(CUgraphExec exec, CUstream stream) {
  twin of;
  {
    all_twins& all = twins();
    const std::lock_guard lock(all.mutex);
    const auto at = all.of.find(exec);
    if (at == all.of.end()) {
      return {exec, session::get().of_nodes()};
    }
    twin& found = at->second;
    session& with = session::get();
    if (with.runs() && found.generation != with.generation()) {
      found.generation = with.generation();
      found.allowed = std::ranges::all_of(
          found.kernels, [&](CUfunction kernel) { return with.where(kernel).far.what == target::kind::logical_remote; });
    }
    of = found;
    ++found.launches;
    found.settled = with.what() == job::apply;
  }
  if (of.launches != 0 && of.last != stream && !of.settled) {
    static_cast<void>(driver::cuStreamWaitEvent_(stream, of.ended, 0U));
  }
  const bool in_turn = of.launches % 4 == 1 || of.launches % 4 == 2;
  const bool moved = of.allowed && (in_turn || session::get().what() == job::apply);
  return {moved ? of.moved : exec, moved ? mode::on : mode::off, of.allowed};
}

void end_turn(CUgraphExec exec, CUstream stream) {
  all_twins& all = twins();
  CUevent ended = nullptr;
  {
    const std::lock_guard lock(all.mutex);
    const auto at = all.of.find(exec);
    if (at == all.of.end() || at->second.settled) {
      return;
    }
    at->second.last = stream;
    ended = at->second.ended;
  }
  static_cast<void>(driver::cuEventRecord_(ended, stream));
}

}  // namespace membar_domains
