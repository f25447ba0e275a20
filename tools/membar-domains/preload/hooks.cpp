// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The functions of the driver that the library stands in front of, and the three ways by which a program comes to them: linked
/// (our symbols come first, as the library is preloaded), by dlsym, and by cuGetProcAddress, which the CUDA runtime asks for
/// everything after it got that by dlsym. So no launch of the runtime, of NCCL or of a driver program passes by.
#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "membar-domains/preload/driver.hpp"
#include "membar-domains/preload/images.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/pointers.hpp"
#include "membar-domains/preload/session.hpp"
#include "membar-domains/preload/thread_memory.hpp"
#include "membar-domains/preload/watch.hpp"

#define MEMBAR_DOMAINS_EXPORT extern "C" __attribute__((visibility("default")))

namespace membar_domains {

namespace {

using dlsym_function = void*(void*, const char*);

/// The dlsym of the C library. Its version is that of the machine's oldest ABI, or of the merge of libdl into libc.
dlsym_function* real_dlsym() noexcept {
  static std::atomic<dlsym_function*> found = nullptr;
  dlsym_function* function = found.load(std::memory_order_acquire);
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"}) {
    if (function == nullptr) {
      function = reinterpret_cast<dlsym_function*>(dlvsym(RTLD_NEXT, "dlsym", version));
    }
  }
  found.store(function, std::memory_order_release);
  return function;
}

enum hook_id {
  init,
  get_proc_address_v1,
  get_proc_address_v2,
  launch,
  launch_ptsz,
  launch_ex,
  launch_ex_ptsz,
  launch_cooperative,
  launch_cooperative_ptsz,
  graph_launch,
  graph_launch_ptsz,
  instantiate,
  instantiate_flags,
  instantiate_params,
  instantiate_params_ptsz,
  exec_update_v1,
  exec_update,
  exec_node_set,
  exec_child_set,
  graph_destroy,
  graph_destroy_node,
  module_unload,
  library_unload,
  context_destroy,
  primary_context_reset,
  primary_context_release,
  library_get_kernel,
  library_get_module,
  library_load,
  module_load,
  module_load_ex,
  module_load_fatbin,
  module_get_function,
  memory_ipc,
  memory_alloc,
  memory_alloc_pitch,
  memory_alloc_managed,
  memory_host_alloc,
  memory_alloc_host,
  memory_host_register,
  memory_map,
  memory_alloc_async,
  memory_alloc_async_ptsz,
  memory_from_pool,
  memory_from_pool_ptsz,
  memory_import,
  memory_external,
  hook_count
};

struct hook {
  const char* symbol;  ///< as the driver's library exports it
  const char* name;    ///< as cuGetProcAddress is asked for it; null: not by this name
  int since, before;   ///< for these versions of CUDA that it is asked with
  bool per_thread;     ///< of the per-thread default stream
  void* function;
};

/// In the order of `hook_id`.
const std::array<hook, hook_count>& hooks();

std::array<std::atomic<void*>, hook_count> real_functions;

/// The driver's own function behind a hook; null if the driver has none.
template <class Function>
Function* found(hook_id id) noexcept {
  void* function = real_functions[id].load(std::memory_order_acquire);
  if (function == nullptr) {
    function = driver_symbol(hooks()[id].symbol);
    real_functions[id].store(function, std::memory_order_release);
  }
  return reinterpret_cast<Function*>(function);
}

/// Stands for every function on a machine without a driver, where a program finds ours all the same. The caller removes the arguments.
CUresult no_driver() { return CUDA_ERROR_NO_DEVICE; }

/// The driver's own function behind a hook.
template <class Function>
Function* real(hook_id id) noexcept {
  Function* const function = found<Function>(id);
  return function != nullptr ? function : reinterpret_cast<Function*>(reinterpret_cast<void*>(&no_driver));
}

void finish() {
  session& of = session::get();
  if (of.what() == job::try_) {
    pace_finish();
  } else if (of.what() == job::watch) {
    watch_finish();
  }
}

// --- what a launch becomes ---------------------------------------------------------------------------------------------------------

/// The target of a launch or node, from a small cache of the thread: the cost that every launch pays. Arguments are looked at only where
/// the list asks for it.
target where(CUfunction kernel, void** parameters, void** extra) {
  struct entry {
    CUfunction kernel = nullptr;
    unsigned generation = 0;
    choice to;
  };
  auto& cache = of_thread<std::array<entry, 64>>();
  entry& e = cache[(reinterpret_cast<std::uintptr_t>(kernel) >> 4) % cache.size()];
  session& of = session::get();
  const unsigned generation = of.generation();
  if (e.kernel != kernel || e.generation != generation) {
    e = {kernel, generation, of.where(kernel)};
  }
  if (!e.to.by_pointer()) [[likely]] {
    return e.to.near;
  }
  const bool far = reach_of(kernel, parameters, extra) != reach::own;
  of.meets(far ? e.to.far_rule : e.to.near_rule);
  return far ? e.to.far : e.to.near;
}

/// The attribute that a target is, of launches and of graph nodes. The map that changes nothing is CUDA's own.
CUlaunchAttribute attribute_of(target to, mode how) {
  CUlaunchAttribute out{};
  if (how == mode::control || to.what == target::kind::physical) {
    out.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
    out.value.memSyncDomainMap.default_ = how == mode::control ? 0 : static_cast<unsigned char>(to.id);
    out.value.memSyncDomainMap.remote = how == mode::control ? 1 : static_cast<unsigned char>(to.id);
  } else {
    out.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
    out.value.memSyncDomain =
        to.what == target::kind::logical_remote ? CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE : CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  }
  return out;
}

/// A null stream means the thread's own in functions that end in _ptsz.
CUstream stream_of(CUstream stream, bool ptsz) { return ptsz && stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

/// Whether launches into the stream have CUDA's own map, where they bring none.
bool has_usual_map(CUstream stream) {
  CUlaunchAttributeValue value{};
  return driver::cuStreamGetAttribute_(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value) == CUDA_SUCCESS &&
         value.memSyncDomainMap.default_ == 0 && value.memSyncDomainMap.remote == 1;
}

constexpr unsigned most_attributes = 32;

/// Launches with the attribute more, or in place of the program's own of this kind. Whether it did; if not, nothing was launched.
bool launch_moved(const CUlaunchConfig& config, CUfunction kernel, void** parameters, void** extra, target to, mode how,
                  bool ptsz, CUresult& result) {
  session& of = session::get();
  auto* const launch_with_attributes =
      found<CUresult(const CUlaunchConfig*, CUfunction, void**, void**)>(ptsz ? launch_ex_ptsz : launch_ex);
  std::array<CUlaunchAttribute, most_attributes> attributes;
  if (launch_with_attributes == nullptr || config.numAttrs >= most_attributes) {
    of.complain(
        "a listed kernel could not be moved: the driver has no cuLaunchKernelEx, or the launch has 32 attributes already");
    of.state().refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (how == mode::control && !has_usual_map(stream_of(config.hStream, ptsz))) {
    return false;
  }
  const CUlaunchAttribute ours = attribute_of(to, how);
  unsigned count = 0;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != ours.id) {
      attributes[count++] = config.attrs[i];
    } else if (how == mode::control) {
      return false;  // the program has a map of its own, which the control must not change
    }
  }
  attributes[count++] = ours;
  CUlaunchConfig moved = config;
  moved.attrs = attributes.data();
  moved.numAttrs = count;
  result = launch_with_attributes(&moved, kernel, parameters, extra);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) {
    const char* name = "?";
    static_cast<void>(driver::cuGetErrorName_(result, &name));
    of.complain(std::string("the driver refused a listed kernel with its domain (") + name + "), so it ran as it was");
    of.state().refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (how == mode::on) {
    of.state().moved.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

/// Every launch of a kernel comes through here. `as_it_was` makes the program's own call.
template <class AsItWas>
CUresult launch_any(const CUlaunchConfig& config, CUfunction kernel, void** parameters, void** extra, bool ptsz,
                    AsItWas as_it_was) {
  session& of = session::get();
  if (of.what() == job::none) {
    return as_it_was();
  }
  of.state().launches.fetch_add(1, std::memory_order_relaxed);
  if (of.what() == job::watch) {
    const CUstream stream = stream_of(config.hStream, ptsz);
    const watched_launch seen(config, stream, kernel, parameters, extra, capturing(stream));
    return as_it_was();
  }
  const target to = where(kernel, parameters, extra);
  const bool trying = of.what() == job::try_;
  const CUstream stream = stream_of(config.hStream, ptsz);
  if (to.what == target::kind::leave) [[likely]] {
    if (trying) {
      pace_before_launch(stream, kernel);
    }
    const CUresult result = as_it_was();
    if (trying) {
      pace_after_launch(stream);
    }
    return result;
  }
  CUresult result = CUDA_SUCCESS;
  if (!trying) {
    of.state().listed.fetch_add(1, std::memory_order_relaxed);
    return launch_moved(config, kernel, parameters, extra, to, mode::on, ptsz, result) ? result : as_it_was();
  }
  // A captured launch becomes a node, whose mode is fixed.
  const mode how = capturing(stream) ? of.of_nodes() : of.next_turn();
  timed_span span(stream);
  if (how == mode::off || !launch_moved(config, kernel, parameters, extra, to, how, ptsz, result)) {
    result = as_it_was();
  }
  span.end_listed(how);
  return result;
}

template <hook_id Id, bool Ptsz>
CUresult on_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   CUstream stream, void** parameters, void** extra) {
  const CUlaunchConfig config{gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0};
  return launch_any(config, f, parameters, extra, Ptsz, [&] {
    return real<decltype(::cuLaunchKernel)>(Id)(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
  });
}

template <hook_id Id, bool Ptsz>
CUresult on_launch_ex(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) {
  const auto as_it_was = [&] { return real<decltype(::cuLaunchKernelEx)>(Id)(config, f, parameters, extra); };
  return config == nullptr ? as_it_was() : launch_any(*config, f, parameters, extra, Ptsz, as_it_was);
}

template <hook_id Id, bool Ptsz>
CUresult on_launch_cooperative(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, CUstream stream, void** parameters) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  const CUlaunchConfig config{gx, gy, gz, bx, by, bz, shared, stream, &cooperative, 1};
  return launch_any(config, f, parameters, nullptr, Ptsz, [&] {
    return real<decltype(::cuLaunchCooperativeKernel)>(Id)(f, gx, gy, gz, bx, by, bz, shared, stream, parameters);
  });
}

// --- graphs ------------------------------------------------------------------------------------------------------------------------

/// The attributes of nodes that the list has changed: what they were, and became.
class changed_nodes {
 public:
  /// Sets an attribute, unless the control would change a map of the program's own.
  CUresult set(CUgraphNode node, const CUlaunchAttribute& to, mode how) {
    const std::lock_guard lock(mutex_);
    put_back(node);
    CUlaunchAttributeValue was{};
    const bool known = driver::cuGraphKernelNodeGetAttribute_(node, to.id, &was) == CUDA_SUCCESS;
    const auto& map = was.memSyncDomainMap;
    if (known && how == mode::control && (map.default_ != 0 || map.remote != 1)) {
      return CUDA_SUCCESS;
    }
    const CUresult result = driver::cuGraphKernelNodeSetAttribute_(node, to.id, &to.value);
    if (known && result == CUDA_SUCCESS) {
      changed_[node] = {to, was};
    }
    return result;
  }

  /// The list no longer names what is in the node.
  void leave(CUgraphNode node) {
    const std::lock_guard lock(mutex_);
    put_back(node);
  }

  /// Another node may get the handle.
  void forget(CUgraphNode node) {
    const std::lock_guard lock(mutex_);
    changed_.erase(node);
  }

 private:
  struct change {
    CUlaunchAttribute ours;
    CUlaunchAttributeValue was;
  };

  void put_back(CUgraphNode node) {
    const auto at = changed_.find(node);
    if (at == changed_.end()) {
      return;
    }
    const auto& [ours, was] = at->second;
    CUlaunchAttributeValue now{};
    // the program may have set the attribute itself
    if (driver::cuGraphKernelNodeGetAttribute_(node, ours.id, &now) == CUDA_SUCCESS &&
        now.memSyncDomainMap.default_ == ours.value.memSyncDomainMap.default_ &&
        now.memSyncDomainMap.remote == ours.value.memSyncDomainMap.remote) {
      static_cast<void>(driver::cuGraphKernelNodeSetAttribute_(node, ours.id, &was));
    }
    changed_.erase(at);
  }

  std::mutex mutex_;
  std::map<CUgraphNode, change> changed_;
};

changed_nodes& nodes_changed() {
  static auto* const all = new changed_nodes;
  return *all;
}

std::vector<CUgraphNode> nodes_in(CUgraph graph) {
  std::size_t count = 0;
  if (driver::cuGraphGetNodes_(graph, static_cast<CUgraphNode*>(nullptr), &count) != CUDA_SUCCESS || count == 0) {
    return {};
  }
  std::vector<CUgraphNode> nodes(count);
  return driver::cuGraphGetNodes_(graph, nodes.data(), &count) == CUDA_SUCCESS ? nodes : std::vector<CUgraphNode>{};
}

/// The graph in a node, or null.
CUgraph child_of(CUgraphNode node) {
  CUgraphNodeType type{};
  CUgraph child = nullptr;
  return driver::cuGraphNodeGetType_(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_GRAPH &&
                 driver::cuGraphChildGraphNodeGetGraph_(node, &child) == CUDA_SUCCESS
             ? child
             : nullptr;
}

/// Sets what the list says on the kernel nodes of a graph, and of graphs in it; watch looks at them. Whether it has listed ones.
/// `print`, if any, gets what tells the graph from others.
bool move_nodes(CUgraph graph, std::uint32_t* print = nullptr) {
  session& of = session::get();
  bool any = false;
  for (const CUgraphNode node : nodes_in(graph)) {
    CUgraphNodeType type{};
    if (driver::cuGraphNodeGetType_(node, &type) != CUDA_SUCCESS) {
      continue;
    }
    if (const CUgraph child = child_of(node); child != nullptr) {
      any = move_nodes(child, print) || any;
    }
    CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL && of.what() != job::watch) {
      of.complain(
          "a graph has a conditional node, into whose body the library cannot look: listed kernels in it are moved if they "
          "were "
          "captured, and not if they were added as nodes");
    }
    if (type != CU_GRAPH_NODE_TYPE_KERNEL || driver::cuGraphKernelNodeGetParams_(node, &parameters) != CUDA_SUCCESS) {
      continue;
    }
    if (parameters.func == nullptr) {
      of.is_a_kernel(parameters.kern);
      parameters.func = reinterpret_cast<CUfunction>(parameters.kern);
    }
    if (of.what() == job::watch) {
      watch_node(node, parameters.func, parameters.kernelParams, parameters.extra);
      continue;
    }
    if (print != nullptr) {
      *print += print_of(of.name_of(parameters.func), parameters.gridDimX * parameters.gridDimY * parameters.gridDimZ);
    }
    const target to = where(parameters.func, parameters.kernelParams, parameters.extra);
    if (to.what == target::kind::leave) {
      nodes_changed().leave(node);
      continue;
    }
    any = true;
    of.state().nodes.fetch_add(1, std::memory_order_relaxed);
    const mode how = of.of_nodes();
    if (how == mode::off) {
      continue;
    }
    if (nodes_changed().set(node, attribute_of(to, how), how) == CUDA_SUCCESS) {
      of.state().nodes_moved.fetch_add(how == mode::on ? 1 : 0, std::memory_order_relaxed);
    } else {
      of.state().refused.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return any;
}

void forget_node(CUgraphNode node) {
  nodes_changed().forget(node);
  if (const CUgraph child = child_of(node); child != nullptr) {
    for (const CUgraphNode inner : nodes_in(child)) {
      forget_node(inner);
    }
  }
}

CUresult on_graph_destroy(CUgraph graph) {
  if (session::get().what() != job::none) {
    for (const CUgraphNode node : nodes_in(graph)) {
      forget_node(node);
    }
  }
  return real<decltype(::cuGraphDestroy)>(graph_destroy)(graph);
}

CUresult on_graph_destroy_node(CUgraphNode node) {
  if (session::get().what() != job::none) {
    forget_node(node);
  }
  return real<decltype(::cuGraphDestroyNode)>(graph_destroy_node)(node);
}

/// The functions of this name had different last parameters; all have at most five words, which are handed on.
template <hook_id Id>
CUresult on_instantiate(CUgraphExec* exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth, std::uintptr_t fifth) {
  session& of = session::get();
  memory_changed();  // by nodes that allocate
  std::uint32_t print = 0;
  const bool listed = of.what() != job::none && move_nodes(graph, of.what() == job::try_ ? &print : nullptr);
  const CUresult result = real<CUresult(CUgraphExec*, CUgraph, std::uintptr_t, std::uintptr_t, std::uintptr_t)>(Id)(
      exec, graph, third, fourth, fifth);
  if (result == CUDA_SUCCESS && of.what() == job::try_) {
    of.holds_listed(*exec, listed);
    pace_graph(*exec, print);
  }
  return result;
}

/// An update takes nodes' attributes from the graph, so those are set first, as before an instantiation.
template <hook_id Id>
CUresult on_exec_update(CUgraphExec exec, CUgraph graph, std::uintptr_t third, std::uintptr_t fourth) {
  session& of = session::get();
  const bool listed = of.what() != job::none && move_nodes(graph);
  const CUresult result = real<CUresult(CUgraphExec, CUgraph, std::uintptr_t, std::uintptr_t)>(Id)(exec, graph, third, fourth);
  if (result == CUDA_SUCCESS && of.what() == job::try_) {
    of.holds_listed(exec, listed);
  }
  return result;
}

/// The same for a child graph. What else the executable graph holds stays.
CUresult on_exec_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  session& of = session::get();
  const bool listed = of.what() != job::none && move_nodes(child);
  const CUresult result = real<decltype(::cuGraphExecChildGraphNodeSetParams)>(exec_child_set)(exec, node, child);
  if (result == CUDA_SUCCESS && listed && of.what() == job::try_) {
    of.holds_listed(exec, true);
  }
  return result;
}

/// A node of an executable graph gets another kernel and keeps its attributes: the domain cannot be changed here.
CUresult on_exec_node_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  session& of = session::get();
  if ((of.what() == job::apply || of.what() == job::try_) && parameters != nullptr) {
    CUDA_KERNEL_NODE_PARAMS_v2 before{};
    const auto listed = [&](const CUDA_KERNEL_NODE_PARAMS_v2& p) {
      if (p.func == nullptr) {
        of.is_a_kernel(p.kern);
      }
      const CUfunction kernel = p.func == nullptr ? reinterpret_cast<CUfunction>(p.kern) : p.func;
      return where(kernel, p.kernelParams, p.extra).what != target::kind::leave;
    };
    if (driver::cuGraphKernelNodeGetParams_(node, &before) == CUDA_SUCCESS && listed(*parameters) != listed(before)) {
      of.complain(
          "the program exchanged a listed kernel and another one in a node of an executable graph, or with :far its pointers, "
          "whose domain stays: instantiate the graph again after the exchange, or leave the kernel out of the list");
      of.state().refused.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return real<decltype(::cuGraphExecKernelNodeSetParams_v2)>(exec_node_set)(exec, node, parameters);
}

template <hook_id Id, bool Ptsz>
CUresult on_graph_launch(CUgraphExec exec, CUstream stream) {
  session& of = session::get();
  auto* const as_it_was = real<decltype(::cuGraphLaunch)>(Id);
  if (of.what() != job::try_) {
    return as_it_was(exec, stream);
  }
  timed_span span(stream_of(stream, Ptsz));
  const CUresult result = as_it_was(exec, stream);
  span.end_graph(exec, of.listed_in(exec), of.of_nodes());
  return result;
}

// --- the rest ----------------------------------------------------------------------------------------------------------------------

CUresult on_init(unsigned flags) {
  session& of = session::get();
  static std::atomic<bool> first = true;
  const bool is_first = first.exchange(false);
  if (is_first && of.what() == job::watch) {
    watch_start();
  }
  const CUresult result = real<decltype(::cuInit)>(init)(flags);
  if (of.what() != job::none) {
    of.state().cu_init = static_cast<std::int32_t>(result);
  }
  if (is_first && of.what() != job::none && !of.is_counted()) {
    of.complain(
        "the folder of MEMBAR_DOMAINS_FOLDER cannot be written here, so the report does not count this process: start the "
        "command on each host");
  }
  if (is_first && of.what() != job::none && of.what() != job::apply) {
    std::atexit(finish);
  }
  return result;
}

/// Something that has functions goes.
template <hook_id Id, class Owner>
CUresult on_gone(Owner owner) {
  const CUresult result = real<CUresult(Owner)>(Id)(owner);
  if constexpr (Id == primary_context_release) {
    unsigned flags = 0;
    int active = 0;
    if (driver::cuDevicePrimaryCtxGetState_(owner, &flags, &active) == CUDA_SUCCESS && active != 0) {
      return result;  // others hold it: programs may retain and release it often
    }
  }
  session::get().forget();
  return result;
}

CUresult on_library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = real<decltype(::cuLibraryGetKernel)>(library_get_kernel)(kernel, library, name);
  if (result == CUDA_SUCCESS && session::get().what() != job::none) {
    session::get().is_a_kernel(*kernel);
  }
  if (result == CUDA_SUCCESS && session::get().checks()) {
    kernel_of_image(library, name);
  }
  return result;
}

CUresult on_library_get_module(CUmodule* module, CUlibrary library) {
  const CUresult result = real<decltype(::cuLibraryGetModule)>(library_get_module)(module, library);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    same_image(*module, library);
  }
  return result;
}

CUresult on_library_load(CUlibrary* library, const void* code, CUjit_option* jit, void** jit_values, unsigned jit_count,
                         CUlibraryOption* options, void** values, unsigned count) {
  const CUresult result =
      real<decltype(::cuLibraryLoadData)>(library_load)(library, code, jit, jit_values, jit_count, options, values, count);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    keep_image(*library, code);
  }
  return result;
}

/// cuModuleLoadData, cuModuleLoadFatBinary, and with three more words cuModuleLoadDataEx.
template <hook_id Id>
CUresult on_module_load(CUmodule* module, const void* image, std::uintptr_t third, std::uintptr_t fourth,
                        std::uintptr_t fifth) {
  const CUresult result = real<CUresult(CUmodule*, const void*, std::uintptr_t, std::uintptr_t, std::uintptr_t)>(Id)(
      module, image, third, fourth, fifth);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    keep_image(*module, image);
  }
  return result;
}

