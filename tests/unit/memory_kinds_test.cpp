// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mapped and managed memory, atomicity for each kind of memory, and kernel resources: decisions that depend on device
// properties.
#include <membar/atomicity.hpp>
#include <membar/kernel_resources.hpp>
#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

namespace {

using fake_cuda::now;
using membar::atomic_operation, membar::atomic_use, membar::atomicity_facts, membar::memory_kind, membar::memory_location;
using membar_test::refusal, membar_test::says;

class mapped_memory : public fake_cuda::test {};
class managed_memory : public fake_cuda::test {};
class atomicity : public fake_cuda::test {};

TEST_F(mapped_memory, is_pinned_for_all_devices_unless_told) {
  EXPECT_EQ(membar::detail::allocation_flags({}), cudaHostAllocMapped | cudaHostAllocPortable);
  EXPECT_EQ(membar::detail::allocation_flags({.portable = false}), cudaHostAllocMapped);
}

template <class Memory>
concept lends_the_host_its_objects = requires(Memory memory) { memory[0] = 1; } || requires(Memory memory) { memory.data(); } ||
                                     requires(Memory memory) { *memory.begin() = 1; };

// A release does not order writes to write-combined memory. Such memory can be written only with function calls, so neither
// atomic operations nor host channels can use it.
TEST_F(mapped_memory, that_is_write_combined_is_written_by_calls_only) {
  static_assert(lends_the_host_its_objects<membar::mapped_memory<int>>);
  static_assert(!lends_the_host_its_objects<membar::write_combined_memory<int>>);
  static_assert(std::is_same_v<decltype(std::declval<membar::write_combined_memory<int>>().device_data()), const int*>);
  membar::write_combined_memory<int> memory(4);
  EXPECT_EQ(now().host_flags, cudaHostAllocMapped | cudaHostAllocPortable | cudaHostAllocWriteCombined);
  const int values[] = {5, 6, 7};
  memory.write(0, 4);
  memory.write(1, values, 3);
  memory.publish();
  EXPECT_EQ(memory.device_data()[0], 4);
  EXPECT_EQ(memory.device_data()[3], 7);
  EXPECT_EQ(refusal([&] { memory.write(2, values, 3); }),
            "membar: 3 values starting at index 2 do not fit into write-combined memory of 4 values: write at most 2 values");
  EXPECT_NE(refusal([&] { memory.write(5, values, 0); }), "");
}

TEST_F(mapped_memory, is_allocated_with_the_flags_that_it_was_given) {
  const membar::mapped_memory<int> everywhere(4);
  EXPECT_EQ(now().host_flags, cudaHostAllocMapped | cudaHostAllocPortable);
  const membar::mapped_memory<int> here(4, {.portable = false});
  EXPECT_EQ(now().host_flags, cudaHostAllocMapped);
}

TEST_F(mapped_memory, needs_a_device_that_maps_at_the_same_address) {
  EXPECT_EQ(refusal([] { membar::detail::validate_mapping({0, true, true, true}); }), "");
  EXPECT_EQ(refusal([] { membar::detail::validate_mapping({2, false, true, true}); }),
            "membar: device 2 cannot map host memory: copy the data, or use managed memory");
  EXPECT_TRUE(
      says(refusal([] { membar::detail::validate_mapping({0, true, false, true}); }), "does not support unified addressing"));
}

TEST_F(mapped_memory, facts_are_what_the_device_says) {
  const membar::mapping_facts mapping = membar::mapping_facts_of(1);
  EXPECT_TRUE(mapping.can_map_host_memory && mapping.unified_addressing && mapping.registered_at_host_address);
  constexpr membar::mapping_facts none;
  EXPECT_FALSE(none.can_map_host_memory || none.unified_addressing || none.registered_at_host_address);
}

TEST_F(mapped_memory, facts_are_those_of_the_current_device) {
  now().devices.resize(2);
  now().attribute(cudaDevAttrCanMapHostMemory, 1) = 0;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_TRUE(says(refusal([] { membar::mapped_memory<int> memory(4); }), "device 1 cannot map host memory"));
}

TEST_F(managed_memory, facts_are_what_the_device_says) {
  now().attribute(cudaDevAttrConcurrentManagedAccess, 1) = 0;
  EXPECT_TRUE(membar::managed_facts_of(0).concurrent_access);
  EXPECT_FALSE(membar::managed_facts_of(1).concurrent_access);
  EXPECT_FALSE(membar::managed_facts{}.concurrent_access);
}

TEST_F(mapped_memory, that_cannot_be_freed_is_reported_and_leaves_no_error_for_the_next_call) {
  {
    const membar::mapped_memory<int> memory(4);
    now().fails["cudaFreeHost"] = {0, cudaErrorLaunchFailure, -1, 1};
  }
  EXPECT_EQ(now().last_error, cudaSuccess);
  ASSERT_EQ(now().failures.size(), 1U);
  EXPECT_TRUE(says(now().failures[0], "the memory was not freed, or an earlier operation failed"));
}

TEST_F(mapped_memory, that_outlives_the_runtime_is_not_reported) {
  {
    const membar::mapped_memory<int> memory(4);
    now().fails["cudaFreeHost"] = {0, cudaErrorCudartUnloading, -1, 1};
  }
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(mapped_memory, registered_memory_must_have_one_address) {
  now().attribute(cudaDevAttrCanUseHostPointerForRegisteredMem) = 0;
  int value = 0;
  EXPECT_TRUE(says(refusal([&] { const membar::mapped_registration pinned(&value, sizeof value); }), "at a different address"));
}

TEST_F(managed_memory, pages_are_not_sent_to_a_device_without_concurrent_access) {
  now().attribute(cudaDevAttrConcurrentManagedAccess) = 0;
  int value = 0;
  EXPECT_TRUE(says(refusal([&] { membar::prefetch_pages(&value, 4, memory_location::device(0), nullptr); }),
                   "device 0 does not support concurrent managed access"));
  now().attribute(cudaDevAttrManagedMemory) = 0;
  EXPECT_TRUE(says(refusal([&] { membar::advise_accessed_by(&value, 4, memory_location::device(0)); }),
                   "does not support managed memory"));
}

TEST_F(mapped_memory, that_moves_is_freed_once) {
  {
    membar::mapped_memory<int> first(4);
    membar::mapped_memory<int> second(5);
    EXPECT_EQ(now().allocations.size(), 2U);
    first = std::move(second);  // frees the memory that `first` had
    EXPECT_EQ(now().allocations.size(), 1U);
    EXPECT_EQ(first.size(), 5U);
    EXPECT_EQ(second.size(), 0U);  // NOLINT: its state after the move
    const membar::mapped_memory<int> third(std::move(first));
    EXPECT_EQ(third.size(), 5U);
    EXPECT_EQ(now().allocations.size(), 1U);
  }
  EXPECT_TRUE(now().clean());
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(managed_memory, advice_says_what_and_where) {
  const membar::managed_memory<int> memory(8);
  const auto expect_last = [&](cudaMemoryAdvise what, cudaMemLocationType type, int id) {
    ASSERT_FALSE(now().advised.empty());
    const fake_cuda::page_advice& last = now().advised.back();
    EXPECT_TRUE(last.start == memory.data() && last.bytes == 32);
    EXPECT_EQ(last.what, what);
    EXPECT_EQ(last.where.type, type);
    EXPECT_EQ(last.where.id, id);
  };
  membar::advise_read_mostly(memory.data(), 32);
  expect_last(cudaMemAdviseSetReadMostly, cudaMemLocationTypeHost, 0);
  membar::advise_read_mostly(memory.data(), 32, false);
  expect_last(cudaMemAdviseUnsetReadMostly, cudaMemLocationTypeHost, 0);
  membar::advise_preferred_location(memory.data(), 32, memory_location::device(2));
  expect_last(cudaMemAdviseSetPreferredLocation, cudaMemLocationTypeDevice, 2);
  membar::advise_no_preferred_location(memory.data(), 32);
  expect_last(cudaMemAdviseUnsetPreferredLocation, cudaMemLocationTypeHost, 0);
  membar::advise_accessed_by(memory.data(), 32, memory_location::device(1));
  expect_last(cudaMemAdviseSetAccessedBy, cudaMemLocationTypeDevice, 1);
  membar::advise_accessed_by(memory.data(), 32, memory_location::host(), false);
  expect_last(cudaMemAdviseUnsetAccessedBy, cudaMemLocationTypeHost, 0);
}

TEST_F(managed_memory, pages_are_sent_where_they_are_told_in_the_stream) {
  const membar::managed_memory<int> memory(8);
  fake_cuda::stream in;
  membar::prefetch_pages(memory.data(), 32, memory_location::device(3), in.handle());
  ASSERT_EQ(now().prefetched.size(), 1U);
  EXPECT_EQ(now().prefetched[0].where.type, cudaMemLocationTypeDevice);
  EXPECT_EQ(now().prefetched[0].where.id, 3);
  EXPECT_EQ(now().prefetched[0].stream, in.handle());
}

TEST(memory_location, is_cudas_location) {
  const cudaMemLocation device = membar::detail::native(memory_location::device(2));
  EXPECT_TRUE(device.type == cudaMemLocationTypeDevice && device.id == 2);
  EXPECT_EQ(membar::detail::native(memory_location::host()).type, cudaMemLocationTypeHost);
  const cudaMemLocation numa = membar::detail::native(memory_location::host_numa(1));
  EXPECT_TRUE(numa.type == cudaMemLocationTypeHostNuma && numa.id == 1);
  EXPECT_EQ(membar::detail::native(memory_location::host_numa_current()).type, cudaMemLocationTypeHostNumaCurrent);
}

constexpr atomic_use add{};

TEST_F(atomicity, of_device_memory_used_by_its_device_alone_holds) {
  EXPECT_TRUE(membar::atomicity_of(atomicity_facts{}, add));
}

TEST_F(atomicity, of_device_memory_with_the_host_does_not_hold) {
  EXPECT_FALSE(membar::atomicity_of(atomicity_facts{.with_host = true}, add));
}

TEST_F(atomicity, of_device_memory_with_a_peer_needs_the_peers_link) {
  atomicity_facts facts;
  facts.with_peer = true;
  facts.peer.device = 1;
  EXPECT_FALSE(membar::atomicity_of(facts, add));
  facts.peer.to_owner.native = true;
  EXPECT_TRUE(membar::atomicity_of(facts, add));
  facts.owner = 2;  // If the memory is on a third device, both links matter.
  EXPECT_FALSE(membar::atomicity_of(facts, add));
  facts.device.to_owner.native = true;
  EXPECT_TRUE(membar::atomicity_of(facts, add));
}

TEST_F(atomicity, of_mapped_memory_with_the_host_needs_the_link_to_the_host) {
  atomicity_facts facts{.kind = memory_kind::mapped, .with_host = true};
  const membar::atomicity answer = membar::atomicity_of(facts, add);
  EXPECT_FALSE(answer);
  EXPECT_TRUE(says(answer.reason, "a link to the host does not support this atomic operation"));
  facts.device.to_host.native = true;
  EXPECT_TRUE(membar::atomicity_of(facts, add));
}

TEST_F(atomicity, of_a_load_or_a_store_of_mapped_memory_holds_over_any_link) {
  const atomicity_facts facts{.kind = memory_kind::mapped, .with_host = true};
  EXPECT_TRUE(membar::atomicity_of(facts, {.operation = atomic_operation::load_or_store}));
}

TEST_F(atomicity, over_a_partial_link_holds_for_what_the_link_carries) {
  using namespace membar::detail;
  atomicity_facts facts{.kind = memory_kind::mapped, .with_host = true};
  facts.device.to_host.partial = true;
  facts.device.to_host.capabilities = capability_scalar_32 | capability_unsigned;
  EXPECT_TRUE(membar::atomicity_of(facts, add));
  EXPECT_FALSE(membar::atomicity_of(facts, {.bytes = 8}));
  EXPECT_FALSE(membar::atomicity_of(facts, {.is_signed = true}));  // add.s32
  EXPECT_FALSE(membar::atomicity_of(facts, {.returns_value = false}));
  facts.device.to_host.capabilities |= capability_reduction | capability_scalar_64;
  EXPECT_TRUE(membar::atomicity_of(facts, {.bytes = 8, .returns_value = false}));
  EXPECT_FALSE(membar::atomicity_of(facts, {.operation = atomic_operation::compare_exchange, .bytes = 16}));
}

TEST_F(atomicity, over_a_partial_link_asks_for_the_instructions_that_are_emitted) {
  using namespace membar::detail;
  atomicity_facts facts{.kind = memory_kind::mapped, .with_host = true};
  facts.device.to_host.partial = true;
  const auto holds_with = [&](unsigned capabilities, const atomic_use& use) {
    facts.device.to_host.capabilities = capabilities;
    return static_cast<bool>(membar::atomicity_of(facts, use));
  };
  // A maximum of floats is compiled to a maximum of signed integers or a minimum of unsigned integers.
  const atomic_use float_max{.operation = atomic_operation::float_max};
  EXPECT_TRUE(holds_with(capability_scalar_32 | capability_signed | capability_unsigned, float_max));
  EXPECT_FALSE(holds_with(capability_scalar_32 | capability_signed, float_max));
  EXPECT_FALSE(holds_with(capability_scalar_32 | capability_unsigned, float_max));
  // Bytes and 16-bit values are updated with a compare-and-swap of the containing word.
  EXPECT_TRUE(holds_with(capability_scalar_32, {.bytes = 1, .is_signed = true, .returns_value = false}));
  EXPECT_TRUE(holds_with(capability_scalar_32, {.operation = atomic_operation::compare_exchange, .bytes = 2}));
  EXPECT_FALSE(holds_with(capability_scalar_128, {.bytes = 1}));
  // 64-bit additions use the unsigned instruction even for signed types, and 64-bit wrapping increments use a loop.
  EXPECT_TRUE(holds_with(capability_scalar_64 | capability_unsigned, {.bytes = 8, .is_signed = true}));
  EXPECT_TRUE(holds_with(capability_scalar_64, {.operation = atomic_operation::increment, .bytes = 8, .returns_value = false}));
}

TEST_F(atomicity, of_managed_memory_needs_concurrent_managed_access_of_all) {
  atomicity_facts facts{.kind = memory_kind::managed};
  EXPECT_TRUE(membar::atomicity_of(facts, add));
  facts.with_host = true;
  EXPECT_FALSE(membar::atomicity_of(facts, add));
  facts.device.concurrent_managed_access = true;
  EXPECT_TRUE(membar::atomicity_of(facts, add));
  facts.with_peer = true;
  EXPECT_FALSE(membar::atomicity_of(facts, add));
}

TEST_F(atomicity, of_pageable_memory_needs_access_to_it) {
  atomicity_facts facts{.kind = memory_kind::pageable, .with_host = true};
  EXPECT_FALSE(membar::atomicity_of(facts, add));
  facts.device.pageable_access = true;
  EXPECT_TRUE(membar::atomicity_of(facts, add));
}

TEST_F(atomicity, is_decided_by_pointer_and_links) {
  int object = 0;
  now().pointer.type = cudaMemoryTypeHost;
  EXPECT_FALSE(membar::atomicity_with_host(&object, 0, add));
  EXPECT_TRUE(membar::atomicity_alone(&object, 0, add));
  now().attribute(cudaDevAttrHostNativeAtomicSupported) = 1;
  EXPECT_TRUE(membar::atomicity_with_host(&object, 0, add));
  now().attribute(cudaDevAttrOnlyPartialHostNativeAtomicSupported) = 1;
  EXPECT_FALSE(membar::atomicity_with_host(&object, 0, add));
  now().devices[0].host_capabilities = ~0U;
  EXPECT_TRUE(membar::atomicity_with_host(&object, 0, add));

  now().pointer.type = cudaMemoryTypeDevice;
  now().no_native_atomics = {{1, 0}};
  EXPECT_FALSE(membar::atomicity_with_peer(&object, 0, 1, add));
  now().no_native_atomics = {{0, 1}};
  EXPECT_TRUE(membar::atomicity_with_peer(&object, 0, 1, add));

  now().pointer.type = cudaMemoryTypeManaged;
  EXPECT_TRUE(membar::atomicity_with_host(&object, 0, add));
  now().pointer.type = cudaMemoryTypeUnregistered;
  EXPECT_FALSE(membar::atomicity_with_host(&object, 0, add));
}

TEST(kernel_resources, with_local_memory_are_named) {
  EXPECT_EQ(refusal([] { membar::require_no_local_memory({.registers = 32}, "quick"); }), "");
  EXPECT_EQ(refusal([] { membar::require_no_local_memory({.registers = 255, .local_bytes = 48}, "slow"); }),
            "membar: the kernel slow uses 48 bytes of local memory per thread in addition to 255 registers: index its arrays "
            "only with compile-time constants, or raise its register limit if it spills (nvcc -Xptxas -v reports spills)");
}

TEST(kernel_resources, occupancy_is_a_share_of_the_threads) {
  EXPECT_EQ((membar::kernel_occupancy{.blocks = 4, .threads = 1024, .threads_at_most = 2048}).fraction(), 0.5);
  EXPECT_EQ(membar::kernel_occupancy{}.fraction(), 0.0);
}

}  // namespace
