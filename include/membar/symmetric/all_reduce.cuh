// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All-reduce: the sum or the maximum of all PEs' vectors, available on every PE. Small vectors are reduced in one shot and
/// large vectors in two shots. The result is correct in every replay of a captured graph.
#pragma once

#include <membar/co_residency.hpp>
#include <membar/detail/stream_handle.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/launch.hpp>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/peer_backend.hpp>
#include <membar/symmetric/recoverable.cuh>
#include <membar/symmetric/stream_guard.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// The sum, computed in float. Every PE adds in PE order, so all PEs get the same sum.
struct sum {
  [[nodiscard]] __device__ static float identity() noexcept { return 0; }
  [[nodiscard]] __device__ static float of(float a, float b) noexcept { return a + b; }
};
/// The maximum as `fmaxf` computes it: for a number and a NaN, the result is the number.
struct maximum {
  [[nodiscard]] __device__ static float identity() noexcept { return __int_as_float(static_cast<int>(0xff800000U)); }
  [[nodiscard]] __device__ static float of(float a, float b) noexcept { return fmaxf(a, b); }
};

namespace detail {

template <class T>
inline constexpr bool is_reduced = std::is_same_v<T, float> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// This code uses CUDA's conversion functions, because PyTorch's compiler flags disable the operators.
[[nodiscard]] __device__ inline float as_float(float value) noexcept { return value; }
[[nodiscard]] __device__ inline float as_float(__half value) noexcept { return __half2float(value); }
[[nodiscard]] __device__ inline float as_float(__nv_bfloat16 value) noexcept { return __bfloat162float(value); }
__device__ inline void from_float(float value, float& to) noexcept { to = value; }
__device__ inline void from_float(float value, __half& to) noexcept { to = __float2half_rn(value); }
__device__ inline void from_float(float value, __nv_bfloat16& to) noexcept { to = __float2bfloat16_rn(value); }

/// A vector of adjacent elements that are transferred in one access.
template <class T>
struct alignas(16) reduced_vector {
  static constexpr unsigned elements = 16 / sizeof(T);
  unsigned words[4];

  /// Loads `count` elements starting at `from`, which may have any alignment; the other elements are zero.
  [[nodiscard]] __device__ static reduced_vector load(const T* from, std::size_t count) noexcept {
    reduced_vector made{};
    if (count >= elements && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
      memcpy(made.words, __builtin_assume_aligned(reinterpret_cast<const unsigned char*>(from), 16), sizeof made.words);
    } else {
#pragma unroll
      for (unsigned k = 0; k != elements; ++k) {
        if (k < count) {
          memcpy(reinterpret_cast<unsigned char*>(made.words) + k * sizeof(T), from + k, sizeof(T));
        }
      }
    }
    return made;
  }
  __device__ void store(T* to, std::size_t count) const noexcept {
    if (count >= elements && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
      memcpy(__builtin_assume_aligned(reinterpret_cast<unsigned char*>(to), 16), words, sizeof words);
    } else {
#pragma unroll
      for (unsigned k = 0; k != elements; ++k) {
        if (k < count) {
          memcpy(to + k, reinterpret_cast<const unsigned char*>(words) + k * sizeof(T), sizeof(T));
        }
      }
    }
  }
  [[nodiscard]] __device__ float at(unsigned k) const noexcept {
    T value;
    memcpy(&value, reinterpret_cast<const unsigned char*>(words) + k * sizeof(T), sizeof(T));
    return as_float(value);
  }
  __device__ void set(unsigned k, float to) noexcept {
    T value;
    from_float(to, value);
    memcpy(reinterpret_cast<unsigned char*>(words) + k * sizeof(T), &value, sizeof(T));
  }
};

/// Sends a vector to an empty box: memory for one vector, which holds zeros while it is empty. One `.b128` store transfers the
/// whole vector with all bits inverted, so that a vector of zeros is not mistaken for an empty box. A vector whose bits are all
/// ones would then be mistaken for an empty box, so its first elements, which are NaNs, are replaced with other NaNs.
template <class T>
__device__ inline void send(reduced_vector<T>* box, reduced_vector<T> vector) noexcept {
  if ((vector.words[0] & vector.words[1] & vector.words[2] & vector.words[3]) == 0xffffffffU) {
    vector.words[0] = 0xfffefffeU;
  }
#pragma unroll
  for (unsigned& word : vector.words) {
    word = ~word;
  }
  membar::store<thread_scope::system>(box, vector, relaxed);
}
/// Takes the vector out of the box if the box is not empty, and returns whether there was a vector.
template <class T>
[[nodiscard]] __device__ inline bool take(reduced_vector<T>* box, reduced_vector<T>& to) noexcept {
  const reduced_vector<T> came = membar::load<thread_scope::system>(box, relaxed);
  if ((came.words[0] | came.words[1] | came.words[2] | came.words[3]) == 0) {
    return false;
  }
  *box = {};
#pragma unroll
  for (unsigned k = 0; k != 4; ++k) {
    to.words[k] = ~came.words[k];
  }
  return true;
}

template <class Op, unsigned Elements>
struct reduced_floats {
  float values[Elements];
  __device__ reduced_floats() noexcept {
#pragma unroll
    for (float& each : values) {
      each = Op::identity();
    }
  }
  template <class T>
  __device__ void take(const reduced_vector<T>& more) noexcept {
#pragma unroll
    for (unsigned k = 0; k != Elements; ++k) {
      values[k] = Op::of(values[k], more.at(k));
    }
  }
  template <class T>
  __device__ void give(reduced_vector<T>& to) const noexcept {
#pragma unroll
    for (unsigned k = 0; k != Elements; ++k) {
      to.set(k, values[k]);
    }
  }
};

[[nodiscard]] MEMBAR_HOST_DEVICE constexpr std::size_t divided_up(std::size_t a, std::size_t b) noexcept {
  return (a + b - 1) / b;
}

}  // namespace detail

