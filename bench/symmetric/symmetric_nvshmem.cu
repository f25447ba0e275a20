// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The NVSHMEM variants in the symmetric-memory benches: membar's NVSHMEM backend and NVSHMEM's own calls. `symmetric_nvshmem
/// <question>` prints a line for each case, `<name> <ns> <ns> ...`, and `waived <reason>` or `failed <reason>`. The bench for
/// that question runs this program, and shows these cases next to its own.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/pe_processes.hpp>
#include <membar/symmetric/nvshmem_backend.cuh>

#include "gate.cuh"
#include "kernels.cuh"
#include "places.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace symmetric_bench {
namespace {

using backend = symmetric::nvshmem_backend;

constexpr int repetitions = 9;

/// NVSHMEM's put with signal, and its wait, which does not acquire; `Acquires` adds the missing fence after it.
template <class Group, bool Acquires>
__global__ void __launch_bounds__(1024, 1)
    raw_round_trips(unsigned char* data, const unsigned char* source, std::size_t bytes, std::uint64_t* signal,
                    unsigned long long first, unsigned rounds, kernel_report* report) {
  const Group group;
  const int self = nvshmem_my_pe();
  const int other = 1 - self;
  const auto send = [&](unsigned long long value) {
    if constexpr (std::is_same_v<Group, by_block_t>) {
      nvshmemx_putmem_signal_block(data, source, bytes, signal, value, NVSHMEM_SIGNAL_SET, other);
    } else if constexpr (std::is_same_v<Group, by_warp_t>) {
      nvshmemx_putmem_signal_warp(data, source, bytes, signal, value, NVSHMEM_SIGNAL_SET, other);
    } else {
      nvshmem_putmem_signal(data, source, bytes, signal, value, NVSHMEM_SIGNAL_SET, other);
    }
  };
  round_trips(
      group, self == 0, rounds, report, [&](unsigned number) { send(first + number); },
      [&](unsigned number) {
        if (Group::rank() == 0) {
          nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, first + number);
          if constexpr (Acquires) {
            membar::thread_fence<membar::thread_scope::system>(membar::acq_rel);
          }
        }
        Group::sync();
        return true;
      });
}

__global__ void __launch_bounds__(1024, 1)
    raw_put_parts(unsigned char* data, const unsigned char* source, std::size_t bytes, unsigned rounds) {
  const std::size_t part = bytes / gridDim.x / 16 * 16;
  const std::size_t first = part * blockIdx.x;
  const std::size_t size = blockIdx.x == gridDim.x - 1 ? bytes - first : part;
  for (unsigned round = 0; round != rounds; ++round) {
    nvshmemx_putmem_nbi_block(data + first, source + first, size, 1 - nvshmem_my_pe());
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    nvshmem_quiet();
  }
}

__global__ void raw_fetch_add_chain(std::uint64_t* word, int other, unsigned rounds, kernel_report* report) {
  amo_chain(rounds, report, [&](auto seen) { return nvshmem_uint64_atomic_fetch_add(word, 1 + (seen >> 63), other); });
}

/// `Acquires` adds the fence that NVSHMEM's barrier lacks.
template <bool Acquires>
__global__ void __launch_bounds__(1024, 1) raw_barriers(unsigned rounds, kernel_report* report) {
  timed_rounds(by_block, rounds, report, [&](unsigned) {
    nvshmemx_barrier_all_block();
    if constexpr (Acquires) {
      if (threadIdx.x == 0) {
        membar::thread_fence<membar::thread_scope::system>(membar::acq_rel);
      }
      __syncthreads();
    }
    return true;
  });
}

/// One PE's part in all cases: all PEs run the same cases in the same order, and PE 0 prints the results.
class side {
 public:
  side(const symmetric::nvshmem_session& session, std::string question)
      : self(session.self()), backend_(session), heap(backend_, std::size_t{544} << 20), question_(std::move(question)) {}

