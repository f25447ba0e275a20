// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A fake CUDA runtime and driver that answers every CUDA call in a test program with values that the test sets. With this
/// fake, tests can check the decisions of the host headers without a GPU, for any number of devices, with any limits, and with
/// failing calls.
///
/// A program gets the fake by linking with the target `fake_cuda`. Each test starts with a new `machine`.
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
  std::set<cudaLaunchAttributeID> not_taken;  ///< Calls that set an attribute fail; calls that read one succeed.
  bool valid = true;
  bool read_only = false;  ///< Calls that set an attribute fail; calls that read one succeed.
};

struct stream : attributed {
  stream();
  [[nodiscard]] cudaStream_t handle() noexcept { return reinterpret_cast<cudaStream_t>(this); }

  unsigned long long id;  ///< no two streams have the same id
  bool capturing = false;
  unsigned long long capture = 1;  ///< the id of the capture, while `capturing`
  std::atomic<bool> busy{false};   ///< Work that was already enqueued still runs.
  std::vector<cudaEvent_t> waits_for;
  int synchronized = 0;
  std::jthread work;  ///< The work of the last launch; see `machine::work_of`.
};

struct node : attributed {
  [[nodiscard]] cudaGraphNode_t handle() noexcept { return reinterpret_cast<cudaGraphNode_t>(this); }
};

struct device {
  device();

  std::string name = "Fake GPU";
  std::map<cudaDeviceAttr, int> attributes;  ///< The driver rejects attributes that are not in this list.
  int blocks_per_multiprocessor = 2;
  bool virtual_memory = true;
  bool shares_files = true;             ///< Sharing memory between processes through file descriptors.
  bool shares_fabric = false;           ///< Sharing memory between processes through fabric handles.
  unsigned host_capabilities = 0;       ///< The atomics that a partially capable link to the host supports.
  std::size_t persisting_l2_limit = 0;  ///< cudaLimitPersistingL2CacheSize
  std::vector<std::size_t> limits_set;  ///< All values to which this limit was set.
  std::set<const void*> loaded;         ///< the kernels that are loaded on the device
};

/// The state that CUDA has for a kernel.
struct kernel {
  std::size_t static_shared_bytes = 0;
  int max_dynamic_shared_bytes = 48 * 1024;
  bool non_portable_clusters = false;
  std::string name;
  int compiled_cluster = 0;  ///< The cluster size in x with which the kernel was compiled.
};

/// The shape in the last occupancy query. The number of threads per block is in `block.x`.
struct shape_asked {
  dim3 grid{0, 0, 0};
  dim3 block{0, 0, 0};
  std::size_t dynamic_shared_bytes = 0;
};

/// A copy to a symbol on a device. No data is copied.
struct symbol_copy {
  const void* symbol;
  const void* from;
  std::size_t bytes;
  std::size_t offset;
};

/// Memory advice, or a prefetch in a stream.
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

  /// Returns the value of an attribute. The test fails if the launch does not have the attribute.
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

/// Memory of another process that this process has opened.
struct opened_memory {
  std::string handle;
  std::size_t bytes;
  int device;  ///< the device whose context opened it
};

/// The planned failures of calls with the same name: `times` failures in a row, after `after` successes.
struct failure {
  int after = 0;
  cudaError_t code = cudaErrorUnknown;
  int device = -1;  ///< The device on which the call fails; -1: any device.
  int times = std::numeric_limits<int>::max();
};

struct machine {
  /// The state that a test sets.
  bool driver = true;
  int driver_version = CUDART_VERSION;
  std::vector<device> devices = std::vector<device>(4);
  std::map<std::string, failure> fails;  ///< Planned failures, by the name of the call, such as "cudaMalloc" or "cuMemMap".
  std::size_t largest_allocation = std::numeric_limits<std::size_t>::max();
  std::set<int> hidden;                                     ///< Devices that cannot be found by their bus number.
  std::set<std::pair<int, int>> no_access;                  ///< (from, to) pairs without peer access.
  std::set<std::pair<int, int>> no_native_atomics;          ///< links without native atomics
  std::map<std::pair<int, int>, unsigned> partial_atomics;  ///< Links that support some atomics, with their capabilities.
  cudaPointerAttributes pointer{};                          ///< the answer to cudaPointerGetAttributes
  std::set<const void*> flagged;                            ///< allocations with CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  bool context_flag = false;                                ///< CU_CTX_SYNC_MEMOPS
  bool interprocess = false;                                ///< cudaMalloc returns memory that other processes can open.
  origin allocated_by = origin::device;                     ///< The driver's answer for every allocation.
  std::function<void(std::string_view call)> on_call;       ///< Called before each call is answered.
  std::map<const void*, kernel> kernels;                    ///< The defaults for devices that are not listed.
  /// Called during a launch, to read its arguments while they exist.
  std::function<void(void** arguments)> on_launch;
  /// The work that a launch performs in its stream, on a host thread. If this is empty or returns nothing, the launch performs
  /// no work.
  std::function<std::function<void()>(const launch& made, void** arguments)> work_of;

