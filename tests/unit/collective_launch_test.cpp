// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collective launches on fake machines, by a single process with all GPUs and by one process per GPU. Each process is simulated
// by a thread.
#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/peer_backend.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <algorithm>
#include <barrier>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {

namespace symmetric = membar::symmetric;

using fake_cuda::now;
using membar_test::refusal, membar_test::says;
using symmetric::collective_grid, symmetric::launch_offer, symmetric::pe, symmetric::pe_range;

void meets(int) {}
void meets_too(int) {}
const auto its_number = [](pe which) { return std::tuple(which.index()); };

/// PE i is device i; the PEs exchange messages through memory that all processes share.
struct meeting_place {
  explicit meeting_place(int processes, int count) : barrier(processes), values(static_cast<std::size_t>(count)) {}
  std::barrier<> barrier;
  std::vector<unsigned long long> values;
};

/// With `ByKernels`, the backend uses kernels to gather, as NVSHMEM does. Such kernels do not fit on a device together with a
/// grid that fills it.
template <bool ByKernels>
class basic_fake_backend {
 public:
  static constexpr symmetric::visibility visible = symmetric::visibility::everywhere;
  static constexpr bool gathers_by_kernels = ByKernels;
  using reach = symmetric::peer_reach;
  using region = symmetric::detail::peer_region;

  basic_fake_backend(meeting_place& place, pe_range local) : place_(&place), local_(local) {}

  [[nodiscard]] int count() const { return static_cast<int>(place_->values.size()); }
  [[nodiscard]] pe_range local_pes() const { return local_; }
  [[nodiscard]] int device_of(pe which) const { return which.index(); }
  [[nodiscard]] membar::atomicity supports(const membar::atomic_use&) const { return {true, ""}; }
  void all_gather(const unsigned long long* mine, unsigned long long* all) {
    if (ByKernels && std::any_of(now().launches.begin(), now().launches.end(),
                                 [&](const fake_cuda::launch& each) { return each.device == local_.front().index(); })) {
      place_->barrier.arrive_and_drop();  // so that the test can end
      throw membar::error(cudaErrorLaunchTimeout, "the gathering waits for the grid, and the grid for a PE that gathers");
    }
    std::copy(mine, mine + local_.size(), place_->values.begin() + local_.front().index());
    place_->barrier.arrive_and_wait();
    std::copy(place_->values.begin(), place_->values.end(), all);
    place_->barrier.arrive_and_wait();
  }
  [[nodiscard]] region map(std::size_t) const { throw membar::error(cudaErrorNotSupported, "fake"); }

 private:
  meeting_place* place_;
  pe_range local_;
};
using fake_backend = basic_fake_backend<false>;
static_assert(symmetric::backend<fake_backend>);

class collective_launch_of : public fake_cuda::test {
 protected:
  /// Returns the error message from a single process with all PEs.
  static std::string in_one_process(collective_grid grid, std::vector<cudaStream_t> streams = {}) {
    meeting_place place(1, fake_cuda::device_count());
    fake_backend backend(place, pe_range(pe(0), fake_cuda::device_count()));
    return refusal([&] { symmetric::collective_launch(backend, grid, streams, meets, its_number); });
  }

  /// Returns the error messages from `count` processes with one PE each. Process i calls `call(backend, i)`.
  template <class Backend = fake_backend>
  static std::vector<std::string> in_processes(std::size_t count, auto call) {
    meeting_place place(static_cast<int>(count), static_cast<int>(count));
    std::vector<std::string> told(count);
    std::vector<std::jthread> processes;
    for (std::size_t i = 0; i != count; ++i) {
      processes.emplace_back([&, i] {
        Backend backend(place, pe_range(pe(static_cast<int>(i)), 1));
        told[i] = refusal([&] { call(backend, i); });
      });
    }
    processes.clear();  // joins the threads
    return told;
  }
  /// Returns the error message from each process. Each process launches its own grid.
  static std::vector<std::string> in_processes(const std::vector<unsigned>& grids) {
    return in_processes(grids.size(), [&](fake_backend& backend, std::size_t i) {
      symmetric::collective_launch(backend, {dim3(grids[i]), dim3(64)}, {}, meets, its_number);
    });
  }
  /// Expects each message to contain these words.
  static void expect_all_say(const std::vector<std::string>& told, const char* words) {
    for (const std::string& each : told) {
      EXPECT_TRUE(says(each, words));
    }
  }
};

