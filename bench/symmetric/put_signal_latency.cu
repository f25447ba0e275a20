// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how long does a message take from one GPU to another and back, by put with signal, by its parts, and packed with
/// its sequence number? Next to it: NVSHMEM's own calls, and NCCL's send and receive. A time is that of one round trip.
#include "peer_world.cuh"
#include "places.hpp"

#include <bench/common/nccl.hpp>

namespace {

using namespace symmetric_bench;

/// The memory of a case: as large as the largest.
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
  return over_places_of(two.heap, [&] {
    const memory of(two);
    return two.round_nanoseconds(threads, rounds_of(bytes), kernel, [&](pe which, auto launch) {
      launch(of.data.on(which).subspan(0, bytes), static_cast<const unsigned char*>(of.source.on(which).local()),
             of.signals.on(which), 0ULL);
    });
  });
}

/// A signal there and back, without data.
template <class Order>
__global__ void notify_round_trips(span<unsigned char>, const unsigned char*, span<set_signal> signals,
                                   unsigned long long first, unsigned rounds, kernel_report* report) {
  signalled_round_trips(by_thread, signals, first, rounds, report, [&](unsigned long long value, pe other) {
    symmetric::notify(by_thread, signals[0], value, other, Order());
  });
}

/// 16 bytes out of registers, whole, and a signal that releases them.
__global__ void value_round_trips(span<uint4> data, span<set_signal> signals, unsigned rounds, kernel_report* report) {
  signalled_round_trips(by_thread, signals, 0, rounds, report, [&](unsigned long long value, pe other) {
    const auto number = static_cast<unsigned>(value);
    symmetric::put_value(data[0], uint4{number, number, number, number}, other);
    symmetric::notify(by_thread, signals[0], value, other);
  });
}

double value_trips(world& two) {
  return over_places_of(two.heap, [&] {
    const scoped_array data(two.heap.allocate<uint4>(1));
    const scoped_array signals(two.heap.allocate<set_signal>(1));
    return two.round_nanoseconds(1, rounds_of(16), value_round_trips,
                                 [&](pe which, auto launch) { launch(data.on(which), signals.on(which)); });
  });
}

/// A put with signal whose source is shared memory, so that it need not be read from L2.
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

/// What one would write without membar's operations, for messages of whole units: each thread copies its own, and one of them
/// releases a flag after a barrier.
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

double by_hand_trips(world& two, std::size_t bytes, unsigned threads) {
  return over_places_of(two.heap, [&] {
    const memory of(two);  // data and source where membar's are; the flag has a line of its own
    const scoped_array flags(two.heap.allocate<unsigned>(1));
    return two.round_nanoseconds(threads, rounds_of(bytes), by_hand_round_trips, [&](pe which, auto launch) {
      const pe other(1 - which.index());
      launch(which == pe(0), reinterpret_cast<uint4*>(of.data.on(other).local()),
             reinterpret_cast<const uint4*>(of.source.on(which).local()), static_cast<unsigned>(bytes / sizeof(uint4)),
             flags.on(other).local(), static_cast<const unsigned*>(flags.on(which).local()));
    });
  });
}

template <class Group, int Bytes, message_in Where, wait_form Form = wait_form::returning>
double packed_trips(world& two, unsigned threads) {
  return over_places_of(two.heap, [&] {
    using box = payload<Bytes>;
    const scoped_array boxes(two.heap.allocate<packed<box>>(1));
    const scoped_array messages(two.heap.allocate<box>(2));
    return two.round_nanoseconds(threads, rounds_of(Bytes), packed_round_trips<Group, Bytes, Where, peer_backend, Form>,
                                 [&](pe which, auto launch) { launch(boxes.on(which), messages.on(which).local(), 0U); });
  });
}

/// As many pieces of 12 bytes as a message of `bytes` has words.
template <unsigned Lanes>
double packed_pieces_trips(world& two, std::size_t bytes) {
  return over_places_of(two.heap, [&] {
    const std::size_t pieces = membar::detail::packed_words(bytes);
    const scoped_array boxes(two.heap.allocate<packed<payload<12>>>(pieces));
    const scoped_array messages(two.heap.allocate<payload<12>>(pieces));
    const unsigned warps = static_cast<unsigned>((pieces + Lanes - 1) / Lanes);
    return two.round_nanoseconds(32 * warps, rounds_of(bytes), packed_pieces_round_trips<Lanes, peer_backend>,
                                 [&](pe which, auto launch) { launch(boxes.on(which), messages.on(which).local()); });
  });
}

