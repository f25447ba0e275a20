// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For each rule of the linter, kernels that break it, whose names begin with wrong_, and similar kernels that do not.
// lint_test.py lists the expected warnings.
#include <cuda/atomic>

using flag_t = cuda::atomic_ref<int, cuda::thread_scope_device>;

// flag-before-barrier
__global__ void wrong_flag_of_thread_0(int* flag, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  if (threadIdx.x == 0) {
    flag_t(*flag).store(1, cuda::memory_order_release);
  }
}
__global__ void right_flag_of_thread_0(int* flag, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    flag_t(*flag).store(1, cuda::memory_order_release);
  }
}
__global__ void wrong_flags_of_first_threads(int** flags, float* data, int peers) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __threadfence_system();
  if (threadIdx.x < peers) {
    *static_cast<volatile int*>(flags[threadIdx.x]) = 1;
  }
}
__global__ void right_flags_of_first_threads(int** flags, float* data, int peers) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x < peers) {
    *static_cast<volatile int*>(flags[threadIdx.x]) = 1;
  }
}
// Several threads write, and another thread may raise the flag, which is in the same buffer.
__global__ void wrong_flag_beside_data_of_some(int* buffer, int n) {
  if (threadIdx.x < n) {
    buffer[threadIdx.x + 32] = 1;
  }
  if (threadIdx.x == 0) {
    flag_t(*buffer).store(1, cuda::memory_order_release);
  }
}
// The same in a loop: each round's flag is raised after the previous round's copy.
__global__ void wrong_flag_in_a_loop(int** flags, float* data, int peers, int n) {
  for (int k = 0; k < n; k += blockDim.x) {
    if (threadIdx.x < peers) {
      __threadfence_system();
      *static_cast<volatile int*>(flags[threadIdx.x]) = k + 1;
      while (flag_t(flags[threadIdx.x][1]).load(cuda::memory_order_acquire) <= k) {
      }
    }
    __syncthreads();
    for (int at = k + threadIdx.x; at < k + blockDim.x; at += 32) {
      data[at] = 1;
    }
  }
}
// The first thread to store raises the flag for all of them.
__global__ void wrong_flag_of_all_threads(int* flag, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  flag_t(*flag).store(1, cuda::memory_order_release);
}
__global__ void right_flag_of_all_threads(int* flag, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __syncthreads();
  flag_t(*flag).store(1, cuda::memory_order_release);
}
__global__ void right_flags_of_all_threads(int* flags, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  flag_t(flags[threadIdx.x]).store(1, cuda::memory_order_release);
}
__global__ void right_flags_of_the_writers(int* flags, float* data, int n) {
  if (threadIdx.x < n) {
    data[threadIdx.x] = 1;
    flag_t(flags[threadIdx.x]).store(1, cuda::memory_order_release);
  }
}
__global__ void right_flag_of_a_warp(int* flag, float* data) {
  if (threadIdx.x < 32) {
    data[threadIdx.x] = 1;
    __syncwarp();
  }
  if (threadIdx.x == 0) {
    flag_t(*flag).store(1, cuda::memory_order_release);
  }
}
// This is correct if a block has a single warp.
__global__ void wrong_flag_behind_a_warp_barrier(int* flag, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __syncwarp();
  if (threadIdx.x == 0) {
    flag_t(*flag).store(1, cuda::memory_order_release);
  }
}
// Another block reads the carry, which the last thread writes. No thread of the grid reads `out`.
__global__ void wrong_flag_of_a_carry(const int* in, int* out, int* carry, int* ready) {
  __shared__ int base;
  if (threadIdx.x == 0 && blockIdx.x != 0) {
    while (flag_t(ready[blockIdx.x - 1]).load(cuda::memory_order_acquire) == 0) {
    }
    base = carry[blockIdx.x - 1];
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = base + in[threadIdx.x];
  if (threadIdx.x == blockDim.x - 1) {
    carry[blockIdx.x] = base + in[threadIdx.x];
  }
  if (threadIdx.x == 0) {
    flag_t(ready[blockIdx.x]).store(1, cuda::memory_order_release);
  }
}
// The warning names the last store before the flag whose data is read by this kernel or another one.
__device__ int results[1024];
__global__ void wrong_flag_of_several_results(int* flag, int* plan, int* log) {
  log[threadIdx.x] = 1;
  plan[threadIdx.x] = plan[threadIdx.x + 1] + 1;
  results[threadIdx.x] = 1;
  log[threadIdx.x + 1024] = 1;
  if (threadIdx.x == 0) {
    flag_t(*flag).store(1, cuda::memory_order_release);
  }
}
__global__ void right_reader_of_results(int* out) { out[threadIdx.x] = results[threadIdx.x]; }
// Only one thread of the grid writes: the thread whose block number and thread number are both 0.
__global__ void right_flag_beside_data_of_one(int* flag, float* data) {
  if ((threadIdx.x | blockIdx.x) == 0) {
    data[0] = 1;
  }
  if (threadIdx.x == 0) {
    flag_t(*flag).store(1, cuda::memory_order_release);
  }
}
// The block that raises the flag synchronizes at the barrier, although another path leads around it.
__global__ void wrong_flag_of_one_block(int* flag, float* data, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    data[k * blockDim.x + threadIdx.x] = 1;
    if (blockIdx.x == 0) {
      __syncthreads();
    }
    if (data[k] != 0) {
      asm volatile("" ::: "memory");
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
      flag_t(*flag).store(k, cuda::memory_order_release);
    }
  }
}
// Two consecutive flags need only one barrier, so there is only one warning.
__global__ void wrong_flags_in_a_row(int* first, int* second, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  if (threadIdx.x == 0) {
    flag_t(*first).store(1, cuda::memory_order_release);
    flag_t(*second).store(1, cuda::memory_order_release);
  }
}
// A message of several words may itself contain the data that it announces.
__global__ void wrong_message(int* box, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  if (threadIdx.x == 0) {
    asm volatile("fence.acq_rel.gpu;\n\tst.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(box), "r"(1), "r"(2) : "memory");
  }
}
// A counter that announces no data.
__global__ void right_statistics(int* count, float* data) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
  }
}

