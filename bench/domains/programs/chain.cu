// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that does not use domains: a chain of short kernels on GPU 0, alone and while other kernels store to GPU 1. The first argument
// selects the stream of the chain: created (the default), legacy, per_thread, or green (a green context with 32 multiprocessors, which needs
// CUDA 12.5); graph selects a captured graph. The second argument selects the stores: one (GPU 0 to GPU 1, the default), all (GPU 0 to every
// other GPU), from_all (every GPU except 1 to GPU 1), or host (GPU 0 to pinned host memory, which needs only one GPU). The
// program prints RESULT and a line of JSON.
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

__global__ void store_to_peer(float4* to, std::size_t count, float value) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    to[i] = make_float4(value, value, value, value);
  }
}

__global__ void short_step(float* p) { p[blockIdx.x * blockDim.x + threadIdx.x] += 1.0F; }

void check(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS) {
    std::fprintf(stderr, "%s returned %d\n", what, static_cast<int>(status));
    std::exit(1);
  }
}

#if CUDA_VERSION >= 12050
template <class Function>
Function* driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion(name, &found, 12050, cudaEnableDefault, &result), name);
  if (found == nullptr) {
    std::printf("SKIPPED: the driver does not export %s\n", name);
    std::exit(77);
  }
  return reinterpret_cast<Function*>(found);
}

cudaStream_t green_stream() {
  CUdevResource all{};
  CUdevResource part{};
  CUdevResource rest{};
  unsigned groups = 1;
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  CUstream stream = nullptr;
  check(driver<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource")(0, &all, CU_DEV_RESOURCE_TYPE_SM),
        "cuDeviceGetDevResource");
  check(driver<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount")(&part, &groups, &all, &rest, 0, 32),
        "cuDevSmResourceSplitByCount");
  check(driver<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(&description, &part, 1),
        "cuDevResourceGenerateDesc");
  check(driver<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate")(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate");
  check(driver<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate")(&stream, context, CU_STREAM_NON_BLOCKING, 0),
        "cuGreenCtxStreamCreate");
  return stream;
}
#else
cudaStream_t green_stream() {
  std::puts("SKIPPED: this program was built with a CUDA version before 12.5, which cannot split a device into green contexts");
  std::exit(77);
}
#endif

double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main(int count, char** words) {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  constexpr int kernels = 500, rounds = 6, chains = 20;
  const std::string who = count > 2 ? words[2] : "one";
  const bool to_host = who == "host";
  const int puts = to_host ? 250 : 400;  // A round of this many puts takes more than a second, so the chains finish first.
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < (to_host ? 1 : 2)) {
    std::printf("SKIPPED: this program needs %s, but finds %d\n", to_host ? "a GPU" : "two GPUs", devices);
    return 77;
  }
  struct put {  // A kernel that stores from one GPU to another.
    int from, to;
    float4* buffer = nullptr;
    cudaStream_t stream = nullptr;
  };
  std::vector<put> all;
  if (who == "one" || to_host) {
    all.push_back({0, to_host ? 0 : 1});
  } else if (who == "all" || who == "from_all") {
    for (int d = 1; d < devices; ++d) {
      all.push_back(who == "all" ? put{0, d} : put{d == 1 ? 0 : d, 1});
    }
  } else {
    std::fprintf(stderr, "'%s' does not name stores: write one, all, from_all or host\n", who.c_str());
    return 2;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    put& p = all[i];
    check(cudaSetDevice(p.to), "cudaSetDevice");
    if (to_host) {
      check(cudaMallocHost(&p.buffer, bytes), "cudaMallocHost");
    } else {
      check(cudaMalloc(&p.buffer, bytes / all.size()), "cudaMalloc");
      check(cudaSetDevice(p.from), "cudaSetDevice");
      const cudaError_t enabled = cudaDeviceEnablePeerAccess(p.to, 0);
      check(enabled == cudaErrorPeerAccessAlreadyEnabled ? cudaSuccess : enabled, "cudaDeviceEnablePeerAccess");
      static_cast<void>(cudaGetLastError());
    }
    check(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  const std::size_t each = bytes / all.size() / sizeof(float4);
  check(cudaSetDevice(0), "cudaSetDevice");
  float* own = nullptr;
  check(cudaMalloc(&own, 16 * 128 * sizeof(float)), "cudaMalloc");
  const std::string where = count > 1 ? words[1] : "created";
  cudaStream_t compute = where == "legacy" ? cudaStreamLegacy : where == "per_thread" ? cudaStreamPerThread : nullptr;
  if (compute == nullptr && where != "created" && where != "green" && where != "graph") {
    std::fprintf(stderr, "'%s' is not a stream: write created, legacy, per_thread, green or graph\n", where.c_str());
    return 2;
  }
  if (where == "created" || where == "graph") {
    check(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking), "cudaStreamCreate");
  } else if (where == "green") {
    compute = green_stream();
  }
  cudaEvent_t last;
  check(cudaEventCreateWithFlags(&last, cudaEventDisableTiming), "cudaEventCreate");
  const auto launch_chain = [&] {
    for (int i = 0; i < kernels; ++i) {
      short_step<<<16, 128, 0, compute>>>(own);
    }
  };
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t captured = nullptr;
  if (where == "graph") {
    check(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    launch_chain();
    check(cudaStreamEndCapture(compute, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&captured, graph, 0), "cudaGraphInstantiate");
  }
  // GPU 0 stores with the same number of blocks, regardless of the targets.
  const unsigned blocks = who == "all" ? std::max(1U, 16U / static_cast<unsigned>(all.size())) : 16U;
  const auto store = [&](int times) {
    for (int i = 0; i < times; ++i) {
      for (const put& p : all) {
        check(cudaSetDevice(p.from), "cudaSetDevice");
        store_to_peer<<<blocks, 1024, 0, p.stream>>>(p.buffer, each, static_cast<float>(i));
      }
    }
    check(cudaSetDevice(0), "cudaSetDevice");
  };
  const auto synchronize = [&] {
    for (const put& p : all) {
      check(cudaStreamSynchronize(p.stream), "cudaStreamSynchronize");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  };
  const auto chain = [&] {
    const auto start = std::chrono::steady_clock::now();
    if (captured != nullptr) {
      check(cudaGraphLaunch(captured, compute), "cudaGraphLaunch");
    } else {
      launch_chain();
    }
    check(cudaStreamSynchronize(compute), "cudaStreamSynchronize");
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kernels;
  };
  chain();
  store(1);
  synchronize();

  std::vector<double> alone, beside;
  bool overlapped = true;
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < chains; ++i) {
      alone.push_back(chain());
    }
    store(puts);
    check(cudaEventRecord(last, all.front().stream), "cudaEventRecord");
    for (int i = 0; i < chains; ++i) {
      beside.push_back(chain());
    }
    overlapped = overlapped && cudaEventQuery(last) == cudaErrorNotReady;
    synchronize();
  }
  std::printf(
      "RESULT {\"program\": \"chain\", \"stream\": \"%s\", \"stores\": \"%s\", \"unit\": \"us of a kernel\", \"alone\": "
      "{\"p50\": %.3f, \"p99\": "
      "%.3f, \"count\": "
      "%zu}, \"beside\": "
      "{\"p50\": %.3f, \"p99\": %.3f, \"count\": %zu}, \"overlapped\": %s}\n",
      where.c_str(), who.c_str(), percentile(alone, 0.5), percentile(alone, 0.99), alone.size(), percentile(beside, 0.5),
      percentile(beside, 0.99), beside.size(), overlapped ? "true" : "false");
  return 0;
}