/// The memory of an `all_reduce` on a PE. `all_reduce::on` returns it, so that your own kernels can also use it.
template <class T, class Backend>
struct all_reduce_memory {
  span<detail::reduced_vector<T>, Backend> boxes;   ///< 3 x PEs x the maximum number of vectors in one shot; initially empty
  span<signal<set>, Backend> ended;                 ///< for each PE: the number of its one-shot rounds that have ended
  span<barrier_word, Backend> words;                ///< the words of two barriers per block
  span<detail::reduced_vector<T>, Backend> staged;  ///< PEs x `part` received vectors, and the same number of results
  object<abort_flag, Backend> stop;
  unsigned long long* rounds;   ///< each block's current round, for one shot
  unsigned long long* failure;  ///< in host memory: 0 if there is no failure, 1 if another PE aborted, or 2 plus the PE that
                                ///< did not arrive
  std::size_t part;             ///< the maximum number of vectors in a PE's part, for two shots
  wait_budget budget;
  bool trap;
};

namespace detail {

/// One thread's waits in an all-reduce, which share a budget. After the first timeout, the other waits end immediately.
template <class Memory>
class reducing_wait {
 public:
  __device__ explicit reducing_wait(const Memory& memory) noexcept : memory_(memory), poll_(memory.budget) {}

  /// Polls until `once()` returns true, waiting for PE `other`.
  template <class Once>
  __device__ void until(pe other, Once once) noexcept {
    for (;;) {
#pragma unroll 1
      for (unsigned polls = polling::polls_per_look; polls != 0; --polls) {
        if (once()) {
          return;
        }
      }
      if (late_ || poll_.time_is_up() || is_over()) {
        return fail(other.index());
      }
    }
  }
  /// Returns whether a PE has aborted. Reads the flag at most once per `between_looks`, and returns false in between.
  [[nodiscard]] __device__ bool is_over() noexcept {
    if (!look_.time_is_up()) {
      return false;
    }
    look_ = polling(between_looks);
    return is_aborted(memory_.stop);
  }
  [[nodiscard]] __device__ bool late() const noexcept { return late_; }

  /// Ends the waits of all PEs and reports the reason to the host, unless another thread has done so.
  __device__ void fail(int missing) noexcept {
    late_ = true;
    if (is_aborted(memory_.stop)) {
      return tell(given_up);
    }
    abort_everywhere(memory_.stop);
    tell(static_cast<unsigned long long>(missing) + 2);
    if (memory_.trap) {
      __trap();
    }
  }

 private:
  static constexpr unsigned long long given_up = 1;
  __device__ void tell(unsigned long long why) noexcept {
    if (why != given_up || membar::load<thread_scope::system>(memory_.failure, relaxed) == 0) {
      membar::store<thread_scope::system>(memory_.failure, why, relaxed);
    }
  }

  static constexpr wait_budget between_looks = wait_budget::microseconds(10);

