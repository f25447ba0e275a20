// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how much slower does a chain of small kernels that access only local memory become while a kernel continuously
/// puts to another GPU? In one variant, both kernels share a synchronization domain; in another, the communication is launched
/// in the remote domain. Times are per kernel in the chain.
#include "peer_world.cuh"

#include <membar/atomic.cuh>
#include <membar/load_store.cuh>
#include <membar/sync_domain.hpp>

#include <optional>

namespace {

using namespace symmetric_bench;

/// All blocks execute puts with signals until the host stops them, but never for longer than their budget.
__global__ void __launch_bounds__(512)
    communicate(span<unsigned char> data, const unsigned char* source, span<symmetric::signal<symmetric::add>> signals,
                const unsigned* stop, unsigned* started) {
  const std::size_t part = data.size() / gridDim.x / 16 * 16;
  const std::size_t first = part * blockIdx.x;
  const unsigned long long begin = membar::global_nanoseconds();
  for (bool done = false, first_round = true; !done; first_round = false) {
    symmetric::put_signal(by_block, data.subspan(first, part), source + first, signals[blockIdx.x], 1, pe(1));
    bool over = false;
    if (threadIdx.x == 0) {
      if (first_round) {
        membar::atomic_ref<unsigned, membar::thread_scope::system>(*started).fetch_add(1, membar::release);
      }
      over = membar::load<membar::thread_scope::system>(stop, membar::relaxed) != 0 ||
             membar::global_nanoseconds() - begin > generous.in_nanoseconds();
    }
    done = by_block_t::any(over);
  }
}

/// One kernel in the chain: every thread stores a few words.
__global__ void local_step(unsigned* words, unsigned value) {
  for (unsigned i = 0; i != 4; ++i) {
    words[(i * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = value + i;
  }
}

/// The chain runs during communication in a domain, or without communication.
double chain_nanoseconds(world& two, const std::optional<membar::sync_domain>& communication) {
  constexpr unsigned blocks = 32;
  constexpr unsigned steps = 400;
  constexpr std::size_t bytes = std::size_t{32} << 20;
  const scoped_array data(two.heap.allocate<unsigned char>(bytes));
  const scoped_array source(two.heap.allocate<unsigned char>(bytes));
  const scoped_array signals(two.heap.allocate<symmetric::signal<symmetric::add>>(blocks));
  const membar::device_guard guard(two.backend.device_of(pe(0)));
  const support::stream chain;
  const support::device_memory<unsigned> words(4 * 64 * 256);
  // The stop and started flags are in the memory of the kernel's device, so that polling them causes no other traffic.
  const support::device_memory<unsigned> control(2);
  const support::stream control_stream;
  const support::event begin;
  const support::event end;
  load_everywhere(two.backend, communicate);
  load_everywhere(two.backend, local_step);
  gate held(two.backend);
  const auto step_chain = [&](unsigned count) {
    for (unsigned i = 0; i != count; ++i) {
      membar::launch(membar::launch_config{64, 256, chain.get()}, local_step, words.get(), i);
    }
  };
  step_chain(50);
  chain.synchronize();

  const auto copy = [&](unsigned* to, const unsigned* from) {
    membar::check(cudaMemcpyAsync(to, from, sizeof(unsigned), cudaMemcpyDefault, control_stream.get()));
    control_stream.synchronize();
  };
  if (communication) {
    membar::launch(membar::launch_config{blocks, 512, two.streams.of(pe(0))}.with(*communication), communicate, data.on(pe(0)),
                   static_cast<const unsigned char*>(source.on(pe(0)).local()), signals.on(pe(0)),
                   static_cast<const unsigned*>(control.get()), control.get() + 1);
    // The kernel's budget ends it, so this loop also ends.
    for (unsigned started = 0; started != blocks && !two.streams.idle(pe(0));) {
      copy(&started, control.get() + 1);
    }
  }
  held.hold(chain.get());
  begin.record(chain.get());
  step_chain(steps);
  end.record(chain.get());
  held.open();
  chain.synchronize();
  const bool ran_beside = !communication || !two.streams.idle(pe(0));
  const unsigned stop = 1;
  copy(control.get(), &stop);
  two.streams.synchronize();
  held.require_held();
  if (!ran_beside) {
    throw std::runtime_error("the communication ended before the chain of kernels, so their overlap was not measured");
  }
  return end.nanoseconds_since(begin) / steps;
}

void add_cases(bench::suite& cases) {
  const peers of(cases);
  const auto add = [&](const bench::case_name& name, const std::optional<membar::sync_domain>& communication) {
    cases.add(name, [two = of.two, communication] { return chain_nanoseconds(*two, communication); });
  };
  const bool one_domain = !of.devices.empty() && membar::sync_domain_count(of.devices[0]) == 1;
  add("domain_overlap/alone", std::nullopt);
  add("domain_overlap/same_domain", membar::sync_domain::default_);
  add({"domain_overlap/remote_domain", one_domain ? "the device has one synchronization domain" : ""},
      membar::sync_domain::remote);
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "How much slower does a chain of local kernels become during communication, by synchronization domain?",
          .add_cases = add_cases,
          .takes_device = false};
}

}  // namespace bench
