// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Bulk copies of a box of a tensor in global memory, which a tensor map describes: shape, strides, element type and box.
///
/// The map is made on the host, by `cuTensorMapEncodeTiled` or `cuTensorMapEncodeIm2col`, and passed to the kernel as a `const __grid_constant__ CUtensorMap`.
///
/// | call | PTX | ends |
/// |---|---|---|
/// | `tensor_load` | `cp.async.bulk.tensor.Nd.shared::cta.global.tile.mbarrier::complete_tx::bytes [to], [map, {place}], [b]` | on `b` |
/// | `tensor_load_multicast` | `cp.async.bulk.tensor.Nd.shared::cluster...multicast::cluster [to], [map, {place}], [b], blocks` | on `b` of each |
/// | `tensor_load_im2col` | `cp.async.bulk.tensor.Nd.shared::cta.global.im2col... [to], [map, {place}], [b], {offsets}` | on `b` |
/// | `tensor_prefetch_l2` | `cp.async.bulk.prefetch.tensor.Nd.L2.global.tile [map, {place}]` | |
/// | `tensor_store` | `cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group [map, {place}], [from]` | in a group |
/// | `tensor_reduce` | `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.OP.tile.bulk_group [map, {place}], [from]` | in a group |
///
/// They read and write through the async proxy, and end as the copies of bulk_copy.cuh do: the same rules say who may read what.
/// Groups are those of `bulk_commit`, `bulk_wait` and `bulk_wait_read`.
///
/// A kernel that changes a map needs the fences of the tensormap proxy (fence.cuh) before a copy uses it.
/// Source: PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "Tensors".
#pragma once

#include <membar/bulk_copy.cuh>
#include <membar/detail/asynchronous.cuh>
#include <membar/detail/standard.hpp>
#include <membar/mbarrier.cuh>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_2 {

/// Where a box begins in a tensor of 1 to 5 dimensions: the index of its first element, innermost dimension first. It may be negative
/// or past the end: elements outside of the tensor are read as zeros, or as the map says, and are not written.
template <int Dimensions>
struct tensor_place {
  static_assert(Dimensions >= 1 && Dimensions <= 5, "membar: a tensor map has 1 to 5 dimensions");
  int at[Dimensions < 1 ? 1 : Dimensions];  // so that the sentence above is the only error
};
template <class... Indices>
tensor_place(Indices...) -> tensor_place<static_cast<int>(sizeof...(Indices))>;