  const Memory& memory_;
  polling poll_;
  polling look_{between_looks};
  bool late_ = false;
};

/// Calls `use(piece, offset, count)` for the calling thread's vectors in `rows` rows of `width` elements. A single row is
/// divided among all threads of the grid; if there are several rows, each belongs to one block. Threads call `after(row)` at
/// the end of each of their rows.
template <unsigned Elements, class Use, class After>
__device__ inline void for_vectors_of_rows(std::size_t rows, std::size_t width, Use use, After after) noexcept {
  const std::size_t each = divided_up(width, Elements);
  const bool one = rows == 1;
  for (std::size_t row = one ? 0 : blockIdx.x; row < rows; row += one ? 1 : gridDim.x) {
    const std::size_t step = one ? static_cast<std::size_t>(gridDim.x) * blockDim.x : blockDim.x;
    for (std::size_t i = one ? static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x : threadIdx.x; i < each;
         i += step) {
      const std::size_t left = width - i * Elements;
      use(row * each + i, row * width + i * Elements, left < Elements ? left : std::size_t{Elements});
    }
    after(row);
  }
}

/// One shot: a PE sends its vector to every PE and reduces the vectors that arrive. There are three boxes per PE and position,
/// and a thread that takes a vector leaves the box empty. At the start of a round, a PE signals that its previous round has
/// ended and that its boxes are therefore empty. At the end of the round, one block waits for the signals that the other PEs
/// sent in the previous round. These signals have usually arrived by then, so the next kernel can send immediately. The vectors
/// cannot replace the signals, because their stores are relaxed and order nothing for other threads. `result(offset, count,
/// floats)` receives the reduced elements.
template <class Op, class T, class Backend, class Result, class After>
[[nodiscard]] __device__ inline bool reduce_in_one_shot(const T* in, std::size_t rows, std::size_t width,
                                                        const all_reduce_memory<T, Backend>& memory, Result result,
                                                        After after) noexcept {
  using vector = reduced_vector<T>;
  const int count = memory.boxes.count(), self = memory.boxes.self().index();
  // The last blocks handle the signals, because they have the fewest vectors to send. The fence is placed before the loads,
  // because it would otherwise wait for them.
  const pe other = ring_neighbour(memory.boxes.self(), static_cast<int>(threadIdx.x) + 1, count);
  const bool speaks = static_cast<int>(threadIdx.x) < count - 1;
  const bool tells = speaks && blockIdx.x == gridDim.x - 1;
  const bool listens = speaks && blockIdx.x == (gridDim.x > 1 ? gridDim.x - 2 : 0);
  if (tells) {
    membar::thread_fence<thread_scope::system>(release);
  }
  // the round number is in memory, so that each replay of a graph has its own
  const unsigned long long round = memory.rounds[blockIdx.x] + 1;
  if (tells) {
    notify(by_thread, memory.ended[static_cast<std::size_t>(self)], round - 1, other, relaxed);
  }
  const std::size_t most = memory.boxes.size() / (3 * static_cast<std::size_t>(count));
  const auto boxes = [&](pe at, int from) {
    return memory.boxes.at(at).data() + (round % 3 * static_cast<std::size_t>(count) + static_cast<std::size_t>(from)) * most;
  };
  reducing_wait<all_reduce_memory<T, Backend>> waits(memory);
  for_vectors_of_rows<vector::elements>(
      rows, width,
      [&](std::size_t i, std::size_t offset, std::size_t elements) {
        const vector mine = vector::load(in + offset, elements);
        for (int distance = 1; distance != count; ++distance) {
          send(boxes(ring_neighbour(memory.boxes.self(), distance, count), self) + i, mine);
        }
      },
      [](std::size_t) {});
  for_vectors_of_rows<vector::elements>(
      rows, width,
      [&](std::size_t i, std::size_t offset, std::size_t elements) {
        const vector mine = vector::load(in + offset, elements);
        reduced_floats<Op, vector::elements> reduced;
        for (int from = 0; from != count; ++from) {  // the PEs are always in the same order, so that all PEs get the same
                                                     // result
          vector theirs = mine;
          if (from != self) {
            waits.until(pe(from), [&] { return take(boxes(memory.boxes.self(), from) + i, theirs); });
          }
          reduced.take(theirs);
        }
        result(offset, elements, reduced.values);
      },
      after);
  if (listens) {
    unsigned long long seen = 0;
    waits.until(other, [&] {
      seen = signal_value(memory.ended[static_cast<std::size_t>(other.index())]);
      return at_least(round - 2).holds(seen);
    });
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    memory.rounds[blockIdx.x] = round;
  }
  return !waits.late();
}

template <class T, class Floats>
__device__ inline void store_floats(T* to, std::size_t count, const Floats& values) noexcept {
  reduced_vector<T> made{};
#pragma unroll
  for (unsigned k = 0; k != reduced_vector<T>::elements; ++k) {
    made.set(k, values[k]);
  }
  made.store(to, count);
}

/// Synchronizes with the same block on every PE, at one of two alternating barriers, which `which` selects. Returns, to all
/// threads of the block, whether all blocks have arrived.
template <class T, class Backend>
[[nodiscard]] __device__ inline bool meet_in_reduction(const all_reduce_memory<T, Backend>& memory, unsigned which) noexcept {
  const auto each = static_cast<std::size_t>(memory.words.count()) + 1;
  reducing_wait<all_reduce_memory<T, Backend>> waits(memory);
  missing_pe missing;
  const bool came = arrive_and_wait(by_block, memory.words.subspan((2 * blockIdx.x + which) * each, each), memory.budget,
                                    acq_rel, missing, [&] { return waits.is_over(); });
  if (!came) {
    waits.fail(missing.pe);
  }
  return !by_block_t::any(!came);
}

/// Calls `load(i)` and then `use(i, loaded)` for each position of the calling thread below `end`, with several loads in flight.
template <class Load, class Use>
__device__ inline void for_places(std::size_t end, Load load, Use use) noexcept {
  constexpr unsigned batch = 4;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < end; i += batch * step) {
    decltype(load(i)) loaded[batch];
#pragma unroll
    for (unsigned k = 0; k != batch; ++k) {
      if (i + k * step < end) {
        loaded[k] = load(i + k * step);
      }
    }
#pragma unroll
    for (unsigned k = 0; k != batch; ++k) {
      if (i + k * step < end) {
        use(i + k * step, loaded[k]);
      }
    }
  }
}