  /// Measures a case several times on all PEs together, and prints its line.
  void add(const std::string& name, const std::function<double()>& nanoseconds) {
    std::string line = question_ + "/" + name;
    for (int i = 0; i != repetitions; ++i) {
      meet();
      char text[64] = {};
      std::snprintf(text, sizeof text, " %.3f", nanoseconds());
      line += text;
    }
    if (self == pe(0)) {
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);  // The measurements are kept even if a later case crashes.
    }
  }

  /// Runs one block on every PE. Returns this PE's nanoseconds per round. The kernels wait for each other but use plain
  /// launches: one block per GPU with nothing else running is resident without `nvshmemx_collective_launch`, which would launch
  /// these variants differently from the benches' other variants.
  template <class... Parameters, class... Arguments>
  double round_nanoseconds(unsigned threads, unsigned rounds, void (*kernel)(Parameters...), Arguments... arguments) {
    report_[0] = {0, 1};
    membar::launch(membar::launch_config{1, threads, stream_.get()}, kernel, arguments..., rounds, report_.get());
    stream_.synchronize();
    if (report_[0].failures != 0) {
      throw std::runtime_error("a wait timed out");
    }
    return static_cast<double>(report_[0].nanoseconds) / rounds;
  }

  /// `enqueue` puts transfers into the stream. Returns the nanoseconds per transfer on PE 0, and 0 on the other
  /// PEs.
  template <class Enqueue>
  double transfer_nanoseconds(Enqueue enqueue) {
    constexpr int transfers = 10;
    if (self != pe(0)) {
      return 0;
    }
    enqueue(1, stream_.get());
    return support::nanoseconds_of(stream_.get(), [&] { enqueue(transfers, stream_.get()); }) / transfers;
  }

  /// Returns the time in nanoseconds on PE 0 for each of the `rounds` operations that every PE puts into its stream with
  /// `enqueue(stream)`.
  template <class Enqueue>
  double collective_nanoseconds(int rounds, Enqueue enqueue) {
    return nanoseconds_of_one(backend_, rounds, [&](pe) { return stream_.get(); }, [&] { enqueue(stream_.get()); });
  }

  [[nodiscard]] int count() const { return backend_.count(); }

  pe self;

 private:
  /// Waits until all PEs have called this function.
  void meet() {
    const unsigned long long mine = 0;
    std::vector<unsigned long long> all(static_cast<std::size_t>(count()));
    backend_.all_gather(&mine, all.data());
  }

  backend backend_;

 public:
  symmetric::heap<backend> heap;

 private:
  std::string question_;
  support::stream stream_;
  support::pinned_memory<kernel_report> report_{1};
};

template <class T>
std::uint64_t* raw_address(const symmetric::heap<backend>& heap, const symmetric::array<T, backend>& of, pe self) {
  return reinterpret_cast<std::uint64_t*>(heap.address_at(of.on(self), self));
}

void put_signal_latency(side& here) {
  constexpr std::size_t largest = std::size_t{1} << 20;
  constexpr std::size_t room = places * place_distance;
  const scoped_array data(here.heap.allocate<unsigned char>(room + largest));
  const scoped_array source(here.heap.allocate<unsigned char>(room + largest));
  const scoped_array signals(here.heap.allocate<set_signal>(room / sizeof(set_signal)));
  auto* const raw = raw_address(here.heap, signals, here.self);
  const unsigned char* const from = source.on(here.self).local();
  unsigned long long first = 0;
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{1024}, std::size_t{16384}, std::size_t{262144}, largest}) {
    const unsigned rounds = rounds_of(bytes);
    const auto each_way = [&]<class Group>(Group, unsigned threads) {
      const auto add = [&](const char* arm, auto kernel, auto data_at, auto... rest_at) {
        here.add(std::string(arm) + "/" + Group::name + ":" + std::to_string(threads) + "/bytes:" + std::to_string(bytes), [&] {
          return over_places([&](std::size_t distance) {
            const double ns = here.round_nanoseconds(threads, rounds, kernel, data_at(distance), from + distance,
                                                     rest_at(distance)..., first);
            first += warm_up + rounds;
            return ns;
          });
        });
      };
      const auto add_raw = [&](const char* arm, auto kernel) {
        add(
            arm, kernel, [&](std::size_t distance) { return data.on(here.self).local() + distance; },
            [&](std::size_t) { return bytes; }, [&](std::size_t distance) { return raw + distance / sizeof(*raw); });
      };
      add(
          "membar_nvshmem", &put_signal_round_trips<Group, backend>,
          [&](std::size_t distance) { return data.on(here.self).subspan(distance, bytes); },
          [&](std::size_t distance) { return signals.on(here.self).subspan(distance / sizeof(set_signal), 1); });
      add_raw("nvshmem", &raw_round_trips<Group, false>);
      add_raw("nvshmem_and_acquire", &raw_round_trips<Group, true>);
    };
    if (bytes <= 1024) {
      each_way(by_thread, 1);
    }
    if (bytes <= 16384) {
      each_way(by_warp, 32);
    }
    for (const unsigned threads : {64U, 256U, 1024U}) {
      each_way(by_block, threads);
    }
  }
}

void put_bandwidth(side& here) {
  for (const std::size_t mebibytes : {1, 16, 64, 256}) {
    const std::size_t bytes = mebibytes << 20;
    const std::string size = "/MiB:" + std::to_string(mebibytes);
    const scoped_array data(here.heap.allocate<unsigned char>(bytes));
    const scoped_array source(here.heap.allocate<unsigned char>(bytes));
    const auto to = data.on(here.self);
    const unsigned char* const from = source.on(here.self).local();
    for (const unsigned blocks : {32U, 64U, 132U}) {
      const std::string where = "/blocks:" + std::to_string(blocks) + "/threads:1024" + size;
      const auto add = [&](const char* arm, auto kernel, auto... arguments) {
        here.add(arm + where, [&] {
          return here.transfer_nanoseconds([&](int times, cudaStream_t stream) {
            membar::launch(membar::launch_config{blocks, 1024, stream}, kernel, arguments..., static_cast<unsigned>(times));
          });
        });
      };
      add("membar_nvshmem", put_parts<backend>, to, from);
      add("nvshmem", raw_put_parts, to.local(), from, bytes);
    }
    here.add("nvshmem_on_stream" + size, [&] {
      return here.transfer_nanoseconds([&](int times, cudaStream_t stream) {
        for (int i = 0; i != times; ++i) {
          nvshmemx_putmem_on_stream(to.local(), from, bytes, 1, stream);
        }
        nvshmemx_quiet_on_stream(stream);
      });
    });
  }
}

