// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests symmetric memory on the host: which devices may be PEs, where memory comes from, what the heap tracks, which operations
// the links must support, and what happens if PEs make different calls.
#include <membar/deadlock/program.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/peer_backend.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace {

namespace symmetric = membar::symmetric;

using fake_cuda::now;
using membar::atomic_operation, membar::detail::atomic_capability;
using membar_test::refusal, membar_test::says;
using symmetric::amo, symmetric::counter, symmetric::pe, symmetric::peer_backend, symmetric::peer_memory,
    symmetric::scoped_array;
using symmetric::detail::collective, symmetric::detail::tagged;

TEST(pe, has_neighbours_on_a_ring) {
  static_assert(symmetric::ring_neighbour(pe(0), -1, 4) == pe(3));
  static_assert(symmetric::ring_neighbour(pe(3), 1, 4) == pe(0));
  static_assert(symmetric::ring_neighbour(pe(2), -7, 4) == pe(3));
  int sum = 0;
  for (const pe each : symmetric::pe_range(pe(2), 3)) {
    sum += each.index();
  }
  EXPECT_EQ(sum, 2 + 3 + 4);
  EXPECT_TRUE(symmetric::pe_range(pe(2), 3).contains(pe(4)));
  EXPECT_FALSE(symmetric::pe_range(pe(2), 3).contains(pe(5)));
  EXPECT_FALSE(symmetric::pe_range(pe(2), 3).contains(pe(1)));
}

TEST(padding, is_what_fixed_sizes_refuse) {
  struct gap {
    char a;
    int b;
  };
  static_assert(symmetric::has_no_padding<int> && symmetric::has_no_padding<float> && symmetric::has_no_padding<double>);
  static_assert(!symmetric::has_no_padding<gap>);
}

TEST(words, have_no_plain_access) {
  static_assert(symmetric::is_word<symmetric::signal<symmetric::set>> && symmetric::is_word<counter<int>>);
  static_assert(symmetric::is_word<symmetric::packed<int>> && symmetric::is_word<symmetric::barrier_word>);
  static_assert(symmetric::is_word<symmetric::epoch> && symmetric::is_word<symmetric::abort_flag>);
  static_assert(!symmetric::is_word<unsigned long long>);
}

class peers : public fake_cuda::test {};

TEST_F(peers, are_all_visible_devices_unless_told) {
  const peer_backend all;
  EXPECT_EQ(all.count(), 4);
  const peer_backend some(std::vector<int>{2, 0});
  EXPECT_EQ(some.count(), 2);
  EXPECT_EQ(some.device_of(pe(0)), 2);
  EXPECT_EQ(some.device_of(pe(1)), 0);
  EXPECT_EQ(some.local_pes().size(), 2);
}

TEST_F(peers, without_access_are_named_with_the_remedy) {
  now().no_access = {{1, 3}};
  EXPECT_EQ(refusal([] { const peer_backend all; }),
            "membar: device 1 has no peer access to device 3: name devices that have peer access to each other ('nvidia-smi "
            "topo -p2p r' shows them), or use the NVSHMEM backend");
  EXPECT_EQ(refusal([] { const peer_backend some(std::vector<int>{0, 1, 2}); }), "");
}

TEST_F(peers, are_at_least_one) {
  EXPECT_TRUE(
      says(refusal([] { const peer_backend none(std::vector<int>{}); }), "a peer backend was requested without devices"));
}

TEST_F(peers, that_do_not_exist_are_rejected) {
  EXPECT_EQ(refusal([] { const peer_backend far(std::vector<int>{0, 9}); }),
            "membar: device 9 was named as a PE, but the process sees only devices 0 to 3: name one of them");
}

TEST_F(peers, may_share_a_device) {
  peer_backend twins(std::vector<int>{1, 1});
  const symmetric::heap heap(twins, 1);
  EXPECT_EQ(now().accessible_to, std::vector<int>{1});
  EXPECT_EQ(now().mapped.size(), 2U);
}

