// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A FlashInfer checkout's two all-reduces, its own (from TensorRT-LLM) and vLLM's, as a library for all_reduce_torch.py:
///
///     nvcc -O3 -std=c++17 --expt-relaxed-constexpr -arch=sm_90 -shared -cudart=shared -Xcompiler=-fPIC \
///       -I <FlashInfer>/include -I <spdlog>/include bench/symmetric/flashinfer_all_reduce.cu \
///       -o flashinfer_all_reduce.so -lcuda
///
/// A memory argument is an array that contains the memory's address on each rank. The functions return whether they succeeded.
#include <flashinfer/comm/trtllm_allreduce_fusion.cuh>
#include <flashinfer/comm/vllm_custom_all_reduce.cuh>

#include <cstddef>
#include <cstdio>
#include <exception>

namespace {

using element = __nv_bfloat16;

/// vLLM's all-reduce, which reads the inputs of the other ranks in place.
struct of_vllm {
  of_vllm(void* const* signals, void* const* inputs, void* rank_data, std::size_t bytes, int rank, int ranks)
      : all(reinterpret_cast<vllm::Signal**>(const_cast<void**>(signals)), rank_data, bytes, rank, ranks),
        input(static_cast<element*>(inputs[rank])) {
    vllm::RankData data{};
    for (int i = 0; i != ranks; ++i) {
      data.ptrs[i] = inputs[i];
    }
    CHECK_CUDA_SUCCESS(cudaMemcpy(rank_data, &data, sizeof data, cudaMemcpyHostToDevice));
    all.buffers_[input] = all.d_rank_data_base_;
  }

  vllm::CustomAllreduce all;
  element* input;
};

template <class Work>
int done(Work work) {
  try {
    work();
    return 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 0;
  }
}

}  // namespace

extern "C" void* vllm_make(void* const* signals, void* const* inputs, void* rank_data, std::size_t bytes, int rank, int ranks) {
  of_vllm* made = nullptr;
  done([&] { made = new of_vllm(signals, inputs, rank_data, bytes, rank, ranks); });
  return made;
}

extern "C" int vllm_enqueue(void* all, void* out, int elements, cudaStream_t stream) {
  return done([&] {
    auto& of = *static_cast<of_vllm*>(all);
    of.all.graph_unreg_buffers_.clear();  // Makes a capture use the existing addresses as well.
    of.all.allreduce<element>(stream, of.input, static_cast<element*>(out), elements, vllm::kMaxBlocks);
  });
}

/// The input consists of tokens of `hidden` elements. `workspace` contains the addresses that the kernels expect, on the
/// device.
extern "C" int flashinfer_enqueue(void* in, void* out, int elements, void** workspace, int rank, int ranks, int hidden,
                                  int one_shot, cudaStream_t stream) {
  namespace fusion = flashinfer::trtllm_allreduce_fusion;
  constexpr auto pattern = fusion::AllReduceFusionPattern::kAllReduce;
  fusion::AllReduceFusionParams<element> parameters{};
  parameters.nranks = ranks;
  parameters.rank = rank;
  parameters.size = elements;
  parameters.hidden_dim = hidden;
  parameters.workspace = workspace;
  parameters.allreduce_in = in;
  parameters.allreduce_out = out;
  parameters.use_oneshot = one_shot != 0;
  parameters.stream = stream;
  parameters.pattern = pattern;
  cudaError_t status = cudaErrorNotSupported;
  const int went_well = done([&] {
    if (ranks == 2) {
      status = fusion::allreduce_fusion_kernel_launcher<pattern, element, 2, true>(parameters, false);
    } else if (ranks == 4) {
      status = fusion::allreduce_fusion_kernel_launcher<pattern, element, 4, true>(parameters, false);
    }
  });
  return went_well != 0 && status == cudaSuccess;
}
