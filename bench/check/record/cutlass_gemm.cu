// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A 256 x 128 x 128 matrix product in half precision with CUTLASS 4's warp-specialized kernel for sm_90a, which uses tensor
/// maps, mbarriers, wgmma and clusters of two blocks. The program is built with the headers of the package nvidia-cutlass.
#include <cutlass/cutlass.h>

#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cstdio>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>
#include <vector>

using cutlass::half_t;
using row = cutlass::layout::RowMajor;
using column = cutlass::layout::ColumnMajor;
using tile = cute::Shape<cute::_128, cute::_128, cute::_64>;
using cluster = cute::Shape<cute::_2, cute::_1, cute::_1>;
using epilogue =
    cutlass::epilogue::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, tile, cluster,
                                                     cutlass::epilogue::collective::EpilogueTileAuto, float, float, half_t, row,
                                                     8, half_t, row, 8, cutlass::epilogue::TmaWarpSpecialized>::CollectiveOp;
using mainloop =
    cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, half_t, row, 8, half_t,
                                                 column, 8, float, tile, cluster, cutlass::gemm::collective::StageCount<2>,
                                                 cutlass::gemm::KernelTmaWarpSpecialized>::CollectiveOp;
using kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, mainloop, epilogue>;
using gemm = cutlass::gemm::device::GemmUniversalAdapter<kernel>;

int main() {
  const int m = 256;
  const int n = 128;
  const int k = 128;
  const auto filled = [](std::size_t count) {
    const std::vector<half_t> ones(count, half_t(1.0F));
    void* out = nullptr;
    cudaMalloc(&out, count * sizeof(half_t));
    cudaMemcpy(out, ones.data(), count * sizeof(half_t), cudaMemcpyHostToDevice);
    return static_cast<half_t*>(out);
  };
  half_t* const a = filled(m * k);
  half_t* const b = filled(n * k);
  half_t* const c = filled(m * n);
  half_t* const d = filled(m * n);
  const auto stride = [](auto of, int rows, int columns) { return cutlass::make_cute_packed_stride(of, {rows, columns, 1}); };
  const gemm::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                  {m, n, k, 1},
                                  {a, stride(kernel::StrideA{}, m, k), b, stride(kernel::StrideB{}, n, k)},
                                  {{1.0F, 0.0F}, c, stride(kernel::StrideC{}, m, n), d, stride(kernel::StrideD{}, m, n)}};
  gemm op;
  void* workspace = nullptr;
  cudaMalloc(&workspace, gemm::get_workspace_size(arguments) + 16);
  if (op.initialize(arguments, workspace) != cutlass::Status::kSuccess || op.run() != cutlass::Status::kSuccess) {
    std::puts("CUTLASS does not run here");
    return 1;
  }
  half_t first;
  cudaMemcpy(&first, d, sizeof first, cudaMemcpyDeviceToHost);
  std::printf("d[0] = %g\n", static_cast<double>(float(first)));
  return float(first) == static_cast<float>(k) ? 0 : 1;
}
