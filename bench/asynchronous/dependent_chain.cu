// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does a kernel cost in a chain of dependent kernels, with and without programmatic dependent launch? Each
/// kernel does preparatory work that is independent of its predecessor, and then adds 1 to the predecessor's result. The time
/// of a case is the time per kernel; the case `membar` uses dependent launches in a graph.
#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

#include <membar/dependent_launch.cuh>
#include <membar/device_clock.cuh>
#include <membar/launch.hpp>

#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace {

/// How a kernel in the chain triggers its successor and waits for its predecessor.
enum class way { full, late, early, early_ptx, early_cuda };

/// Spins for this many nanoseconds, in place of preparation or work.
__device__ void spend(unsigned nanoseconds) {
  for (const unsigned long long begin = membar::global_nanoseconds(); membar::global_nanoseconds() - begin < nanoseconds;) {
  }
}

template <way Way>
__global__ void link(unsigned* at, unsigned prepares, unsigned works) {
  if constexpr (Way == way::early) {
    membar::launch_dependents();
  } else if constexpr (Way == way::early_ptx) {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  } else if constexpr (Way == way::early_cuda) {
    cudaTriggerProgrammaticLaunchCompletion();
  }
  if (prepares != 0) {
    spend(prepares);
  }
  if constexpr (Way == way::early || Way == way::late) {
    membar::wait_for_prerequisites();
  } else if constexpr (Way == way::early_ptx) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  } else if constexpr (Way == way::early_cuda) {
    cudaGridDependencySynchronize();
  }
  if (works != 0) {
    spend(works);
  }
  at[blockIdx.x * 128 + threadIdx.x] += 1;
  if constexpr (Way == way::late) {
    membar::launch_dependents();
  }
}

constexpr unsigned blocks = 64;
constexpr int links = 64;

unsigned* objects() {
  static const support::device_memory<unsigned> all(blocks * 128);
  return all.get();
}

template <way Way>
void enqueue(cudaStream_t on, unsigned prepares, unsigned works) {
  const membar::launch_config config{blocks, 128, on};
  if constexpr (Way == way::full) {
    membar::launch(config, link<Way>, objects(), prepares, works);
  } else {
    membar::launch(config.with(membar::programmatic_stream_serialization{}), link<Way>, objects(), prepares, works);
  }
}

/// A graph of `links` kernels, created on first use.
template <way Way>
cudaGraphExec_t graph_of(unsigned prepares, unsigned works) {
  static std::map<std::pair<unsigned, unsigned>, cudaGraphExec_t> made;  // The graphs live as long as the program.
  cudaGraphExec_t& one = made[{prepares, works}];
  if (one == nullptr) {
    const support::stream on;
    cudaGraph_t graph = nullptr;
    static_cast<void>(objects());  // Memory cannot be allocated during a stream capture.
    membar::check(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i != links; ++i) {
      enqueue<Way>(on.get(), prepares, works);
    }
    membar::check(cudaStreamEndCapture(on.get(), &graph));
    membar::check(cudaGraphInstantiate(&one, graph, 0));
    membar::check(cudaGraphDestroy(graph));
  }
  return one;
}

/// Runs the chain, and checks that every kernel ran and found its predecessor's result.
template <way Way>
void require_whole(cudaGraphExec_t graph) {
  const support::stream on;
  unsigned before = 0;
  unsigned after = 0;
  membar::check(cudaMemcpy(&before, objects() + 5, sizeof(before), cudaMemcpyDefault));
  membar::check(cudaGraphLaunch(graph, on.get()));
  on.synchronize();
  membar::check(cudaMemcpy(&after, objects() + 5, sizeof(after), cudaMemcpyDefault));
  if (after - before != links) {
    throw std::runtime_error("a kernel in the chain did not see its predecessor's result");
  }
}

template <way Way>
bench::arm in_graph(const char* name, unsigned prepares, unsigned works) {
  const auto checked = std::make_shared<bool>(false);
  return {name, [=](cudaStream_t on, bench::workload work) {
            cudaGraphExec_t graph = graph_of<Way>(prepares, works);
            if (!*checked) {
              require_whole<Way>(graph);
              *checked = true;
            }
            for (int turn = 0; turn != work.turns; ++turn) {
              membar::check(cudaGraphLaunch(graph, on));
            }
          }};
}

template <way Way>
bench::arm in_stream(const char* name, unsigned prepares, unsigned works) {
  return {name, [=](cudaStream_t on, bench::workload work) {
            for (int turn = 0; turn != work.turns * links; ++turn) {
              enqueue<Way>(on, prepares, works);
            }
          }};
}

std::vector<bench::comparison> comparisons() {
  std::vector<bench::comparison> all;
  for (const auto& [prepares, works] : {std::pair{0U, 0U}, {2'000U, 0U}, {0U, 2'000U}, {2'000U, 2'000U}, {10'000U, 10'000U}}) {
    all.push_back(
        {"dependent_chain/prepares_" + std::to_string(prepares) + "_ns/works_" + std::to_string(works) + "_ns",
         [](bench::workload work) { return double{links} * work.turns; },
         {in_graph<way::early>("membar", prepares, works), in_graph<way::early_ptx>("ptx", prepares, works),
          in_graph<way::early_cuda>("cuda", prepares, works), in_graph<way::late>("membar_late_trigger", prepares, works),
          in_graph<way::full>("full_dependency", prepares, works), in_stream<way::early>("membar_in_stream", prepares, works),
          in_stream<way::full>("full_dependency_in_stream", prepares, works)}});
  }
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does a kernel cost in a chain, with and without programmatic dependent launch?",
          .add_cases =
              [](suite& cases) {
                cases.need_compute_capability(9, "dependent launches");
                add(cases, comparisons(), {.launch_ns = 1e6, .pairs = 11, .most_ns = 1e8});
              },
          .repetitions = 0};
}

}  // namespace bench