TEST_F(peers, without_virtual_memory_have_plain_allocations) {
  EXPECT_EQ(peer_backend().memory(), peer_memory::mapped);
  now().devices[2].virtual_memory = false;
  EXPECT_EQ(peer_backend().memory(), peer_memory::plain);
  EXPECT_EQ(peer_backend(std::vector<int>{0, 1}).memory(), peer_memory::mapped);
  EXPECT_EQ(peer_backend(std::vector<int>{0, 1}, peer_memory::plain).memory(), peer_memory::plain);
  EXPECT_EQ(refusal([] { const peer_backend all(std::vector<int>{1, 2}, peer_memory::mapped); }),
            "membar: device 2 does not support virtual memory management: request peer_memory::plain, which does not need it");
}

/// These tests run with both kinds of memory.
class region : public peers, public ::testing::WithParamInterface<peer_memory> {};
INSTANTIATE_TEST_SUITE_P(of_both_kinds, region, ::testing::Values(peer_memory::mapped, peer_memory::plain));

TEST_P(region, reaches_the_same_object_at_every_pe) {
  {
    const peer_backend backend(std::vector<int>{0, 1, 2}, GetParam());
    const auto memory = backend.map(1000);
    EXPECT_GE(memory.bytes(), 1000U);
    for (const pe from : backend.local_pes()) {
      EXPECT_EQ(memory.reach_of(from).self(), from);
      EXPECT_EQ(memory.reach_of(from).count(), 3);
      for (const pe to : backend.local_pes()) {
        auto* const local = static_cast<unsigned char*>(memory.base(from)) + 24;
        EXPECT_EQ(memory.reach_of(from).direct(local, to), static_cast<unsigned char*>(memory.base(to)) + 24);
      }
    }
  }
  EXPECT_TRUE(now().clean());
  EXPECT_TRUE(now().failures.empty());
}

TEST_P(region, moves) {
  {
    const peer_backend backend(std::vector<int>{0, 1}, GetParam());
    auto first = backend.map(1000);
    void* const base = first.base(pe(1));
    auto second = std::move(first);
    EXPECT_EQ(second.base(pe(1)), base);
    first = backend.map(2000);
    second = std::move(first);
    EXPECT_GE(second.bytes(), 2000U);
  }
  EXPECT_TRUE(now().clean());
}