CUresult on_module_get_function(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = real<decltype(::cuModuleGetFunction)>(module_get_function)(function, module, name);
  if (result == CUDA_SUCCESS && session::get().checks()) {
    kernel_of_image(module, name);
  }
  return result;
}

/// Functions that give addresses a meaning. All have at most five words, which are handed on.
template <hook_id Id>
CUresult on_memory(std::uintptr_t first, std::uintptr_t second, std::uintptr_t third, std::uintptr_t fourth,
                   std::uintptr_t fifth) {
  const CUresult result = real<CUresult(std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t)>(Id)(
      first, second, third, fourth, fifth);
  memory_changed();
  return result;
}

CUresult on_ipc_open(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) {
  const CUresult result = real<decltype(::cuIpcOpenMemHandle)>(memory_ipc)(pointer, handle, flags);
  memory_changed();
  return result;
}

CUresult on_get_proc_address_v1(const char* symbol, void** function, int version, cuuint64_t flags);
CUresult on_get_proc_address_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult* status);

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

constexpr int always = 1 << 30;

const std::array<hook, hook_count>& hooks() {
  static const std::array<hook, hook_count> all{{
      {"cuInit", "cuInit", 0, always, false, address(on_init)},
      {"cuGetProcAddress", "cuGetProcAddress", 0, 12000, false, address(on_get_proc_address_v1)},
      {"cuGetProcAddress_v2", "cuGetProcAddress", 12000, always, false, address(on_get_proc_address_v2)},
      {"cuLaunchKernel", "cuLaunchKernel", 0, always, false, address(on_launch<launch, false>)},
      {"cuLaunchKernel_ptsz", "cuLaunchKernel", 0, always, true, address(on_launch<launch_ptsz, true>)},
      {"cuLaunchKernelEx", "cuLaunchKernelEx", 0, always, false, address(on_launch_ex<launch_ex, false>)},
      {"cuLaunchKernelEx_ptsz", "cuLaunchKernelEx", 0, always, true, address(on_launch_ex<launch_ex_ptsz, true>)},
      {"cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel", 0, always, false,
       address(on_launch_cooperative<launch_cooperative, false>)},
      {"cuLaunchCooperativeKernel_ptsz", "cuLaunchCooperativeKernel", 0, always, true,
       address(on_launch_cooperative<launch_cooperative_ptsz, true>)},
      {"cuGraphLaunch", "cuGraphLaunch", 0, always, false, address(on_graph_launch<graph_launch, false>)},
      {"cuGraphLaunch_ptsz", "cuGraphLaunch", 0, always, true, address(on_graph_launch<graph_launch_ptsz, true>)},
      {"cuGraphInstantiate_v2", "cuGraphInstantiate", 11000, 12000, false, address(on_instantiate<instantiate>)},
      {"cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 0, always, false,
       address(on_instantiate<instantiate_flags>)},
      {"cuGraphInstantiateWithParams", "cuGraphInstantiateWithParams", 0, always, false,
       address(on_instantiate<instantiate_params>)},
      {"cuGraphInstantiateWithParams_ptsz", "cuGraphInstantiateWithParams", 0, always, true,
       address(on_instantiate<instantiate_params_ptsz>)},
      {"cuGraphExecUpdate", "cuGraphExecUpdate", 0, 12000, false, address(on_exec_update<exec_update_v1>)},
      {"cuGraphExecUpdate_v2", "cuGraphExecUpdate", 12000, always, false, address(on_exec_update<exec_update>)},
      {"cuGraphExecKernelNodeSetParams_v2", "cuGraphExecKernelNodeSetParams", 12000, always, false, address(on_exec_node_set)},
      {"cuGraphExecChildGraphNodeSetParams", "cuGraphExecChildGraphNodeSetParams", 0, always, false,
       address(on_exec_child_set)},
      {"cuGraphDestroy", "cuGraphDestroy", 0, always, false, address(on_graph_destroy)},
      {"cuGraphDestroyNode", "cuGraphDestroyNode", 0, always, false, address(on_graph_destroy_node)},
      {"cuModuleUnload", "cuModuleUnload", 0, always, false, address(on_gone<module_unload, CUmodule>)},
      {"cuLibraryUnload", "cuLibraryUnload", 0, always, false, address(on_gone<library_unload, CUlibrary>)},
      {"cuCtxDestroy_v2", "cuCtxDestroy", 4000, always, false, address(on_gone<context_destroy, CUcontext>)},
      {"cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset", 11000, always, false,
       address(on_gone<primary_context_reset, CUdevice>)},
      {"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", 11000, always, false,
       address(on_gone<primary_context_release, CUdevice>)},
      {"cuLibraryGetKernel", "cuLibraryGetKernel", 0, always, false, address(on_library_get_kernel)},
      {"cuLibraryGetModule", "cuLibraryGetModule", 0, always, false, address(on_library_get_module)},
      {"cuLibraryLoadData", "cuLibraryLoadData", 0, always, false, address(on_library_load)},
      {"cuModuleLoadData", "cuModuleLoadData", 0, always, false, address(on_module_load<module_load>)},
      {"cuModuleLoadDataEx", "cuModuleLoadDataEx", 0, always, false, address(on_module_load<module_load_ex>)},
      {"cuModuleLoadFatBinary", "cuModuleLoadFatBinary", 0, always, false, address(on_module_load<module_load_fatbin>)},
      {"cuModuleGetFunction", "cuModuleGetFunction", 0, always, false, address(on_module_get_function)},
      {"cuIpcOpenMemHandle_v2", "cuIpcOpenMemHandle", 11000, always, false, address(on_ipc_open)},
      {"cuMemAlloc_v2", "cuMemAlloc", 3020, always, false, address(on_memory<memory_alloc>)},
      {"cuMemAllocPitch_v2", "cuMemAllocPitch", 3020, always, false, address(on_memory<memory_alloc_pitch>)},
      {"cuMemAllocManaged", "cuMemAllocManaged", 0, always, false, address(on_memory<memory_alloc_managed>)},
      {"cuMemHostAlloc", "cuMemHostAlloc", 0, always, false, address(on_memory<memory_host_alloc>)},
      {"cuMemAllocHost_v2", "cuMemAllocHost", 3020, always, false, address(on_memory<memory_alloc_host>)},
      {"cuMemHostRegister_v2", "cuMemHostRegister", 6050, always, false, address(on_memory<memory_host_register>)},
      {"cuMemMap", "cuMemMap", 0, always, false, address(on_memory<memory_map>)},
      {"cuMemAllocAsync", "cuMemAllocAsync", 0, always, false, address(on_memory<memory_alloc_async>)},
      {"cuMemAllocAsync_ptsz", "cuMemAllocAsync", 0, always, true, address(on_memory<memory_alloc_async_ptsz>)},
      {"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", 0, always, false, address(on_memory<memory_from_pool>)},
      {"cuMemAllocFromPoolAsync_ptsz", "cuMemAllocFromPoolAsync", 0, always, true, address(on_memory<memory_from_pool_ptsz>)},
      {"cuMemPoolImportPointer", "cuMemPoolImportPointer", 0, always, false, address(on_memory<memory_import>)},
      {"cuExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedBuffer", 0, always, false,
       address(on_memory<memory_external>)},
  }};
  return all;
}

