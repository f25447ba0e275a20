// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that processes allocate themselves and share through CUDA IPC. The processes are real; files serve as the memory of
// fake devices.
#include <membar/symmetric/ipc_memory.hpp>

#include <tests/common/fake_processes.hpp>
#include <tests/common/refusal.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {
namespace ipc {

namespace symmetric = membar::symmetric;
using fake_cuda::now, fake_cuda::origin;
using membar_test::passes_on, membar_test::refusal, membar_test::says, membar_test::unless_refused;
using symmetric::host_group, symmetric::ipc_memory;

constexpr std::size_t size = 100'000;

/// Memory that cudaMalloc allocates in this process.
class allocated {
 public:
  explicit allocated(std::size_t bytes) { membar::check(cudaMalloc(&memory_, bytes)); }
  allocated(const allocated&) = delete;
  allocated& operator=(const allocated&) = delete;
  ~allocated() { static_cast<void>(cudaFree(memory_)); }
  [[nodiscard]] void* at(std::size_t offset = 0) const { return static_cast<unsigned char*>(memory_) + offset; }

 private:
  void* memory_ = nullptr;
};

class ipc_memories : public membar_test::fake_processes {
 protected:
  ipc_memories() { now().interprocess = true; }
};

/// Returns 0 if every process's attempt to share `bytes` is rejected with these words, and no process has memory open
/// afterwards.
int refused(host_group& group, const std::string& words, void* mine, std::size_t bytes = size) {
  const int wrong =
      unless_refused(words.c_str(), [&] { const ipc_memory memory(mine, bytes, group.rank(), group.callback()); });
  return wrong + (now().opened.empty() ? 0 : 2);
}

TEST_F(ipc_memories, show_each_process_what_the_others_wrote) {
  expect_success(3, [](host_group& group, int rank) {
    const allocated mine(size);
    ipc_memory memory(mine.at(), size, rank, group.callback());
    const int wrong = passes_on(group, memory, size);
    memory.close();
    return wrong;
  });
}

TEST_F(ipc_memories, may_be_parts_of_larger_allocations_at_any_offset) {
  expect_success(3, [](host_group& group, int rank) {
    const std::size_t offset = 512 * static_cast<std::size_t>(rank + 1);
    const allocated whole(size + 2048);
    ipc_memory memory(whole.at(offset), size, rank, group.callback());
    const int wrong = passes_on(group, memory, size) + (memory.memory().addresses[group.rank()] == whole.at(offset) ? 0 : 4);
    memory.close();
    return wrong;
  });
}

TEST_F(ipc_memories, of_processes_on_one_device_need_no_peer_access) {
  now().no_access = {{0, 0}};  // CUDA's answer if both devices are the same.
  expect_success(3, [](host_group& group, int rank) {
    membar::check(cudaSetDevice(0));
    const allocated mine(size);
    ipc_memory memory(mine.at(), size, rank, group.callback());
    const int wrong = passes_on(group, memory, size);
    memory.close();
    return wrong;
  });
}

TEST_F(ipc_memories, are_opened_on_their_device_whichever_is_current) {
  expect_success(2, [](host_group& group, int rank) {
    const allocated mine(size);
    membar::check(cudaSetDevice(3));
    ipc_memory memory(mine.at(), size, rank, group.callback());
    int wrong = memory.memory().device == rank && fake_cuda::current_device() == 3 ? 0 : 1;
    for (const auto& [address, each] : now().opened) {
      wrong += each.device == rank ? 0 : 4;
    }
    memory.close();
    return wrong;
  });
}

TEST_F(ipc_memories, of_devices_that_are_hidden_are_opened) {
  now().hidden = {1};
  now().no_access = {{0, 1}};  // no process can query this, because it sees only one device
  expect_success(2, [](host_group& group, int rank) {
    const allocated mine(size);
    ipc_memory memory(mine.at(), size, rank, group.callback());
    const int wrong = passes_on(group, memory, size);
    memory.close();
    return wrong;
  });
}

// GPU instances (MIG) have their GPU's bus number, but do not support CUDA IPC.
TEST_F(ipc_memories, of_instances_of_one_gpu_are_refused_on_every_pe) {
  expect_success(2, [](host_group& group, int rank) {
    membar::check(cudaSetDevice(0));
    if (rank == 1) {
      now().fails["cudaIpcOpenMemHandle"] = {.code = cudaErrorInvalidDevice};
    }
    const allocated mine(size);
    return refused(group, "because PE 1 could not open the memory of PE 0 with cudaErrorInvalidDevice", mine.at());
  });
}

TEST_F(ipc_memories, in_one_allocation_open_it_once_and_close_it_last) {
  expect_success(3, [](host_group& group, int rank) {
    const allocated whole(3 * size);
    ipc_memory first(whole.at(), size, rank, group.callback());
    ipc_memory second(whole.at(512), size, rank, group.callback());
    int wrong = now().opened.size() == 2 ? 0 : 2;
    first.close();
    wrong += now().opened.size() == 2 ? passes_on(group, second, size) : 4;
    second.close();
    return wrong + (now().opened.empty() ? 0 : 8);
  });
}

TEST_F(ipc_memories, of_one_allocation_are_opened_for_each_device_that_uses_it) {
  expect_success(2, [](host_group& group, int rank) {
    const allocated here(size);
    membar::check(cudaSetDevice(2));
    const allocated there(size);
    ipc_memory first(here.at(), size, rank, group.callback());
    ipc_memory second(rank == 0 ? there.at() : here.at(), size, rank, group.callback());
    int wrong = second.memory().addresses[1] == first.memory().addresses[1] && rank == 0 ? 4 : passes_on(group, second, size);
    first.close();
    second.close();
    return wrong;
  });
}

TEST_F(ipc_memories, are_closed_everywhere_when_close_returns) {
  membar_test::meeting closed;
  expect_success(3, [&](host_group& group, int rank) {
    now().on_call = [&](std::string_view call) {
      if (call == "cudaIpcCloseMemHandle") {
        closed.come();
      }
    };
    const allocated mine(size);
    ipc_memory memory(mine.at(), size, rank, group.callback());
    memory.close();
    return closed.came() == 6 ? 0 : 1;
  });
}

TEST_F(ipc_memories, are_closed_once_by_the_destructor) {
  expect_success(2, [](host_group& group, int rank) {
    const allocated mine(size);
    { const ipc_memory memory(mine.at(), size, rank, group.callback()); }
    static_cast<void>(group.all_gather(0));  // before anything is freed
    return now().opened.empty() ? 0 : 1;
  });
}

TEST_F(ipc_memories, without_a_handle_are_rejected_on_every_pe) {
  struct row {
    origin from;
    std::string words;
  };
  for (const row& each :
       {row{origin::managed, "managed memory"}, row{origin::pool, "pool memory, for example from cudaMallocAsync,"},
        row{origin::mapped, "memory from cuMemMap, for example from PyTorch's expandable_segments,"},
        row{origin::host, "memory that is not on a device"}}) {
    make_another_rendezvous();
    expect_success(2, [&](host_group& group, int rank) {
      now().allocated_by = rank == 1 ? each.from : origin::device;
      const allocated mine(size);
      char place[32] = "";
      if (rank == 1) {
        std::snprintf(place, sizeof place, " at %p: ", mine.at());
      }
      return refused(group, "the memory was not shared through CUDA IPC on any PE, because PE 1 passed " + each.words + place,
                     mine.at());
    });
  }
}

TEST_F(ipc_memories, that_are_no_allocation_are_rejected_on_every_pe) {
  expect_success(2, [](host_group& group, int rank) {
    const allocated mine(size);
    int local = 0;
    return refused(
               group,
               "because PE 0 passed memory that is not on a device at 0x0: allocate it with cudaMalloc, or let process_memory",
               rank == 0 ? nullptr : mine.at()) +
           refused(group, "because PE 1 passed memory that is not on a device at 0x", rank == 1 ? &local : mine.at());
  });
}

TEST_F(ipc_memories, that_end_after_their_allocation_are_rejected_on_every_pe) {
  expect_success(2, [](host_group& group, int rank) {
    const allocated mine(size);
    return refused(group,
                   "membar: the memory was not shared through CUDA IPC on any PE, because PE 1 passed 100000 bytes, but only "
                   "99488 bytes of its allocation follow that address: share fewer bytes, or allocate more",
                   mine.at(rank == 1 ? 512 : 0));
  });
}

TEST_F(ipc_memories, of_different_sizes_or_none_are_rejected_on_every_pe) {
  expect_success(2, [](host_group& group, int rank) {
    const allocated mine(size);
    return refused(group, "PE 1 shares 99999 bytes, but PE 0 shares 100000 bytes: share the same", mine.at(),
                   size - static_cast<unsigned>(rank)) +
           refused(group, "0 bytes cannot be shared through CUDA IPC: share at least one byte", mine.at(), 0);
  });
}

TEST_F(ipc_memories, of_a_device_without_ipc_are_rejected_on_every_pe) {
  now().attribute(cudaDevAttrIpcEventSupport, 1) = 0;
  expect_success(2, [](host_group& group, int) {
    const allocated mine(size);
    return refused(group, "because PE 1 passed memory of a device that does not support CUDA IPC at 0x", mine.at());
  });
}

TEST_F(ipc_memories, of_devices_without_peer_access_are_rejected_on_every_pe) {
  now().no_access = {{1, 2}};
  expect_success(3, [](host_group& group, int) {
    const allocated mine(size);
    return refused(group,
                   "membar: the memory was not shared through CUDA IPC on any PE, because PE 1's device has no peer access to "
                   "PE 2's device: use devices connected by NVLink or by one PCIe root, or use NVSHMEM",
                   mine.at());
  });
}

TEST_F(ipc_memories, that_one_pe_cannot_open_are_open_nowhere) {
  expect_success(3, [](host_group& group, int rank) {
    if (rank == 1) {
      now().fails["cudaIpcOpenMemHandle"] = {.after = 1, .code = cudaErrorMapBufferObjectFailed, .times = 1};
    }
    const allocated mine(size);
    const int wrong =
        refused(group,
                "membar: the memory was not shared through CUDA IPC on any PE, because PE 1 could not open the memory of PE 2 "
                "with cudaErrorMapBufferObjectFailed (mapping of buffer object failed): run each PE in its own process",
                mine.at());
    ipc_memory again(mine.at(), size, rank, group.callback());  // the group still works
    const int late = passes_on(group, again, size) + (now().last_error == cudaSuccess ? 0 : 4);
    again.close();
    return wrong + late;
  });
}

TEST_F(ipc_memories, whose_handle_cannot_be_made_are_rejected_on_every_pe) {
  expect_success(2, [](host_group& group, int rank) {
    if (rank == 1) {
      now().fails["cudaIpcGetMemHandle"] = {.code = cudaErrorMemoryAllocation};
    }
    const allocated mine(size);
    return refused(
        group, "the memory was not shared on any PE, because cudaIpcGetMemHandle failed on PE 1 with cudaErrorMemoryAllocation",
        mine.at());
  });
}

TEST_F(ipc_memories, are_open_nowhere_whenever_the_callback_throws) {
  expect_success(2, [](host_group& group, int rank) {
    const allocated mine(size);
    int wrong = 0, made = 0;
    for (int call = 1; made == 0; ++call) {
      int left = call;
      try {
        ipc_memory memory(mine.at(), size, rank, [&](unsigned long long number) {
          auto all = group.all_gather(number);
          return --left != 0 ? std::move(all) : throw std::runtime_error("no more");
        });
        made = call;
        left = 2;
        memory.close();
      } catch (const std::runtime_error&) {
        wrong += now().opened.empty() ? 0 : 1;
      }
    }
    return wrong + (made == 17 ? 0 : 2);  // A constructor makes sixteen calls.
  });
}

TEST_F(ipc_memories, take_a_rank_and_a_callback) {
  const auto gather = [](unsigned long long mine) { return std::vector<unsigned long long>{mine}; };
  EXPECT_EQ(refusal([&] { const ipc_memory none(nullptr, size, 1, gather); }),
            "membar: PE 1 of 1 cannot share memory: number the processes from 0, in the order of the callback's result");
  EXPECT_TRUE(says(refusal([&] { const ipc_memory none(nullptr, size, 0, nullptr); }), "without a callback"));
}

TEST_F(ipc_memories, of_several_hosts_are_rejected) {
  EXPECT_TRUE(says(refusal([] { symmetric::detail::refuse_other_hosts({7, 7, 8}); }),
                   "PE 2 and PE 0 are on different hosts, but CUDA IPC works only within one host"));
  EXPECT_EQ(refusal([] { symmetric::detail::refuse_other_hosts({7, 7, 7}); }), "");
  EXPECT_EQ(symmetric::detail::number_of_host(), symmetric::detail::number_of_host());
}

}  // namespace ipc
}  // namespace