TEST_P(region, gives_everything_back_where_it_cannot_be_made) {
  const peer_backend backend(std::vector<int>{0, 1, 2}, GetParam());
  int refusals = 0;
  for (const char* call :
       {"cudaMalloc", "cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cudaDeviceEnablePeerAccess"}) {
    for (int successes = 0; successes != 6; ++successes) {
      now().fails = {{call, {successes, cudaErrorMemoryAllocation}}};
      refusals += refusal([&] { return backend.map(1000); }).empty() ? 0 : 1;
      EXPECT_TRUE(now().clean()) << call << " after " << successes;
    }
  }
  EXPECT_GE(refusals, 8);
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(peers, ask_for_no_more_than_addresses_count) {
  const peer_backend backend;
  EXPECT_TRUE(says(refusal([&] { return backend.map(~std::size_t{0} / 4); }), "request less"));
}

class links : public peers {
 protected:
  [[nodiscard]] static bool carry(atomic_operation operation, int bytes = 4, bool returns_value = true) {
    return static_cast<bool>(peer_backend(std::vector<int>{0, 1}).supports({operation, bytes, false, returns_value}));
  }
};

TEST_F(links, that_carry_all_atomics_carry_each) { EXPECT_TRUE(carry(atomic_operation::compare_exchange, 8)); }

TEST_F(links, that_carry_none_carry_none_in_either_direction) {
  now().no_native_atomics = {{1, 0}};
  EXPECT_FALSE(carry(atomic_operation::integer_add));
  now().no_native_atomics = {{0, 1}};
  EXPECT_FALSE(carry(atomic_operation::integer_add));
  now().no_native_atomics = {{0, 2}};
  EXPECT_TRUE(carry(atomic_operation::integer_add));
}

TEST_F(links, that_carry_some_are_asked_for_each) {
  // Additions are unsigned 64-bit reductions, and no operation returns a value.
  now().partial_atomics = {{{0, 1},
                            atomic_capability::capability_unsigned | atomic_capability::capability_reduction |
                                atomic_capability::capability_scalar_64},
                           {{1, 0}, ~0U}};
  EXPECT_TRUE(carry(atomic_operation::integer_add, 8, false));
  EXPECT_FALSE(carry(atomic_operation::integer_add, 4, false));
}

class heap : public peers {
 protected:
  peer_backend backend{std::vector<int>{0, 1}};
  std::optional<symmetric::heap<peer_backend>> made{std::in_place, backend, 1 << 16};
  symmetric::heap<peer_backend>& all = *made;
};

TEST_F(heap, gives_zeros_at_every_pe_before_it_returns) {
  const auto data = all.allocate<int>(100);
  EXPECT_EQ(now().zeroed, (std::vector<std::pair<int, std::size_t>>{{0, 400}, {1, 400}}));
  for (const pe each : backend.local_pes()) {
    const auto span = data.on(each);
    EXPECT_EQ(span.size(), 100U);
    EXPECT_EQ(span.self(), each);
    ASSERT_EQ(std::count(span.local(), span.local() + 100, 0), 100);
    for (const pe other : backend.local_pes()) {
      EXPECT_EQ(span.at(other).data(), data.on(other).local());
      EXPECT_EQ(span[7].at(other).data(), data.on(other).local() + 7);
    }
  }
  all.free(data);
  EXPECT_EQ(fake_cuda::current_device(), 0);
}

TEST_F(heap, zeroes_what_was_used_before) {
  const auto before = all.allocate<int>(8);
  before.on(pe(1)).local()[3] = 7;
  all.free(before);
  const scoped_array after(all.allocate<int>(8));
  EXPECT_EQ(after.on(pe(1)).local()[3], 0);
}

TEST_F(heap, aligns_as_it_is_told) {
  symmetric::heap large(backend, 1 << 20);
  const auto small = large.allocate<char>(1);
  const auto wide = large.allocate<char>(1, 4096);
  const auto least = large.allocate<char>(1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide.on(pe(1)).local()) % 4096, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(least.on(pe(0)).local()) % 128, 0U);
  EXPECT_EQ(refusal([&] { return large.allocate<char>(1, 96); }),
            "membar: an alignment of 96 bytes was requested: use a power of two");
  for (const auto& each : {small, wide, least}) {
    large.free(each);
  }
}

TEST_F(heap, names_objects_by_their_place) {
  const auto first = all.allocate<int>(4);
  const auto second = all.allocate<int>(4);
  for (const pe which : backend.local_pes()) {
    const auto distance = second.on(which).local() - first.on(which).local();
    EXPECT_EQ(second.offset() - first.offset(), static_cast<std::size_t>(distance) * sizeof(int));
  }
  EXPECT_EQ(first.offset(3), first.offset() + 3 * sizeof(int));
  all.free(first);
  all.free(second);
}

TEST_F(heap, identifies_objects_by_heap_and_allocation) {
  using membar::deadlock::handle;
  const auto first = all.allocate<int>(4);
  const handle before(first.identity(3));
  EXPECT_EQ(before, handle(first.identity(3)));
  EXPECT_FALSE(before == handle(first.identity(2)));
  const std::size_t place = first.offset(3);
  all.free(first);
  const scoped_array again(all.allocate<int>(4));
  EXPECT_EQ(again.offset(3), place);
  EXPECT_FALSE(before == handle(again.identity(3))) << "another allocation at the same place";
  symmetric::heap<peer_backend> other(backend, 1 << 16);
  const scoped_array there(other.allocate<int>(4));
  EXPECT_EQ(there.offset(3), place);
  EXPECT_FALSE(before == handle(there.identity(3))) << "another heap";
}