/// In place of a function that cuGetProcAddress found.
void replace(const char* symbol, void** function, int version, cuuint64_t flags) {
  if (symbol == nullptr || function == nullptr || *function == nullptr || std::strncmp(symbol, "cu", 2) != 0) {
    return;
  }
  const std::string_view asked = symbol;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const hook* found = nullptr;
  // CUDA 12 gave the name cuGraphInstantiate to the function with flags.
  const bool with_flags = asked == "cuGraphInstantiate" && version >= 12000;
  for (const hook& h : hooks()) {
    if (with_flags ? std::string_view(h.symbol) == "cuGraphInstantiateWithFlags" : asked == h.symbol && asked != h.name) {
      found = &h;
      break;
    }
    if (asked == h.name && version >= h.since && version < h.before) {
      // The form for the per-thread default stream stands after the other, and only some functions have one.
      if (found == nullptr || h.per_thread == per_thread) {
        found = h.per_thread && !per_thread ? found : &h;
      }
    }
  }
  if (found == nullptr || *function == found->function) {
    return;
  }
  // A driver that looks its own symbols up as others do finds ours, which leads back here.
  if (*function != real_dlsym()(RTLD_DEFAULT, found->symbol)) {
    real_functions[static_cast<std::size_t>(found - hooks().data())].store(*function, std::memory_order_release);
  }
  *function = found->function;
}

