// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backend for memory that other code has allocated: what the backend accepts and checks, and what it rejects on every PE.
#include <membar/symmetric/adopted_backend.hpp>
#include <membar/symmetric/heap.hpp>

#include <tests/common/pe_threads.hpp>
#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {
namespace adopted {

namespace symmetric = membar::symmetric;
using fake_cuda::now;
using membar_test::gathering_threads, membar_test::refusal, membar_test::says, membar_test::thrown_by_pes;
using symmetric::adopted_backend, symmetric::adopted_memory, symmetric::pe;

constexpr std::size_t size = 1 << 14;

/// The memory of three PEs in a single allocation, at the given multiples of `size`.
class adopted_memories : public fake_cuda::test {
 protected:
  [[nodiscard]] adopted_memory of(int self, const std::vector<int>& places = {0, 1, 2}) const {
    adopted_memory memory{self, {}, size, self};
    for (const int place : places) {
      memory.addresses.push_back(static_cast<unsigned char*>(whole.get()) + static_cast<std::size_t>(place) * size);
    }
    return memory;
  }
  /// Returns the errors of three PEs that adopt `memory(self)` and call `use(backend)`.
  template <class Memory, class Use>
  [[nodiscard]] std::vector<std::string> thrown(Memory memory, Use use) {
    gathering_threads group(3);
    return thrown_by_pes(3, [&](int self) {
      adopted_backend backend(memory(self), [this, self, all = group.callback(self)](unsigned long long mine) {
        ++calls[static_cast<std::size_t>(self)];
        return all(mine);
      });
      use(backend, self);
    });
  }
  template <class Memory>
  [[nodiscard]] std::vector<std::string> thrown(Memory memory) {
    return thrown(memory, [](adopted_backend&, int) {});
  }
  static void each_is(const std::vector<std::string>& thrown, const std::string& sentence) {
    for (const std::string& each : thrown) {
      EXPECT_EQ(each, sentence);
    }
  }