TEST_F(heap, cuts_spans_at_their_end) {
  const scoped_array data(all.allocate<int>(10));
  const auto span = data.on(pe(0));
  EXPECT_EQ(span.subspan(2, 3).size(), 3U);
  EXPECT_EQ(span.subspan(8, 3).size(), 2U);
  EXPECT_EQ(span.subspan(11, 3).size(), 0U);
  EXPECT_EQ(span.subspan(2, 3).local(), span.local() + 2);
}

TEST_F(heap, frees_in_any_order_and_joins_what_is_free) {
  const std::size_t whole = all.largest_free();
  std::vector<symmetric::array<int, peer_backend>> held;
  for (int i = 0; i != 6; ++i) {
    held.push_back(all.allocate<int>(32));
  }
  for (const int i : {1, 4, 0, 5, 3, 2}) {
    all.free(held[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(all.bytes_taken(), 0U);
  EXPECT_EQ(all.largest_free(), whole);
}

TEST_F(heap, says_how_much_space_is_left) {
  const scoped_array most(all.allocate<char>((1 << 16) - 256));
  EXPECT_EQ(refusal([&] { return all.allocate<char>(257); }),
            "membar: 257 bytes do not fit into the symmetric heap: 65280 of 65536 bytes are in use and the largest free block "
            "is 256 bytes: make the heap larger");
  EXPECT_TRUE(says(refusal([&] { return all.allocate<int>(~std::size_t{0} / 2); }), "no more than fit"));
  EXPECT_TRUE(says(refusal([&] { return all.allocate<int>(0); }), "request at least 1"));
  EXPECT_EQ(all.bytes_taken(), static_cast<std::size_t>((1 << 16) - 256));
  EXPECT_TRUE(says(refusal([&] { const symmetric::heap none(backend, 0); }), "a symmetric heap of 0 bytes"));
}

TEST_F(heap, rejects_to_free_twice) {
  const auto first = all.allocate<int>(8);
  all.free(first);
  EXPECT_EQ(refusal([&] { all.free(first); }),
            "membar: allocation 1 of the symmetric heap was freed twice: free each allocation once on every PE");
  // The same position now holds another allocation, to which the old allocation's name does not refer.
  const auto second = all.allocate<int>(8);
  EXPECT_TRUE(says(refusal([&] { all.free(first); }), "allocation 1 of the symmetric heap was freed twice"));
  all.free(second);
}

TEST_F(heap, rejects_to_free_what_is_anothers) {
  symmetric::heap one(backend, 1 << 16);
  symmetric::heap other(backend, 1 << 16);
  const auto data = one.allocate<int>(8);
  EXPECT_EQ(refusal([&] { other.free(data); }),
            "membar: the allocation belongs to another symmetric heap: free it in the heap that allocated it");
  one.free(data);
}

template <class Heap, class Array>
concept frees = requires(Heap& heap, const Array& array) { heap.free(array); };

TEST_F(heap, frees_at_the_end_of_a_scope_and_waits_for_kernels_when_it_allocates) {
  {
    const scoped_array data(all.allocate<int>(8));
    const scoped_array words(all.allocate_barrier());
    EXPECT_EQ(data.size(), 8U);
    EXPECT_EQ(data.on(pe(1)).local()[7], 0);
    static_assert(!frees<symmetric::heap<peer_backend>, decltype(data)>);
    static_assert(frees<symmetric::heap<peer_backend>, symmetric::array<int, peer_backend>>);
  }
  EXPECT_EQ(all.bytes_taken(), 0U);
  EXPECT_TRUE(now().waited_for.empty());
  const scoped_array next(all.allocate<int>(8));
  EXPECT_EQ(now().waited_for, (std::vector<int>{0, 1}));
  const scoped_array another(all.allocate<int>(8));
  EXPECT_EQ(now().waited_for, (std::vector<int>{0, 1})) << "no scope has ended since";
  EXPECT_EQ(fake_cuda::current_device(), 0);
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(heap, frees_where_an_exception_ends_the_scope) {
  EXPECT_TRUE(says(refusal([&] {
                     const scoped_array data(all.allocate<int>(8));
                     static_cast<void>(all.allocate<char>(1 << 20));
                   }),
                   "no more than fit"));
  EXPECT_EQ(all.bytes_taken(), 0U);
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(heap, ends_before_its_scopes_and_waits_for_their_kernels) {
  const scoped_array data(all.allocate<int>(8));
  made.reset();
  EXPECT_EQ(now().waited_for, (std::vector<int>{0, 1}));
  EXPECT_TRUE(now().failures.empty());
  EXPECT_TRUE(now().clean());
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(data.on(pe(0))); }), "or after its heap was destroyed"));
}

TEST_F(heap, says_when_it_ends_that_a_kernel_failed) {
  { const scoped_array data(all.allocate<int>(8)); }
  now().fails["cudaDeviceSynchronize"] = {1, cudaErrorIllegalAddress};
  made.reset();
  ASSERT_EQ(now().failures.size(), 1U);
  EXPECT_TRUE(says(now().failures[0], "a kernel that used symmetric memory failed after that memory's scope ended"));
}

TEST_F(heap, says_when_it_allocates_that_a_kernel_failed_whose_scope_has_ended) {
  { const scoped_array data(all.allocate<int>(8)); }
  now().fails["cudaDeviceSynchronize"] = {1, cudaErrorIllegalAddress};
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(all.allocate<int>(8)); }),
                   "an earlier kernel that used symmetric memory failed on PE 0 with cudaErrorIllegalAddress"));
  EXPECT_EQ(all.bytes_taken(), 0U);
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(heap, reports_what_was_not_freed) {
  static_cast<void>(all.allocate<int>(8));
  static_cast<void>(all.allocate<char>(1));
  made.reset();
  ASSERT_EQ(now().failures.size(), 1U);
  EXPECT_EQ(now().failures[0],
            "membar: a symmetric heap was destroyed before 2 allocations (33 bytes in total) were freed: free each of them on "
            "every PE");
  EXPECT_TRUE(now().clean());
}