// spin-without-acquire
__global__ void wrong_volatile_wait(volatile int* flag, float* data, float* out) {
  while (*flag == 0) {
  }
  out[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
// Each round's fence comes before the flag that the round raises, and does not order the next round's wait and read.
__global__ void wrong_wait_in_rounds(volatile int* flags, float* data, int rounds) {
  for (int k = blockIdx.x; k < rounds; k += gridDim.x) {
    if (threadIdx.x == 0 && k != 0) {
      while (flags[k - 1] == 0) {
      }
    }
    __syncthreads();
    data[k * blockDim.x + threadIdx.x] = data[(k - 1) * blockDim.x + threadIdx.x] + 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      flags[k] = 1;
    }
  }
}
__global__ void right_volatile_wait(volatile int* flag, float* data, float* out) {
  while (*flag == 0) {
  }
  __threadfence();
  out[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
__global__ void wrong_fence_before_the_loop(int* flag, float* data, float* out) {
  if (threadIdx.x == 0) {
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    while (flag_t(*flag).load(cuda::memory_order_relaxed) == 0) {
    }
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
__global__ void right_acquiring_wait(int* flag, float* data, float* out) {
  if (threadIdx.x == 0) {
    while (flag_t(*flag).load(cuda::memory_order_acquire) == 0) {
    }
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
__global__ void right_fence_in_the_loop(int* flag, float* data, float* out) {
  int seen = 0;
  do {
    seen = flag_t(*flag).load(cuda::memory_order_relaxed);
    __threadfence();
  } while (seen == 0);
  out[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
// The value that is read belongs to the flag: it is the number of the next round, which each thread increments itself.
struct counted_flag {
  int flag, round;
};
__global__ void wrong_wait_beside_a_round(counted_flag* wait, float* data) {
  while (*static_cast<volatile int*>(&wait->flag) == 0) {
  }
  const int round = wait->round;
  wait->round = round + 1;
  data[threadIdx.x] = round;
}
// Only one thread of the grid counts, and it reads no other thread's data.
__global__ void wrong_wait_before_a_count(volatile int* flag, int* count, float* data) {
  while (*flag == 0) {
  }
  data[threadIdx.x] = 1;
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *count += 1;
  }
}
// The polled words contain the data.
__global__ void wrong_wait_for_a_packet(volatile uint4* packet, float* data, float* out) {
  uint4 seen;
  do {
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(seen.x), "=r"(seen.y), "=r"(seen.z), "=r"(seen.w)
                 : "l"(packet)
                 : "memory");
  } while (seen.y == 0);
  out[threadIdx.x] = data[threadIdx.x] + seen.x;
  data[threadIdx.x] = 0;
}
// Another thread of the block acquires before the next barrier, unless there is only one block.
__global__ void wrong_wait_before_another(volatile int* flag, int* second, float* data, float* out) {
  while (*flag == 0) {
  }
  __syncthreads();
  if (threadIdx.x == 0 && gridDim.x > 1) {
    while (flag_t(*second).load(cuda::memory_order_acquire) == 0) {
    }
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
// A single block works in rounds.
__global__ void right_rounds(volatile int* left, float* data) {
  do {
    const float other = data[threadIdx.x ^ 1];
    __syncthreads();
    data[threadIdx.x] = other + 1;
    __syncthreads();
  } while (*left != 0);
  data[threadIdx.x] += data[threadIdx.x ^ 1];
}
// A loop over a list does not wait for another thread.
__global__ void right_list(int* next, float* data, float* out) {
  int at = threadIdx.x;
  while (at >= 0) {
    at = *static_cast<volatile int*>(next + at);
  }
  out[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}

// A parameter that is indexed is copied to local memory.
struct peers {
  int* flags[2];
  float* data[2];
};
template <bool acquires>
__device__ void wait_for_peer(peers p, float* out, int rank) {
  p.data[rank][threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < 2) {
    flag_t(*(p.flags[threadIdx.x] + rank)).store(1, cuda::memory_order_release);
    while (*static_cast<volatile int*>(p.flags[rank] + threadIdx.x) == 0) {
    }
    if (acquires) {
      __threadfence();
    }
  }
  __syncthreads();
  out[threadIdx.x] = p.data[1 - rank][threadIdx.x];
}
__global__ void wrong_wait_for_peer(peers p, float* out, int rank) { wait_for_peer<false>(p, out, rank); }
__global__ void right_wait_for_peer(peers p, float* out, int rank) { wait_for_peer<true>(p, out, rank); }

// A fence at block scope does not order the writes of another block.
__global__ void wrong_block_fence_after_the_loop(volatile int* flag, float* data) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    data[0] = 1;
    __threadfence();
    *flag = 1;
  } else if (blockIdx.x != 0) {
    while (*flag == 0) {
    }
    __threadfence_block();
    data[blockIdx.x] = data[0];
  }
}
// This is correct if a thread of the same block sets the flag.
__global__ void wrong_block_scope_of_the_wait(int* flag, float* data) {
  while (cuda::atomic_ref<int, cuda::thread_scope_block>(*flag).load(cuda::memory_order_acquire) == 0) {
  }
  data[1] = data[0];
}
__global__ void wrong_block_fence_before_the_flag(volatile int* flag, float* data) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    __threadfence_block();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    __threadfence();
    data[1] = data[0];
  }
}
__global__ void wrong_block_fence_of_the_last_block(unsigned* count, float* partial, float* out) {
  partial[blockIdx.x] = 1;
  __threadfence();
  if (atomicAdd(count, 1U) == gridDim.x - 1) {
    __threadfence_block();
    *out = partial[0] + partial[1];
  }
}
// flag-before-barrier: a kernel that does not read the thread's number is probably launched with one thread per block.
__global__ void noted_flag_of_one_thread(int* flag, float* data) {
  data[0] = 1;
  flag_t(*flag).store(1, cuda::memory_order_release);
}
__global__ void __launch_bounds__(1) right_flag_of_one_thread(int* flag, float* data) {
  data[threadIdx.x] = 1;
  flag_t(*flag).store(1, cuda::memory_order_release);
}

// spin-without-load
__global__ void wrong_plain_poll(int* flag, int* data, int* out) {
  while (*flag == 0) {
  }
  *out = *data;
}
__global__ void wrong_plain_poll_of_a_count(int* arrived, int* out) {
  if (threadIdx.x == 0) {
    const int round = atomicAdd(arrived, 1) / gridDim.x + 1;
    while (*arrived < round * gridDim.x) {
    }
  }
  __syncthreads();
  *out = 1;
}
__global__ void wrong_plain_poll_of_shared_memory(int* out) {
  __shared__ int ready;
  ready = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    ready = 1;
  }
  while (ready == 0) {
  }
  *out = 1;
}
__global__ void wrong_plain_poll_in_rounds(int* flags, int* out, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    while (flags[k] == 0) {
    }
    out[k] = k;
  }
}
// The loop has an exit, but the compared values never change.
__global__ void wrong_plain_poll_of_two(int* flags, int* out) {
  while (flags[0] == 0 && flags[1] == 0) {
  }
  *out = 1;
}
// A conditional endless loop is compiled to the same code.
__global__ void wrong_plain_poll_at_the_end(int* flag, int* out) {
  int seen;
  do {
    seen = *flag;
  } while (seen == 0);
  *out = seen;
}
__global__ void wrong_endless_loop_under_a_condition(int* failed, int* out) {
  if (*failed != 0) {
    while (true) {
    }
  }
  *out = 1;
}
__global__ void right_endless_sleep(int* failed, int* out) {
  if (*failed != 0) {
    while (true) {
      __nanosleep(1000);
    }
  }
  *out = 1;
}
__global__ void right_delay(int* cycles, int* out) {
  const long long begin = clock64();
  while (clock64() - begin < *cycles) {
  }
  *out = 1;
}
__global__ void right_common_divisor(int* numbers, int* out) {
  int a = numbers[0];
  int b = numbers[1];
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  *out = a;
}
__global__ void right_poll_with_sleep(int* flag, int* out) {
  while (*flag == 0) {
    __nanosleep(100);
  }
  *out = 1;
}

// flag-without-release: both sides are in the kernel, which shows that the word is a flag
__device__ void wait_for(int* flag) {
  while (flag_t(*flag).load(cuda::memory_order_acquire) == 0) {
  }
}
__global__ void wrong_relaxed_flag(int* flag, float* data, float* out) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    flag_t(*flag).store(1, cuda::memory_order_relaxed);
  } else {
    wait_for(flag);
    out[0] = data[0];
  }
}
__global__ void wrong_fence_after_the_flag(int* flag, float* data, float* out) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    atomicAdd(flag, 1);
    __threadfence();
  } else {
    wait_for(flag);
    out[0] = data[0];
  }
}
// The linter cannot tell which of the pointers in memory points to the awaited flag.
__global__ void wrong_relaxed_flag_of_a_table(int** flags, float* data, float* out) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    flag_t(*flags[1]).store(1, cuda::memory_order_relaxed);
  } else {
    wait_for(flags[0]);
    out[0] = data[0];
  }
}
// The waiting thread reads the flag with an atomic that does not change it.
__device__ void wait_by_adding_zero(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
  __threadfence();
}
__global__ void wrong_flag_that_is_read_by_adding_zero(int* flag, float* data, float* out) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    atomicExch(flag, 1);
    __threadfence();
  } else {
    wait_by_adding_zero(flag);
    out[0] = data[0];
  }
}
__global__ void right_flag_that_is_read_by_adding_zero(int* flag, float* data, float* out) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    __threadfence();
    atomicExch(flag, 1);
  } else {
    wait_by_adding_zero(flag);
    out[0] = data[0];
  }
}
__global__ void right_two_waits_that_change_nothing(int* flag, float* data) {
  wait_by_adding_zero(flag);
  data[threadIdx.x] += data[threadIdx.x + 1];
  while (atomicCAS(flag, 2, 2) != 2) {
  }
  __threadfence();
  data[threadIdx.x] += data[threadIdx.x + 2];
}
__global__ void wrong_wait_by_or_of_zero(int* flag, float* data, float* out) {
  data[threadIdx.x] = 0;
  while (atomicOr(flag, 0) == 0) {
  }
  out[threadIdx.x] = data[threadIdx.x + 1];
}
// A thread that takes a place acquires, but it announces no data.
__global__ void wrong_taken_place(int* places, float* data) {
  data[blockIdx.x] = 1;
  flag_t(*places).fetch_sub(1, cuda::memory_order_acquire);
  wait_for(places);
  data[threadIdx.x] += data[blockIdx.x + 1];
}
// The word written before the flag is part of the flag.
__global__ void wrong_relaxed_flag_beside_a_round(counted_flag* first, counted_flag* second, float* out) {
  if (blockIdx.x == 0) {
    second->round = 1;
    flag_t(first->flag).store(1, cuda::memory_order_relaxed);
    wait_for(&second->flag);
  } else {
    wait_for(&first->flag);
    out[0] = second->round;
  }
}
// The flag and the data are fields of one structure.
struct slot {
  unsigned turn, item, round;
};
using turn_t = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ void wait_for_turn(slot* s, unsigned turn) {
  while (turn_t(s->turn).load(cuda::memory_order_acquire) != turn) {
  }
}
__global__ void wrong_relaxed_turn_of_a_slot(slot* s, unsigned* out) {
  if (blockIdx.x == 0) {
    s->item = 7;
    turn_t(s->turn).store(1, cuda::memory_order_relaxed);
  } else {
    wait_for_turn(s, 1);
    out[0] = s->item;
  }
}
__global__ void wrong_relaxed_turn_of_some_slot(slot* slots, unsigned* out, unsigned turn) {
  slot& s = slots[turn % 2];
  if (blockIdx.x == 0) {
    s.item = 7;
    turn_t(s.turn).store(turn + 1, cuda::memory_order_relaxed);
  } else {
    wait_for_turn(&s, turn + 1);
    out[0] = s.item;
  }
}
__global__ void __launch_bounds__(1) right_turn_of_some_slot(slot* slots, unsigned* out, unsigned turn) {
  slot& s = slots[turn % 2];
  if (blockIdx.x == 0) {
    s.item = 7;
    __threadfence();
    turn_t(s.turn).store(turn + 1, cuda::memory_order_relaxed);
  } else {
    wait_for_turn(&s, turn + 1);
    out[0] = s.item;
  }
}
// No other thread reads the round.
__global__ void right_round_of_each_slot(slot* slots, int n) {
  for (int k = 0; k < n; ++k) {
    const unsigned round = ++slots[blockIdx.x].round;
    turn_t(slots[blockIdx.x ^ 1].turn).store(round, cuda::memory_order_relaxed);
    wait_for_turn(&slots[blockIdx.x], round);
  }
}
// The weak store resets a flag that is otherwise accessed with strong operations.
__global__ void right_reset_of_an_item(slot* slots) {
  slots[blockIdx.x].item = 0;
  turn_t(slots[blockIdx.x ^ 1].turn).store(1, cuda::memory_order_relaxed);
  wait_for_turn(&slots[blockIdx.x], 1);
  if (slots[blockIdx.x].item == 0) {
    turn_t(slots[blockIdx.x].item).store(1, cuda::memory_order_relaxed);
  }
}
// A barrier of the grid: the other threads wait for the generation, and none waits for the count.
template <int Padding>
struct grid_barrier {
  unsigned arrived, unused[Padding], generation;
};
template <>
struct grid_barrier<0> {
  unsigned arrived, generation;
};
enum class reset { to_zero, by_subtraction };
template <reset How = reset::to_zero, class Barrier>
__device__ void read_behind_a_barrier(Barrier* b, unsigned* data, unsigned* out, cuda::memory_order arrival) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 7;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned generation = turn_t(b->generation).load(cuda::memory_order_acquire);
    if (turn_t(b->arrived).fetch_add(1, arrival) == gridDim.x - 1) {
      if constexpr (How == reset::to_zero) {
        turn_t(b->arrived).store(0, cuda::memory_order_relaxed);
      } else {
        turn_t(b->arrived).fetch_sub(gridDim.x, cuda::memory_order_relaxed);
      }
      turn_t(b->generation).store(generation + 1, cuda::memory_order_release);
    } else {
      while (turn_t(b->generation).load(cuda::memory_order_acquire) == generation) {
      }
    }
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
}
__global__ void right_reset_beside_a_generation(grid_barrier<0>* b, unsigned* data, unsigned* out) {
  read_behind_a_barrier(b, data, out, cuda::memory_order_acq_rel);
}
__global__ void right_reset_far_from_a_generation(grid_barrier<31>* b, unsigned* data, unsigned* out) {
  read_behind_a_barrier(b, data, out, cuda::memory_order_acq_rel);
}
__global__ void right_subtraction_beside_a_generation(grid_barrier<0>* b, unsigned* data, unsigned* out) {
  read_behind_a_barrier<reset::by_subtraction>(b, data, out, cuda::memory_order_acq_rel);
}
__global__ void right_reset_in_one_of_several_barriers(grid_barrier<1>* b, unsigned* data, unsigned* out) {
  read_behind_a_barrier(b + blockIdx.y, data, out, cuda::memory_order_acq_rel);
}
__global__ void right_reset_in_one_of_two_barriers(grid_barrier<2>* b, unsigned* data, unsigned* out) {
  read_behind_a_barrier(b + (clock64() & 1), data, out, cuda::memory_order_acq_rel);
}
__global__ void wrong_arrival_beside_a_generation(grid_barrier<0>* b, unsigned* data, unsigned* out) {
  read_behind_a_barrier(b, data, out, cuda::memory_order_relaxed);
}
// The release by the previous owner orders its data; taking a number announces none.
__global__ void right_number_beside_a_turn(slot* s, unsigned* data, int n) {
  for (int k = 0; k < n; ++k) {
    const unsigned number = turn_t(s->round).fetch_add(1, cuda::memory_order_relaxed);
    wait_for_turn(s, number);
    data[0] += data[1];
    turn_t(s->turn).store(number + 1, cuda::memory_order_release);
  }
}
// Each block waits for the flag of the preceding block.
__global__ void wrong_relaxed_flag_of_the_next_block(unsigned* flags, unsigned* data, unsigned* out) {
  data[blockIdx.x] = 1;
  unsigned* own = flags + blockIdx.x;
  turn_t(own[1]).store(1, cuda::memory_order_relaxed);
  while (turn_t(own[0]).load(cuda::memory_order_acquire) == 0) {
  }
  out[blockIdx.x] = data[blockIdx.x - 1];
}
__global__ void right_fence_before_the_flag(int* flag, float* data, float* out) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    __threadfence();
    atomicAdd(flag, 1);
  } else {
    wait_for(flag);
    out[0] = data[0];
  }
}

