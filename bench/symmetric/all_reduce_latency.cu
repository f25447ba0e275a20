// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does an all-reduce with membar::all_reduce (one-shot and two-shot) cost, compared with NCCL's and
/// NVSHMEM's? Vectors of float and of bfloat16 have 1 KiB to 64 MiB, on two and on four GPUs. Times are per all-reduce, over
/// many consecutive all-reduces on each GPU's stream, all enqueued before the first begins. `gigabytes_per_second` is the
/// vector's size divided by this time. There are two lower bounds: `empty`, a kernel that does nothing, and `exchange`, a
/// kernel that sends and receives a word. `captured` cases are in graphs. all_reduce_torch.py measures PyTorch's all-reduces.
#include "peer_world.cuh"
#include "places.hpp"

#include <bench/common/nccl.hpp>
#include <membar/symmetric/all_reduce.cuh>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace symmetric_bench;

constexpr std::size_t most_in_one_shot = std::size_t{1} << 20;

struct piece {
  float values[3];
};

/// A vector in each PE's plain memory.
template <class T>
class plain_vectors {
 public:
  plain_vectors(const peer_backend& backend, std::size_t elements) {
    at_each_pe(backend, [&](pe) { vectors_.push_back(std::make_unique<support::device_memory<T>>(elements)); });
  }
  [[nodiscard]] T* of(int which) const { return vectors_[static_cast<std::size_t>(which)]->get(); }

 private:
  std::vector<std::unique_ptr<support::device_memory<T>>> vectors_;
};

/// Returns the time in nanoseconds per all-reduce, averaged over the many all-reduces that `enqueue()` enqueues on all PEs'
/// streams.
template <class Enqueue>
double nanoseconds_of(world& all, int rounds, Enqueue enqueue) {
  return nanoseconds_of_one(all.backend, rounds, [&](pe which) { return all.streams.of(which); }, enqueue);
}

/// Whether all-reduces are launched one by one, or as graphs of many.
enum class form { launched, captured };

/// Returns the time in nanoseconds per all-reduce, averaged over the many all-reduces that `enqueue_at(which)` enqueues on the
/// PE's stream.
template <class EnqueueAt>
double nanoseconds_of(world& all, std::size_t bytes, form how, EnqueueAt enqueue_at) {
  const int rounds = all_reduces_in_a_row(bytes);
  if (how == form::launched) {
    return nanoseconds_of(all, rounds, [&] { at_each_pe(all.backend, enqueue_at); });
  }
  at_each_pe(all.backend, enqueue_at);  // This loads kernels, which is not allowed during a capture.
  all.streams.synchronize();
  std::vector<support::executable_graph> graphs;
  at_each_pe(all.backend, [&](pe which) {
    graphs.emplace_back(all.streams.of(which), [&] {
      for (int i = 0; i != rounds; ++i) {
        enqueue_at(which);
      }
    });
  });
  const auto launch = [&](pe which) { graphs[static_cast<std::size_t>(which.index())].launch(all.streams.of(which)); };
  return nanoseconds_of(all, 3, [&] { at_each_pe(all.backend, launch); }) / rounds;
}

/// The cost of a kernel that has the shape of an all-reduce but does nothing.
__global__ void empty() {}

/// The minimum work of every all-reduce: each PE sends its word, with the word's sequence number, to the other PE. A word's
/// arrival shows that its sender has read the previous word, so the previous word's box can be reused without a release.
__global__ void exchange(span<packed<piece>> boxes, piece* sum, unsigned* number) {
  const pe self = boxes.self();
  const unsigned sequence = ++*number;
  const auto box = [&](pe of) { return boxes[sequence % 2 * 2 + static_cast<unsigned>(of.index())]; };
  const piece own = *sum;
  put_packed(by_thread, box(self), &own, sequence, pe(1 - self.index()));
  piece theirs{};
  take_packed(by_thread, box(pe(1 - self.index())), &theirs, sequence, generous);
  *sum = {{own.values[0] + theirs.values[0], own.values[1] + theirs.values[1], own.values[2] + theirs.values[2]}};
}

/// Returns the configuration with which an all-reduce is launched.
auto config_of(const world& all, pe which, unsigned blocks, unsigned threads) {
  return membar::launch_config{blocks, threads, all.streams.of(which)}.with(membar::sync_domain::remote);
}

double empty_nanoseconds(world& all, form how) {
  return nanoseconds_of(
      all, 0, how, [&](pe which) { membar::launch(config_of(all, which, 128, membar::all_reduce<float>::threads), empty); });
}

double exchange_nanoseconds(world& two, form how) {
  const scoped_array boxes(two.heap.allocate<packed<piece>>(4));
  const scoped_array sums(two.heap.allocate<piece>(1));
  const scoped_array numbers(two.heap.allocate<unsigned>(1));
  return nanoseconds_of(two, 0, how, [&](pe which) {
    membar::launch(config_of(two, which, 1, 1), exchange, boxes.on(which), sums.on(which).local(), numbers.on(which).local());
  });
}

