// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A fake CUDA runtime and driver: every CUDA call of a test program is answered from values that the test sets. So what the
/// host headers decide is tested without a GPU, on any number of devices, with any limits, and with calls that fail.
///
/// A program gets it by linking with the target `fake_cuda`. Each test starts from a new `machine`.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fake_cuda {

inline constexpr std::size_t MiB = std::size_t{1} << 20;

/// An object with launch attributes: a stream or a graph kernel node.
struct attributed {
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> attributes;
  std::set<cudaLaunchAttributeID> not_taken;  ///< attributes that the driver rejects here
  bool valid = true;
  bool read_only = false;  ///< calls that set an attribute fail, calls that read one do not
};

struct stream : attributed {
  stream();
  [[nodiscard]] cudaStream_t handle() noexcept { return reinterpret_cast<cudaStream_t>(this); }

  unsigned long long id;  ///< no two streams have one
  bool capturing = false;
  unsigned long long capture = 1;  ///< its id, while `capturing`
  std::atomic<bool> busy{false};   ///< what was enqueued still runs
  std::vector<cudaEvent_t> waits_for;
  int synchronized = 0;
  std::jthread work;  ///< of the last launch, see `machine::work_of`
};

struct node : attributed {
  [[nodiscard]] cudaGraphNode_t handle() noexcept { return reinterpret_cast<cudaGraphNode_t>(this); }
};

struct device {
  device();

  std::string name = "Fake GPU";
  std::map<cudaDeviceAttr, int> attributes;  ///< an attribute that is not here is one that the driver does not know
  int blocks_per_multiprocessor = 2;
  bool virtual_memory = true;
  bool shares_files = true;             ///< memory between processes
  bool shares_fabric = false;           ///< memory between processes by fabric handles
  unsigned host_capabilities = 0;       ///< the atomics that a partial link to the host carries
  std::size_t persisting_l2_limit = 0;  ///< cudaLimitPersistingL2CacheSize
  std::vector<std::size_t> limits_set;  ///< every value that this limit was set to
  std::set<const void*> loaded;         ///< kernels
};

/// What CUDA keeps with a kernel.
struct kernel {
  std::size_t static_shared_bytes = 0;
  int max_dynamic_shared_bytes = 48 * 1024;
  bool non_portable_clusters = false;
  std::string name;
  int compiled_cluster = 0;  ///< the blocks in x of the clusters that it was compiled for
};

/// The shape of which a call asked how many fit at once: of a block, its threads are in `block.x`.
struct shape_asked {
  dim3 grid{0, 0, 0};
  dim3 block{0, 0, 0};
  std::size_t dynamic_shared_bytes = 0;
};

/// A copy to a symbol of a device. Nothing is copied.
struct symbol_copy {
  const void* symbol;
  const void* from;
  std::size_t bytes;
  std::size_t offset;
};

/// Advice about pages, or a prefetch of them in a stream.
struct page_advice {
  const void* start;
  std::size_t bytes;
  cudaMemoryAdvise what;
  cudaMemLocation where;
  cudaStream_t stream;
};

struct launch {
  int device;
  dim3 grid;
  dim3 block;
  cudaStream_t stream;
  std::size_t dynamic_shared_bytes;
  std::vector<cudaLaunchAttribute> attributes;
  const void* kernel;

  /// The value of an attribute; a failure of the test where the launch has none.
  [[nodiscard]] cudaLaunchAttributeValue value(cudaLaunchAttributeID id) const {
    for (const cudaLaunchAttribute& each : attributes) {
      if (each.id == id) {
        return each.val;
      }
    }
    ADD_FAILURE() << "launched without attribute " << id;
    return {};
  }
};

/// Where memory comes from.
enum class origin { device, managed, pool, mapped, host };

/// Memory of another process that this one has open.
struct opened_memory {
  std::string handle;
  std::size_t bytes;
  int device;  ///< whose context opened it
};

/// The failures of calls of one name: `times` in a row, after `after` successes.
struct failure {
  int after = 0;
  cudaError_t code = cudaErrorUnknown;
  int device = -1;  ///< where; -1: on any
  int times = std::numeric_limits<int>::max();
};