  std::unique_ptr<void, decltype(&std::free)> whole{std::aligned_alloc(256, 8 * size), &std::free};
  std::vector<int> calls = std::vector<int>(3);  ///< the number of callback calls per PE
};

TEST_F(adopted_memories, hold_a_heap_that_reaches_every_pe) {
  std::vector<void*> first(3);
  each_is(thrown([&](int self) { return of(self); },
                 [&](adopted_backend& backend, int self) {
                   symmetric::heap heap(backend, size);
                   const auto a = heap.allocate<float>(16);
                   const auto span = a.on(pe(self));
                   first[static_cast<std::size_t>(self)] = span.local();
                   EXPECT_EQ(span.self(), pe(self));
                   EXPECT_EQ(span.count(), 3);
                   for (int other = 0; other != 3; ++other) {
                     EXPECT_EQ(span.at(pe(other)).data(),
                               static_cast<void*>(static_cast<unsigned char*>(whole.get()) + other * size));
                     EXPECT_EQ(heap.address_at(span, pe(other)), span.at(pe(other)).data());
                   }
                   EXPECT_EQ(*span.local(), 0.0F);
                   heap.free(a);
                 }),
          "");
  EXPECT_NE(first[0], first[1]);
  EXPECT_TRUE(now().clean());
}

TEST_F(adopted_memories, at_unequal_distances_are_reached_by_a_table) {
  each_is(thrown([&](int self) { return of(self, {5, 0, 3}); },
                 [&](adopted_backend& backend, int self) {
                   symmetric::heap heap(backend, 1024);
                   const auto a = heap.allocate<int>(4);
                   for (int other = 0; other != 3; ++other) {
                     EXPECT_EQ(heap.address_at(a.on(pe(self)), pe(other)),
                               backend.memory().addresses[static_cast<std::size_t>(other)]);
                     EXPECT_EQ(static_cast<void*>(a.on(pe(self)).at(pe(other)).data()),
                               backend.memory().addresses[static_cast<std::size_t>(other)]);
                   }
                   heap.free(a);
                 }),
          "");
  EXPECT_EQ(now().allocated_on.size(), 3U);
  EXPECT_TRUE(now().clean());
}

TEST_F(adopted_memories, at_equal_distances_have_nothing_to_free) {
  now().on_call = [](std::string_view call) { EXPECT_NE(call, "cudaFree"); };
  each_is(thrown([&](int self) { return of(self); }), "");
}

TEST_F(adopted_memories, are_allocated_in_as_many_calls_of_the_callback_as_the_page_says) {
  each_is(thrown([&](int self) { return of(self); },
                 [&](adopted_backend& backend, int self) {
                   int& made = calls[static_cast<std::size_t>(self)];
                   EXPECT_EQ(made, 8);
                   symmetric::heap heap(backend, size);
                   made = 0;
                   const auto a = heap.allocate<int>(1);
                   EXPECT_EQ(std::exchange(made, 0), 7);
                   const auto b = heap.allocate<symmetric::signal<symmetric::add>>(1);
                   EXPECT_EQ(made, 8);
                   heap.free(b);
                   heap.free(a);
                 }),
          "");
}

TEST_F(adopted_memories, keep_what_they_held) {
  std::memset(whole.get(), 0x5a, 8 * size);
  each_is(thrown([&](int self) { return of(self); }), "");
  for (std::size_t i = 0; i != 8 * size; ++i) {
    ASSERT_EQ(static_cast<unsigned char*>(whole.get())[i], 0x5a);
  }
}

TEST_F(adopted_memories, keep_what_they_held_where_a_process_does_not_answer) {
  std::memset(whole.get(), 0x5a, 8 * size);
  gathering_threads group(3);
  for (const std::string& each : thrown_by_pes(3, [&](int self) {
         const auto all = group.callback(self);
         const adopted_backend backend(of(self), [&](unsigned long long mine) {
           const auto* const first = static_cast<const unsigned char*>(whole.get()) + static_cast<std::size_t>(self) * size;
           return *first == 0x5a ? all(mine) : throw std::runtime_error("too late");  // throws once the memory is marked
         });
       })) {
    EXPECT_EQ(each, "too late");
  }
  for (std::size_t i = 0; i != 8 * size; ++i) {
    ASSERT_EQ(static_cast<unsigned char*>(whole.get())[i], 0x5a);
  }
}

// A copy from pageable memory may return before it has finished.
TEST_F(adopted_memories, are_proved_when_the_marks_have_arrived_and_keep_what_they_held) {
  std::memset(whole.get(), 0x5a, 8 * size);
  now().written_late = {whole.get(), 8 * size};
  each_is(thrown([&](int self) { return of(self); }), "");
  EXPECT_TRUE(now().late_copies.empty());
  for (std::size_t i = 0; i != 8 * size; ++i) {
    ASSERT_EQ(static_cast<unsigned char*>(whole.get())[i], 0x5a);
  }
}

TEST_F(adopted_memories, in_another_order_than_the_pes_are_rejected_on_every_pe) {
  each_is(thrown([&](int self) { return self == 2 ? of(self, {1, 0, 2}) : of(self); }),
          "membar: the memory was not adopted on any PE, because PE 2 was given an address that does not belong to the PE it "
          "was given for: "
          "give every process the addresses at which its device can access each PE's memory, in PE order");
}

TEST_F(adopted_memories, without_an_address_are_rejected_on_every_pe) {
  for (const std::string& each : thrown([&](int self) {
         auto memory = of(self);
         memory.addresses[2] = self == 1 ? nullptr : memory.addresses[2];
         return memory;
       })) {
    EXPECT_TRUE(says(each, "because PE 1 was given no address for at least one PE"));
  }
}

TEST_F(adopted_memories, that_are_misaligned_are_rejected_on_every_pe) {
  for (const std::string& each : thrown([&](int self) {
         auto memory = of(self);
         memory.addresses[0] = static_cast<unsigned char*>(memory.addresses[0]) + (self == 0 ? 128 : 0);
         return memory;
       })) {
    EXPECT_TRUE(says(each, "because PE 0 was given an address that is not a multiple of 256"));
  }
}

TEST_F(adopted_memories, of_different_sizes_are_rejected_on_every_pe) {
  for (const std::string& each : thrown([&](int self) {
         auto memory = of(self);
         memory.bytes = self == 1 ? 4096 : size;
         return memory;
       })) {
    EXPECT_TRUE(says(each, "PE 1 has a heap with a byte size of 4096, but PE 0 has 16384"));
  }
}

TEST_F(adopted_memories, whose_table_finds_no_room_are_rejected_on_every_pe) {
  now().fails["cudaMalloc"] = {.code = cudaErrorMemoryAllocation, .device = 1};
  for (const std::string& each : thrown([&](int self) { return of(self, {5, 0, 3}); })) {
    EXPECT_TRUE(says(each, "because PE 1 was given a device with too little free memory for a table"));
  }
  EXPECT_TRUE(now().clean());
}

TEST_F(adopted_memories, take_a_rank_and_a_callback) {
  const auto gather = [](unsigned long long mine) { return std::vector<unsigned long long>{mine}; };
  EXPECT_EQ(refusal([&] { const adopted_backend none(of(3), gather); }),
            "membar: PE 3 of 3 cannot adopt memory: number the processes from 0, and pass one address for each process");
  EXPECT_TRUE(says(refusal([&] { const adopted_backend none(of(0), nullptr); }), "without a callback"));
  EXPECT_TRUE(says(refusal([&] { const adopted_backend none(of(0), gather); }), "returned a vector of size 1 for 3 PEs"));
  EXPECT_TRUE(says(refusal([&] {
                     const adopted_backend none(
                         of(1), [](unsigned long long mine) { return std::vector<unsigned long long>{mine, mine + 1, mine}; });
                   }),
                   "returned a number for PE 1 that differs from the number"));
}

TEST_F(adopted_memories, have_one_heap_at_a_time_and_no_more_than_there_is) {
  each_is(
      thrown([&](int self) { return of(self); },
             [&](adopted_backend& backend, int) {
               EXPECT_TRUE(says(refusal([&] { const symmetric::heap large(backend, 2 * size); }),
                                "a symmetric heap of 32768 bytes does not fit into 16384 bytes of adopted memory"));
               {
                 const symmetric::heap heap(backend, size);
                 EXPECT_TRUE(says(refusal([&] { const symmetric::heap second(backend, 256); }), "cannot hold a second one"));
               }
               const symmetric::heap again(backend, size);
             }),
      "");
}

TEST_F(adopted_memories, whose_links_carry_no_additions_refuse_counters_on_every_pe) {
  now().no_native_atomics = {{1, 2}};
  const auto sentences = thrown([&](int self) { return of(self); },
                                [&](adopted_backend& backend, int) {
                                  symmetric::heap heap(backend, size);
                                  heap.free(heap.allocate<symmetric::signal<symmetric::set>>(1));
                                  static_cast<void>(heap.allocate<symmetric::signal<symmetric::add>>(1));
                                });
  EXPECT_TRUE(says(sentences[0], "PE 1 has a link that does not support it"));
  EXPECT_TRUE(says(sentences[1], "is not atomic between all PEs"));
  EXPECT_TRUE(says(sentences[2], "PE 1 has a link that does not support it"));
}

TEST_F(adopted_memories, of_hidden_devices_refuse_counters) {
  now().hidden = {2};
  for (const std::string& each : thrown([&](int self) { return of(self); },
                                        [&](adopted_backend& backend, int) {
                                          symmetric::heap heap(backend, size);
                                          static_cast<void>(heap.allocate<symmetric::signal<symmetric::add>>(1));
                                        })) {
    EXPECT_TRUE(says(each, "CUDA_VISIBLE_DEVICES"));
  }
  EXPECT_EQ(now().last_error, cudaSuccess);
}

/// The parts of a PyTorch rendezvous object that membar reads.
struct torch_handle {
  std::vector<void*> get_buffer_ptrs() { return buffers; }
  std::size_t get_buffer_size() { return size; }
  int get_rank() { return 1; }
  std::vector<void*> buffers;
};

TEST_F(adopted_memories, are_the_buffers_of_a_rendezvous_of_pytorch) {
  torch_handle handle{of(1).addresses};
  const adopted_memory all = symmetric::memory_of_torch(handle);
  EXPECT_EQ(all.self, 1);
  EXPECT_EQ(all.bytes, size);
  EXPECT_EQ(all.addresses, handle.buffers);
  const adopted_memory part = symmetric::memory_of_torch(handle, 512, 1024);
  EXPECT_EQ(part.bytes, 1024U);
  EXPECT_EQ(part.addresses[2], static_cast<unsigned char*>(handle.buffers[2]) + 512);
  EXPECT_TRUE(says(
      refusal([&] { static_cast<void>(symmetric::memory_of_torch(handle, size, 8)); }),
      "8 bytes starting at byte 16384 of a PyTorch symmetric buffer cannot be adopted, because the buffer has only 16384"));
  handle.buffers[0] = nullptr;
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(symmetric::memory_of_torch(handle)); }), "loads and stores cannot reach"));
}

}  // namespace adopted
}  // namespace