CUresult on_get_proc_address_v1(const char* symbol, void** function, int version, cuuint64_t flags) {
  const CUresult result =
      real<CUresult(const char*, void**, int, cuuint64_t)>(get_proc_address_v1)(symbol, function, version, flags);
  if (result == CUDA_SUCCESS) {
    replace(symbol, function, version, flags);
  }
  return result;
}

CUresult on_get_proc_address_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult* status) {
  const CUresult result = real<CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*)>(
      get_proc_address_v2)(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS) {
    replace(symbol, function, version, flags);
  }
  return result;
}

}  // namespace

void* driver_symbol(const char* name) noexcept {
  static std::atomic<void*> library = nullptr;
  void* handle = library.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    library.store(handle, std::memory_order_release);
  }
  return handle == nullptr ? nullptr : real_dlsym()(handle, name);
}

}  // namespace membar_domains

// --- the ways in -------------------------------------------------------------------------------------------------------------------

/// Called by dlsym below: the function to give in place of the driver's, or null, where the C library's dlsym shall answer.
extern "C" __attribute__((visibility("hidden"))) void* membar_domains_instead(void* handle, const char* name) {
  using namespace membar_domains;
  if (name == nullptr || name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT || handle == RTLD_DEFAULT) {
    return nullptr;
  }
  for (const hook& h : hooks()) {
    if (std::strcmp(h.symbol, name) == 0) {
      void* const own = real_dlsym()(handle, name);
      if (own == nullptr) {
        return nullptr;
      }
      // A handle of the whole program finds our own symbol.
      if (own != h.function && own != real_dlsym()(RTLD_DEFAULT, name)) {
        real_functions[static_cast<std::size_t>(&h - hooks().data())].store(own, std::memory_order_release);
      }
      return h.function;
    }
  }
  return nullptr;
}