struct machine {
  /// What a test sets.
  bool driver = true;
  int driver_version = CUDART_VERSION;
  std::vector<device> devices = std::vector<device>(4);
  std::map<std::string, failure> fails;  ///< by the name of the call, "cudaMalloc" or "cuMemMap"
  std::size_t largest_allocation = std::numeric_limits<std::size_t>::max();
  std::set<int> hidden;                                     ///< devices that no bus number leads to
  std::set<std::pair<int, int>> no_access;                  ///< (from, to) without peer access
  std::set<std::pair<int, int>> no_native_atomics;          ///< links
  std::map<std::pair<int, int>, unsigned> partial_atomics;  ///< links that carry some atomics: their capabilities
  cudaPointerAttributes pointer{};                          ///< the answer to cudaPointerGetAttributes
  std::set<const void*> flagged;                            ///< allocations with CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  bool context_flag = false;                                ///< CU_CTX_SYNC_MEMOPS
  bool interprocess = false;                                ///< cudaMalloc makes memory that other processes can open
  origin allocated_by = origin::device;                     ///< what the driver says of every allocation
  std::function<void(std::string_view call)> on_call;       ///< before each call is answered
  std::map<const void*, kernel> kernels;                    ///< of those that are not listed: the defaults
  /// Reads the arguments of a launch while they live.
  std::function<void(void** arguments)> on_launch;
  /// The work that a launch does in its stream, on a thread of the host. Nothing where this is empty or returns nothing.
  std::function<std::function<void()>(const launch& made, void** arguments)> work_of;

  /// What happened.
  cudaError_t last_error = cudaSuccess;  ///< what cudaGetLastError would answer
  stream null_stream;
  int streams = 0;                              ///< created and not destroyed
  int events = 0;                               ///< created
  std::map<cudaEvent_t, cudaStream_t> records;  ///< the stream of each event's last record
  std::vector<launch> launches;
  std::atomic<int> running{0};                ///< launches whose work has not ended
  int late_calls = 0;                         ///< allocations and loads while a launch ran
  int resets = 0;                             ///< of persisting lines
  std::map<void*, int> allocations;           ///< of cudaMalloc and cudaHostAlloc, with their device
  std::map<const void*, std::size_t> sizes;   ///< of `allocations`
  std::map<const void*, int> files;           ///< behind those that other processes can open
  std::map<void*, opened_memory> opened;      ///< by CUDA IPC
  std::vector<int> allocated_on;              ///< the device of each allocation so far
  std::map<unsigned long long, int> created;  ///< memory that the driver made and that was not released, with its device
  std::map<unsigned long long, int>
      shared;  ///< the file behind memory of `created` that may be shared: real, between processes
  std::map<unsigned long long, std::size_t> reserved;
  std::map<unsigned long long, std::size_t> mapped;  ///< by the driver
  std::vector<int> accessible_to;                    ///< the devices of the last cuMemSetAccess
  std::vector<std::pair<int, std::size_t>> zeroed;   ///< device and bytes of each cudaMemsetAsync
  std::vector<symbol_copy> symbol_copies;
  unsigned host_flags = 0;   ///< of the last cudaHostAlloc
  shape_asked occupancy_of;  ///< by the last call that asks how many blocks or clusters fit
  std::vector<page_advice> advised;
  std::vector<page_advice> prefetched;
  std::vector<const void*> owned_by_graph;             ///< what the graph of any captured stream keeps alive
  std::vector<int> waited_for;                         ///< the device of each cudaDeviceSynchronize
  std::pair<const void*, std::size_t> written_late{};  ///< copies to this memory run when something waits for a stream
  std::vector<std::function<void()>> late_copies;
  std::vector<std::string> calls;     ///< names of copies, fills and waits, in order
  std::vector<std::string> failures;  ///< what the handler for failed restores was told

  std::recursive_mutex mutex;

  [[nodiscard]] int& attribute(cudaDeviceAttr which, std::size_t device = 0) { return devices.at(device).attributes[which]; }

  /// Whether all memory and all streams were released.
  [[nodiscard]] bool clean() const {
    return allocations.empty() && created.empty() && reserved.empty() && mapped.empty() && streams == 0 && opened.empty();
  }
};

/// The machine of the running test.
machine& now();

/// The calling thread's current device.
int current_device();

/// The calling thread's context: 0 where it has none, `device + 1` for a primary one, `own_context(device)` for one that the program made.
int current_context();
void make_context_current(int context);
inline constexpr int contexts_apart = 1000;
constexpr int own_context(int device) { return contexts_apart + device + 1; }

int device_count();

/// A test on a new machine of four devices.
class test : public ::testing::Test {
 protected:
  test();
  ~test() override;
};

}  // namespace fake_cuda
