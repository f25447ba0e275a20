// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A CUDA program as the tests of membar-check record need it, of the driver that the tests of membar-domains have. It loads the module of its first word,
/// a file, allocates memory and does one thing for each word that follows:
/// * kernels: put (with a struct of pointers, of which the second is of a table), put/fewer (another shape), small, late, count, await, tally (which uses the variable total), floats (with memory of
///   numbers of many kinds), many (one launch 1000 times), shapes (40 of them), race (in two streams), ordered (with an event between), waited (the host waits
///   between), dependent, domain, graph, captured;
/// * plain=NAME and dependent=NAME: any kernel of one pointer, the second as a programmatic dependent; copy (asynchronously, to the host);
/// * of what is launched next: stream=N (of plain and dependent; the third is captured), blocks=N, number=N (the first argument of put), total (the variable begins with floats);
/// * the host: synchronize, output=FILE (the last line of the driver's log), begin=FOLDER and end (of recording), exit=STATUS, abort;
/// * another process: export=FILE and import=FILE (memory), close, import_event, import_file, tell=FILE and hear=FILE (pipes).
#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::vector<char> bytes_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> out{std::istreambuf_iterator<char>(file), {}};
  out.resize(out.size() + 64);
  return out;
}

CUstream stream(int i) { return reinterpret_cast<CUstream>(static_cast<std::size_t>(0x1000 * i)); }

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
  int stream_number = 1;
  std::array<CUdeviceptr, 3> pointers{data, table + 16, 42};
  void* of_put[] = {&number, pointers.data()};
  void* of_data[] = {&data};
  const auto launch = [&](CUfunction f, void** parameters, int into, unsigned threads = 2) {
    return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream(into), parameters, nullptr);
  };
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
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
    } else if (word == "count" || word == "await" || word == "tally") {
      CUfunction other = nullptr;
      cuModuleGetFunction(&other, module, word.c_str());
      launch(other, of_data, 1);
    } else if (word.starts_with("stream=")) {
      stream_number = std::atoi(word.c_str() + 7);
    } else if (word.starts_with("plain=")) {
      CUfunction other = nullptr;
      cuModuleGetFunction(&other, module, word.c_str() + 6);
      launch(other, of_data, stream_number, 4);
    } else if (word.starts_with("dependent=")) {
      CUfunction other = nullptr;
      cuModuleGetFunction(&other, module, word.c_str() + 10);
      CUlaunchAttribute attribute{};
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
      const CUlaunchConfig config{1, 1, 1, 4, 1, 1, 0, stream(stream_number), &attribute, 1};
      cuLaunchKernelEx(&config, other, of_data, nullptr);
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
    } else if (word.starts_with("export=")) {  // a pointer into data: its second word
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
    } else if (word == "import_file") {
      CUmemGenericAllocationHandle handle{};
      cuMemImportFromShareableHandle(&handle, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    } else if (word.starts_with("tell=")) {  // another process, through a pipe
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
    } else if (
        word ==
        "floats") {  // a counter, and from the 32nd byte on floats beside a pointer, a double, two halves and a large number
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
    } else if (word == "graph") {  // put, and late in two nodes after it
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
  return 0;
}
