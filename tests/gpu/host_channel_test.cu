// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Channels and barriers between a kernel and the host, in mapped memory, and between kernels in two synchronization domains.
#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/spsc_channel.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

namespace membar_test {
namespace {

constexpr unsigned messages = 200'000;
using channel = membar::spsc_channel<message, 128, thread_scope::system>;

__global__ void produce_on_the_device(channel* to, channel_outcome* outcome) { produce(*to, 0, messages, *outcome); }
__global__ void consume_on_the_device(channel* from, channel_outcome* outcome) { consume(*from, 0, ~0ULL, *outcome); }

class channel_in_mapped_memory : public gpu_test {};

TEST_F(channel_in_mapped_memory, passes_everything_to_the_host) {
  const support::pinned_memory<channel> shared(1);
  const support::pinned_memory<channel_outcome> producer(1);
  load(produce_on_the_device);
  membar::launch(launch_config{1, 1}, produce_on_the_device, shared.get(), producer.get());
  channel_outcome consumer;
  consume(shared[0], 0, ~0ULL, consumer);
  finish();
  expect_all(producer[0], messages, wait_result::done);
  expect_all(consumer, messages, wait_result::closed);
}

TEST_F(channel_in_mapped_memory, passes_everything_to_the_device) {
  const support::pinned_memory<channel> shared(1);
  const support::pinned_memory<channel_outcome> consumer(1);
  load(consume_on_the_device);
  membar::launch(launch_config{1, 1}, consume_on_the_device, shared.get(), consumer.get());
  channel_outcome producer;
  produce(shared[0], 0, messages, producer);
  finish();
  expect_all(producer, messages, wait_result::done);
  expect_all(consumer[0], messages, wait_result::closed);
}

constexpr int ranks = 3;
constexpr int phases = 5'000;
using barrier = membar::cross_barrier<ranks>;

struct shared_phases {
  barrier::flags flags;
  barrier_side sides[ranks];
};

MEMBAR_HOST_DEVICE void run_phases(shared_phases& all, int rank) {
  barrier::flags* const flags[ranks] = {&all.flags, &all.flags, &all.flags};
  barrier_side* const sides[ranks] = {&all.sides[0], &all.sides[1], &all.sides[2]};
  barrier mine(flags, rank);
  run_phases(mine, sides, rank, phases);
}

__global__ void run_phases_on_the_device(shared_phases* all, int rank) { run_phases(*all, rank); }

class cross_barrier : public gpu_test {};

TEST_F(cross_barrier, holds_between_two_domains_and_the_host) {
  const support::pinned_memory<shared_phases> all(1);
  const support::stream streams[2];
  const bool domains = membar::sync_domain_count() > 1;
  load(run_phases_on_the_device);
  for (int rank = 0; rank != 2; ++rank) {
    const launch_config plain{1, 1, streams[rank].get()};
    membar::launch(plain.with(domains && rank == 1 ? membar::sync_domain(membar::sync_domain::remote)
                                                   : membar::sync_domain(membar::sync_domain::default_)),
                   run_phases_on_the_device, all.get(), rank);
  }
  run_phases(all[0], 2);
  finish();
  for (const barrier_side& side : all[0].sides) {
    expect_passed(side, phases);
  }
}

}  // namespace
}  // namespace membar_test