// The compare-and-swap that takes a lock does not end a wait for the lock. The write that unlocks publishes the data of the
// earlier rounds, and only this write can lack a release.
__device__ void take(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
    __nanosleep(100);
  }
}
__global__ void wrong_unlock_in_rounds(int* lock, int* list, int* size, int n) {
  for (int k = 0; k < n; ++k) {
    take(lock);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    list[*size] = k;
    *size += 1;
    atomicExch(lock, 0);
  }
}
__global__ void right_unlock_in_rounds(int* lock, int* list, int* size, int n) {
  for (int k = 0; k < n; ++k) {
    take(lock);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    list[*size] = k;
    *size += 1;
    flag_t(*lock).store(0, cuda::memory_order_release);
  }
}
__global__ void right_lock_that_is_read_first(int* lock, int* list, int* size, int n) {
  for (int k = 0; k < n; ++k) {
    do {
      while (flag_t(*lock).load(cuda::memory_order_relaxed) != 0) {
      }
    } while (atomicExch(lock, 1) != 0);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    list[*size] = k;
    *size += 1;
    flag_t(*lock).store(0, cuda::memory_order_release);
  }
}
__global__ void right_unlock_by_compare_and_swap(int* lock, int* list, int* size, int n) {
  for (int k = 0; k < n; ++k) {
    take(lock);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    list[*size] = k;
    *size += 1;
    int one = 1;
    flag_t(*lock).compare_exchange_strong(one, 0, cuda::memory_order_release);
  }
}
// Every thread takes the lock in its turn, so no thread unlocks for another.
__global__ void right_lock_of_each_thread(int* lock, int* list, int* size) {
  take(lock);
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  list[*size] = threadIdx.x;
  *size += 1;
  flag_t(*lock).store(0, cuda::memory_order_release);
}
__global__ void right_lock_by_exchange(int* lock, int* list, int* size) {
  while (atomicExch(lock, 1) != 0) {
  }
  __threadfence();
  list[*size] = threadIdx.x;
  *size += 1;
  __threadfence();
  atomicExch(lock, 0);
}
// The compiler tests the result of the compare-and-swap twice: to skip the work, and to try again.
template <class Try>
__device__ void add_under_lock(int* lock, int* sum, Try try_to_take) {
  for (bool done = false; !done;) {
    if (try_to_take(lock)) {
      *sum += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
__global__ void right_lock_in_a_loop_of_tries(int* locks, int* sums, const int* rows, int n) {
  const auto try_to_take = [](int* lock) {
    if (atomicCAS(lock, 0, 1) != 0) {
      return false;
    }
    __threadfence();
    return true;
  };
  for (int k = 0; k < n; ++k) {
    add_under_lock(locks + rows[k], sums + rows[k], try_to_take);
  }
}
__global__ void wrong_lock_in_a_loop_of_tries(int* locks, int* sums, const int* rows, int n) {
  const auto try_to_take = [](int* lock) { return atomicCAS(lock, 0, 1) == 0; };
  for (int k = 0; k < n; ++k) {
    add_under_lock(locks + rows[k], sums + rows[k], try_to_take);
  }
}
// The same condition decides whether a thread waits and whether it acquires, or whether it releases and sets the flag. Paths on
// which it holds only once are impossible.
__global__ void right_acquire_under_the_condition_of_the_wait(volatile int* flag, float* data, float* out, int kind) {
  if (kind == 3) {
    while (*flag == 0) {
    }
  }
  __nanosleep(20);
  if (kind >= 3 && kind < 4) {
    __threadfence();
  }
  out[threadIdx.x + 1] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
__global__ void right_acquire_under_an_implied_condition(volatile int* flag, float* data, float* out, int kind) {
  if (kind == 3) {
    while (*flag == 0) {
    }
  }
  __nanosleep(20);
  if (kind > 1) {
    __threadfence();
  }
  out[threadIdx.x + 1] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
__global__ void wrong_acquire_under_another_condition(volatile int* flag, float* data, float* out, int kind) {
  if (kind >= 3) {
    while (*flag == 0) {
    }
  }
  __nanosleep(20);
  if (kind == 3) {
    __threadfence();
  }
  out[threadIdx.x + 1] = data[threadIdx.x];
  data[threadIdx.x] = 0;
}
__device__ void set_or_await(int* flag, float* data, float* out, bool sets) {
  if (sets) {
    flag_t(*flag).store(1, cuda::memory_order_relaxed);
  } else {
    while (flag_t(*flag).load(cuda::memory_order_acquire) == 0) {
    }
    out[2] = data[0];
  }
}
__global__ void __launch_bounds__(1)
    right_release_under_the_condition_of_the_flag(int* flag, float* data, float* out, int kind) {
  data[0] = 1;
  if (kind != 3) {
    out[0] = 2;
  } else {
    __threadfence();
  }
  __nanosleep(20);
  set_or_await(flag, data, out, kind == 3);
}
__global__ void __launch_bounds__(1) wrong_release_under_another_condition(int* flag, float* data, float* out, int kind) {
  data[0] = 1;
  if (kind > 3) {
    __threadfence();
  }
  __nanosleep(20);
  set_or_await(flag, data, out, kind == 3);
}
// No thread writes data and sets the flag, but the threads together do.
__global__ void wrong_flag_of_the_first_for_data_of_the_others(int* flag, float* data, float* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x != 0) {
      data[threadIdx.x] = 1;
    }
    __nanosleep(20);
    if (threadIdx.x == 0) {
      flag_t(*flag).store(1, cuda::memory_order_relaxed);
    }
  } else {
    while (flag_t(*flag).load(cuda::memory_order_acquire) == 0) {
    }
    out[2] = data[0];
  }
}
// The whole block works under the lock, and the barrier before the unlock is missing. Taking the lock again is not a second
// fault.
__global__ void wrong_unlock_of_a_block(int* lock, int* data, int n) {
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) {
      int free = 0;
      while (!flag_t(*lock).compare_exchange_strong(free, 1, cuda::memory_order_acq_rel)) {
        free = 0;
      }
    }
    __syncthreads();
    data[threadIdx.x] += k;
    if (threadIdx.x == 0) {
      flag_t(*lock).store(0, cuda::memory_order_release);
    }
  }
}
// These counters and states are flags: the wait ends with their values, or with values that other threads derive from them.
__global__ void wrong_counter_in_rounds(int* count, int* data, int n) {
  for (int k = 1; k <= n; ++k) {
    data[blockIdx.x] += k;
    atomicAdd(count, 1);
    while (flag_t(*count).load(cuda::memory_order_acquire) != k * gridDim.x) {
    }
    data[gridDim.x + blockIdx.x] += data[(blockIdx.x + 1) % gridDim.x];
  }
}
__global__ void __launch_bounds__(1) wrong_state_by_compare_and_swap(int* state, int* data, int n) {
  for (int k = 0; k < n; ++k) {
    if (blockIdx.x == 0) {
      data[0] += 1;
      atomicCAS(state, 0, 1);
    } else {
      while (flag_t(*state).load(cuda::memory_order_acquire) != 1) {
      }
      data[1] += data[0];
      flag_t(*state).store(0, cuda::memory_order_release);
    }
  }
}
__global__ void wrong_first_of_a_count(int* count, int* data) {
  data[blockIdx.x] = 1;
  if (blockIdx.x == 0) {
    flag_t(*count).store(1, cuda::memory_order_relaxed);
  } else {
    flag_t(*count).fetch_add(1, cuda::memory_order_release);
  }
  while (flag_t(*count).load(cuda::memory_order_acquire) != 8) {
  }
  data[blockIdx.x + 8] = data[(blockIdx.x + 1) % 8];
}

// last-block-without-acquire
template <bool Acquires>
__device__ void reduce_in_last_block(unsigned* count, float* partial, float* out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = 1;
    __threadfence();
    is_last = atomicAdd(count, 1U) == gridDim.x - 1;
    if (Acquires) {
      __threadfence();
    }
  }
  __syncthreads();
  if (is_last) {
    out[threadIdx.x] = partial[threadIdx.x];
  }
}
__global__ void wrong_last_block(unsigned* count, float* partial, float* out) {
  reduce_in_last_block<false>(count, partial, out);
}
__global__ void right_last_block(unsigned* count, float* partial, float* out) {
  reduce_in_last_block<true>(count, partial, out);
}