  /// What has happened.
  cudaError_t last_error = cudaSuccess;  ///< The result of the next cudaGetLastError.
  stream null_stream;
  int streams = 0;                              ///< the number of streams that were created and not destroyed
  int events = 0;                               ///< the number of events that were created
  std::map<cudaEvent_t, cudaStream_t> records;  ///< The stream in which each event was last recorded.
  std::vector<launch> launches;
  std::atomic<int> running{0};                ///< Launches whose work has not ended.
  int late_calls = 0;                         ///< Allocations and module loads during a launch.
  int resets = 0;                             ///< the number of resets of persisting lines
  std::map<void*, int> allocations;           ///< Memory from cudaMalloc and cudaHostAlloc, with its device.
  std::map<const void*, std::size_t> sizes;   ///< the sizes of `allocations`
  std::map<const void*, int> files;           ///< The files of memory that other processes can open.
  std::map<void*, opened_memory> opened;      ///< memory opened by CUDA IPC
  std::vector<int> allocated_on;              ///< The device of every allocation so far.
  std::map<unsigned long long, int> created;  ///< Memory that the driver created and has not released, with its device.
  std::map<unsigned long long, int>
      shared;  ///< The files of memory in `created` that may be shared. They are real files, shared between processes.
  std::map<unsigned long long, std::size_t> reserved;
  std::map<unsigned long long, std::size_t> mapped;  ///< mappings made by the driver
  std::vector<int> accessible_to;                    ///< the devices of the last cuMemSetAccess
  std::vector<std::pair<int, std::size_t>> zeroed;   ///< The device and the size of each cudaMemsetAsync.
  std::vector<symbol_copy> symbol_copies;
  unsigned host_flags = 0;   ///< the flags of the last cudaHostAlloc
  shape_asked occupancy_of;  ///< The shape in the last call that asked how many blocks or clusters fit.
  std::vector<page_advice> advised;
  std::vector<page_advice> prefetched;
  std::vector<const void*> owned_by_graph;             ///< Objects that the graph of a captured stream keeps alive.
  std::vector<int> waited_for;                         ///< the device of each cudaDeviceSynchronize
  std::pair<const void*, std::size_t> written_late{};  ///< Copies to this memory are executed only when a call waits for a
                                                       ///< stream.
  std::vector<std::function<void()>> late_copies;
  std::vector<std::string> calls;     ///< The names of copies, fills and waits, in order.
  std::vector<std::string> failures;  ///< The messages that the handler for failed restores received.

  std::recursive_mutex mutex;

  [[nodiscard]] int& attribute(cudaDeviceAttr which, std::size_t device = 0) { return devices.at(device).attributes[which]; }

  /// Returns whether all memory and all streams were released.
  [[nodiscard]] bool clean() const {
    return allocations.empty() && created.empty() && reserved.empty() && mapped.empty() && streams == 0 && opened.empty();
  }
};

/// The machine of the running test.
machine& now();

/// Returns the calling thread's current device.
int current_device();

/// The calling thread's context: 0 if it has none, `device + 1` for a primary context, `own_context(device)` for a context that
/// the program created.
int current_context();
void make_context_current(int context);
inline constexpr int contexts_apart = 1000;
constexpr int own_context(int device) { return contexts_apart + device + 1; }

int device_count();

/// The base class of tests on a new machine with four devices.
class test : public ::testing::Test {
 protected:
  test();
  ~test() override;
};

}  // namespace fake_cuda