TEST_F(collective_launch_of, a_grid_that_fits_is_cooperative_and_remote_on_every_pe) {
  fake_cuda::stream streams[4];
  EXPECT_EQ(in_one_process({20, 64}, {streams[0].handle(), streams[1].handle(), streams[2].handle(), streams[3].handle()}), "");
  ASSERT_EQ(now().launches.size(), 4U);
  for (std::size_t i = 0; i != 4; ++i) {
    const auto& launch = now().launches[i];
    EXPECT_EQ(launch.device, static_cast<int>(i));
    EXPECT_EQ(launch.stream, streams[i].handle());
    EXPECT_EQ(launch.grid.x, 20U);
    ASSERT_EQ(launch.attributes.size(), 2U);
    EXPECT_EQ(launch.value(cudaLaunchAttributeCooperative).cooperative, 1);
    EXPECT_EQ(launch.value(cudaLaunchAttributeMemSyncDomain).memSyncDomain, cudaLaunchMemSyncDomainRemote);
  }
}

TEST_F(collective_launch_of, a_grid_that_one_pe_cannot_hold_launches_nowhere) {
  now().attribute(cudaDevAttrMultiProcessorCount, 2) = 7;
  const std::string refused = in_one_process({20, 64});
  EXPECT_EQ(refused,
            "membar: a collective launch was cancelled on every PE, because PE 2 was asked to run 20 blocks that wait for each "
            "other, but can hold only 14 at once: launch at most that many blocks on each PE, and give each block more work");
  EXPECT_TRUE(now().launches.empty());
  EXPECT_EQ(in_one_process({14, 64}), "");
}

TEST_F(collective_launch_of, a_grid_that_one_process_cannot_hold_is_the_same_error_in_all) {
  now().attribute(cudaDevAttrMultiProcessorCount, 1) = 3;
  expect_all_say(in_processes({7, 7, 7}),
                 "because PE 1 was asked to run 7 blocks that wait for each other, but can hold only 6");
  EXPECT_TRUE(now().launches.empty());
  EXPECT_EQ(in_processes({6, 6, 6}), (std::vector<std::string>(3)));
  EXPECT_EQ(now().launches.size(), 3U);
}

