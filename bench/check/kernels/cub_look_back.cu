// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scan over blocks with CUB's decoupled look-back: its tile state, its prefix callback and its block scan.
#include <cub/agent/single_pass_scan_operators.cuh>
#include <cub/block/block_scan.cuh>

// A value of two words, whose status is in a separate word.
struct wide {
  long long x;
  long long y;
  friend __device__ wide operator+(wide a, wide b) { return {a.x + b.x, a.y + b.y}; }
};

template <class Value>
using tile_state = cub::ScanTileState<Value>;

template <class Value>
__global__ void begin(tile_state<Value> tiles, int number) {
  tiles.InitializeStatus(number);
}

template <class Value, int Threads>
__global__ void scan(const Value* in, Value* out, tile_state<Value> tiles) {
  using block_scan = cub::BlockScan<Value, Threads>;
  using look_back = cub::TilePrefixCallbackOp<Value, cuda::std::plus<>, tile_state<Value>>;
  __shared__ typename block_scan::TempStorage of_block;
  __shared__ typename look_back::TempStorage of_look_back;
  const int n = static_cast<int>(blockIdx.x * Threads + threadIdx.x);
  Value value = in[n];
  if (blockIdx.x == 0) {
    Value sum;
    block_scan(of_block).InclusiveSum(value, value, sum);
    if (threadIdx.x == 0) {
      tiles.SetInclusive(0, sum);
    }
  } else {
    look_back before(tiles, of_look_back, cuda::std::plus<>{});
    block_scan(of_block).InclusiveSum(value, value, before);
  }
  out[n] = value;
}
template __global__ void begin<int>(tile_state<int>, int);
template __global__ void scan<int, 128>(const int*, int*, tile_state<int>);
template __global__ void begin<wide>(tile_state<wide>, int);
template __global__ void scan<wide, 32>(const wide*, wide*, tile_state<wide>);