// The counter hands out places, but does not tell a thread whether that thread is the last.
__global__ void wrong_place_in_a_list(unsigned* count, float* list, unsigned places) {
  list[blockIdx.x] = 1;
  const unsigned place = atomicAdd(count, 1U);
  if (place < places) {
    list[place] += list[place + 1];
  }
}

// narrow-scope
__global__ void wrong_scope_of_one_side(int* flag) {
  using system_flag = cuda::atomic_ref<int, cuda::thread_scope_system>;
  if (blockIdx.x == 0) {
    system_flag(*flag).store(1, cuda::memory_order_release);
  } else {
    flag_t(*flag).fetch_add(1, cuda::memory_order_relaxed);
  }
}
__global__ void right_scopes_of_two_words(int* flag, int* count) {
  cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).store(1, cuda::memory_order_release);
  flag_t(*count).fetch_add(1, cuda::memory_order_relaxed);
}

// missing-proxy-fence
template <bool Fences>
__device__ void store_and_copy(float* out) {
  __shared__ alignas(16) float stage[32];
  stage[threadIdx.x] = 1;
  if (Fences) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(__cvta_generic_to_global(out)),
                 "r"(static_cast<unsigned>(__cvta_generic_to_shared(stage)))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
}
__global__ void wrong_copy_of_stores(float* out) { store_and_copy<false>(out); }
__global__ void right_copy_of_stores(float* out) { store_and_copy<true>(out); }

