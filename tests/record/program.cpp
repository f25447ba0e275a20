// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A CUDA program for the tests of membar-check record, which uses the fake driver of membar-domains' tests. It loads the
/// module in the file of its first argument, allocates memory, and performs an action for each further argument:
/// * Launches of kernels: put (with a struct of pointers, the second of which points to a table), put/fewer (with another shape),
///   small, late, count, await, meet (with two parts), tally (which uses the variable total), floats (with
///   memory that holds numbers of many kinds), many (two kernels 1000 times), shapes (40 different shapes), race (in two streams),
///   ordered (with an event between them), waited (the host waits between them), dependent, domain, graph, captured, child (a
///   graph within a graph), child/update (whose inner graph is replaced), tile (with a tensor map), tile/moved (whose address is
///   replaced), tile/pointer (with a pointer to a map), tile/im2col, tile/pointer/im2col, cost (prints the time of a launch of
///   small).
/// * plain=NAME and dependent=NAME launch any kernel with one pointer, the second as a programmatic dependent. copy starts an
///   asynchronous copy to the host.
/// * Settings for the next launches: stream=N (for plain and dependent; stream 3 is captured), blocks=N, number=N (the first
///   argument of put), total (the variable begins with floats).
/// * Actions of the host: synchronize, output=FILE (writes the last line of the driver's log), begin=FOLDER and end (of a
///   recording), exit=STATUS, abort.
/// * Communication with another process: export=FILE and import=FILE (memory), close, import_event, tell=FILE and hear=FILE
///   (pipes), run=COMMAND (the program waits for the command at its end).
/// * Parts of memory, from this process or from another one, each mapped after the previous part: part=DEVICE,
///   part_of_file=NUMBER (a part that this process or the one that started it has exported; if there is none, a file that is not
///   memory), part_of_fabric=FILE, part_again=NUMBER (maps the part once more), export_file (exports the last part, for run),
///   export_fabric=FILE, range=COUNT (reserves addresses for parts, beginning with the first), at=NUMBER (data is this part),
///   value=NUMBER (data begins with this value), unmap=NUMBER (the next part is mapped in its place), device=NUMBER (for the next
///   launches, which are in separate streams), of_table and of_data (what data points to).
/// * Actions of fake_xla.cpp: xla=LIBRARY (loads it), print_flags, dump=FILE (writes this PTX to the dump), dump_later=FILE (with
///   a time of the next hour), setenv=VALUE (of XLA_FLAGS), load=FILE (an image, from which plain takes its kernel).
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" void fakeUseDevice(int device);

namespace {

std::vector<char> bytes_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> out{std::istreambuf_iterator<char>(file), {}};
  out.resize(out.size() + 64);
  return out;
}

CUstream stream(int i) { return reinterpret_cast<CUstream>(static_cast<std::size_t>(0x1000 * i)); }

/// Parts of memory of 4096 bytes each, mapped next to each other.
struct parts {
  CUdeviceptr range = 0;
  std::vector<CUmemGenericAllocationHandle> handles{};
  std::size_t mapped = 0;
  int files = 0;
  int device = 0;  ///< the device of the next launches

  static constexpr std::size_t bytes = 4096;
  void reserve(std::size_t count) {
    cuMemAddressReserve(&range, count * bytes, 0, 0, 0);
    mapped = 0;
  }
  void map(CUmemGenericAllocationHandle handle) { cuMemMap(range + bytes * mapped++, bytes, 0, handle, 0); }
  void map_new(int of_device) {
    CUmemAllocationProp of{};
    of.location = {CU_MEM_LOCATION_TYPE_DEVICE, of_device};
    cuMemCreate(&handles.emplace_back(), bytes, &of, 0);
    map(handles.back());
  }
  void map_imported(void* from, CUmemAllocationHandleType type) {
    cuMemImportFromShareableHandle(&handles.emplace_back(), from, type);
    map(handles.back());
  }
};