/// Two shots: a PE sends each other PE its part of the vector, reduces its own part, and sends the result to all PEs. Between
/// the steps, each block synchronizes with the same block on the other PEs, which handles the same positions in every part.
template <class Op, class T, class Backend>
[[nodiscard]] __device__ inline bool reduce_in_two_shots(const T* in, T* out, std::size_t size,
                                                         const all_reduce_memory<T, Backend>& memory) noexcept {
  using vector = reduced_vector<T>;
  constexpr std::size_t elements = vector::elements;
  const int count = memory.staged.count(), self = memory.staged.self().index();
  const std::size_t all = divided_up(size, elements), part = divided_up(all, static_cast<std::size_t>(count));
  const auto begin = [&](int of) { return static_cast<std::size_t>(of) * part; };
  const auto places = [&](int of) {  // the last parts may be short or empty
    return begin(of) >= all ? 0 : all - begin(of) < part ? all - begin(of) : part;
  };
  const auto left = [&](std::size_t place) { return size - place * elements; };
  const auto own = [&](std::size_t place) { return vector::load(in + place * elements, left(place)); };
  // `came` returns the vectors received from a PE, and `results` returns the results for a PE's part.
  const auto came = [&](int at, int from) {
    return memory.staged.at(pe(at)).data() + static_cast<std::size_t>(from) * memory.part;
  };
  const auto results = [&](int at, int of) {
    return memory.staged.at(pe(at)).data() + static_cast<std::size_t>(count + of) * memory.part;
  };
  for (int distance = 1; distance != count; ++distance) {
    const int to = (self + distance) % count;
    vector* const there = came(to, self);
    for_places(
        places(to), [&](std::size_t i) { return own(begin(to) + i); },
        [&](std::size_t i, const vector& value) { there[i] = value; });
  }
  bool done = meet_in_reduction(memory, 0);
  const std::size_t mine = places(self);
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; done && i < mine;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    reduced_floats<Op, vector::elements> reduced;
    for (int from = 0; from != count; ++from) {  // the PEs are always in the same order, so that the result is the same as with
                                                 // one shot
      reduced.take(from == self ? own(begin(self) + i) : came(self, from)[i]);
    }
    vector result;
    reduced.give(result);
    for (int distance = 1; distance != count; ++distance) {
      results((self + distance) % count, self)[i] = result;
    }
    result.store(out + (begin(self) + i) * elements, left(begin(self) + i));
  }
  done = meet_in_reduction(memory, 1) && done;
  for (int distance = 1; done && distance != count; ++distance) {
    const int from = (self + distance) % count;
    const vector* const here = results(self, from);
    for_places(
        places(from), [&](std::size_t i) { return here[i]; },
        [&](std::size_t i, const vector& value) { value.store(out + (begin(from) + i) * elements, left(begin(from) + i)); });
  }
  return done;
}

template <class Op, class T, class Backend>
__global__ void __launch_bounds__(512)
    one_shot_kernel(const T* in, T* out, std::size_t size, all_reduce_memory<T, Backend> memory) {
  static_cast<void>(reduce_in_one_shot<Op>(
      in, 1, size, memory,
      [&](std::size_t offset, std::size_t count, const auto& values) { store_floats(out + offset, count, values); },
      [](std::size_t) {}));
}

template <class Op, class T, class Backend>
__global__ void __launch_bounds__(512)
    two_shot_kernel(const T* in, T* out, std::size_t size, all_reduce_memory<T, Backend> memory) {
  static_cast<void>(reduce_in_two_shots<Op>(in, out, size, memory));
}