// cluster-exit and relaxed-cluster-arrival
__device__ float of_neighbour(float* mine) {
  float value;
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;"
               : "=r"(there)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(mine))));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
  return value;
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
__global__ void wrong_early_exit(float* out) {
  __shared__ float mine;
  mine = 1;
  cluster_sync();
  out[threadIdx.x] = of_neighbour(&mine);
}
__global__ void right_exit(float* out) {
  __shared__ float mine;
  mine = 1;
  cluster_sync();
  out[threadIdx.x] = of_neighbour(&mine);
  cluster_sync();
}
__global__ void wrong_relaxed_arrival(float* out) {
  __shared__ float mine;
  mine = 1;
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  out[threadIdx.x] = of_neighbour(&mine);
  cluster_sync();
}

// read-only-load
__global__ void wrong_read_only_load(int* data) {
  data[threadIdx.x] = 1;
  __syncthreads();
  data[threadIdx.x + 64] = __ldg(data + (threadIdx.x ^ 1));
}
// No round reads an element that an earlier round has written, but the kernel writes to memory that it reads with __ldg.
__global__ void wrong_read_only_load_in_place(int* data, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    data[k] = __ldg(data + k) + 1;
    __syncthreads();
  }
}
__global__ void right_read_only_load(const int* in, int* out) { out[threadIdx.x] = __ldg(in + (threadIdx.x ^ 1)); }