extern "C" {
__attribute__((visibility("hidden"))) void* (*membar_domains_next_dlsym)(void*, const char*) = nullptr;
__attribute__((visibility("hidden"))) void membar_domains_find_dlsym() {
  if (__atomic_load_n(&membar_domains_next_dlsym, __ATOMIC_ACQUIRE) == nullptr) {
    __atomic_store_n(&membar_domains_next_dlsym, membar_domains::real_dlsym(), __ATOMIC_RELEASE);
  }
}
}

// dlsym looks at its return address to know who asks for RTLD_NEXT. So what is not the driver's is not called but jumped to, with
// the registers as they came.
#if defined(__x86_64__)
asm(R"(
.text
.globl dlsym
.type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call membar_domains_find_dlsym
  movq 16(%rsp), %rdi
  movq 8(%rsp), %rsi
  call membar_domains_instead
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jne 1f
  jmp *membar_domains_next_dlsym(%rip)
1:
  ret
  .cfi_endproc
.size dlsym, .-dlsym
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl dlsym
.type dlsym, %function
dlsym:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  stp x0, x1, [sp, #16]
  bl membar_domains_find_dlsym
  ldp x0, x1, [sp, #16]
  bl membar_domains_instead
  mov x9, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  cbnz x9, 1f
  adrp x10, membar_domains_next_dlsym
  ldr x10, [x10, #:lo12:membar_domains_next_dlsym]
  br x10
1:
  mov x0, x9
  ret
  .cfi_endproc
.size dlsym, .-dlsym
)");
#else
#error "membar: membar-domains stands in front of dlsym on x86-64 and AArch64 only: leave MEMBAR_BUILD_TOOLS off here"
#endif

#define MEMBAR_DOMAINS_IN_FRONT(alias, symbol, parameters, ...)    \
  MEMBAR_DOMAINS_EXPORT CUresult alias parameters __asm__(symbol); \
  MEMBAR_DOMAINS_EXPORT CUresult alias parameters { return membar_domains::__VA_ARGS__; }
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuInit, "cuInit", (unsigned flags), on_init(flags))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGetProcAddress, "cuGetProcAddress",
                        (const char* symbol, void** function, int version, cuuint64_t flags),
                        on_get_proc_address_v1(symbol, function, version, flags))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGetProcAddress_v2, "cuGetProcAddress_v2",
                        (const char* symbol, void** function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* status),
                        on_get_proc_address_v2(symbol, function, version, flags, status))
