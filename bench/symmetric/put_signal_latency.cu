// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how long does a message take from one GPU to another and back: as a put with signal, as a separate put and
/// signal, or packed with its sequence number? It is compared with NVSHMEM's own calls, and with NCCL's send and receive. Times
/// are per round trip.
#include "peer_world.cuh"
#include "places.hpp"

#include <bench/common/nccl.hpp>

namespace {

using namespace symmetric_bench;

/// A case's memory, which is large enough for the largest message.
struct memory {
  explicit memory(world& two)
      : data(two.heap.allocate<unsigned char>(largest)),
        source(two.heap.allocate<unsigned char>(largest)),
        signals(two.heap.allocate<set_signal>(1)) {}

  static constexpr std::size_t largest = std::size_t{1} << 20;
  scoped_array<unsigned char, peer_backend> data;
  scoped_array<unsigned char, peer_backend> source;
  scoped_array<set_signal, peer_backend> signals;
};

template <class... Parameters>
double signal_trips(world& two, std::size_t bytes, unsigned threads, void (*kernel)(Parameters...)) {
  const memory of(two);
  return two.round_nanoseconds(threads, rounds_of(bytes), kernel, [&](pe which, auto launch) {
    launch(of.data.on(which).subspan(0, bytes), static_cast<const unsigned char*>(of.source.on(which).local()),
           of.signals.on(which), 0ULL);
  });
}

/// Sends a signal to the other PE and back, without data.
template <class Order>
__global__ void notify_round_trips(span<unsigned char>, const unsigned char*, span<set_signal> signals,
                                   unsigned long long first, unsigned rounds, kernel_report* report) {
  signalled_round_trips(by_thread, signals, first, rounds, report, [&](unsigned long long value, pe other) {
    symmetric::notify(by_thread, signals[0], value, other, Order());
  });
}

/// Puts 16 bytes from registers in one access, with a signal that releases them.
__global__ void value_round_trips(span<uint4> data, span<set_signal> signals, unsigned rounds, kernel_report* report) {
  signalled_round_trips(by_thread, signals, 0, rounds, report, [&](unsigned long long value, pe other) {
    const auto number = static_cast<unsigned>(value);
    symmetric::put_value(data[0], uint4{number, number, number, number}, other);
    symmetric::notify(by_thread, signals[0], value, other);
  });
}

double value_trips(world& two) {
  const scoped_array data(two.heap.allocate<uint4>(1));
  const scoped_array signals(two.heap.allocate<set_signal>(1));
  return two.round_nanoseconds(1, rounds_of(16), value_round_trips,
                               [&](pe which, auto launch) { launch(data.on(which), signals.on(which)); });
}

/// A put with signal whose source is in shared memory, so that the data does not have to be read from L2.
template <class Group, unsigned Bytes>
__global__ void __launch_bounds__(1024, 1)
    shared_source_round_trips(span<unsigned char> data, const unsigned char*, span<set_signal> signals,
                              unsigned long long first, unsigned rounds, kernel_report* report) {
  __shared__ uint4 source[Bytes / sizeof(uint4)];
  for (unsigned i = Group::rank(); i < Bytes / sizeof(uint4); i += Group::size()) {
    source[i] = uint4{i, i, i, i};
  }
  Group::sync();
  signalled_round_trips(Group(), signals, first, rounds, report, [&](unsigned long long value, pe other) {
    symmetric::put_signal(Group(), data, reinterpret_cast<const unsigned char*>(source), signals[0], value, other);
  });
}

/// The code that a user would write without membar's operations, for messages of whole units: each thread copies its own unit,
/// and one thread releases a flag after a barrier.
__global__ void __launch_bounds__(1024, 1)
    by_hand_round_trips(bool starts, uint4* there, const uint4* source, unsigned units, unsigned* flag_there,
                        const unsigned* flag, unsigned rounds, kernel_report* report) {
  round_trips(
      by_block, starts, rounds, report,
      [&](unsigned number) {
        for (unsigned i = threadIdx.x; i < units; i += blockDim.x) {
          there[i] = source[i];
        }
        __syncthreads();
        if (threadIdx.x == 0) {
          membar::store<membar::thread_scope::system>(flag_there, number, membar::release);
        }
      },
      [&](unsigned number) {
        bool late = false;
        if (threadIdx.x == 0) {
          const unsigned long long begin = membar::global_nanoseconds();
          while (!late && membar::load<membar::thread_scope::system>(flag, membar::acquire) != number) {
            late = membar::global_nanoseconds() - begin > generous.in_nanoseconds();
          }
        }
        return __syncthreads_or(late ? 1 : 0) == 0;
      });
}

double by_hand_trips(world& two, unsigned threads, std::size_t bytes) {
  const memory of(two);  // Data and source are at the same places as membar's; the flag has its own line.
  const scoped_array flags(two.heap.allocate<unsigned>(1));
  return two.round_nanoseconds(threads, rounds_of(bytes), by_hand_round_trips, [&](pe which, auto launch) {
    const pe other(1 - which.index());
    launch(which == pe(0), reinterpret_cast<uint4*>(of.data.on(other).local()),
           reinterpret_cast<const uint4*>(of.source.on(which).local()), static_cast<unsigned>(bytes / sizeof(uint4)),
           flags.on(other).local(), static_cast<const unsigned*>(flags.on(which).local()));
  });
}

template <class Group, int Bytes, message_in Where, wait_form Form = wait_form::returning>
double packed_trips(world& two, unsigned threads) {
  using box = payload<Bytes>;
  const scoped_array boxes(two.heap.allocate<packed<box>>(1));
  const scoped_array messages(two.heap.allocate<box>(2));
  return two.round_nanoseconds(threads, rounds_of(Bytes), packed_round_trips<Group, Bytes, Where, peer_backend, Form>,
                               [&](pe which, auto launch) { launch(boxes.on(which), messages.on(which).local(), 0U); });
}

/// Returns the time of a round trip of a message of `bytes`, in as many 12-byte pieces as it needs.
template <unsigned Lanes>
double packed_pieces_trips(world& two, std::size_t bytes) {
  const std::size_t pieces = membar::detail::packed_words(bytes);
  const scoped_array boxes(two.heap.allocate<packed<payload<12>>>(pieces));
  const scoped_array messages(two.heap.allocate<payload<12>>(pieces));
  const unsigned warps = static_cast<unsigned>((pieces + Lanes - 1) / Lanes);
  return two.round_nanoseconds(32 * warps, rounds_of(bytes), packed_pieces_round_trips<Lanes, peer_backend>,
                               [&](pe which, auto launch) { launch(boxes.on(which), messages.on(which).local()); });
}

/// The time that a message's words take without membar's operations: one word per thread, without a copy; each thread answers
/// the word that it has read. With `Meeting`, each thread first waits until all threads of the block have read their words,
/// which is the minimum for a message to all threads.
template <bool Meeting>
__global__ void __launch_bounds__(1024, 1) by_hand_packed_round_trips(bool starts, uint4* there, const uint4* here,
                                                                      unsigned words, unsigned rounds, kernel_report* report) {
  const unsigned rank = threadIdx.x;
  uint4 word{};
  round_trips(
      by_block, starts, rounds, report,
      [&](unsigned number) {
        if (rank < words) {
          word.w = number;
          membar::store<membar::thread_scope::system>(there + rank, word, membar::relaxed);
        }
      },
      [&](unsigned number) {
        bool done = true;
        if (rank < words) {
          unsigned looks_left = 1U << 22;
          do {
            word = membar::load<membar::thread_scope::system>(here + rank, membar::relaxed);
          } while (word.w != number && --looks_left != 0);
          done = word.w == number;
        }
        if constexpr (Meeting) {
          return __syncthreads_or(done ? 0 : 1) == 0;
        }
        return done;
      });
}

template <bool Meeting>
double by_hand_packed_trips(world& two, unsigned threads, std::size_t bytes) {
  const std::size_t words = membar::detail::packed_words(bytes);
  const scoped_array boxes(two.heap.allocate<uint4>(words));
  return two.round_nanoseconds(threads, rounds_of(bytes), by_hand_packed_round_trips<Meeting>, [&](pe which, auto launch) {
    launch(which == pe(0), boxes.on(pe(1 - which.index())).local(), static_cast<const uint4*>(boxes.on(which).local()),
           static_cast<unsigned>(words));
  });
}

double nccl_trips(world& two, support::nccl_devices& nccl, std::size_t bytes) {
  const memory of(two);
  const auto trips = [&](int count) {
    for (int round = 0; round != count; ++round) {
      for (const int from : {0, 1}) {
        nccl.send(from, of.source.on(pe(from)).local(), of.data.on(pe(1 - from)).local(), bytes, two.streams.of(pe(from)),
                  two.streams.of(pe(1 - from)));
      }
    }
  };
  constexpr int rounds = 100;
  trips(10);
  const double ns = support::nanoseconds_of(two.streams.of(pe(0)), [&] { trips(rounds); }) / rounds;
  two.streams.synchronize();
  return ns;
}

void add_cases(bench::suite& cases) {
  const peers of(cases);
  using sizes = bench::axis<std::size_t>;
  const sizes small{16, 1024};
  const sizes medium{16, 1024, 16384};
  const sizes all{16, 1024, 16384, 262144, memory::largest};
  using threads = bench::axis<unsigned>;
  // A case whose round trips are `measure(two, value...)`, averaged over the places of its allocations.
  const auto add = [&, two = of.two](const std::string& arm, auto measure, const auto&... axes) {
    const auto everywhere = [two, measure](const auto&... values) {
      return over_places_of(two->heap, measure, *two, values...);
    };
    cases.add("put_signal_latency/" + arm, everywhere, axes...);
  };
  const auto signals = [](auto kernel) {
    return [kernel](world& two, unsigned count, std::size_t bytes) { return signal_trips(two, bytes, count, kernel); };
  };
  add("membar_peer/thread:{}/bytes:{}", signals(&put_signal_round_trips<by_thread_t, peer_backend>), threads{1}, small);
  add("membar_peer/warp:{}/bytes:{}", signals(&put_signal_round_trips<by_warp_t, peer_backend>), threads{32}, medium);
  add("membar_peer/block:{}/bytes:{}", signals(&put_signal_round_trips<by_block_t, peer_backend>), threads{64, 256, 1024}, all);
  add("by_hand/block:{}/bytes:{}", by_hand_trips, threads{32, 64, 256}, medium);
  add("membar_peer_fenced/block:{}/bytes:{}", signals(&fenced_round_trips<by_block_t, peer_backend>), threads{256}, all);
  cases.add(
      {"put_signal_latency/nccl_send_recv/host/bytes:{}", support::nccl_devices::waiver},
      [two = of.two, nccl = bench::made_once<support::nccl_devices>(of.devices)](std::size_t bytes) {
        return nccl_trips(*two, *nccl, bytes);
      },
      all);
  add("membar_peer_value/thread:1/bytes:16", value_trips);
  const std::string from_shared = "membar_peer_from_shared";
  add(from_shared + "/thread:{}/bytes:{}", signals(&shared_source_round_trips<by_thread_t, 16>), threads{1}, sizes{16});
  add(from_shared + "/warp:{}/bytes:{}", signals(&shared_source_round_trips<by_warp_t, 16>), threads{32}, sizes{16});
  add(from_shared + "/block:{}/bytes:{}", signals(&shared_source_round_trips<by_block_t, 16>), threads{64}, sizes{16});
  add(from_shared + "/block:{}/bytes:{}", signals(&shared_source_round_trips<by_block_t, 1024>), threads{64}, sizes{1024});
  // Without data, the case measures the time of the link and the release.
  const auto notify = [](auto kernel) { return [kernel](world& two) { return signal_trips(two, 16, 1, kernel); }; };
  add("membar_peer_notify/thread:1/bytes:0", notify(&notify_round_trips<membar::release_t>));
  add("membar_peer_notify_relaxed/thread:1/bytes:0", notify(&notify_round_trips<membar::relaxed_t>));
  // Returns the name of a case from its group, as in "/warp:32", and its size.
  const auto where = []<class Group>(Group, unsigned count, int bytes) {
    return std::string("/") + Group::name + ":" + std::to_string(count) + "/bytes:" + std::to_string(bytes);
  };
  // The same, with waits that end the kernel if nothing arrives.
  const auto trapping = [&]<class Group>(Group group, unsigned count) {
    add("membar_peer_trapping" + where(group, count, 16), [count](world& two) {
      return signal_trips(two, 16, count, &put_signal_round_trips<Group, peer_backend, wait_form::trapping>);
    });
    add("membar_peer_packed_trapping" + where(group, count, 16),
        [count](world& two) { return packed_trips<Group, 16, message_in::group, wait_form::trapping>(two, count); });
  };
  trapping(by_thread, 1);
  trapping(by_warp, 32);
  trapping(by_block, 32);
  // Packed messages. On both sides, the message is either in the registers or shared memory of its group, or in global memory.
  const auto packed = [&]<class Group, int Bytes>(Group group, unsigned count, payload<Bytes>) {
    add("membar_peer_packed" + where(group, count, Bytes),
        [count](world& two) { return packed_trips<Group, Bytes, message_in::group>(two, count); });
    add("membar_peer_packed_in_memory" + where(group, count, Bytes),
        [count](world& two) { return packed_trips<Group, Bytes, message_in::global_memory>(two, count); });
  };
  packed(by_thread, 1, payload<12>{});
  packed(by_thread, 1, payload<16>{});
  packed(by_warp, 32, payload<16>{});
  packed(by_block, 32, payload<16>{});
  packed(by_warp, 32, payload<1024>{});
  packed(by_block, 96, payload<1024>{});
  packed(by_block, 1024, payload<16384>{});
  // One piece per thread, with 8 or 32 threads per warp. Eight boxes are a line of 128 bytes.
  const sizes in_pieces{96, 384, 1024};
  add("membar_peer_packed_pieces/lanes:8/bytes:{}", packed_pieces_trips<8>, in_pieces);
  add("membar_peer_packed_pieces/lanes:32/bytes:{}", packed_pieces_trips<32>, in_pieces);
  add("by_hand_packed_words/block:{}/bytes:{}", by_hand_packed_trips<false>, threads{96}, sizes{1024});
  add("by_hand_packed_words_and_barrier/block:{}/bytes:{}", by_hand_packed_trips<true>, threads{96}, sizes{1024});
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "How long does a message take from one GPU to another and back?",
          .add_cases = add_cases,
          .takes_device = false,
          .before_cuda = [](suite& cases) { symmetric_bench::add_nvshmem_cases(cases, "put_signal_latency"); }};
}

}  // namespace bench
