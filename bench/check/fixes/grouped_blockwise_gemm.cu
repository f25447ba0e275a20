// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUTLASS kernel for grouped matrix products with block-wise scales, for Blackwell.
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>
#include <cute/tensor.hpp>
#include <cutlass/detail/blockwise_scale_layout.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/dispatch_policy.hpp>
#include <cutlass/gemm/group_array_problem_shape.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
using namespace cute;
using element = cutlass::float_e4m3_t;
using tile = Shape<_128, _128, _128>;
using cluster = Shape<_1, _1, _1>;
using row = cutlass::layout::RowMajor*;
using column = cutlass::layout::ColumnMajor*;
using shapes = cutlass::gemm::GroupProblemShape<Shape<int, int, int>>;
using main_schedule = cutlass::gemm::KernelPtrArrayTmaWarpSpecializedBlockwise1SmSm100;
using epilogue_schedule = cutlass::epilogue::PtrArrayTmaWarpSpecialized1Sm;
using scales = decltype(cutlass::detail::sm100_trivial_blockwise_scale_config(tile{}));
using scales_a = decltype(scales::deduce_layoutSFA());
using scales_b = decltype(scales::deduce_layoutSFB());
using epilogue = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, tile, cluster, cutlass::epilogue::collective::EpilogueTileAuto, float,
    float, cutlass::bfloat16_t, row, 8, cutlass::bfloat16_t, row, 8, epilogue_schedule>::CollectiveOp;
using mainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, element, cute::tuple<row, scales_a*>, 16, element,
    cute::tuple<column, scales_b*>, 16, float, tile, cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename epilogue::SharedStorage))>,
    main_schedule>::CollectiveOp;
using kernel = cutlass::gemm::kernel::GemmUniversal<shapes, mainloop, epilogue>;
void* const used = reinterpret_cast<void*>(cutlass::device_kernel<kernel>);