#define MEMBAR_DOMAINS_LAUNCH(suffix, id, ptsz)                                                                        \
  MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuLaunchKernel##suffix, "cuLaunchKernel" #suffix,                             \
                          (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                           unsigned shared, CUstream s, void** p, void** e),                                           \
                          on_launch<membar_domains::launch##id, ptsz>(f, gx, gy, gz, bx, by, bz, shared, s, p, e))     \
  MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuLaunchKernelEx##suffix, "cuLaunchKernelEx" #suffix,                         \
                          (const CUlaunchConfig* c, CUfunction f, void** p, void** e),                                 \
                          on_launch_ex<membar_domains::launch_ex##id, ptsz>(c, f, p, e))                               \
  MEMBAR_DOMAINS_IN_FRONT(                                                                                             \
      membar_domains_cuLaunchCooperativeKernel##suffix, "cuLaunchCooperativeKernel" #suffix,                           \
      (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,    \
       CUstream s, void** p),                                                                                          \
      on_launch_cooperative<membar_domains::launch_cooperative##id, ptsz>(f, gx, gy, gz, bx, by, bz, shared, s, p))    \
  MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphLaunch##suffix, "cuGraphLaunch" #suffix, (CUgraphExec g, CUstream s),  \
                          on_graph_launch<membar_domains::graph_launch##id, ptsz>(g, s))
MEMBAR_DOMAINS_LAUNCH(, , false)
MEMBAR_DOMAINS_LAUNCH(_ptsz, _ptsz, true)
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphInstantiate_v2, "cuGraphInstantiate_v2",
                        (CUgraphExec * exec, CUgraph graph, std::uintptr_t node, std::uintptr_t log, std::uintptr_t size),
                        on_instantiate<membar_domains::instantiate>(exec, graph, node, log, size))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags",
                        (CUgraphExec * exec, CUgraph graph, std::uintptr_t flags),
                        on_instantiate<membar_domains::instantiate_flags>(exec, graph, flags, 0, 0))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams",
                        (CUgraphExec * exec, CUgraph graph, std::uintptr_t params),
                        on_instantiate<membar_domains::instantiate_params>(exec, graph, params, 0, 0))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams_ptsz",
                        (CUgraphExec * exec, CUgraph graph, std::uintptr_t params),
                        on_instantiate<membar_domains::instantiate_params_ptsz>(exec, graph, params, 0, 0))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphExecUpdate, "cuGraphExecUpdate",
                        (CUgraphExec exec, CUgraph graph, std::uintptr_t node, std::uintptr_t result),
                        on_exec_update<membar_domains::exec_update_v1>(exec, graph, node, result))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams",
                        (CUgraphExec exec, CUgraphNode node, CUgraph child), on_exec_child_set(exec, node, child))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphExecUpdate_v2, "cuGraphExecUpdate_v2",
                        (CUgraphExec exec, CUgraph graph, std::uintptr_t result),
                        on_exec_update<membar_domains::exec_update>(exec, graph, result, 0))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphExecKernelNodeSetParams_v2, "cuGraphExecKernelNodeSetParams_v2",
                        (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters),
                        on_exec_node_set(exec, node, parameters))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphDestroy, "cuGraphDestroy", (CUgraph graph), on_graph_destroy(graph))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuGraphDestroyNode, "cuGraphDestroyNode", (CUgraphNode node),
                        on_graph_destroy_node(node))
