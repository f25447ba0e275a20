// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A CUDA program for the tests of membar-domains. Its first argument selects how it gets the driver's functions: `linked`,
/// from the linker; `dlsym`; `table`, through cuGetProcAddress, as the CUDA runtime does; `own_stream`, like `table` with the
/// per-thread default stream. Each further argument is an action:
/// * put, small: launches of these kernels; put/ex, put/remote, put/map: with attributes; put/cooperative; put/null,
///   small/null: in the null stream; long: a kernel with a long name;
/// * put/own, put/peer, put/host, put/later: puts with pointers to such memory; put/later points to memory that `map` maps;
///   put/buffer: a peer's pointer in cuLaunchKernel's `extra`; put/both: put/own and put/peer in two threads; put/captured:
///   put/peer in a stream that is being captured;
/// * graph, child, update, exchange, parameters, conditional: graphs; graph/peer: a graph with put/peer and put/own;
///   exchange/peer: replaces one of these by the other in an executable graph; again/peer: put/peer and then put/own in the
///   same node, and the graph is instantiated for each; graph/map: a node with its own map;
/// * thread: a thread with the smallest stack; fork: a child process that exits; room: a thread whose event waits for another
///   thread's launch; race: many put and small kernels concurrently; race/two: the same in two contexts;
/// * check/...: kernels with pointers; exit=<status>; abort.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // Older programs call functions that are now deprecated.
#include <cuda.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>

#undef cuGetProcAddress
#undef cuGraphExecUpdate
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphInstantiate

// The header declares these for other versions of CUDA or another default stream.
extern "C" CUresult cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
extern "C" CUresult cuGraphInstantiate(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t);
extern "C" CUresult cuGraphInstantiate_v2(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t);
extern "C" CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*);
extern "C" CUresult cuGraphExecUpdate(CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*);

/// A function of the fake driver. With the real driver, creating such a node takes many more calls.
extern "C" CUresult cuGraphAddConditional(CUgraph graph);
extern "C" int fakeWaitsForRoom();
extern "C" bool fakeHasSettled();
extern "C" void fakeUseContext(int n);
extern "C" void fakeStore(CUdeviceptr at, CUdeviceptr word);

namespace {

struct functions {
  decltype(&cuInit) init;
  decltype(&cuModuleGetFunction) get_function;
  decltype(&cuLaunchKernel) launch;
  decltype(&cuLaunchKernelEx) launch_ex;
  decltype(&cuLaunchCooperativeKernel) launch_cooperative;
  decltype(&cuGraphInstantiateWithFlags) instantiate;
  decltype(&cuGraphExecUpdate_v2) update;
  decltype(&cuModuleLoadData) load;
  decltype(&cuGraphExecKernelNodeSetParams_v2) set_node;
  decltype(&cuMemMap) map;
};

template <class Function>
void set(Function& to, void* address) {
  if (address == nullptr) {
    std::puts("no function");
    std::exit(70);
  }
  to = reinterpret_cast<Function>(address);
}

functions driver_by(const std::string& way) {
  functions out{};
  if (way == "linked") {
    return {cuInit,
            cuModuleGetFunction,
            cuLaunchKernel,
            cuLaunchKernelEx,
            cuLaunchCooperativeKernel,
            cuGraphInstantiateWithFlags,
            cuGraphExecUpdate_v2,
            cuModuleLoadData,
            cuGraphExecKernelNodeSetParams_v2,
            cuMemMap};
  }
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (way == "dlsym") {
    set(out.init, dlsym(library, "cuInit"));
    set(out.get_function, dlsym(library, "cuModuleGetFunction"));
    set(out.launch, dlsym(library, "cuLaunchKernel"));
    set(out.launch_ex, dlsym(library, "cuLaunchKernelEx"));
    set(out.launch_cooperative, dlsym(library, "cuLaunchCooperativeKernel"));
    set(out.instantiate, dlsym(library, "cuGraphInstantiateWithFlags"));
    set(out.update, dlsym(library, "cuGraphExecUpdate_v2"));
    set(out.set_node, dlsym(library, "cuGraphExecKernelNodeSetParams_v2"));
    set(out.map, dlsym(library, "cuMemMap"));
    set(out.load, dlsym(library, "cuModuleLoadData"));
    return out;
  }
  using getter = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  getter* first = nullptr;
  getter* get = nullptr;
  set(first, dlsym(library, "cuGetProcAddress_v2"));
  const cuuint64_t flags = way == "own_stream" ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
  const auto find = [&](getter* by, auto& to, const char* name, int version, cuuint64_t with) {
    void* address = nullptr;
    static_cast<void>(by(name, &address, version, with, nullptr));
    set(to, address);
  };
  find(first, get, "cuGetProcAddress", 12000, 0);
  find(get, out.init, "cuInit", 2000, 0);
  find(get, out.get_function, "cuModuleGetFunction", 2000, 0);
  find(get, out.launch, "cuLaunchKernel", flags == 0 ? 4000 : 7000, flags);
  find(get, out.launch_ex, "cuLaunchKernelEx", 11060, flags);
  find(get, out.launch_cooperative, "cuLaunchCooperativeKernel", 9000, 0);
  find(get, out.instantiate, "cuGraphInstantiate", 12000, 0);
  find(get, out.update, "cuGraphExecUpdate", 12000, 0);
  find(get, out.load, "cuModuleLoadData", 2000, 0);
  find(get, out.map, "cuMemMap", 10020, 0);
  find(get, out.set_node, "cuGraphExecKernelNodeSetParams", 12000, 0);
  return out;
}

}  // namespace