/// Returns the time of an all-reduce, one-shot or two-shot.
template <class T>
double all_reduce_nanoseconds(world& all, std::size_t bytes, form how, bool one_shot) {
  const std::size_t size = bytes / sizeof(T);
  const membar::all_reduce<T> sums(all.heap, size, {.most_in_one_shot = one_shot ? bytes : sizeof(T)});
  const plain_vectors<T> vectors(all.backend, size);
  const double result = nanoseconds_of(all, bytes, how, [&](pe which) {
    T* const own = vectors.of(which.index());
    sums.enqueue(which, own, own, size, all.streams.of(which));
  });
  sums.check();
  return result;
}

#ifdef MEMBAR_BENCH_HAS_NCCL
template <class T>
double nccl_nanoseconds(world& all, support::nccl_devices& nccl, std::size_t bytes) {
  const std::size_t size = bytes / sizeof(T);
  const plain_vectors<T> vectors(all.backend, size);
  constexpr ncclDataType_t type = std::is_same_v<T, float> ? ncclFloat : ncclBfloat16;
  return nanoseconds_of(all, all_reduces_in_a_row(bytes), [&] {
    nccl.each([&](int rank, ncclComm_t mine) {
      T* const own = vectors.of(rank);
      support::check_nccl(ncclAllReduce(own, own, size, type, ncclSum, mine, all.streams.of(pe(rank))), "ncclAllReduce");
    });
  });
}
#endif

/// Returns `count` devices, starting with the first, that can all access each other; empty if there are fewer.
std::vector<int> first_peers(int count) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < count) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  for (const int from : all) {
    for (const int to : all) {
      int reaches = 1;
      if (from != to) {
        membar::check(cudaDeviceCanAccessPeer(&reaches, from, to));
      }
      if (reaches == 0) {
        return {};
      }
    }
  }
  return all;
}

bench::figures with_rate(double nanoseconds, std::size_t bytes) {
  bench::figures result(nanoseconds);
  result.counters.emplace_back("gigabytes_per_second", static_cast<double>(bytes) / nanoseconds);
  return result;
}

void add_cases(bench::suite& cases) {
  const peers of(cases);  // Waives all cases if there are fewer than two devices.
  bench::axis<std::size_t> sizes;
  for (std::size_t bytes = 1024; bytes <= largest_all_reduce; bytes *= 4) {
    sizes.push_back(bytes);
  }
  bench::axis<std::size_t> small;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(small),
               [](std::size_t bytes) { return bytes <= most_in_one_shot; });
  for (const int count : {2, 4}) {
    const std::vector<int> devices = count == 2 ? of.devices : first_peers(count);
    if (devices.empty() && count != 2) {
      continue;
    }
    const bench::made_once<world> all = count == 2 ? of.two : bench::made_once<world>(devices);
    const std::string gpus = "/gpus:" + std::to_string(count);
    const std::string end = gpus + "/bytes:{}";
    for (const form how : {form::launched, form::captured}) {
      const std::string name = "all_reduce_latency/" + std::string(how == form::captured ? "captured_" : "");
      cases.add(name + "empty" + gpus + "/bytes:0", [all, how] { return bench::figures(empty_nanoseconds(*all, how)); });
      if (count == 2) {
        cases.add(name + "exchange" + gpus + "/bytes:12",
                  [all, how] { return bench::figures(exchange_nanoseconds(*all, how)); });
      }
      cases.add(
          name + "one_shot" + end,
          [all, how](std::size_t bytes) { return with_rate(all_reduce_nanoseconds<float>(*all, bytes, how, true), bytes); },
          small);
      cases.add(
          name + "bfloat16_one_shot" + end,
          [all, how](std::size_t bytes) {
            return with_rate(all_reduce_nanoseconds<__nv_bfloat16>(*all, bytes, how, true), bytes);
          },
          small);
      cases.add(
          name + "two_shots" + end,
          [all, how](std::size_t bytes) { return with_rate(all_reduce_nanoseconds<float>(*all, bytes, how, false), bytes); },
          sizes);
      cases.add(
          name + "bfloat16_two_shots" + end,
          [all, how](std::size_t bytes) {
            return with_rate(all_reduce_nanoseconds<__nv_bfloat16>(*all, bytes, how, false), bytes);
          },
          sizes);
    }
#ifdef MEMBAR_BENCH_HAS_NCCL
    const bench::made_once<support::nccl_devices> nccl(devices);
    cases.add(
        "all_reduce_latency/nccl" + end,
        [all, nccl](std::size_t bytes) { return with_rate(nccl_nanoseconds<float>(*all, *nccl, bytes), bytes); }, sizes);
    cases.add(
        "all_reduce_latency/bfloat16_nccl" + end,
        [all, nccl](std::size_t bytes) { return with_rate(nccl_nanoseconds<__nv_bfloat16>(*all, *nccl, bytes), bytes); },
        sizes);
#endif
  }
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does an all-reduce cost, one-shot and two-shot, compared with NCCL's?",
          .add_cases = add_cases,
          .takes_device = false,
          .before_cuda = [](suite& cases) { symmetric_bench::add_nvshmem_cases(cases, "all_reduce_latency"); }};
}

}  // namespace bench
