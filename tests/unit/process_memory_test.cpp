// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that processes share. The processes are real; files serve as the memory of fake devices.
#include <membar/symmetric/process_memory.hpp>

#include <tests/common/fake_processes.hpp>

#include <string>
#include <vector>

namespace {
namespace shared {

namespace symmetric = membar::symmetric;
using fake_cuda::now;
using membar_test::fake_processes, membar_test::group_budget, membar_test::passes_on, membar_test::processes,
    membar_test::unless_refused;
using symmetric::host_group, symmetric::process_memory, symmetric::shared_by;

constexpr std::size_t size = 100'000;

class process_memories : public fake_processes {};

TEST_F(process_memories, show_each_process_what_the_others_wrote) {
  expect_success(3, [](host_group& group, int) {
    const process_memory memory(group, size);
    return memory.kind() != shared_by::file_descriptor ? 2 : passes_on(group, memory, size);
  });
}

TEST_F(process_memories, are_shared_by_fabric_handles_where_asked) {
  for (fake_cuda::device& each : now().devices) {
    each.shares_fabric = true;
  }
  expect_success(2, [](host_group& group, int) {
    const process_memory memory(group, size, shared_by::fabric);
    return memory.kind() != shared_by::fabric ? 2 : passes_on(group, memory, size);
  });
}

TEST_F(process_memories, are_shared_by_fabric_handles_where_some_device_has_no_files) {
  for (fake_cuda::device& each : now().devices) {
    each.shares_fabric = true;
  }
  now().devices[1].shares_files = false;
  expect_success(2, [](host_group& group, int) {
    const process_memory memory(group, size);
    return memory.kind() != shared_by::fabric ? 2 : passes_on(group, memory, size);
  });
}

TEST_F(process_memories, are_shared_by_files_where_a_driver_does_not_know_fabric_handles) {
  expect_success(2, [](host_group& group, int rank) {
    if (rank == 1) {
      now().fails["cuDeviceGetAttribute"] = {.after = 1, .code = cudaErrorInvalidValue};
    }
    const process_memory memory(group, size);
    return memory.kind() != shared_by::file_descriptor ? 2 : passes_on(group, memory, size);
  });
}

TEST_F(process_memories, that_a_device_does_not_share_are_rejected_on_every_pe) {
  now().devices[1].shares_files = false;
  expect_success(3, [](host_group& group, int) {
    return unless_refused("the device of PE 1 cannot share memory between processes through files: use one process",
                          [&] { const process_memory memory(group, size, shared_by::file_descriptor); }) +
           unless_refused("the device of PE 0 cannot share memory between processes through fabric handles",
                          [&] { const process_memory memory(group, size, shared_by::fabric); }) +
           unless_refused("the device of PE ", [&] { const process_memory memory(group, size); });
  });
}

TEST_F(process_memories, of_different_sizes_or_kinds_are_rejected_on_every_pe) {
  expect_success(2, [](host_group& group, int rank) {
    return unless_refused("PE 1 shares 100001 bytes, but PE 0 shares 100000",
                          [&] { const process_memory memory(group, size + static_cast<unsigned>(rank)); }) +
           unless_refused("PE 1 requests a different kind of memory sharing than PE 0",
                          [&] {
                            const process_memory memory(group, size,
                                                        rank == 0 ? shared_by::automatic : shared_by::file_descriptor);
                          }) +
           unless_refused("0 bytes cannot be shared", [&] { const process_memory memory(group, 0); });
  });
}

TEST_F(process_memories, are_given_back_on_every_pe_whatever_fails) {
  for (const char* const call : {"cuMemCreate", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
                                 "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    make_another_rendezvous();
    expect_success(3, [&](host_group& group, int rank) {
      if (rank == 1) {
        now().fails[call] = {.code = cudaErrorMemoryAllocation};
      }
      const std::string words = std::string("because ") + call;
      const int wrong = unless_refused(words.c_str(), [&] { const process_memory memory(group, size); });
      now().fails.clear();
      const process_memory again(group, size);  // the group still works
      return wrong + passes_on(group, again, size);
    });
  }
}

TEST_F(process_memories, of_devices_that_are_hidden_from_the_others_carry_data_and_no_additions) {
  expect_success(3, [](host_group& group, int rank) {
    for (int other = 0; other != 4; ++other) {  // CUDA_VISIBLE_DEVICES leaves each process only its own device.
      if (other != rank) {
        now().hidden.insert(other);
      }
    }
    const process_memory memory(group, size);
    int wrong = passes_on(group, memory, size);
    symmetric::adopted_backend gpus(memory.memory(), group.callback());
    symmetric::heap heap(gpus, size);
    heap.free(heap.allocate<symmetric::signal<symmetric::set>>(1));
    return wrong + unless_refused("is hidden from this process (CUDA_VISIBLE_DEVICES)",
                                  [&] { static_cast<void>(heap.allocate<symmetric::signal<symmetric::add>>(1)); });
  });
}

// GPU instances (MIG) have their GPU's bus number, and cannot share memory.
TEST_F(process_memories, of_instances_of_one_gpu_are_refused_on_every_pe) {
  expect_success(2, [](host_group& group, int) {
    membar::check(cudaSetDevice(0));
    now().fails["cuMemSetAccess"] = {.code = cudaErrorInvalidDevice};
    return unless_refused("because cuMemSetAccess (which needs peer access) failed on PE 0 with cudaErrorInvalidDevice",
                          [&] { const process_memory memory(group, size); });
  });
}

TEST_F(process_memories, outlive_the_process_that_allocated_them) {
  const std::vector<int> codes = processes(2, [&](int rank) {
    membar::check(cudaSetDevice(rank));
    host_group group = host_group::join(where, rank, 2, group_budget);
    const process_memory memory(group, size);
    auto* const theirs = static_cast<int*>(memory.memory().addresses[1]);
    if (rank == 1) {
      *theirs = 42;
      static_cast<void>(group.all_gather(0));
      ::raise(SIGKILL);
    }
    static_cast<void>(group.all_gather(0));
    const int wrong = unless_refused("PE 1 of the group has ended", [&] { static_cast<void>(group.all_gather(0)); });
    return wrong + (*theirs == 42 ? 0 : 2);
  });
  EXPECT_EQ(codes, (std::vector<int>{0, -1}));
}

}  // namespace shared
}  // namespace
