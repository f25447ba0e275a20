// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/stream_partition.hpp>

#include <tests/fake_cuda/fake_cuda.hpp>

#include <array>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace {

long arrays_alive = 0;

}  // namespace

// Counts the arrays that the program allocates, to check that none is leaked.
void* operator new[](std::size_t size) {
  void* memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  ++arrays_alive;
  return memory;
}
void operator delete[](void* memory) noexcept {
  if (memory != nullptr) {
    --arrays_alive;
  }
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept { operator delete[](memory); }

namespace {

using fake_cuda::now;
using membar::get_attribute, membar::set_attribute, membar::sync_domain_map;

static_assert(membar::partition_domain(0, 4) == 0 && membar::partition_domain(3, 4) == 3);
static_assert(membar::partition_domain(4, 4) == 0 && membar::partition_domain(9, 4) == 1);
static_assert(membar::partition_domain(9, 1) == 0);
static_assert(!std::is_copy_constructible_v<membar::stream_partition> &&
              !std::is_move_constructible_v<membar::stream_partition>);

class stream_partition : public fake_cuda::test {
 protected:
  stream_partition() {
    for (std::size_t i = 0; i != streams.size(); ++i) {
      handles[i] = streams[i].handle();
      set_attribute(handles[i], before(i));
    }
  }

  /// Gives each stream its own map, to check that each gets its own map back.
  [[nodiscard]] static sync_domain_map before(std::size_t i) {
    return {.default_ = static_cast<int>(i % 4), .remote = static_cast<int>((i + 2) % 4)};
  }

  void expect_as_before(std::size_t i) { EXPECT_EQ(get_attribute<sync_domain_map>(handles[i]), before(i)) << "stream " << i; }
  void expect_all_as_before() {
    for (std::size_t i = 0; i != streams.size(); ++i) {
      expect_as_before(i);
    }
  }
  /// Expects a stream partition's streams to cycle through the domains.
  void expect_in_turn(int domains) {
    const membar::stream_partition partition(handles);
    for (std::size_t i = 0; i != handles.size(); ++i) {
      const int domain = static_cast<int>(i) % domains;
      EXPECT_EQ(partition.domain(i), domain);
      EXPECT_EQ(get_attribute<sync_domain_map>(handles[i]), (sync_domain_map{.default_ = domain, .remote = domain}));
    }
  }

  std::array<fake_cuda::stream, 6> streams;
  std::array<cudaStream_t, 6> handles{};
};

TEST_F(stream_partition, gives_the_streams_the_domains_in_turn) { expect_in_turn(4); }

TEST_F(stream_partition, puts_every_map_back) {
  { const membar::stream_partition partition(handles); }
  expect_all_as_before();
}

TEST_F(stream_partition, puts_back_the_first_map_of_a_stream_that_was_passed_twice) {
  { const membar::stream_partition partition({handles[1], handles[2], handles[1]}); }
  expect_all_as_before();
}

TEST_F(stream_partition, puts_every_map_back_after_an_exception) {
  EXPECT_THROW(
      {
        const membar::stream_partition partition(handles);
        throw std::runtime_error("somewhere in the scope");
      },
      std::runtime_error);
  expect_all_as_before();
}

TEST_F(stream_partition, keep_leaves_the_streams_as_they_are) {
  {
    membar::stream_partition partition(handles);
    partition.keep();
  }
  EXPECT_EQ(get_attribute<sync_domain_map>(handles[5]), (sync_domain_map{.default_ = 1, .remote = 1}));
}

TEST_F(stream_partition, a_stream_that_fails_leaves_nothing_half_set) {
  streams[3].read_only = true;
  const long arrays = arrays_alive;
  EXPECT_THROW(static_cast<void>(membar::stream_partition(handles)), membar::error);
  expect_all_as_before();
  EXPECT_EQ(arrays_alive, arrays);

  streams[3].read_only = false;
  streams[4].valid = false;
  EXPECT_THROW(static_cast<void>(membar::stream_partition(handles)), membar::error);
  streams[4].valid = true;
  expect_all_as_before();
}

TEST_F(stream_partition, with_a_single_domain_everything_runs_in_it) {
  now().attribute(cudaDevAttrMemSyncDomainCount) = 1;
  expect_in_turn(1);
}

TEST_F(stream_partition, of_no_streams_is_allowed) {
  const long arrays = arrays_alive;
  { const membar::stream_partition partition(std::vector<cudaStream_t>{}); }
  EXPECT_EQ(arrays_alive, arrays);
}

TEST_F(stream_partition, loses_no_memory_where_there_is_no_device) {
  now().devices.clear();
  const long arrays = arrays_alive;
  EXPECT_THROW(static_cast<void>(membar::stream_partition(handles)), membar::error);
  EXPECT_EQ(arrays_alive, arrays);
}

TEST_F(stream_partition, reports_a_restore_that_fails_and_restores_the_others) {
  {
    const membar::stream_partition partition(handles);
    streams[2].read_only = true;
  }
  EXPECT_EQ(now().failures.size(), 1U);
  streams[2].read_only = false;
  for (const std::size_t i : {0, 1, 3, 4, 5}) {
    expect_as_before(i);
  }
}

}  // namespace