TEST_F(heap, changes_nothing_where_zeroing_fails) {
  now().fails = {{"cudaMemsetAsync", {1, cudaErrorIllegalAddress}}};
  EXPECT_TRUE(says(refusal([&] { return all.allocate<int>(8); }), "zeroing an allocation failed on PE 0"));
  EXPECT_EQ(all.bytes_taken(), 0U);
  EXPECT_EQ(now().streams, 0);
  EXPECT_EQ(fake_cuda::current_device(), 0);
}

TEST_F(heap, has_no_words_that_the_links_do_not_carry) {
  now().no_native_atomics = {{0, 1}};
  EXPECT_TRUE(
      says(refusal([&] { return all.allocate<symmetric::signal<symmetric::add>>(1); }), "signal<add> has an operation"));
  EXPECT_TRUE(says(refusal([&] { return all.allocate<counter<int>>(1); }), "list fewer operations"));
  EXPECT_EQ(all.bytes_taken(), 0U);
  // Objects that are only loaded and stored do not require support for atomics.
  const scoped_array flags(all.allocate<symmetric::signal<symmetric::set>>(1));
  const scoped_array words(all.allocate<counter<int, amo::load | amo::store>>(1));
}

TEST_F(heap, has_counters_of_the_operations_that_partial_links_carry) {
  const unsigned some = atomic_capability::capability_unsigned | atomic_capability::capability_reduction |
                        atomic_capability::capability_scalar_32;
  now().partial_atomics = {{{0, 1}, some}, {{1, 0}, some}};
  const scoped_array sums(all.allocate<counter<unsigned, amo::add>>(1));
  EXPECT_TRUE(says(refusal([&] { return all.allocate<counter<int, amo::add>>(1); }), "not atomic between all PEs"));
  EXPECT_TRUE(
      says(refusal([&] { return all.allocate<counter<unsigned long long, amo::add>>(1); }), "(integer addition, 8 bytes)"));
}