TEST_F(collective_launch_of, different_grids_is_an_error_in_all) {
  expect_all_say(in_processes({8, 8, 9}), "PE 2 runs 9 blocks, but PE 0 runs 8");
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(collective_launch_of, a_grid_where_another_process_makes_another_call_is_an_error_in_both) {
  const auto call = [](fake_backend& backend, std::size_t process) {
    if (process == 0) {
      symmetric::detail::agree(backend, symmetric::detail::collective::freed, 7);
    } else {
      symmetric::collective_launch(backend, {dim3(7), dim3(64)}, {}, meets, its_number);
    }
  };
  expect_all_say(in_processes(2, call),
                 "PE 1 has a collective launch with a block count of 7, but PE 0 has freed allocation number 7");
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(collective_launch_of, a_device_without_cooperative_launches_is_named) {
  now().attribute(cudaDevAttrCooperativeLaunch, 3) = 0;
  EXPECT_TRUE(
      says(in_one_process({1, 64}), "PE 3 cannot hold a single block of the kernel, or does not support cooperative launches"));
}

TEST_F(collective_launch_of, a_question_that_fails_on_one_pe_is_an_error_in_all) {
  now().fails["cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"] = {0, cudaErrorNoKernelImageForDevice, 1};
  expect_all_say(in_processes({1, 1}),
                 "PE 1 could not query how many blocks its device can hold (cudaErrorNoKernelImageForDevice)");
}

TEST_F(collective_launch_of, a_launch_that_fails_after_all_is_an_error_in_all) {
  now().fails["cudaLaunchKernelExC"] = {0, cudaErrorLaunchOutOfResources, 0};
  const auto told = in_processes({1, 1});
  expect_all_say(told, "failed on PE 0 with cudaErrorLaunchOutOfResources");
  expect_all_say(told, "may wait for that PE until their budgets are exhausted");
}

TEST_F(collective_launch_of, arguments_that_throw_are_an_error_in_all) {
  const auto arguments = [](pe which) {
    return which == pe(1) ? throw std::runtime_error("no arguments") : std::tuple(which.index());
  };
  const auto call = [&](fake_backend& backend, std::size_t) {
    symmetric::collective_launch(backend, {1, 64}, {}, meets, arguments);
  };
  expect_all_say(in_processes(2, call), "the function that makes the arguments threw an exception for PE 1");
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(collective_launch_of, arguments_that_throw_has_the_exception_with_the_error_of_their_own_process) {
  std::string inner[2];
  const auto call = [&](fake_backend& backend, std::size_t process) {
    try {
      symmetric::collective_launch(backend, {1, 64}, {}, meets, [](pe which) {
        return which == pe(1) ? throw std::runtime_error("no arguments") : std::tuple(which.index());
      });
    } catch (const membar::error& error) {
      try {
        std::rethrow_if_nested(error);
      } catch (const std::runtime_error& nested) {
        inner[process] = nested.what();
      }
      throw;
    }
  };
  expect_all_say(in_processes(2, call), "the function that makes the arguments threw an exception for PE 1");
  EXPECT_EQ(inner[0], "");
  EXPECT_EQ(inner[1], "no arguments");
}

TEST_F(collective_launch_of, grids_that_fill_their_devices_waits_for_no_kernel_that_gathers) {
  using by_kernels = basic_fake_backend<true>;
  const auto call = [](by_kernels& backend, std::size_t) {
    symmetric::collective_launch(backend, {20, 64}, {}, meets, its_number);
  };
  EXPECT_EQ(in_processes<by_kernels>(3, call), (std::vector<std::string>(3)));
  EXPECT_EQ(now().launches.size(), 3U);
}

TEST_F(collective_launch_of, different_configurations_is_an_error_in_all) {
  const collective_grid first{.grid = dim3(4, 3), .block = dim3(64), .dynamic_shared_bytes = 16};
  const auto told = [&](const collective_grid& other) {
    return in_processes(3, [&](fake_backend& backend, std::size_t i) {
      symmetric::collective_launch(backend, i == 2 ? other : first, {}, meets, its_number);
    });
  };
  EXPECT_EQ(told(first), (std::vector<std::string>(3)));
  now().launches.clear();
  collective_grid other = first;
  other.grid = dim3(3, 4);
  expect_all_say(told(other),
                 "PE 2 has a grid of 3, 4, 1, but PE 0 has one of 4, 3, 1: launch the same configuration on every PE");
  other = first;
  other.block = dim3(32, 2);
  expect_all_say(told(other), "PE 2 has a block of 32, 2, 1, but PE 0 has one of 64, 1, 1");
  other = first;
  other.dynamic_shared_bytes = 32;
  expect_all_say(told(other), "PE 2 requests 32 bytes of dynamic shared memory, but PE 0 requests 16 bytes");
  other = first;
  other.cluster = {2, 1, 1};
  expect_all_say(told(other), "PE 2 has a cluster of 2, 1, 1, but PE 0 has one of 1, 1, 1");
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(collective_launch_of, different_kernels_is_an_error_in_all) {
  now().kernels[reinterpret_cast<const void*>(meets)].name = "_Z5meetsi";
  now().kernels[reinterpret_cast<const void*>(meets_too)].name = "_Z9meets_tooi";
  const auto call = [](fake_backend& backend, std::size_t i) {
    symmetric::collective_launch(backend, {1, 64}, {}, i == 1 ? meets_too : meets, its_number);
  };
  expect_all_say(in_processes(2, call), "PE 1 launches a different kernel than PE 0");
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(collective_launch_of, clusters_counts_and_launches_whole_clusters) {
  const collective_grid eights{.grid = 24, .block = 64, .cluster = {8, 1, 1}};
  EXPECT_TRUE(says(in_one_process(eights), "was asked to run 24 blocks that wait for each other, but can hold only 16"));
  const collective_grid fits{.grid = 16, .block = 64, .cluster = {8, 1, 1}};
  EXPECT_EQ(in_one_process(fits), "");
  ASSERT_EQ(now().launches.size(), 4U);
  EXPECT_EQ(now().launches[0].value(cudaLaunchAttributeClusterDimension).clusterDim.x, 8U);
}

TEST_F(collective_launch_of, pes_load_the_kernel_before_any_launches_it) {
  now().attribute(cudaDevAttrMultiProcessorCount, 2) = 0;
  EXPECT_NE(in_one_process({1, 64}), "");
  EXPECT_TRUE(now().launches.empty());
  for (const fake_cuda::device& each : now().devices) {
    EXPECT_TRUE(each.loaded.contains(reinterpret_cast<const void*>(meets))) << "device " << &each - now().devices.data();
  }
}

TEST_F(collective_launch_of, streams_for_some_pes_only_is_an_error) {
  fake_cuda::stream stream;
  EXPECT_TRUE(says(in_one_process({1, 64}, {stream.handle()}), "passed streams for only some of its PEs"));
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(collective_launch_of, pes_leaves_the_current_device_as_it_was) {
  EXPECT_EQ(in_one_process({1, 64}), "");
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
}

TEST(launch_agreement, counts_grids_of_more_than_four_thousand_million_blocks_whole) {
  const launch_offer offers[] = {{1ULL << 33, 264, cudaSuccess, false}};
  EXPECT_THROW(symmetric::validate_collective_launch(offers), membar::error);
}

}  // namespace