namespace detail {

struct tensor_put {
  static constexpr char verb[] = "async";
  static constexpr char operation[] = "";
};
// clang-format off
template <async_operation Operation> struct tensor_update;
template <> struct tensor_update<async_operation::add> { static constexpr char verb[] = "reduce.async", operation[] = ".add"; };
template <> struct tensor_update<async_operation::min> { static constexpr char verb[] = "reduce.async", operation[] = ".min"; };
template <> struct tensor_update<async_operation::max> { static constexpr char verb[] = "reduce.async", operation[] = ".max"; };
template <> struct tensor_update<async_operation::inc> { static constexpr char verb[] = "reduce.async", operation[] = ".inc"; };
template <> struct tensor_update<async_operation::dec> { static constexpr char verb[] = "reduce.async", operation[] = ".dec"; };
template <> struct tensor_update<async_operation::bitwise_and> { static constexpr char verb[] = "reduce.async", operation[] = ".and"; };
template <> struct tensor_update<async_operation::bitwise_or> { static constexpr char verb[] = "reduce.async", operation[] = ".or"; };
template <> struct tensor_update<async_operation::bitwise_xor> { static constexpr char verb[] = "reduce.async", operation[] = ".xor"; };
// clang-format on

// cp.async.bulk.tensor.dim.global.shared::cta.tile.bulk_group [tensorMap, coords], [src];  PTX ISA 8.0, sm_90
// cp.reduce.async.bulk.tensor.dim.global.shared::cta.op.tile.bulk_group [tensorMap, coords], [src];  PTX ISA 8.0, sm_90
template <class Form, int Dimensions>
__device__ inline void write_box(const void* map, tensor_place<Dimensions> place, const void* from) noexcept {
  if constexpr (Dimensions == 1) {
    asm volatile("cp.%2.bulk.tensor.1d.global.shared::cta%3.tile.bulk_group [%0, {%4}], [%1];" ::"l"(map),
                 "r"(shared_address(from)), "C"(Form::verb), "C"(Form::operation), "r"(place.at[0])
                 : "memory");
  } else if constexpr (Dimensions == 2) {
    asm volatile("cp.%2.bulk.tensor.2d.global.shared::cta%3.tile.bulk_group [%0, {%4, %5}], [%1];" ::"l"(map),
                 "r"(shared_address(from)), "C"(Form::verb), "C"(Form::operation), "r"(place.at[0]), "r"(place.at[1])
                 : "memory");
  } else if constexpr (Dimensions == 3) {
    asm volatile("cp.%2.bulk.tensor.3d.global.shared::cta%3.tile.bulk_group [%0, {%4, %5, %6}], [%1];" ::"l"(map),
                 "r"(shared_address(from)), "C"(Form::verb), "C"(Form::operation), "r"(place.at[0]), "r"(place.at[1]),
                 "r"(place.at[2])
                 : "memory");
  } else if constexpr (Dimensions == 4) {
    asm volatile("cp.%2.bulk.tensor.4d.global.shared::cta%3.tile.bulk_group [%0, {%4, %5, %6, %7}], [%1];" ::"l"(map),
                 "r"(shared_address(from)), "C"(Form::verb), "C"(Form::operation), "r"(place.at[0]), "r"(place.at[1]),
                 "r"(place.at[2]), "r"(place.at[3])
                 : "memory");
  } else {
    asm volatile("cp.%2.bulk.tensor.5d.global.shared::cta%3.tile.bulk_group [%0, {%4, %5, %6, %7, %8}], [%1];" ::"l"(map),
                 "r"(shared_address(from)), "C"(Form::verb), "C"(Form::operation), "r"(place.at[0]), "r"(place.at[1]),
                 "r"(place.at[2]), "r"(place.at[3]), "r"(place.at[4])
                 : "memory");
  }
}

}  // namespace detail

/// Copies the box at `place` of the tensor that `map` describes into the block's shared memory at `to`. It completes on `barrier`, an
/// mbarrier of the block: a wait that acquires the phase sees the box.
///
/// `bytes` is the size of the map's box, of which PTX knows without being told: the phase expects them all, also where a part of the
/// box is outside of the tensor.
///
/// PTX: `cp.async.bulk.tensor.Nd.shared::cta.global.tile.mbarrier::complete_tx::bytes`, one instruction. Requires: compute capability
/// 9.0 (PTX ISA 8.6); `to` aligned to 128 bytes; `map` a generic address of global, constant or parameter memory. Proxy fence: after
/// ordinary accesses of `to`, and after ordinary stores to the tensor. Source: PTX ISA, "cp.async.bulk.tensor".
template <int Dimensions, thread_scope Scope>
__device__ inline transaction_bytes tensor_load(void* to, const void* map, tensor_place<Dimensions> place, unsigned bytes,
                                                mbarrier<Scope>& barrier) noexcept {
  detail::require_bulk_copies<Scope == Scope>();
  // cp.async.bulk.tensor.dim.shared::cta.global.tile.mbarrier::complete_tx::bytes [dst], [tensorMap, coords], [mbar];
  // PTX ISA 8.6, sm_90
  if constexpr (Dimensions == 1) {
    asm volatile("cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
                     detail::shared_address(to)),
                 "l"(map), "r"(barrier.address()), "r"(place.at[0])
                 : "memory");
  } else if constexpr (Dimensions == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "r"(place.at[0]), "r"(place.at[1])
        : "memory");
  } else if constexpr (Dimensions == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
            detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2])
        : "memory");
  } else if constexpr (Dimensions == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::
            "r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3])
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], "
        "[%2];" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3]),
        "r"(place.at[4])
        : "memory");
  }
  return detail::copy_results::bytes(bytes);
}