#define MEMBAR_DOMAINS_GONE(symbol, id, owner) \
  MEMBAR_DOMAINS_IN_FRONT(membar_domains_##id, symbol, (owner of), on_gone<membar_domains::id>(of))
MEMBAR_DOMAINS_GONE("cuModuleUnload", module_unload, CUmodule)
MEMBAR_DOMAINS_GONE("cuLibraryUnload", library_unload, CUlibrary)
MEMBAR_DOMAINS_GONE("cuCtxDestroy_v2", context_destroy, CUcontext)
MEMBAR_DOMAINS_GONE("cuDevicePrimaryCtxReset_v2", primary_context_reset, CUdevice)
MEMBAR_DOMAINS_GONE("cuDevicePrimaryCtxRelease_v2", primary_context_release, CUdevice)
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuLibraryGetKernel, "cuLibraryGetKernel",
                        (CUkernel * kernel, CUlibrary library, const char* name), on_library_get_kernel(kernel, library, name))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuLibraryGetModule, "cuLibraryGetModule", (CUmodule * module, CUlibrary library),
                        on_library_get_module(module, library))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuLibraryLoadData, "cuLibraryLoadData",
                        (CUlibrary * library, const void* code, CUjit_option* jit, void** jit_values, unsigned jit_count,
                         CUlibraryOption* options, void** values, unsigned count),
                        on_library_load(library, code, jit, jit_values, jit_count, options, values, count))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuModuleLoadData, "cuModuleLoadData", (CUmodule * module, const void* image),
                        on_module_load<membar_domains::module_load>(module, image, 0, 0, 0))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuModuleLoadDataEx, "cuModuleLoadDataEx",
                        (CUmodule * module, const void* image, std::uintptr_t count, std::uintptr_t options,
                         std::uintptr_t values),
                        on_module_load<membar_domains::module_load_ex>(module, image, count, options, values))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuModuleLoadFatBinary, "cuModuleLoadFatBinary", (CUmodule * module, const void* image),
                        on_module_load<membar_domains::module_load_fatbin>(module, image, 0, 0, 0))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuModuleGetFunction, "cuModuleGetFunction",
                        (CUfunction * function, CUmodule module, const char* name),
                        on_module_get_function(function, module, name))