/// Returns the sum of the `value`s of all threads in the block. All threads receive it.
[[nodiscard]] __device__ inline float sum_of_block(float value) noexcept {
  __shared__ float of_warps[32];
  for (int distance = 16; distance != 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  }
  __syncthreads();  // all threads have read the old contents
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float all = 0;
  for (unsigned i = 0; i != blockDim.x / 32; ++i) {
    all += of_warps[i];
  }
  return all;
}

}  // namespace detail

/// An operation on the rows of a sum: `residual += sum`, then `out = residual / rms(residual) * weight`, as at the end of a
/// transformer layer. There are `rows` contiguous rows of `width` elements.
template <class T>
struct residual_rms_norm {
  T* residual;      ///< `rows` x `width` elements, which are read and written
  const T* weight;  ///< `width` elements
  float epsilon;
  std::size_t rows;
  std::size_t width;
};

namespace detail {

/// Adds `values` to the residual at `offset`, rounding to the residual's type. Returns the sum of the squares of the results.
template <class T, class Floats>
[[nodiscard]] __device__ inline float add_to_residual(const residual_rms_norm<T>& norm, std::size_t offset, std::size_t count,
                                                      const Floats& values) noexcept {
  using vector = reduced_vector<T>;
  vector held = vector::load(norm.residual + offset, count);
  float squares = 0;
#pragma unroll
  for (unsigned k = 0; k != vector::elements; ++k) {
    if (k < count) {
      held.set(k, held.at(k) + values[k]);
      squares += held.at(k) * held.at(k);
    }
  }
  held.store(norm.residual + offset, count);
  return squares;
}

/// Adds up the row's squares over the block, and then writes the row. Each thread writes the vectors whose residuals it has
/// written.
template <class T>
__device__ inline void write_normalized(const residual_rms_norm<T>& norm, T* out, std::size_t row, float squares) noexcept {
  using vector = reduced_vector<T>;
  const float scale = rsqrtf(sum_of_block(squares) / static_cast<float>(norm.width) + norm.epsilon);
  for (std::size_t at = threadIdx.x * vector::elements; at < norm.width; at += blockDim.x * vector::elements) {
    const std::size_t left = norm.width - at;
    vector held = vector::load(norm.residual + row * norm.width + at, left);
    const vector weight = vector::load(norm.weight + at, left);
#pragma unroll
    for (unsigned k = 0; k != vector::elements; ++k) {
      held.set(k, held.at(k) * scale * weight.at(k));
    }
    held.store(out + row * norm.width + at, left);
  }
}

template <class T, class Backend>
__global__ void __launch_bounds__(512)
    one_shot_norm_kernel(const T* in, T* out, residual_rms_norm<T> norm, all_reduce_memory<T, Backend> memory) {
  float squares = 0;
  static_cast<void>(reduce_in_one_shot<sum>(
      in, norm.rows, norm.width, memory,
      [&](std::size_t offset, std::size_t count, const auto& values) {
        squares += add_to_residual(norm, offset, count, values);
      },
      [&](std::size_t row) {
        write_normalized(norm, out, row, squares);
        squares = 0;
      }));
}

/// The kernel for sums that are already in `out`.
template <class T>
__global__ void __launch_bounds__(512) norm_kernel(T* out, residual_rms_norm<T> norm) {
  using vector = reduced_vector<T>;
  for (std::size_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    float squares = 0;
    for (std::size_t at = threadIdx.x * vector::elements; at < norm.width; at += blockDim.x * vector::elements) {
      const std::size_t left = norm.width - at;
      const vector held = vector::load(out + row * norm.width + at, left);
      float values[vector::elements];
#pragma unroll
      for (unsigned k = 0; k != vector::elements; ++k) {
        values[k] = held.at(k);
      }
      squares += add_to_residual(norm, row * norm.width + at, left < vector::elements ? left : vector::elements, values);
    }
    write_normalized(norm, out, row, squares);
  }
}

}  // namespace detail

/// An all-reduce within your own kernel, in one shot: `out` becomes the reduction of all PEs' `in` with `Op`. All threads of
/// `blocks()` one-dimensional blocks must call it once per launch, and all blocks must run concurrently. A block must have at
/// least as many threads as there are PEs. A thread sends its own elements (`for_own_elements`) and receives their results, so
/// no barrier is needed before or after the call if each thread produces and uses its own elements. Returns, to each thread,
/// whether its elements have arrived.
template <class Op, class T, class Backend>
[[nodiscard]] __device__ inline bool all_reduce_in_one_shot(const T* in, T* out, std::size_t size,
                                                            const all_reduce_memory<T, Backend>& memory) noexcept {
  return detail::reduce_in_one_shot<Op>(
      in, 1, size, memory,
      [&](std::size_t offset, std::size_t count, const auto& values) { detail::store_floats(out + offset, count, values); },
      [](std::size_t) {});
}