/// As `tensor_load`, into the same place of each block of the cluster whose bit is set in `blocks`. In each of them it completes on the
/// mbarrier at the place of `barrier`, whose phase expects the bytes of the whole box.
///
/// PTX: `cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster`, one instruction. ptxas
/// advises to compile for sm_90a: elsewhere it may be slow. Requires: as `tensor_load`; the other blocks run. Source: PTX ISA,
/// "cp.async.bulk.tensor".
template <int Dimensions>
__device__ inline transaction_bytes tensor_load_multicast(void* to, const void* map, tensor_place<Dimensions> place,
                                                          unsigned bytes, mbarrier<thread_scope::cluster>& barrier,
                                                          std::uint16_t blocks) noexcept {
  detail::require_bulk_copies<Dimensions != 0>();
  // cp.async.bulk.tensor.dim.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [dst], [tensorMap, coords],
  // [mbar], ctaMask;  PTX ISA 8.0, sm_90
  if constexpr (Dimensions == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4}], "
        "[%2], %3;" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "h"(blocks), "r"(place.at[0])
        : "memory");
  } else if constexpr (Dimensions == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, "
        "%5}], [%2], %3;" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "h"(blocks), "r"(place.at[0]), "r"(place.at[1])
        : "memory");
  } else if constexpr (Dimensions == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, "
        "%5, %6}], [%2], %3;" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "h"(blocks), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2])
        : "memory");
  } else if constexpr (Dimensions == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, "
        "%5, %6, %7}], [%2], %3;" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "h"(blocks), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3])
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, "
        "%5, %6, %7, %8}], [%2], %3;" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "h"(blocks), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3]),
        "r"(place.at[4])
        : "memory");
  }
  return detail::copy_results::bytes(bytes);
}

/// Where a column of an im2col map begins within the filter: the offset in each of the tensor's spatial dimensions, innermost first. A
/// tensor of N dimensions, 3 to 5, has N - 2 of them, beside channels and batch.
template <int Spatial>
struct tensor_offsets {
  static_assert(Spatial >= 1 && Spatial <= 3, "membar: an im2col map has 1 to 3 spatial dimensions");
  std::uint16_t by[Spatial < 1 ? 1 : Spatial];
};

/// As `tensor_load`, in im2col mode: of a map made by `cuTensorMapEncodeIm2col`, the pixels of the column that begins at `place`, moved by
/// `offsets` within the filter. `place` has the channel first and the image of the batch last.
///
/// `bytes` is the number of the map's pixels per column times that of its channels per pixel times the size of an element.
///
/// PTX: `cp.async.bulk.tensor.Nd.shared::cta.global.im2col.mbarrier::complete_tx::bytes`, one instruction. Requires: as `tensor_load`; 3 to 5
/// dimensions. Source: PTX ISA, "cp.async.bulk.tensor", "Im2col mode".
template <int Dimensions, thread_scope Scope>
__device__ inline transaction_bytes tensor_load_im2col(void* to, const void* map, tensor_place<Dimensions> place,
                                                       tensor_offsets<(Dimensions < 3 ? 1 : Dimensions - 2)> offsets,
                                                       unsigned bytes, mbarrier<Scope>& barrier) noexcept {
  static_assert(Dimensions >= 3, "membar: an im2col map has 3 to 5 dimensions: channels, 1 to 3 spatial ones, and the batch");
  detail::require_bulk_copies<Dimensions >= 3>();
  // cp.async.bulk.tensor.dim.shared::cta.global.im2col.mbarrier::complete_tx::bytes [dst], [tensorMap, coords], [mbar], offsets;
  // PTX ISA 8.6, sm_90
  if constexpr (Dimensions == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2], "
        "{%6};" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]), "h"(offsets.by[0])
        : "memory");
  } else if constexpr (Dimensions == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], "
        "{%7, %8};" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3]),
        "h"(offsets.by[0]), "h"(offsets.by[1])
        : "memory");
  } else if constexpr (Dimensions == 5) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], "
        "[%2], {%8, %9, %10};" ::"r"(detail::shared_address(to)),
        "l"(map), "r"(barrier.address()), "r"(place.at[0]), "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3]),
        "r"(place.at[4]), "h"(offsets.by[0]), "h"(offsets.by[1]), "h"(offsets.by[2])
        : "memory");
  }
  return detail::copy_results::bytes(bytes);
}