void amo_latency(side& here) {
  // Each PE has its own words on every PE, 128 bytes apart from the other PE's words, so neither PE accesses the other's words.
  constexpr std::size_t apart = 16;
  const std::size_t first = apart * static_cast<std::size_t>(here.self.index());
  const scoped_array counters(here.heap.allocate<counter<unsigned long long>>(2 * apart));
  const scoped_array words(here.heap.allocate<unsigned long long>(2 * apart));
  auto* const raw = raw_address(here.heap, words, here.self) + first;
  for (const pe target : {pe(0), pe(1)}) {
    const pe mine = here.self == pe(0) ? target : pe(1);
    const std::string where = target == pe(0) ? "/own_pe" : "/other_pe";
    const auto add = [&](const char* arm, auto kernel) {
      here.add(arm + where, [&, kernel] {
        return here.round_nanoseconds(1, 5'000, kernel, counters.on(here.self).subspan(first, 3), mine);
      });
    };
    add("membar_nvshmem_fetch_add", &fetch_add_chain<backend>);
    add("membar_nvshmem_compare_exchange", &compare_exchange_chain<backend>);
    add("membar_nvshmem_add_and_quiet", &add_stream<backend>);
    here.add("nvshmem_fetch_add" + where,
             [&] { return here.round_nanoseconds(1, 5'000, raw_fetch_add_chain, raw, mine.index()); });
  }
}

void barrier_latency(side& here) {
  const scoped_array words(here.heap.allocate_barrier());
  for (const unsigned threads : {64U, 256U, 1024U}) {
    const std::string where = "/threads:" + std::to_string(threads);
    here.add("membar_nvshmem_by_block" + where, [&] {
      return here.round_nanoseconds(threads, 3'000, barriers<by_block_t, membar::acq_rel_t, backend>, words.on(here.self));
    });
    here.add("nvshmem_by_block" + where, [&] { return here.round_nanoseconds(threads, 3'000, raw_barriers<false>); });
    here.add("nvshmem_by_block_and_acquire" + where,
             [&] { return here.round_nanoseconds(threads, 3'000, raw_barriers<true>); });
  }
}

void all_reduce_latency(side& here) {
  const scoped_array vector(here.heap.allocate<float>(largest_all_reduce / sizeof(float)));
  float* const own = vector.on(here.self).local();
  for (std::size_t bytes = 1024; bytes <= largest_all_reduce; bytes *= 4) {
    here.add("nvshmem/gpus:" + std::to_string(here.count()) + "/bytes:" + std::to_string(bytes), [&] {
      return here.collective_nanoseconds(all_reduces_in_a_row(bytes), [&](cudaStream_t stream) {
        if (nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, own, own, bytes / sizeof(float), stream) != 0) {
          throw std::runtime_error("nvshmemx_float_sum_reduce_on_stream failed");
        }
      });
    });
  }
}

int run(int argc, char** argv) {
  const std::string question = argc == 2 ? argv[1] : "";
  void (*const answer)(side&) = question == "put_signal_latency"   ? put_signal_latency
                                : question == "put_bandwidth"      ? put_bandwidth
                                : question == "amo_latency"        ? amo_latency
                                : question == "barrier_latency"    ? barrier_latency
                                : question == "all_reduce_latency" ? all_reduce_latency
                                                                   : nullptr;
  if (answer == nullptr) {
    std::fprintf(stderr, "symmetric_nvshmem put_signal_latency|put_bandwidth|amo_latency|barrier_latency|all_reduce_latency\n");
    return 2;
  }
  const int gpus = support::gpus_of_this_machine();
  if (gpus < 2) {
    std::printf("waived fewer than two GPUs\n");
    return 0;
  }
  setenv("NVSHMEM_SYMMETRIC_SIZE", "1G", 0);
  for (const int pes : {2, 4}) {
    if (pes > gpus || (pes != 2 && answer != all_reduce_latency)) {  // The other questions concern two PEs.
      continue;
    }
    for (const int code : support::run_as_pes(pes, std::chrono::minutes(5), [&](const symmetric::nvshmem_session& session) {
           side here(session, question);
           answer(here);
           return 0;
         })) {
      if (code != 0) {
        std::printf(
            "failed a process of NVSHMEM ended with %d (-1: it crashed or timed out): see its message on standard error\n",
            code);
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace symmetric_bench

int main(int argc, char** argv) {
  try {
    return symmetric_bench::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