MEMBAR_DOMAINS_IN_FRONT(membar_domains_cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2",
                        (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned flags), on_ipc_open(pointer, handle, flags))
#define MEMBAR_DOMAINS_MEMORY(symbol, id)                                                                             \
  MEMBAR_DOMAINS_IN_FRONT(membar_domains_##id, symbol,                                                                \
                          (std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, std::uintptr_t d, std::uintptr_t e), \
                          on_memory<membar_domains::id>(a, b, c, d, e))
MEMBAR_DOMAINS_MEMORY("cuMemAlloc_v2", memory_alloc)
MEMBAR_DOMAINS_MEMORY("cuMemAllocPitch_v2", memory_alloc_pitch)
MEMBAR_DOMAINS_MEMORY("cuMemAllocManaged", memory_alloc_managed)
MEMBAR_DOMAINS_MEMORY("cuMemHostAlloc", memory_host_alloc)
MEMBAR_DOMAINS_MEMORY("cuMemAllocHost_v2", memory_alloc_host)
MEMBAR_DOMAINS_MEMORY("cuMemHostRegister_v2", memory_host_register)
MEMBAR_DOMAINS_MEMORY("cuMemMap", memory_map)
MEMBAR_DOMAINS_MEMORY("cuMemAllocAsync", memory_alloc_async)
MEMBAR_DOMAINS_MEMORY("cuMemAllocAsync_ptsz", memory_alloc_async_ptsz)
MEMBAR_DOMAINS_MEMORY("cuMemAllocFromPoolAsync", memory_from_pool)
MEMBAR_DOMAINS_MEMORY("cuMemAllocFromPoolAsync_ptsz", memory_from_pool_ptsz)
MEMBAR_DOMAINS_MEMORY("cuMemPoolImportPointer", memory_import)
MEMBAR_DOMAINS_MEMORY("cuExternalMemoryGetMappedBuffer", memory_external)

/// The driver calls this where CUDA_INJECTION64_PATH names the library. By then the program has its functions, so only watch works.
MEMBAR_DOMAINS_EXPORT int InitializeInjection() {
  using namespace membar_domains;
  session& of = session::get();
  if (of.what() == job::watch) {
    watch_start();
    of.state().cu_init = 0;
    static const bool once = std::atexit(finish) == 0;
    static_cast<void>(once);
  }
  return 1;
}