TEST_F(heap, has_a_word_for_each_pe_and_one_more_in_a_barrier) {
  const scoped_array words(all.allocate_barrier());
  EXPECT_EQ(words.size(), 3U);
}

TEST_F(heap, keeps_offsets_apart_whatever_is_asked_of_it) {
  symmetric::detail::offset_allocator bytes(4096);
  std::mt19937 random(7);
  std::map<std::size_t, std::size_t> held;
  for (int i = 0; i != 20'000; ++i) {
    if (random() % 2 == 0) {
      const std::size_t wanted = random() % 300 + 1;
      const std::size_t alignment = std::size_t{1} << random() % 8;
      const std::size_t at = bytes.take(wanted, alignment);
      if (at == symmetric::detail::offset_allocator::none) {
        continue;
      }
      ASSERT_EQ(at % alignment, 0U);
      ASSERT_LE(at + wanted, 4096U);
      const auto after = held.lower_bound(at);
      ASSERT_TRUE(after == held.end() || at + wanted <= after->first);
      ASSERT_TRUE(after == held.begin() || std::prev(after)->first + std::prev(after)->second <= at);
      held[at] = wanted;
    } else if (!held.empty()) {
      auto victim = held.begin();
      std::advance(victim, static_cast<long>(random() % held.size()));
      ASSERT_EQ(bytes.size_at(victim->first), victim->second);
      bytes.give_back(victim->first);
      held.erase(victim);
    }
  }
  for (const auto& [at, size] : held) {
    bytes.give_back(at);
  }
  EXPECT_EQ(bytes.largest_hole(), 4096U);
}

/// Two processes with one PE each. This process is one of them; the test sets the other process's values.
class fake_cluster {
 public:
  static constexpr symmetric::visibility visible = symmetric::visibility::destination_only;
  using reach = symmetric::peer_reach;
  using region = symmetric::detail::peer_region;

  [[nodiscard]] int count() const { return 2; }
  [[nodiscard]] symmetric::pe_range local_pes() const { return {pe(1), 1}; }
  [[nodiscard]] int device_of(pe) const { return 0; }
  [[nodiscard]] membar::atomicity supports(const membar::atomic_use&) const { return {true, ""}; }
  void all_gather(const unsigned long long* mine, unsigned long long* all) {
    all[1] = mine[0];
    all[0] = mine[0];
    if (other && after-- == 0) {
      all[0] = *other;
      other.reset();
      after = 0;
    }
    ++meetings;
  }
  [[nodiscard]] region map(std::size_t bytes) const { return region::plain({0, 0}, bytes); }

  std::optional<unsigned long long> other;  ///< The next value that the other process passes, if it differs.
  int after = 0;                            ///< The number of values before this one for which the processes agree.
  int meetings = 0;
};
static_assert(symmetric::backend<fake_cluster>);

class heap_of_processes : public peers {
 protected:
  fake_cluster cluster;
  symmetric::heap<fake_cluster> all{cluster, 8192};
};