// mask-without-caller
__global__ void wrong_half_mask(int* out) { out[threadIdx.x] = __shfl_xor_sync(0xffff, static_cast<int>(threadIdx.x), 1); }
__global__ void right_half_mask(int* out) {
  if (threadIdx.x % 32 < 16) {
    out[threadIdx.x] = __shfl_xor_sync(0xffff, static_cast<int>(threadIdx.x), 1);
  }
}

// pdl-write-before-wait and pdl-read-before-wait
__device__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__global__ void wrong_early_write(float* out, const float* in) {
  out[threadIdx.x] = 0;
  wait_for_kernel_before();
  out[threadIdx.x] += in[threadIdx.x];
}
__global__ void right_late_write(float* out, const float* in) {
  wait_for_kernel_before();
  out[threadIdx.x] = in[threadIdx.x];
}
// Whether there is a kernel to wait for depends on the launch.
__global__ void right_wait_if_asked(float* out, const float* in, bool dependent) {
  if (dependent) {
    wait_for_kernel_before();
  }
  out[threadIdx.x] = in[threadIdx.x];
}
// One warp waits, and the other warps synchronize with it.
__global__ void right_wait_of_one_warp(float* out, const float* in) {
  if (threadIdx.x < 32) {
    wait_for_kernel_before();
  }
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void wrong_wait_of_one_warp(float* out, const float* in) {
  if (threadIdx.x < 32) {
    wait_for_kernel_before();
  } else {
    out[threadIdx.x] = 1;
  }
  __syncthreads();
  out[threadIdx.x + 1024] = in[threadIdx.x];
}
__global__ void noted_early_read(float* out, const float* weights, const float* in) {
  const float weight = weights[threadIdx.x];
  wait_for_kernel_before();
  out[threadIdx.x] = weight * in[threadIdx.x];
}

// pdl-read-only-load and pdl-launch-without-wait
__global__ void noted_read_only_load(float* out, const float* in) {
  wait_for_kernel_before();
  out[threadIdx.x] = __ldg(in + threadIdx.x);
}
// A producer that fills its first stage finds it empty although no thread has arrived.
__device__ void wait_for_phase(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(
          barrier),
      "r"(parity)
      : "memory");
}
__device__ void arrive_at(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
template <bool waits>
__device__ void fill_stages(float* out, const float* in, int rounds) {
  __shared__ unsigned long long full, empty;
  __shared__ float stage[32];
  const auto full_at = static_cast<unsigned>(__cvta_generic_to_shared(&full));
  const auto empty_at = static_cast<unsigned>(__cvta_generic_to_shared(&empty));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(full_at) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(empty_at) : "memory");
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (waits) {
      wait_for_kernel_before();
    }
    unsigned parity = 1;
    for (int k = 0; k < rounds; ++k) {
      wait_for_phase(empty_at, parity);
      stage[threadIdx.x] = in[k * 32 + threadIdx.x];
      arrive_at(full_at);
      parity ^= 1;
    }
  } else {
    unsigned parity = 0;
    if (!waits) {
      wait_for_kernel_before();
    }
    for (int k = 0; k < rounds; ++k) {
      wait_for_phase(full_at, parity);
      out[k * 32 + threadIdx.x] = stage[threadIdx.x - 32];
      arrive_at(empty_at);
      parity ^= 1;
    }
  }
}
__global__ void noted_early_producer(float* out, const float* in, int rounds) { fill_stages<false>(out, in, rounds); }
__global__ void right_producer_waits(float* out, const float* in, int rounds) { fill_stages<true>(out, in, rounds); }
__device__ void let_next_kernel_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__global__ void noted_launch_without_wait(float* out, const float* in) {
  let_next_kernel_begin();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void right_launch_after_wait(float* out, const float* in) {
  wait_for_kernel_before();
  let_next_kernel_begin();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void right_launch_without_access() { let_next_kernel_begin(); }

// A warning that a comment in the source suppresses.
__global__ void allowed_early_write(float* out, const float* in) {
  // membar: allow pdl-write-before-wait no other kernel accesses this memory
  out[threadIdx.x] = 0;
  wait_for_kernel_before();
  out[threadIdx.x + 1024] = in[threadIdx.x];
}