/// Calls `use(i)` for each element that the calling thread sends.
template <class T, class Use>
__device__ inline void for_own_elements(std::size_t size, Use use) noexcept {
  detail::for_vectors_of_rows<detail::reduced_vector<T>::elements>(
      1, size,
      [&](std::size_t, std::size_t offset, std::size_t count) {
        for (std::size_t i = offset; i != offset + count; ++i) {
          use(i);
        }
      },
      [](std::size_t) {});
}

/// The options of an `all_reduce`. They must be the same on every PE.
struct all_reduce_options {
  std::size_t most_in_one_shot = 0;  ///< in bytes; larger calls use two shots. 0 means 1 MiB for two PEs, and less for more PEs
  wait_budget budget = wait_budget::milliseconds(5000);
  bool trap = false;  ///< whether a kernel that waits too long traps, after which the process can no longer use the device
};

/// All-reduce operations among a heap's PEs, for `float`, `__half` or `__nv_bfloat16`, with `sum` or `maximum`, which are
/// computed in float. Every PE must enqueue the same calls in the same order. The results are bitwise equal on all PEs.
///
/// The constructor and `close` are collective; the destructor is local. The kernels run in the remote domain, read their
/// sequence numbers from device memory, and are correct in every replay of a captured graph. They must use the class's memory
/// one after the other: use a single stream, or hold `guard(which).on_after_previous(stream)` around the calls. Concurrent use
/// by another stream, and use by a second stream in one capture, are rejected. The program itself must order replays of graphs.
///
/// If a PE exceeds the budget, the process continues: the kernels of all PEs end, their output is undefined, and `check` and
/// every later call throw `error`, which names the PE that did not arrive. In that case, construct a new object on every PE.
///
/// Heap memory on each PE: at most `3 * PEs * most_in_one_shot + 2 * most * sizeof(T)` bytes. Requires: loads and stores must
/// reach every PE; there must be two to eight PEs, all of which run at the same time.
template <class T, class Op = sum, backend Backend = peer_backend>
class all_reduce {
  static_assert(detail::is_reduced<T>, "membar: the type of an all-reduce must be float, __half or __nv_bfloat16");
  static_assert(std::is_same_v<Op, sum> || std::is_same_v<Op, maximum>,
                "membar: the operation of an all-reduce must be sum or maximum");
  static_assert(
      Backend::visible == visibility::everywhere,
      "membar: an all-reduce needs the visibility class 'everywhere', because its loads and stores must reach every PE");

 public:
  static constexpr unsigned threads = 512;

