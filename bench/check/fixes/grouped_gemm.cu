// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUTLASS kernel for grouped matrix products: for Blackwell, or for Hopper with one of two schedules.
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>
#include <cutlass/kernel_launch.h>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/dispatch_policy.hpp>
#include <cutlass/gemm/group_array_problem_shape.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using namespace cute;

template <class Arch, class Tile, class MainloopSchedule, class EpilogueSchedule>
struct grouped {
  using Element = cutlass::half_t;
  using Row = cutlass::layout::RowMajor*;
  using Column = cutlass::layout::ColumnMajor*;
  using Cluster = Shape<_1, _1, _1>;
  using Shapes = cutlass::gemm::GroupProblemShape<Shape<int, int, int>>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      Arch, cutlass::arch::OpClassTensorOp, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float,
      Element, Column, 8, Element, Column, 8, EpilogueSchedule>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      Arch, cutlass::arch::OpClassTensorOp, Element, Row, 8, Element, Column, 8, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      MainloopSchedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shapes, Mainloop, Epilogue>;
};

#ifdef BLACKWELL
using kernel = grouped<cutlass::arch::Sm100, Shape<_128, _128, _64>, cutlass::gemm::KernelPtrArrayTmaWarpSpecialized1SmSm100,
                       cutlass::epilogue::PtrArrayTmaWarpSpecialized1Sm>::Kernel;
#elif defined(PINGPONG)
using kernel = grouped<cutlass::arch::Sm90, Shape<_64, _128, _64>, cutlass::gemm::KernelPtrArrayTmaWarpSpecializedPingpong,
                       cutlass::epilogue::PtrArrayTmaWarpSpecializedPingpong>::Kernel;
#else
using kernel = grouped<cutlass::arch::Sm90, Shape<_128, _128, _64>, cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperative,
                       cutlass::epilogue::PtrArrayTmaWarpSpecializedCooperative>::Kernel;
#endif
void* const used = reinterpret_cast<void*>(cutlass::device_kernel<kernel>);
