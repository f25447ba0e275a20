// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: at what rate do a cluster's blocks read tiles of global memory that all of them need, for each cluster size?
/// One thread loads the tiles for all blocks and relays or multicasts them, or each block loads its own tiles.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/sync/bulk_pipeline.cuh>
#include <membar/sync/cluster_broadcast.cuh>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(5'000);
constexpr int stages = 4;
constexpr unsigned tile_bytes = 8192;
constexpr unsigned tiles_of_a_cluster = 4096;

/// Each block loads its own tiles; the other roles are as in `cluster_broadcast`.
struct each_block : membar::bulk_pipeline<stages, tile_bytes> {};
using relayed = membar::cluster_broadcast<stages, tile_bytes>;
using multicast = membar::cluster_broadcast<stages, tile_bytes, membar::cluster_copies::multicast>;

/// One thread in each block receives the cluster's tiles.
template <class Ring>
__global__ void take_tiles(const unsigned char* from, unsigned tiles, unsigned* late) {
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    ring.init(1);
  }
  membar::cluster_sync();
  const unsigned cluster = blockIdx.x / membar::cluster_block_count();
  const bool leads = std::is_same_v<Ring, each_block> || membar::cluster_block_rank() == 0;
  bool good = true;
  if (threadIdx.x == 0) {
    typename Ring::consumer takes(ring);
    for (unsigned tile = 0; tile < tiles_of_a_cluster && good; ++tile) {
      good = takes.take(generous).result == membar::wait_result::done;
      if (good) {
        takes.give_back();
      }
    }
  } else if (leads && threadIdx.x == 32) {
    typename Ring::producer fills(ring);
    for (unsigned tile = 0; tile < tiles_of_a_cluster && good; ++tile) {
      const std::size_t number = (std::size_t{cluster} * tiles_of_a_cluster + tile) % tiles;
      good = fills.fill(from + number * tile_bytes, tile_bytes, generous) == membar::wait_result::done;
    }
  } else if (leads && threadIdx.x == 64) {
    if constexpr (std::is_same_v<Ring, relayed>) {
      typename Ring::relay passes(ring);
      for (unsigned tile = 0; tile < tiles_of_a_cluster && good; ++tile) {
        good = passes.pass_on(tile_bytes, generous) == membar::wait_result::done;
      }
    }
  }
  if (!good) {
    *late = 1;
  }
  membar::cluster_sync();
}

constexpr std::size_t bytes = std::size_t{1} << 30;

struct fixture {
  unsigned multiprocessors;
  support::device_memory<unsigned char> from{bytes};
  support::device_memory<unsigned> late{1};
  support::stream stream;

  explicit fixture(int device)
      : multiprocessors(static_cast<unsigned>(support::attribute(cudaDevAttrMultiProcessorCount, device))) {}
};

template <class Ring>
void add_arm(bench::suite& cases, const bench::made_once<fixture>& shared, const char* arm, unsigned cluster) {
  cases.add("cluster_broadcast/" + std::to_string(cluster) + "_blocks/" + arm, [shared, cluster] {
    fixture& here = *shared;
    const unsigned blocks = here.multiprocessors / 2 / cluster * cluster;  // Makes all clusters run on the device at once.
    const double ns = support::nanoseconds_of(here.stream.get(), [&] {
      membar::launch(membar::launch_config{blocks, 96, here.stream.get()}.with(membar::cluster_dimensions{cluster, 1, 1}),
                     take_tiles<Ring>, static_cast<const unsigned char*>(here.from.get()),
                     static_cast<unsigned>(bytes / tile_bytes), here.late.get());
    });
    unsigned late = 0;
    membar::check(cudaMemcpy(&late, here.late.get(), sizeof(late), cudaMemcpyDefault));
    if (late != 0) {
      throw std::runtime_error("a wait of the ring took more than 5 s");
    }
    const double taken = static_cast<double>(blocks) * tiles_of_a_cluster * tile_bytes;
    return bench::figures(ns, {{"GB_per_s", taken / ns}, {"ns_per_tile", ns / tiles_of_a_cluster}});
  });
}

void add_cases(bench::suite& cases) {
  cases.need_compute_capability(9, "clusters and bulk copies");
  const bench::made_once<fixture> shared(cases.device());
  for (const unsigned cluster : {2U, 4U, 8U}) {
    add_arm<relayed>(cases, shared, "relayed", cluster);
    add_arm<multicast>(cases, shared, "multicast", cluster);
    add_arm<each_block>(cases, shared, "each_block", cluster);
  }
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "At what rate do the blocks of a cluster read tiles that all of them need?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