TEST_F(heap_of_processes, rejects_collective_calls_that_differ) {
  cluster.other = tagged(collective::heap_bytes, 4096);
  EXPECT_EQ(refusal([&] { const symmetric::heap refused(cluster, 8192); }),
            "membar: a collective call differs between PEs: PE 1 has a heap with a byte size of 8192, but PE 0 has 4096: "
            "call it on every "
            "PE, in the same order and with the same arguments");
  cluster.other = tagged(collective::objects, 11);
  EXPECT_TRUE(says(refusal([&] { return all.allocate<int>(10); }), "PE 1 has an allocation with an object count of 10"));
  const auto first = all.allocate<int>(1);
  const auto second = all.allocate<int>(1);
  cluster.other = tagged(collective::freed, 1);
  EXPECT_TRUE(says(refusal([&] { all.free(second); }), "PE 1 has freed allocation number 2, but PE 0 has 1"));
  cluster.other = tagged(collective::objects, 2);  // The processes make different calls that pass the same value.
  EXPECT_TRUE(says(refusal([&] { all.free(second); }),
                   "PE 1 has freed allocation number 2, but PE 0 has an allocation with an object count of 2"));
  all.free(first);
  all.free(second);
  EXPECT_EQ(all.bytes_taken(), 0U);
}

TEST_F(heap_of_processes, meet_in_close_and_not_at_the_end_of_a_scope) {
  int before = 0;
  {
    const scoped_array data(all.allocate<int>(8));
    before = cluster.meetings;
  }
  EXPECT_EQ(cluster.meetings, before);
  EXPECT_EQ(all.bytes_taken(), 8 * sizeof(int)) << "the other process may still have it";
  scoped_array next(all.allocate<int>(8));
  before = cluster.meetings;
  next.close();
  EXPECT_EQ(cluster.meetings, before + 2);
  EXPECT_EQ(all.bytes_taken(), 0U);
}

/// Ends the scope of memory with an exception. Returns the memory's offset.
std::size_t abandoned(symmetric::heap<fake_cluster>& from) {
  std::size_t place = 0;
  try {
    const scoped_array data(from.allocate<int>(8));
    place = data.offset();
    throw 1;
  } catch (int) {
  }
  return place;
}

TEST_F(heap_of_processes, keeps_what_an_exception_ended_on_one_pe_alone) {
  const std::size_t place = abandoned(all);
  EXPECT_EQ(all.bytes_taken(), 8 * sizeof(int));
  cluster.other = 0;  // The other process has abandoned nothing.
  // The processes agree on the size, the element, the alignment and the memory's own alignment, and then differ.
  cluster.after = 4;
  const scoped_array next(all.allocate<int>(8));
  EXPECT_NE(next.offset(), place) << "the other process still has it";
}

TEST_F(heap_of_processes, frees_what_an_exception_ended_on_every_pe) {
  const std::size_t place = abandoned(all);
  const scoped_array next(all.allocate<int>(8));
  EXPECT_EQ(next.offset(), place);
  EXPECT_EQ(all.bytes_taken(), 8 * sizeof(int));
}

TEST_F(heap_of_processes, agrees_on_the_place_of_an_allocation) {
  cluster.other = tagged(collective::placed, 256);
  cluster.after = 5;
  EXPECT_EQ(refusal([&] { return all.allocate<int>(8); }),
            "membar: a symmetric heap differs between PEs: PE 1 places the next allocation at byte 0, but PE 0 places it at "
            "byte 256: a call failed on only one of them; construct the heap again on every PE");
  EXPECT_EQ(all.bytes_taken(), 0U);
}

TEST_F(heap_of_processes, keeps_what_close_could_not_free) {
  scoped_array data(all.allocate<int>(8));
  cluster.other = tagged(collective::objects, 1);  // the other process makes another call
  EXPECT_TRUE(says(refusal([&] { data.close(); }),
                   "PE 1 has freed allocation number 1, but PE 0 has an allocation with an object count of 1"));
  EXPECT_EQ(all.bytes_taken(), 8 * sizeof(int));
  EXPECT_EQ(data.on(pe(1)).size(), 8U);
  data.close();
  EXPECT_EQ(all.bytes_taken(), 0U);
}