/// Handles an action on a part of memory or on an object that another process shares. Returns false for other actions.
bool is_of_parts(const std::string& word, parts& of, CUdeviceptr& data) {
  const std::string value = word.substr(std::min(word.size(), word.find('=') + 1));
  const auto number = [&] { return std::strtoul(value.c_str(), nullptr, 10); };
  if (word.starts_with("range=")) {
    of.reserve(number());
  } else if (word.starts_with("part=")) {
    of.map_new(static_cast<int>(number()));
  } else if (word.starts_with("part_again=")) {
    of.map(of.handles[number()]);
  } else if (word.starts_with("part_of_file=")) {
    const char* const file = std::getenv(("PROGRAM_FILE_" + value).c_str());
    of.map_imported(reinterpret_cast<void*>(std::intptr_t{file == nullptr ? 0 : std::atoi(file)}),
                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  } else if (word.starts_with("part_of_fabric=")) {
    CUmemFabricHandle handle{};
    std::ifstream(value, std::ios::binary).read(reinterpret_cast<char*>(handle.data), sizeof handle.data);
    of.map_imported(&handle, CU_MEM_HANDLE_TYPE_FABRIC);
  } else if (word == "export_file") {
    int file = -1;
    cuMemExportToShareableHandle(&file, of.handles.back(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    setenv(("PROGRAM_FILE_" + std::to_string(of.files++)).c_str(), std::to_string(file).c_str(), 1);
  } else if (word.starts_with("export_fabric=")) {
    CUmemFabricHandle handle{};
    cuMemExportToShareableHandle(&handle, of.handles.back(), CU_MEM_HANDLE_TYPE_FABRIC, 0);
    std::ofstream(value, std::ios::binary).write(reinterpret_cast<char*>(handle.data), sizeof handle.data);
  } else if (word.starts_with("at=")) {
    data = of.range + parts::bytes * number();
  } else if (word.starts_with("value=")) {
    const std::uint64_t begins = number();
    cuMemcpyHtoD(data, &begins, sizeof begins);
  } else if (word.starts_with("unmap=")) {
    of.mapped = number();
    cuMemUnmap(of.range + parts::bytes * of.mapped, parts::bytes);
  } else if (word.starts_with("device=")) {
    of.device = static_cast<int>(number());
    fakeUseDevice(of.device);
  } else {
    return false;
  }
  return true;
}

/// Handles actions of the library that behaves like XLA, and loads images. Returns false for other actions.
bool is_of_xla(const std::string& word, void*& xla, CUmodule& module) {
  const std::string value = word.substr(std::min(word.size(), word.find('=') + 1));
  const auto call = [&](const char* name, auto... arguments) {
    reinterpret_cast<void (*)(decltype(arguments)...)>(dlsym(xla, name))(arguments...);
  };
  if (word.starts_with("xla=")) {
    xla = dlopen(value.c_str(), RTLD_NOW | RTLD_LOCAL);
  } else if (word == "print_flags") {
    call("fakeXlaPrintFlags");
  } else if (word.starts_with("dump=") || word.starts_with("dump_later=")) {
    call("fakeXlaDump", value.c_str(), word.starts_with("dump=") ? 0 : 3600);
  } else if (word.starts_with("setenv=")) {
    setenv("XLA_FLAGS", value.c_str(), 1);
  } else if (word.starts_with("load=")) {
    static std::deque<std::vector<char>> images;
    cuModuleLoadData(&module, images.emplace_back(bytes_of_file(value.c_str())).data());
  } else {
    return false;
  }
  return true;
}

CUdeviceptr allocated(const std::vector<std::uint64_t>& words, std::size_t bytes) {
  CUdeviceptr at = 0;
  cuMemAlloc(&at, bytes);
  cuMemcpyHtoD(at, words.data(), words.size() * sizeof words[0]);
  return at;
}

}  // namespace

int main(int count, char** words) {
  cuInit(0);
  const std::vector<char> image = bytes_of_file(words[1]);
  CUmodule module = nullptr;
  CUfunction put = nullptr;
  CUfunction small = nullptr;
  CUfunction late = nullptr;
  cuModuleLoadData(&module, image.data());
  cuModuleGetFunction(&put, module, "put");
  cuModuleGetFunction(&small, module, "small");
  cuModuleGetFunction(&late, module, "late");
  CUdeviceptr data = allocated({1, 2, 3}, 64);
  const CUdeviceptr behind_table = allocated({7}, 32);
  const CUdeviceptr table = allocated({0, 0, behind_table + 8, 5}, 4096);
  int number = 5;
  unsigned blocks = 1;
  std::vector<std::FILE*> others;
  int stream_number = 1;
  std::array<CUdeviceptr, 3> pointers{data, table + 16, 42};
  std::array<CUdeviceptr, 3> other_pointers{data + 4, table + 16, 42};
  void* of_put[] = {&number, pointers.data()};
  void* of_other_put[] = {&number, other_pointers.data()};
  void* of_data[] = {&data};
  parts memory;
  void* xla = nullptr;
  const auto launch = [&](CUfunction f, void** parameters, int into, unsigned threads = 2) {
    return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream(into + memory.device), parameters, nullptr);
  };
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (is_of_parts(word, memory, data) || is_of_xla(word, xla, module)) {
      continue;
    }
    if (word == "put") {
      launch(put, of_put, 1);
    } else if (word == "put/fewer") {
      launch(put, of_put, 1, 1);
    } else if (word.starts_with("blocks=")) {
      blocks = static_cast<unsigned>(std::atoi(word.c_str() + 7));
    } else if (word.starts_with("number=")) {
      number = std::atoi(word.c_str() + 7);
    } else if (word == "total") {
      const std::array<float, 2> floats{0.5F, 1.0F};
      CUdeviceptr total = 0;
      std::size_t bytes = 0;
      cuModuleGetGlobal(&total, &bytes, module, "total");
      cuMemcpyHtoD(total, floats.data(), sizeof floats);
    } else if (word == "count" || word == "await" || word == "tally" || word == "meet") {
      CUfunction other = nullptr;
      cuModuleGetFunction(&other, module, word.c_str());
      launch(other, of_data, 1, word == "meet" ? 1 : 2);
    } else if (word == "of_table") {
      data = table;
    } else if (word == "of_data") {
      data = pointers[0];
    } else if (word.starts_with("stream=")) {
      stream_number = std::atoi(word.c_str() + 7);
    } else if (word.starts_with("plain=")) {
      CUfunction other = nullptr;
      cuModuleGetFunction(&other, module, word.c_str() + 6);
      if (launch(other, of_data, stream_number, 4) != CUDA_SUCCESS) {
        return 3;
      }
    } else if (word.starts_with("dependent=")) {
      CUfunction other = nullptr;
      cuModuleGetFunction(&other, module, word.c_str() + 10);
      CUlaunchAttribute attribute{};
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
      const CUlaunchConfig config{1, 1, 1, 4, 1, 1, 0, stream(stream_number), &attribute, 1};
      if (cuLaunchKernelEx(&config, other, of_data, nullptr) != CUDA_SUCCESS) {
        return 3;
      }
    } else if (word == "copy") {
      std::array<std::uint64_t, 8> host{};
      cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(host.data()), data, sizeof host, stream(stream_number));
    } else if (word.starts_with("output=")) {
      std::ifstream log(std::getenv("FAKE_DRIVER_LOG"));
      std::string line, last;
      while (std::getline(log, line)) {
        last = line;
      }
      std::ofstream(word.substr(7)) << last << "\n";
    } else if (word.starts_with("export=")) {  // Exports a pointer to the second word of data.
      CUipcMemHandle handle{};
      cuIpcGetMemHandle(&handle, data + 8);
      std::ofstream(word.substr(7), std::ios::binary).write(handle.reserved, sizeof handle.reserved);
    } else if (word.starts_with("import=")) {
      CUipcMemHandle handle{};
      std::ifstream(word.substr(7), std::ios::binary).read(handle.reserved, sizeof handle.reserved);
      cuIpcOpenMemHandle(&data, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
      data -= 8;
    } else if (word == "close") {
      cuIpcCloseMemHandle(data + 8);
    } else if (word == "import_event") {
      CUevent event = nullptr;
      cuIpcOpenEventHandle(&event, {});
    } else if (word.starts_with("run=")) {
      others.push_back(popen(word.c_str() + 4, "w"));
    } else if (word.starts_with("tell=")) {  // Communicates with another process through a pipe.
      std::ofstream(word.substr(5)) << "go";
    } else if (word.starts_with("hear=")) {
      std::ifstream file(word.substr(5));
      std::string line;
      std::getline(file, line);
    } else if (word == "synchronize") {
      cuStreamSynchronize(stream(1));
    } else if (word == "late") {
      launch(late, of_data, 1);
    } else if (word == "small") {
      launch(small, of_data, 1);
    } else if (word == "floats") {
      // A counter and, from byte 32 on, floats next to a pointer, a double, two half-precision numbers and a large number.
      const auto f32 = [](float low, float high) {
        return std::uint64_t{std::bit_cast<unsigned>(high)} << 32U | std::bit_cast<unsigned>(low);
      };
      CUdeviceptr weights = allocated({7,
                                       0xffffffff,
                                       0x1234,
                                       0,
                                       f32(0.5F, 1.0F),
                                       behind_table,
                                       f32(-2.0F, 0),
                                       3,
                                       std::bit_cast<std::uint64_t>(1.1),
                                       0,
                                       0,
                                       0,
                                       0x3c003c000000,
                                       0,
                                       0,
                                       1,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0x007fffff00000001},
                                      192);
      void* of_weights[] = {&weights};
      launch(late, of_weights, 1);
    } else if (word == "many") {
      for (int k = 0; k < 1000; ++k) {
        launch(late, of_data, 1);
        launch(small, of_data, 1);
      }
    } else if (word == "cost") {  // the cost of a launch
      constexpr int launches = 2'000'000;
      double best = 1e9;
      for (int round = 0; round < 5; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < launches; ++k) {
          launch(small, of_data, 1);
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count() / launches);
      }
      std::printf("%.2f ns\n", best);
    } else if (word == "shapes") {
      for (int k = 1; k <= 40; ++k) {
        launch(late, of_data, 1, static_cast<unsigned>(k));
      }
    } else if (word == "race" || word == "ordered" || word == "waited") {
      launch(late, of_data, 1, 3);
      CUevent event = nullptr;
      if (word == "ordered") {
        cuEventCreate(&event, 0);
        cuEventRecord(event, stream(1));
        cuStreamWaitEvent(stream(2), event, 0);
      } else if (word == "waited") {
        cuStreamSynchronize(stream(1));
      }
      launch(late, of_data, 2, 3);
    } else if (word == "dependent") {
      launch(late, of_data, 1, 4);
      CUlaunchAttribute attribute{};
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
      const CUlaunchConfig config{1, 1, 1, 4, 1, 1, 0, stream(1), &attribute, 1};
      cuLaunchKernelEx(&config, late, of_data, nullptr);
    } else if (word == "domain") {
      CUlaunchAttribute attribute{};
      attribute.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
      attribute.value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
      const CUlaunchConfig config{1, 1, 1, 5, 1, 1, 16, stream(1), &attribute, 1};
      cuLaunchKernelEx(&config, late, of_data, nullptr);
    } else if (word == "captured") {
      launch(late, of_data, 3);
    } else if (word == "graph") {  // Launches a graph of put, followed by late in two nodes.
      CUgraph graph = nullptr;
      CUgraphExec exec = nullptr;
      std::array<CUgraphNode, 3> nodes{};
      CUDA_KERNEL_NODE_PARAMS p{};
      cuGraphCreate(&graph, 0);
      p.func = put;
      p.kernelParams = of_put;
      cuGraphAddKernelNode(&nodes[0], graph, nullptr, 0, &p);
      p.func = late;
      p.kernelParams = of_data;
      cuGraphAddKernelNode(&nodes[1], graph, nodes.data(), 1, &p);
      cuGraphAddKernelNode(&nodes[2], graph, nodes.data(), 1, &p);
      cuGraphInstantiate(&exec, graph, 0);
      cuGraphLaunch(exec, stream(1));
      // Launches late, then a graph of put and late, and then late again.
    } else if (word == "child" || word == "child/update") {
      CUgraph inner = nullptr;
      CUgraph graph = nullptr;
      CUgraphExec exec = nullptr;
      std::array<CUgraphNode, 5> nodes{};
      CUDA_KERNEL_NODE_PARAMS p{};
      cuGraphCreate(&inner, 0);
      p.func = put;
      p.kernelParams = of_put;
      cuGraphAddKernelNode(&nodes[0], inner, nullptr, 0, &p);
      p.func = late;
      p.kernelParams = of_data;
      cuGraphAddKernelNode(&nodes[1], inner, nodes.data(), 1, &p);
      cuGraphCreate(&graph, 0);
      cuGraphAddKernelNode(&nodes[2], graph, nullptr, 0, &p);
      cuGraphAddChildGraphNode(&nodes[3], graph, &nodes[2], 1, inner);
      cuGraphAddKernelNode(&nodes[4], graph, &nodes[3], 1, &p);
      cuGraphInstantiate(&exec, graph, 0);
      if (word == "child/update") {
        p.func = put;
        p.kernelParams = of_other_put;
        cuGraphKernelNodeSetParams(nodes[0], &p);
        cuGraphExecChildGraphNodeSetParams(exec, nodes[3], inner);
      }
      cuGraphLaunch(exec, stream(1));
    } else if (word.starts_with("tile")) {  // The tensor map describes a matrix of 8 rows of 16 numbers, beginning at byte 64.
      std::vector<std::uint64_t> numbers(8);
      for (std::uint64_t k = 0; k < 32; ++k) {
        numbers.push_back((4 * k + 1) << 48U | (4 * k + 2) << 32U | (4 * k + 3) << 16U | (4 * k + 4));
      }
      const CUdeviceptr matrix = allocated(numbers, 4096);
      const CUdeviceptr other = allocated(numbers, 8192);
      const auto address = [](CUdeviceptr at) { return reinterpret_cast<void*>(at + 64); };
      const std::array<cuuint64_t, 2> extents{16, 8};
      const std::array<cuuint64_t, 1> strides{32};
      const std::array<cuuint32_t, 2> box{16, 4};
      const std::array<cuuint32_t, 2> steps{1, 1};
      const std::array<int, 1> corner{0};
      CUtensorMap map{};
      if (word.ends_with("im2col")) {
        cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, address(matrix), extents.data(), strides.data(),
                                corner.data(), corner.data(), 16, 4, steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      } else {
        cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, address(matrix), extents.data(), strides.data(),
                               box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      }
      if (word == "tile/moved") {
        cuTensorMapReplaceAddress(&map, address(other));
      }
      CUfunction tile = nullptr;
      cuModuleGetFunction(&tile, module, word.starts_with("tile/pointer") ? "tile_of_pointer" : "tile");
      std::vector<std::uint64_t> bytes(16);
      std::memcpy(bytes.data(), &map, sizeof map);
      bytes.insert(bytes.begin(), 8, 0);
      CUdeviceptr maps = allocated(bytes, 256) + 64;  // The map is at byte 64, because a map may be inside a struct.
      void* of_tile[] = {&map, &data};
      void* of_pointer[] = {&maps, &data};
      launch(tile, word.starts_with("tile/pointer") ? of_pointer : of_tile, 1, 1);
    } else if (word.starts_with("begin=")) {
      auto* const begin = reinterpret_cast<int (*)(const char*, const char*, unsigned, unsigned long long)>(
          dlsym(RTLD_DEFAULT, "membar_record_begin"));
      std::printf("begin %d\n", begin == nullptr ? -2 : begin(word.c_str() + 6, "", 0, 0));
    } else if (word == "end") {
      reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "membar_record_end"))();
    } else if (word.starts_with("exit=")) {
      return std::atoi(word.c_str() + 5);
    } else if (word == "abort") {
      std::abort();
    }
  }
  for (std::FILE* const other : others) {
    pclose(other);
  }
  return 0;
}