  /// `most` is the maximum number of elements in one step. Larger calls take several steps.
  all_reduce(heap<Backend>& from, std::size_t most, all_reduce_options options = {})
      : options_(options),
        pes_(static_cast<std::size_t>(from.backend().count())),
        in_one_shot_(limited(options, most, pes_)),
        part_(detail::divided_up(detail::divided_up(most, vector::elements), pes_)),
        boxes_(from.template allocate<vector>(3 * pes_ * detail::divided_up(in_one_shot_, vector::elements))),
        ended_(from.template allocate<signal<set>>(pes_)),
        rounds_(from.template allocate<unsigned long long>(most_blocks)),
        words_(from.template allocate<barrier_word>(2 * most_blocks * (pes_ + 1))),
        staged_(from.template allocate<vector>(2 * pes_ * part_)),
        stop_(from.template allocate<abort_flag>(1)) {
    const pe_range local = from.backend().local_pes();
    first_local_ = local.front().index();
    void* failures = nullptr;
    const std::size_t bytes = static_cast<std::size_t>(local.size()) * sizeof(unsigned long long);
    membar::check(cudaHostAlloc(&failures, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    std::memset(failures, 0, bytes);
    failures_.reset(static_cast<unsigned long long*>(failures));
    for (const pe which : local) {
      const device_guard guard(from.backend().device_of(which));
      locals_.push_back(std::make_unique<of_pe>(from.backend().device_of(which)));
      // The first launch of a kernel may wait for running kernels, which may in turn wait for that launch.
      static_cast<void>(kernel_resources_of(detail::one_shot_kernel<Op, T, Backend>));
      static_cast<void>(kernel_resources_of(detail::two_shot_kernel<Op, T, Backend>));
      if constexpr (std::is_same_v<Op, sum>) {
        static_cast<void>(kernel_resources_of(detail::one_shot_norm_kernel<T, Backend>));
        static_cast<void>(kernel_resources_of(detail::norm_kernel<T>));
      }
    }
    blocks_ = agreed_blocks(from);
  }
  all_reduce(const all_reduce&) = delete;
  all_reduce& operator=(const all_reduce&) = delete;
  ~all_reduce() = default;

  /// Returns the memory for your own kernel on PE `which`, for at most `most_in_one_shot()` elements.
  [[nodiscard]] all_reduce_memory<T, Backend> on(pe which) const {
    return {boxes_.on(which),
            ended_.on(which),
            words_.on(which),
            staged_.on(which),
            stop_.on(which)[0],
            rounds_.on(which).local(),
            failures_.get() + (which.index() - first_local_),
            part_,
            options_.budget,
            options_.trap};
  }
  /// Returns the number of blocks in every launch. It is 128, or fewer if some device cannot hold that many at the same time
  /// for each of its PEs.
  [[nodiscard]] unsigned blocks() const noexcept { return blocks_; }
  /// Returns the maximum number of elements in one shot.
  [[nodiscard]] std::size_t most_in_one_shot() const noexcept { return in_one_shot_; }
  /// Returns the guard that orders the calls for PE `which` with respect to the program's own uses of `on(which)`.
  [[nodiscard]] stream_guard& guard(pe which) const { return at(which).guard; }

  /// Enqueues an all-reduce: `out` becomes the reduction of all PEs' `in` with `Op`. `in` and `out` may be in any memory of PE
  /// `which` that is aligned for `T`. `out` must be equal to `in` or not overlap it.
  ///
  /// Errors: throws `error` if a use on another stream may still be running, or if a PE timed out earlier.
  void enqueue(pe which, const T* in, T* out, std::size_t size, stream_handle stream) const {
    const turn here(*this, which, stream);
    const auto memory = on(which);
    reduce(memory, in, out, size, stream);
  }

  /// Enqueues an all-reduce of `norm.rows * norm.width` elements, as at the end of a transformer layer. The operation adds the
  /// sums to the residual and writes the normalized rows to `out`, which may be `in`. If the data fits into one shot, this is
  /// one kernel; otherwise a second kernel handles the rows. Errors: the same as for `enqueue`.
  void enqueue(pe which, const T* in, T* out, const residual_rms_norm<T>& norm, stream_handle stream) const
    requires std::is_same_v<Op, sum>
  {
    const turn here(*this, which, stream);
    const auto memory = on(which);
    const std::size_t vectors = norm.rows * detail::divided_up(norm.width, vector::elements);
    if (norm.rows > 1 && vectors * vector::elements <= in_one_shot_) {
      launch(launched(stream), detail::one_shot_norm_kernel<T, Backend>, in, out, norm, memory);
      return;
    }
    reduce(memory, in, out, norm.rows * norm.width, stream);
    if (norm.rows != 0) {
      launch(launch_config{static_cast<unsigned>(norm.rows < 1024 ? norm.rows : 1024), threads, cudaStream_t(stream)},
             detail::norm_kernel<T>, out, norm);
    }
  }

  /// Throws `error` if a kernel has timed out, on this PE or on another PE. Call this function after waiting for the stream.
  void check() const {
    for (std::size_t i = 0; i != locals_.size(); ++i) {
      if (const unsigned long long why = __atomic_load_n(failures_.get() + i, __ATOMIC_ACQUIRE); why > 1) {
        throw error(
            cudaErrorTimeout,
            "membar: PE %llu did not reach an all-reduce within %llu ms of PE %d: check what it waits for, or use a larger "
            "budget, and construct the all-reduce again on every PE",
            why - 2, options_.budget.in_nanoseconds() / 1'000'000, first_local_ + static_cast<int>(i));
      } else if (why != 0) {
        throw error(cudaErrorTimeout,
                    "membar: an all-reduce on PE %d was aborted, because a PE was late for another all-reduce: see that "
                    "all-reduce's error, and construct the all-reduce again on every PE",
                    first_local_ + static_cast<int>(i));
      }
    }
  }

  /// Enqueues an operation that ends the waits of the all-reduces on every PE. The operation must run in a different stream
  /// from the all-reduces. Use it if a PE will not arrive.
  void give_up(pe which, stream_handle stream) const { abort_on_stream(stop_.on(which)[0], stream); }

  /// Waits until the kernels of all PEs have ended, and frees the memory. Collective. Errors: throws the errors of `check` and
  /// of `scoped_array::close`.
  void close() {
    boxes_.close();
    ended_.close();
    rounds_.close();
    words_.close();
    staged_.close();
    stop_.close();
    check();
  }

 private:
  using vector = detail::reduced_vector<T>;

  struct of_pe {
    explicit of_pe(int its) : device(its) {}
    int device;
    stream_guard guard{"of an all-reduce"};
    std::unique_ptr<stream_guard::hold> captured;  ///< kept until another capture, so that a second stream in the same capture
                                                   ///< is rejected
    unsigned long long capture = 0;
  };

  /// One call's use of the class's memory.
  class turn {
   public:
    turn(const all_reduce& all, pe which, cudaStream_t stream)
        : of_(all.at(which)), current_(of_.device), held_(of_.guard.on(stream)) {
      all.check();
      if (const unsigned long long capture = stream_guard::capture_of(stream); capture != of_.capture) {
        of_.captured.reset(capture != 0 ? new stream_guard::hold(of_.guard.on(stream)) : nullptr);
        of_.capture = capture;
      }
    }

   private:
    of_pe& of_;
    device_guard current_;
    stream_guard::hold held_;
  };

  [[nodiscard]] static std::size_t limited(const all_reduce_options& options, std::size_t most, std::size_t pes) {
    if (most == 0) {
      throw error(
          cudaErrorInvalidValue,
          "membar: an all-reduce of 0 elements was requested: pass the largest number of elements that one call reduces");
    }
    const std::size_t bytes =
        options.most_in_one_shot != 0 ? options.most_in_one_shot : (std::size_t{1} << 20) / (pes < 2 ? 1 : pes - 1);
    const std::size_t elements = bytes < sizeof(T) ? 1 : bytes / sizeof(T);
    return elements < most ? elements : most;
  }

  [[nodiscard]] of_pe& at(pe which) const {
    static_cast<void>(stop_.on(which));  // this call rejects PEs of other processes
    return *locals_[static_cast<std::size_t>(which.index() - first_local_)];
  }
  // between two H100 GPUs, 32 blocks transfer 64 MiB in 330 us, 64 blocks in 231 us, and 128 blocks in 211 us
  static constexpr unsigned most_blocks = 128;

  /// Returns the number of blocks that every device can hold at the same time for each of its PEs. Collective.
  [[nodiscard]] static unsigned agreed_blocks(heap<Backend>& from) {
    const pe_range local = from.backend().local_pes();
    unsigned long long agreed = most_blocks;
    for (const pe which : local) {
      const int device = from.backend().device_of(which);
      const device_guard guard(device);
      unsigned sharing = 0;
      for (const pe other : local) {
        sharing += from.backend().device_of(other) == device ? 1U : 0U;
      }
      const auto limit = [&](auto* kernel) {
        const unsigned held = co_resident_blocks(kernel, dim3(threads)) / sharing;
        agreed = held < agreed ? held : agreed;
      };
      limit(detail::one_shot_kernel<Op, T, Backend>);
      limit(detail::two_shot_kernel<Op, T, Backend>);
      if constexpr (std::is_same_v<Op, sum>) {
        limit(detail::one_shot_norm_kernel<T, Backend>);
      }
    }
    for (const unsigned long long theirs : detail::gathered(from.backend(), agreed)) {
      agreed = theirs < agreed ? theirs : agreed;
    }
    if (agreed == 0) {
      throw error(cudaErrorInvalidConfiguration,
                  "membar: an all-reduce needs one block of %u threads per PE to run at the same time, but a device cannot "
                  "hold that many blocks: let fewer PEs share the device",
                  threads);
    }
    return static_cast<unsigned>(agreed);
  }

  [[nodiscard]] auto launched(cudaStream_t stream) const {
    return launch_config{blocks_, threads, stream}.with(sync_domain::remote);
  }
  void reduce(const all_reduce_memory<T, Backend>& memory, const T* in, T* out, std::size_t size, cudaStream_t stream) const {
    if (size <= in_one_shot_) {
      if (size != 0) {
        launch(launched(stream), detail::one_shot_kernel<Op, T, Backend>, in, out, size, memory);
      }
      return;
    }
    const std::size_t at_once = part_ * pes_ * vector::elements;
    for (std::size_t done = 0; done < size; done += at_once) {
      launch(launched(stream), detail::two_shot_kernel<Op, T, Backend>, in + done, out + done,
             size - done < at_once ? size - done : at_once, memory);
    }
  }

  struct freed {
    void operator()(unsigned long long* memory) const noexcept { membar::detail::report_failed_restore(cudaFreeHost(memory)); }
  };

  all_reduce_options options_;
  std::size_t pes_, in_one_shot_, part_;
  unsigned blocks_ = 0;
  scoped_array<vector, Backend> boxes_;
  scoped_array<signal<set>, Backend> ended_;
  scoped_array<unsigned long long, Backend> rounds_;
  scoped_array<barrier_word, Backend> words_;
  scoped_array<vector, Backend> staged_;
  scoped_array<abort_flag, Backend> stop_;
  int first_local_ = 0;
  std::unique_ptr<unsigned long long, freed> failures_;
  std::vector<std::unique_ptr<of_pe>> locals_;
};

}  // namespace symmetric

using symmetric::all_reduce;
using symmetric::all_reduce_options;
using symmetric::maximum;
using symmetric::sum;

}  // namespace v0_3
}  // namespace membar