int main(int count, char** words) {
  const std::string way = count > 1 ? words[1] : "linked";
  const functions driver = driver_by(way);
  const auto by_way = [&](auto* linked, const char* name) {
    return way == "linked" ? linked : reinterpret_cast<decltype(linked)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
  };
  if (driver.init(0) != CUDA_SUCCESS) {
    return 3;
  }
  CUfunction put = nullptr;
  CUfunction small = nullptr;
  driver.get_function(&put, nullptr, "put");
  driver.get_function(&small, nullptr, "small");
  const auto stream = [](int i) { return reinterpret_cast<CUstream>(static_cast<std::size_t>(0x1000 * i)); };
  const auto plain = [&](CUfunction f, CUstream s) { return driver.launch(f, 1, 1, 1, 32, 1, 1, 0, s, nullptr, nullptr); };
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    CUresult result = CUDA_SUCCESS;
    CUlaunchAttribute attribute{};
    CUlaunchConfig config{1, 1, 1, 32, 1, 1, 0, stream(1), &attribute, 1};
    // The arguments of PyTorch's elementwise kernels: a number, and an array of pointers by value.
    int number = 1 << 20;
    CUdeviceptr memory_of_own[3] = {0x10000000, 0x10008000, 42};
    CUdeviceptr memory_of_other[3] = {0x10000000, 0x10008000, 0x20000000};
    void* own[] = {&number, memory_of_own};
    void* other[] = {&number, memory_of_other};
    if (word == "put/own" || word == "put/peer" || word == "put/host" || word == "put/later") {
      memory_of_other[2] = word == "put/peer" ? 0x20000000 : word == "put/host" ? 0x30000000 : 0x50000000;
      result = driver.launch(put, 1, 1, 1, 32, 1, 1, 0, stream(1), word == "put/own" ? own : other, nullptr);
    } else if (word == "put/captured") {
      result = driver.launch(put, 1, 1, 1, 32, 1, 1, 0, stream(3), other, nullptr);
    } else if (word == "end/capture") {  // Afterwards the graph is instantiated.
      CUgraph graph = nullptr;
      CUgraphExec exec = nullptr;
      cuStreamEndCapture(stream(3), &graph);
      result = driver.instantiate(&exec, graph, 5);
    } else if (word == "put/both") {
      std::thread first([&] { driver.launch(put, 1, 1, 1, 32, 1, 1, 0, stream(1), own, nullptr); });
      std::thread second([&] { driver.launch(put, 1, 1, 1, 32, 1, 1, 0, stream(2), other, nullptr); });
      first.join();
      second.join();
    } else if (word == "put/buffer") {
      std::size_t size = sizeof memory_of_other;
      void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, memory_of_other, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       CU_LAUNCH_PARAM_END};
      result = driver.launch(put, 1, 1, 1, 32, 1, 1, 0, stream(1), nullptr, extra);
    } else if (word == "map") {
      result = driver.map(0x50000000, 4096, 0, 0, 0);
    } else if (word == "graph/peer" || word == "exchange/peer" || word == "again/peer" || word == "graph/map") {
      CUgraph graph = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      cuGraphCreate(&graph, 0);
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = put;
      p.kernelParams = other;
      cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      p.kernelParams = own;
      if (word == "graph/peer" || word == "exchange/peer") {
        cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      } else if (word == "graph/map") {
        CUlaunchAttributeValue map{};
        map.memSyncDomainMap = {3, 3};
        cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &map);
      }
      result = driver.instantiate(&exec, graph, 5);
      if (word == "exchange/peer") {
        p.kernelParams = other;
        result = driver.set_node(exec, node, &p);
      } else if (word == "again/peer") {
        cuGraphKernelNodeSetParams(node, &p);
        result = driver.instantiate(&exec, graph, 5);
      }
    } else if (word == "thread") {
      pthread_attr_t how;
      pthread_t thread{};
      pthread_attr_init(&how);
      pthread_attr_setstacksize(&how, PTHREAD_STACK_MIN);
      if (pthread_create(&thread, &how, [](void* p) { return p; }, nullptr) != 0) {
        return 5;
      }
      pthread_join(thread, nullptr);
    } else if (word == "room") {
      std::thread full([&] { plain(small, stream(7)); });
      while (fakeWaitsForRoom() == 0) {
      }
      plain(small, stream(8));
      full.join();
    } else if (word == "cost") {  // The time of a launch, in nanoseconds of this thread's CPU time.
      constexpr int launches = 20'000'000;
      const auto now = [] {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
      };
      const double begin = now();
      for (int k = 0; k < launches; ++k) {
        plain(small, stream(1));
      }
      std::printf("%.1f ns a launch\n", (now() - begin) / launches);
    } else if (word == "small/threads") {  // Two threads that exist concurrently.
      std::barrier both(2);
      const auto launches = [&] {
        for (int k = 0; k < 1000; ++k) {
          plain(small, stream(1));
        }
        both.arrive_and_wait();
      };
      std::thread first(launches);
      std::thread second(launches);
      first.join();
      second.join();
    } else if (word ==
               // Runs put and small kernels concurrently until the way in which puts are launched has not changed for a long
               // time, but for at most 30 seconds.
               "steady") {
      CUfunction local = nullptr;
      driver.get_function(&local, nullptr, "_Z5smallPf");
      CUdeviceptr pointer = 0x11000000;
      void* parameters[] = {&pointer};
      const std::time_t begin = std::time(nullptr);
      while (!fakeHasSettled() && std::time(nullptr) - begin < 30) {
        driver.launch(put, 1, 1, 1, 32, 1, 1, 0, stream(1), other, nullptr);
        for (int k = 0; k < 100; ++k) {
          driver.launch(local, 1, 1, 1, 32, 1, 1, 0, stream(2), parameters, nullptr);
        }
      }
      std::printf("settled: %d\n", fakeHasSettled() ? 1 : 0);
    } else if (word == "local") {  // Small kernels run alone for 0.4 seconds.
      CUfunction local = nullptr;
      driver.get_function(&local, nullptr, "_Z5smallPf");
      CUdeviceptr pointer = 0x11000000;
      void* parameters[] = {&pointer};
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
      while (std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(
            std::chrono::milliseconds(1));  // A launch advances the fake driver's clock by a microsecond.
        driver.launch(local, 1, 1, 1, 32, 1, 1, 0, stream(2), parameters, nullptr);
      }
      std::fprintf(stderr, "local: over\n");
    } else if (word == "fork/busy") {  // Creates child processes while another thread is mostly executing library code.
      std::atomic<bool> stop = false;
      std::thread busy([&] {
        while (!stop) {
          by_way(cuModuleUnload, "cuModuleUnload")(nullptr);
          plain(small, stream(1));
        }
      });
      for (int k = 0; k < 300 && result == CUDA_SUCCESS; ++k) {
        const pid_t child = fork();
        if (child == 0) {
          alarm(20);
          by_way(cuModuleUnload, "cuModuleUnload")(nullptr);
          _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        result = status == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
      }
      stop = true;
      busy.join();
    } else if (word == "fork") {
      if (fork() == 0) {
        std::exit(0);
      }
      wait(nullptr);
    } else if (word == "long") {
      const std::string name(100'000, 'a');
      CUfunction f = nullptr;
      driver.get_function(&f, nullptr, name.c_str());
      result = plain(f, stream(1));
    } else if (word == "put" || word == "small") {
      result = plain(word == "put" ? put : small, stream(1));
    } else if (word == "put/mapped") {  // put in a stream with its own map.
      result = plain(put, stream(5));
    } else if (word == "put/ex") {
      config.attrs = nullptr;
      config.numAttrs = 0;
      result = driver.launch_ex(&config, put, nullptr, nullptr);
    } else if (word == "put/remote") {
      attribute.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
      attribute.value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
      result = driver.launch_ex(&config, put, nullptr, nullptr);
    } else if (word == "put/map") {
      attribute.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
      attribute.value.memSyncDomainMap = {3, 3};
      result = driver.launch_ex(&config, put, nullptr, nullptr);
    } else if (word == "put/cooperative") {
      result = driver.launch_cooperative(put, 1, 1, 1, 32, 1, 1, 0, stream(1), nullptr);
    } else if (word.starts_with("check/")) {
      // Kernels with the names that the fake CUPTI uses. One kernel sets a flag at device scope, and the other waits for it at
      // system scope. Each kernel gets its own pointer (apart); both get the same pointer (shared, or only at the tenth launch:
      // late); or one kernel gets the pointer in a table (table; local/table: a table of the other kernel).
      const std::string which = word.substr(6);
      CUmodule module = nullptr;
      driver.load(&module,
                  "//\n.version 8.0\n.visible .entry ncclDevKernel_fake(.param .u64 p) { fence.acq_rel.gpu; st.relaxed.gpu.u32 "
                  "[%rd1], 1; }\n"
                  ".visible .entry _Z5smallPf(.param .u64 p) { ld.acquire.sys.u32 %r1, [%rd1]; }\n");
      const char* const names[] = {"ncclDevKernel_fake", "_Z5smallPf"};
      for (int launch = 0; launch < (which == "late" ? 10 : 1); ++launch) {
        for (int kernel = 0; kernel < 2; ++kernel) {
          const bool in_table = which == (kernel == 0 ? "table" : "local/table");
          const bool of_own = which == "apart" || (which == "late" && launch < 9);
          CUdeviceptr pointer = in_table ? 0x8000000 : of_own && kernel == 1 ? 0x7001000 : 0x7000000;
          fakeStore(0x8000008, 0x7000000);
          void* parameters[] = {&pointer};
          CUfunction f = nullptr;
          driver.get_function(&f, module, names[kernel]);
          result = driver.launch(f, 1, 1, 1, 32, 1, 1, 0, stream(1), parameters, nullptr);
        }
      }
    } else if (word == "put/null" || word == "small/null") {
      result = plain(word == "put/null" ? put : small, nullptr);
    } else if (word == "child" || word == "update" || word == "exchange" || word == "parameters" || word == "conditional") {
      CUgraph graph = nullptr;
      CUgraph inner = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      cuGraphCreate(&graph, 0);
      cuGraphCreate(&inner, 0);
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = word == "parameters" || word == "child" ? put : small;
      cuGraphAddKernelNode(&node, word == "child" ? inner : graph, nullptr, 0, &p);
      if (word == "child") {
        cuGraphAddChildGraphNode(&node, graph, nullptr, 0, inner);
      } else if (word == "conditional") {
        cuGraphAddConditional(graph);
      }
      result = driver.instantiate(&exec, graph, 5);
      p.func = put;
      if (word == "update") {
        cuGraphAddKernelNode(&node, inner, nullptr, 0, &p);
        result = driver.update(exec, inner, nullptr);
      } else if (word == "exchange" || word == "parameters") {
        result = driver.set_node(exec, node, &p);
      }
    } else if (word.starts_with("graph=")) {  // Puts `put` into a graph that is passed to the function with this name.
      const std::string name = word.substr(6);
      CUgraph graph = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = put;
      cuGraphCreate(&graph, 0);
      cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      CUgraphNodeParams child{};
      child.type = CU_GRAPH_NODE_TYPE_GRAPH;
      child.graph.graph = graph;
      result = name == "cuGraphInstantiate" ? by_way(cuGraphInstantiate, name.c_str())(&exec, graph, nullptr, nullptr, 0)
               : name == "cuGraphExecNodeSetParams" ? by_way(cuGraphExecNodeSetParams, name.c_str())(exec, node, &child)
               : name == "cuGraphInstantiate_v2"
                   ? by_way(cuGraphInstantiate_v2, name.c_str())(&exec, graph, nullptr, nullptr, 0)
               : name == "cuGraphInstantiateWithParams_ptsz"
                   ? by_way(cuGraphInstantiateWithParams_ptsz, name.c_str())(&exec, graph, nullptr)
               : name == "cuGraphExecUpdate" ? by_way(cuGraphExecUpdate, name.c_str())(exec, graph, nullptr, nullptr)
                                             : by_way(cuGraphExecChildGraphNodeSetParams, name.c_str())(exec, node, graph);
    } else if (word.starts_with("set=")) {  // Replaces small with put in an executable graph, using this function.
      const std::string name = word.substr(4);
      CUgraph graph = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = small;
      cuGraphCreate(&graph, 0);
      cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      driver.instantiate(&exec, graph, 5);
      CUDA_KERNEL_NODE_PARAMS_v1 v1{};
      CUgraphNodeParams any{};
      any.type = CU_GRAPH_NODE_TYPE_KERNEL;
      any.kernel.func = v1.func = put;
      result = name == "cuGraphExecNodeSetParams" ? by_way(cuGraphExecNodeSetParams, name.c_str())(exec, node, &any)
                                                  : by_way(cuGraphExecKernelNodeSetParams, name.c_str())(exec, node, &v1);
      by_way(cuGraphExecDestroy, "cuGraphExecDestroy")(exec);
    } else if (word.starts_with("unmovable/")) {  // put, launched by functions that take no attribute.
      CUDA_LAUNCH_PARAMS one{};
      one.function = put;
      one.hStream = stream(1);
      result = word == "unmovable/cuLaunch"       ? by_way(cuLaunch, "cuLaunch")(put)
               : word == "unmovable/cuLaunchGrid" ? by_way(cuLaunchGrid, "cuLaunchGrid")(put, 1, 1)
               : word == "unmovable/cuLaunchGridAsync"
                   ? by_way(cuLaunchGridAsync, "cuLaunchGridAsync")(put, 1, 1, stream(1))
                   : by_way(cuLaunchCooperativeKernelMultiDevice, "cuLaunchCooperativeKernelMultiDevice")(&one, 1, 0);
      // After a graph with put was moved, small replaces put's node, or the node in a copy of the graph.
    } else if (word.starts_with("leak/")) {
      CUgraph graph = nullptr;
      CUgraph copy = nullptr;
      CUgraphNode node = nullptr;
      CUgraphNode second = nullptr;
      CUgraphExec exec = nullptr;
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = put;
      if (word == "leak/captured") {
        driver.launch(put, 1, 1, 1, 32, 1, 1, 0, stream(3), own, nullptr);
        cuStreamEndCapture(stream(3), &graph);
      } else {
        cuGraphCreate(&graph, 0);
        cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      }
      driver.instantiate(&exec, graph, 5);
      p.func = small;
      CUgraphNodeParams any{};
      any.type = CU_GRAPH_NODE_TYPE_KERNEL;
      any.kernel.func = small;
      std::size_t one = 1;
      if (word == "leak/clone") {
        cuGraphClone(&copy, graph);
      } else if (word == "leak/child") {
        cuGraphCreate(&copy, 0);
        cuGraphAddChildGraphNode(&node, copy, nullptr, 0, graph);
        cuGraphChildGraphNodeGetGraph(node, &graph);
      } else if (word == "leak/copy") {
        cuGraphCreate(&copy, 0);
        cuGraphAddKernelNode(&second, copy, nullptr, 0, &p);
        cuGraphKernelNodeCopyAttributes(second, node);
      }
      const CUgraph changed = copy == nullptr || word == "leak/child" ? graph : copy;
      cuGraphGetNodes(changed, &node, &one);
      word == "leak/node_params" ? cuGraphNodeSetParams(node, &any) : cuGraphKernelNodeSetParams(node, &p);
      result = driver.instantiate(&exec, copy == nullptr ? graph : copy, 5);
    } else if (word == "body") {  // put in the body of a conditional node.
      CUgraph graph = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      CUgraphNodeParams condition{};
      condition.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
      condition.conditional.size = 1;
      cuGraphCreate(&graph, 0);
      by_way(cuGraphAddNode_v2, "cuGraphAddNode_v2")(&node, graph, nullptr, nullptr, 0, &condition);
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = put;
      cuGraphAddKernelNode(&node, condition.conditional.phGraph_out[0], nullptr, 0, &p);
      result = driver.instantiate(&exec, graph, 5);
      // The node's handle is reused for a node with its own domain.
    } else if (word.starts_with("gone/node") || word == "gone/graph") {
      CUgraph graph = nullptr;
      CUgraph inner = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = put;
      cuGraphCreate(&graph, 0);
      cuGraphCreate(&inner, 0);
      cuGraphAddKernelNode(&node, word == "gone/node/child" ? inner : graph, nullptr, 0, &p);
      if (word == "gone/node/child") {
        cuGraphAddChildGraphNode(&node, graph, nullptr, 0, inner);
      }
      driver.instantiate(&exec, graph, 5);
      word == "gone/graph" ? by_way(cuGraphDestroy, "cuGraphDestroy")(graph)
                           : by_way(cuGraphDestroyNode, "cuGraphDestroyNode")(node);
      cuGraphCreate(&graph, 0);
      p.func = small;
      cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      CUlaunchAttributeValue remote{};
      remote.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
      cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &remote);
      result = driver.instantiate(&exec, graph, 5);
    } else if (word.starts_with("gone/")) {  // The handle of put is reused for small.
      word == "gone/context" ? by_way(cuCtxDestroy, "cuCtxDestroy_v2")(nullptr)
      : word == "gone/reset" ? by_way(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2")(0)
                             : by_way(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")(0);
      driver.get_function(&small, nullptr, "small");
      result = plain(small, stream(1));
    } else if (word == "graph") {
      CUgraph graph = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      cuGraphCreate(&graph, 0);
      for (const CUfunction f : {put, small}) {
        CUDA_KERNEL_NODE_PARAMS p{};
        p.func = f;
        cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      }
      result = driver.instantiate(&exec, graph, 5);
      cuGraphLaunch(exec, stream(1));
    } else if (word.starts_with(
                   // 40 launches of a graph with put, each with concurrent small kernels. graphs/streams alternates between two
                   // streams.
                   "graphs/")) {
      CUgraph graph = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      CUDA_KERNEL_NODE_PARAMS p{};
      p.func = put;
      cuGraphCreate(&graph, 0);
      cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      driver.instantiate(&exec, graph, 0);
      CUgraph other_graph = nullptr;
      CUgraphExec beside = nullptr;
      p.func = small;
      cuGraphCreate(&other_graph, 0);
      for (int k = 0; k < 90; ++k) {
        cuGraphAddKernelNode(&node, other_graph, nullptr, 0, &p);
      }
      driver.instantiate(&beside, other_graph, 0);
      for (int k = 0; k < (word == "graphs/streams" ? 4 : 44); ++k) {
        cuGraphLaunch(exec, stream(word == "graphs/streams" ? 1 + k % 2 : 1));
        cuGraphLaunch(beside, stream(4));
        CUevent event = nullptr;
        cuEventCreate(&event, 0);
        cuEventRecord(event, stream(1));
        cuStreamWaitEvent(stream(4), event, 0);
      }
    } else if (word.starts_with("few/")) {  // few/small, few/large: the race in its own stream, with fewer launches or graphs.
      CUDA_KERNEL_NODE_PARAMS p{};
      CUgraph graph = nullptr;
      CUgraphNode node = nullptr;
      CUgraphExec exec = nullptr;
      driver.get_function(&p.func, nullptr, word.substr(4, 5).c_str());
      cuGraphCreate(&graph, 0);
      cuGraphAddKernelNode(&node, graph, nullptr, 0, &p);
      driver.instantiate(&exec, graph, 0);
      for (int k = 0; k < 50; ++k) {
        plain(put, stream(1));
      }
      for (int k = 0; k < 2000; ++k) {
        const CUstream into = stream(word.starts_with("few/small") ? 2 : 4);
        word.ends_with("/graph") ? cuGraphLaunch(exec, into) : plain(p.func, into);
      }
    } else if (word == "race/null") {
      for (int k = 0; k < 800; ++k) {
        plain(put, stream(1));
      }
      for (int k = 0; k < 80'000; ++k) {
        plain(small, nullptr);
      }
    } else if (word == "race" || word == "race/two") {
      for (int context = 0; context < (word == "race" ? 1 : 2); ++context) {
        fakeUseContext(context);
        for (int k = 0; k < 800; ++k) {
          plain(put, stream(1));
        }
        for (int k = 0; k < 80'000; ++k) {
          plain(small, stream(2));
        }
      }
    } else if (word.starts_with("exit=")) {
      return std::atoi(word.c_str() + 5);
    } else if (word == "abort") {
      std::abort();
    }
    if (result != CUDA_SUCCESS) {
      std::printf("%s: %d\n", word.c_str(), static_cast<int>(result));
      return 4;
    }
  }
  return 0;
}