/// Brings the box at `place` of the tensor into L2. It is a hint: it orders nothing and nobody can wait for it.
///
/// PTX: `cp.async.bulk.prefetch.tensor.Nd.L2.global.tile`, one instruction. Requires: compute capability 9.0; `map` as for `tensor_load`.
/// Source: PTX ISA, "cp.async.bulk.prefetch.tensor".
template <int Dimensions>
__device__ inline void tensor_prefetch_l2(const void* map, tensor_place<Dimensions> place) noexcept {
  detail::require_bulk_copies<Dimensions != 0>();
  // cp.async.bulk.prefetch.tensor.dim.L2.global.tile [tensorMap, coords];  PTX ISA 8.0, sm_90
  if constexpr (Dimensions == 1) {
    asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%0, {%1}];" ::"l"(map), "r"(place.at[0]) : "memory");
  } else if constexpr (Dimensions == 2) {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map), "r"(place.at[0]),
                 "r"(place.at[1])
                 : "memory");
  } else if constexpr (Dimensions == 3) {
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(map), "r"(place.at[0]),
                 "r"(place.at[1]), "r"(place.at[2])
                 : "memory");
  } else if constexpr (Dimensions == 4) {
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(map), "r"(place.at[0]),
                 "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3])
                 : "memory");
  } else {
    asm volatile("cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%0, {%1, %2, %3, %4, %5}];" ::"l"(map), "r"(place.at[0]),
                 "r"(place.at[1]), "r"(place.at[2]), "r"(place.at[3]), "r"(place.at[4])
                 : "memory");
  }
}

/// Copies the block's shared memory at `from` into the box at `place` of the tensor, in a group of the calling thread.
///
/// PTX: `cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group`, one instruction. Requires: compute capability 9.0; `from` aligned
/// to 128 bytes; `map` as for `tensor_load`. Proxy fence: after ordinary stores to `from`, and after ordinary accesses of the tensor.
template <int Dimensions>
__device__ inline uncommitted_copies tensor_store(const void* map, tensor_place<Dimensions> place, const void* from) noexcept {
  detail::require_bulk_copies<Dimensions != 0>();
  detail::write_box<detail::tensor_put>(map, place, from);
  return detail::copy_results::copies();
}

/// Updates the box at `place` of the tensor with the block's shared memory at `from`, element by element, in a group of the calling
/// thread. Each element is updated by a relaxed atomic of device scope, among bulk copies.
///
/// The type of an element is in the map. The operation must be one that `bulk_reduce` has for that type: no compiler sees the map.
///
/// PTX: `cp.reduce.async.bulk.tensor.Nd.global.shared::cta.OP.tile.bulk_group`, one instruction. Requires: as `tensor_store`. Source:
/// PTX ISA, "cp.reduce.async.bulk.tensor".
template <async_operation Operation, int Dimensions>
__device__ inline uncommitted_copies tensor_reduce(const void* map, tensor_place<Dimensions> place, const void* from) noexcept {
  detail::require_bulk_copies<Dimensions != 0>();
  detail::write_box<detail::tensor_update<Operation>>(map, place, from);
  return detail::copy_results::copies();
}

}  // namespace v0_2
}  // namespace membar