TEST_F(heap_of_processes, reports_no_leak_of_what_an_exception_ended) {
  {
    symmetric::heap<fake_cluster> other(cluster, 8192);
    static_cast<void>(abandoned(other));
  }
  EXPECT_TRUE(now().failures.empty());
}

/// Two PEs of one process, connected by a network that delivers puts on request, in any order.
class late_network : public peer_backend {
 public:
  using peer_backend::peer_backend;

  void put(int* to, int value) { on_its_way.push_back({to, value}); }
  /// Delivers the puts in flight, starting with the last one.
  void deliver() {
    for (; !on_its_way.empty(); on_its_way.pop_back()) {
      *on_its_way.back().first = on_its_way.back().second;
    }
  }
  void complete() {
    deliver();
    ++completions;
  }

  std::vector<std::pair<int*, int>> on_its_way;
  int completions = 0;
};

TEST_F(peers, that_free_memory_have_completed_the_puts_to_it) {
  late_network network(std::vector<int>{0, 1});
  symmetric::heap<late_network> all(network, 1 << 16);
  const auto before = all.allocate<int>(8);
  int* const place = before.on(pe(0)).at(pe(1)).data();
  network.put(place, 7);  // put by a kernel that has ended
  all.free(before);
  const auto after = all.allocate<int>(8);
  ASSERT_EQ(after.on(pe(1)).local(), place);
  network.deliver();
  EXPECT_EQ(*place, 0) << "a put to freed memory arrived after the zeroing of the new allocation";
  all.free(after);
}

TEST_F(peers, that_end_a_scope_have_completed_the_puts_to_it) {
  late_network network(std::vector<int>{0, 1});
  symmetric::heap<late_network> all(network, 1 << 16);
  int* place = nullptr;
  {
    const scoped_array before(all.allocate<int>(8));
    place = before.on(pe(0)).at(pe(1)).data();
    network.put(place, 7);
  }
  const scoped_array after(all.allocate<int>(8));
  EXPECT_EQ(network.completions, 1);
  ASSERT_EQ(after.on(pe(1)).local(), place);
  network.deliver();
  EXPECT_EQ(*place, 0);
}

TEST_F(heap_of_processes, rejects_an_alignment_that_only_the_other_process_lacks) {
  cluster.other = 1;  // PE 0, which is encoded as its number plus 1
  cluster.after = 3;  // The processes agree on the size, the element and the alignment, and then differ.
  EXPECT_EQ(refusal([&] { return all.allocate<char>(1, 128); }),
            "membar: an alignment of 128 bytes was requested, but the backend's memory on PE 0 has a smaller alignment: "
            "request at most 256 bytes, or use peer_memory::mapped");
  EXPECT_EQ(all.bytes_taken(), 0U);
}

TEST_F(heap_of_processes, meets_behind_the_zeroing) {
  const int before = cluster.meetings;
  const scoped_array data(all.allocate<int>(1));
  EXPECT_GT(cluster.meetings, before);
  EXPECT_EQ(now().zeroed.size(), 1U);
}

TEST_F(heap_of_processes, fails_on_every_pe_where_it_fails_on_one) {
  now().fails = {{"cudaMemsetAsync", {0, cudaErrorIllegalAddress}}};
  EXPECT_TRUE(says(refusal([&] { return all.allocate<int>(1); }), "failed on PE"));
  EXPECT_EQ(all.bytes_taken(), 0U);
}

TEST_F(heap_of_processes, has_no_symmetric_address_of_another_process) {
  const scoped_array data(all.allocate<int>(1));
  EXPECT_EQ(data.on(pe(1)).self(), pe(1));
  EXPECT_EQ(refusal([&] { return data.on(pe(0)); }),
            "membar: a symmetric address of PE 0 was requested in the process of PEs 1 to 1, but it is valid only on its own "
            "PE: request it there");
}

}  // namespace