/// What a message's words take without membar's operations, a word for each thread, and nothing copied: each answers what it
/// has read. `Meeting`: it waits until all of the block have read, the least that a message for all of them needs.
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
double by_hand_packed_trips(world& two, std::size_t bytes) {
  return over_places_of(two.heap, [&] {
    const std::size_t words = membar::detail::packed_words(bytes);
    const scoped_array boxes(two.heap.allocate<uint4>(words));
    const unsigned warps = static_cast<unsigned>((words + 31) / 32);
    return two.round_nanoseconds(32 * warps, rounds_of(bytes), by_hand_packed_round_trips<Meeting>, [&](pe which, auto launch) {
      launch(which == pe(0), boxes.on(pe(1 - which.index())).local(), static_cast<const uint4*>(boxes.on(which).local()),
             static_cast<unsigned>(words));
    });
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
  const bench::made_once<world> two = of.two;
  using sizes = bench::axis<std::size_t>;
  const sizes small{16, 1024};
  const sizes medium{16, 1024, 16384};
  const sizes all{16, 1024, 16384, 262144, memory::largest};
  const bench::axis<unsigned> blocks{64, 256, 1024};
  const auto name = [](const std::string& arm) { return "put_signal_latency/" + arm; };
  // How a case is named after its group, as in "/warp:32"; the sizes follow.
  const auto by = []<class Group>(Group, unsigned threads) {
    return std::string("/") + Group::name + ":" + std::to_string(threads);
  };
  const auto signals = [two](auto kernel) {
    return [two, kernel](unsigned threads, std::size_t bytes) { return signal_trips(*two, bytes, threads, kernel); };
  };
  using one_size = bench::axis<unsigned>;
  cases.add(name("membar_peer/thread:{}/bytes:{}"), signals(&put_signal_round_trips<by_thread_t, peer_backend>), one_size{1},
            small);
  cases.add(name("membar_peer/warp:{}/bytes:{}"), signals(&put_signal_round_trips<by_warp_t, peer_backend>), one_size{32},
            medium);
  cases.add(name("membar_peer/block:{}/bytes:{}"), signals(&put_signal_round_trips<by_block_t, peer_backend>), blocks, all);
  cases.add(
      name("by_hand/block:{}/bytes:{}"),
      [two](unsigned threads, std::size_t bytes) { return by_hand_trips(*two, bytes, threads); },
      bench::axis<unsigned>{32, 64, 256}, medium);
  cases.add(name("membar_peer_fenced/block:{}/bytes:{}"), signals(&fenced_round_trips<by_block_t, peer_backend>), one_size{256},
            all);
  cases.add(
      {name("nccl_send_recv/host/bytes:{}"), support::nccl_devices::waiver},
      [two, nccl = bench::made_once<support::nccl_devices>(of.devices)](std::size_t bytes) {
        return nccl_trips(*two, *nccl, bytes);
      },
      all);
  cases.add(name("membar_peer_value/thread:1/bytes:16"), [two] { return value_trips(*two); });
  const auto from_shared = [&]<unsigned Bytes>(auto group, unsigned threads, std::integral_constant<unsigned, Bytes>) {
    cases.add(name("membar_peer_from_shared" + by(group, threads) + "/bytes:" + std::to_string(Bytes)), [two, threads] {
      return signal_trips(*two, Bytes, threads, &shared_source_round_trips<decltype(group), Bytes>);
    });
  };
  from_shared(by_thread, 1, std::integral_constant<unsigned, 16>{});
  from_shared(by_warp, 32, std::integral_constant<unsigned, 16>{});
  from_shared(by_block, 64, std::integral_constant<unsigned, 16>{});
  from_shared(by_block, 64, std::integral_constant<unsigned, 1024>{});
  // No data: what the link and the release take.
  cases.add(name("membar_peer_notify/thread:1/bytes:0"),
            [two] { return signal_trips(*two, 16, 1, &notify_round_trips<membar::release_t>); });
  cases.add(name("membar_peer_notify_relaxed/thread:1/bytes:0"),
            [two] { return signal_trips(*two, 16, 1, &notify_round_trips<membar::relaxed_t>); });
  // With the waits that end the kernel where nothing comes.
  const auto trapping = [&]<class Group>(Group group, unsigned threads) {
    const std::string where = "_trapping" + by(group, threads) + "/bytes:16";
    cases.add(name("membar_peer" + where), [two, threads] {
      return signal_trips(*two, 16, threads, &put_signal_round_trips<Group, peer_backend, wait_form::trapping>);
    });
    cases.add(name("membar_peer_packed" + where),
              [two, threads] { return packed_trips<Group, 16, message_in::group, wait_form::trapping>(*two, threads); });
  };
  trapping(by_thread, 1);
  trapping(by_warp, 32);
  trapping(by_block, 32);
  // A packed message from the registers or the shared memory of its group, and to it; and from and to global memory.
  const auto packed = [&]<class Group, int Bytes>(Group group, unsigned threads, payload<Bytes>) {
    const std::string where = by(group, threads) + "/bytes:" + std::to_string(Bytes);
    cases.add(name("membar_peer_packed" + where),
              [two, threads] { return packed_trips<Group, Bytes, message_in::group>(*two, threads); });
    cases.add(name("membar_peer_packed_in_memory" + where),
              [two, threads] { return packed_trips<Group, Bytes, message_in::global_memory>(*two, threads); });
  };
  packed(by_thread, 1, payload<12>{});
  packed(by_thread, 1, payload<16>{});
  packed(by_warp, 32, payload<16>{});
  packed(by_block, 32, payload<16>{});
  packed(by_warp, 32, payload<1024>{});
  packed(by_block, 96, payload<1024>{});
  packed(by_block, 1024, payload<16384>{});
  // A piece for each thread, 8 or 32 of them a warp. Eight boxes are a line of 128 bytes.
  const sizes in_pieces{96, 384, 1024};
  cases.add(
      name("membar_peer_packed_pieces/lanes:8/bytes:{}"),
      [two](std::size_t bytes) { return packed_pieces_trips<8>(*two, bytes); }, in_pieces);
  cases.add(
      name("membar_peer_packed_pieces/lanes:32/bytes:{}"),
      [two](std::size_t bytes) { return packed_pieces_trips<32>(*two, bytes); }, in_pieces);
  cases.add(name("by_hand_packed_words/block:96/bytes:1024"), [two] { return by_hand_packed_trips<false>(*two, 1024); });
  cases.add(name("by_hand_packed_words_and_barrier/block:96/bytes:1024"),
            [two] { return by_hand_packed_trips<true>(*two, 1024); });
}

}  // namespace

bench::description bench::describe() {
  return {.question = "How long does a message take from one GPU to another and back?",
          .add_cases = add_cases,
          .takes_device = false,
          .before_cuda = [](suite& cases) { symmetric_bench::add_nvshmem_cases(cases, "put_signal_latency"); }};
}
