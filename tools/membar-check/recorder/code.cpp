// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/code.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include <ptx/text.hpp>

#include "intercept/code_image.hpp"
#include "membar-check/recorder/xla.hpp"

namespace membar_record {

namespace {

namespace fs = std::filesystem;
using intercept::packed_ptx;

std::atomic<bool> begun{false};

/// The text of a module. The text is written to a file when one of the module's kernels is recorded.
struct module_text {
  std::string text;
  unsigned session = 0;  ///< the generation in which the file was written
  int file = -1;
  unsigned choices = 1;  ///< how many different texts may belong to the kernel
};
using shared_text = std::shared_ptr<module_text>;

struct image {
  std::vector<packed_ptx> packed;
  std::vector<shared_text> texts;  ///< the uncompressed texts of `packed`; null until they are needed
  std::string machine_code;        ///< the bytes of a cubin, if it is small
  std::int64_t loaded = file_time();
};

struct registry {
  std::shared_mutex mutex;
  std::unordered_map<const void*, std::shared_ptr<image>> by_owner;
  std::unordered_map<const void*, const void*> owners;
  std::unordered_set<const void*> kernel_handles;
  std::vector<std::shared_ptr<image>> images;  ///< all images in the order in which they were loaded
  std::vector<shared_text> seen;               ///< the texts that compilers have produced or linkers have received
  std::size_t bytes = 0;
  std::unordered_map<CUfunction, std::pair<unsigned, const kernel*>> kernels;
  int files = 0;
};

registry& the_code() {
  static auto* const one = new registry;
  return *one;
}

constexpr std::size_t most_bytes = std::size_t{512} << 20U;
constexpr std::size_t most_bytes_of_a_cubin = std::size_t{4} << 20U;

shared_text text_of(std::string text) {
  auto out = std::make_shared<module_text>();
  out->text = std::move(text);
  return out;
}

/// Returns the compute capability of the current device, for example 90.
int capability() {
  CUdevice device = 0;
  int major = 0;
  int minor = 0;
  if (driver::cuCtxGetDevice_(&device) != CUDA_SUCCESS ||
      driver::cuDeviceGetAttribute_(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
      driver::cuDeviceGetAttribute_(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS) {
    return 0;
  }
  return 10 * major + minor;
}

/// Returns the PTX in an image that defines the kernel. If there are several, prefers the newest architecture that the device
/// can run; if it can run none of them, prefers the oldest.
shared_text in_image(image& of, const std::string& name, int runs) {
  std::vector<std::size_t> order(of.packed.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const auto rank = [&](std::size_t i) {
    const int a = of.packed[i].architecture;
    return runs == 0 || a <= runs ? -a : 1000 + a;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  of.texts.resize(of.packed.size());
  for (const std::size_t i : order) {
    if (of.texts[i] == nullptr) {
      std::string why;
      of.texts[i] = text_of(intercept::unpacked(of.packed[i], why));
      if (!why.empty()) {
        session::get().complain(why);
      }
    }
    if (membar::ptx::defines_kernel(of.texts[i]->text, name)) {
      return of.texts[i];
    }
  }
  return nullptr;
}

std::shared_ptr<image> image_at(const void* given) {
  const void* code = given;
  const std::size_t bytes = intercept::bytes_of_image(code);
  auto one = std::make_shared<image>();
  one->packed = intercept::ptx_of_image(given);
  if (bytes != 0 && bytes <= most_bytes_of_a_cubin && std::memcmp(code, "\177ELF", 4) == 0) {
    one->machine_code.assign(static_cast<const char*>(code), bytes);
  }
  return one;
}

/// Returns the PTX that is stored next to the same machine code in a folder, as in Triton's cache.
shared_text in_triton_cache(const std::string& name, const image* of) {
  const char* const given = std::getenv("TRITON_CACHE_DIR");
  const char* const home = std::getenv("TRITON_HOME") != nullptr ? std::getenv("TRITON_HOME") : std::getenv("HOME");
  const fs::path folder =
      given != nullptr && *given != '\0' ? fs::path(given) : fs::path(home == nullptr ? "/" : home) / ".triton/cache";
  std::error_code failed;
  if (of == nullptr || of->machine_code.empty() || name.find('/') != std::string::npos) {
    return nullptr;
  }
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path ptx = at->path() / (name + ".ptx");
    std::error_code none;
    if (fs::exists(ptx, none) && text_of_file(at->path() / (name + ".cubin")) == of->machine_code) {
      return text_of(text_of_file(ptx));
    }
  }
  return nullptr;
}

/// Calls the function for each kernel parameter. Returns the result of the driver call that found no further parameter.
template <class Function>
CUresult for_each_parameter(CUfunction handle, bool is_kernel, const Function& function) {
  for (std::size_t i = 0;; ++i) {
    kernel::parameter p{};
    const CUresult known = is_kernel ? driver::cuKernelGetParamInfo_(reinterpret_cast<CUkernel>(handle), i, &p.offset, &p.bytes)
                                     : driver::cuFuncGetParamInfo_(handle, i, &p.offset, &p.bytes);
    if (known != CUDA_SUCCESS) {
      return known;
    }
    function(p);
  }
}

/// Returns the PTX that XLA has written for a kernel.
shared_text in_dump(const registry& r, CUfunction handle, const std::string& name, const image* of) {
  const auto parameters = [&] {
    std::size_t count = 0;
    for_each_parameter(handle, r.kernel_handles.contains(handle), [&](const kernel::parameter&) { ++count; });
    return count;
  };
  dumped_ptx found = in_xla_dump(
      {name, of == nullptr ? std::string_view() : of->machine_code, of == nullptr ? file_time() : of->loaded, parameters});
  if (found.choices == 0) {
    return nullptr;
  }
  shared_text text = text_of(std::move(found.text));
  text->choices = found.choices;
  return text;
}

/// Searches the kernel's own image first, then all other images, and then the output of compilers. The caller must hold the
/// registry's lock.
shared_text find_ptx(registry& r, CUfunction handle, const std::string& name) {
  const int runs = capability();
  const void* owner = handle;
  for (int depth = 0; depth < 3 && r.owners.contains(owner); ++depth) {
    owner = r.owners[owner];
  }
  const auto own = r.by_owner.find(owner);
  if (own != r.by_owner.end()) {
    if (const auto text = in_image(*own->second, name, runs)) {
      return text;
    }
  } else {
    for (auto i = r.images.rbegin(); i != r.images.rend(); ++i) {
      if (const auto text = in_image(**i, name, runs)) {
        return text;
      }
    }
  }
  for (auto t = r.seen.rbegin(); t != r.seen.rend(); ++t) {
    if (membar::ptx::defines_kernel((*t)->text, name)) {
      return *t;
    }
  }
  const image* const of = own == r.by_owner.end() ? nullptr : own->second.get();
  if (auto text = in_triton_cache(name, of)) {
    return text;
  }
  return in_dump(r, handle, name, of);
}

std::string name_of(CUfunction handle, bool is_kernel) {
  const char* name = nullptr;
  if (is_kernel) {
    static_cast<void>(driver::cuKernelGetName_(&name, reinterpret_cast<CUkernel>(handle)));
  } else if (driver::cuFuncGetName_(&name, handle) != CUDA_SUCCESS) {
    name = nullptr;
  }
  return name == nullptr ? "" : name;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string out = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return out;
}

void look_at_parameters(kernel& k, CUfunction handle, bool is_kernel) {
  const CUresult ended = for_each_parameter(handle, is_kernel, [&](const kernel::parameter& p) { k.parameters.push_back(p); });
  if (ended == CUDA_ERROR_NOT_FOUND) {
    session::get().complain(
        "the driver does not report the sizes of kernel arguments, so nothing is recorded: install a driver for CUDA 12.4 or "
        "newer");
    k.selected = false;
  }
}

void look_at_variables(kernel& k, CUfunction handle, bool is_kernel, const std::vector<membar::ptx::ptx_part>& parts) {
  constexpr std::size_t most = 64;
  for (const membar::ptx::ptx_part& part : parts) {
    if (part.kind != membar::ptx::ptx_part::kind_t::variable || k.variables.size() == most) {
      continue;
    }
    kernel::variable v{std::string(part.name), 0, 0};
    CUlibrary library = nullptr;
    CUmodule module = nullptr;
    const bool found = is_kernel
                           ? driver::cuKernelGetLibrary_(&library, reinterpret_cast<CUkernel>(handle)) == CUDA_SUCCESS &&
                                 driver::cuLibraryGetGlobal_(&v.address, &v.bytes, library, v.name.c_str()) == CUDA_SUCCESS
                           : driver::cuFuncGetModule_(&module, handle) == CUDA_SUCCESS &&
                                 driver::cuModuleGetGlobal_(&v.address, &v.bytes, module, v.name.c_str()) == CUDA_SUCCESS;
    if (found && v.bytes != 0) {
      k.variables.push_back(std::move(v));
    }
  }
}

void look_at_resources(kernel& k, CUfunction handle, bool is_kernel) {
  CUdevice device = 0;
  static_cast<void>(driver::cuCtxGetDevice_(&device));
  const auto ask = [&](int& to, CUfunction_attribute what) {
    static_cast<void>(is_kernel ? driver::cuKernelGetAttribute_(&to, what, reinterpret_cast<CUkernel>(handle), device)
                                : driver::cuFuncGetAttribute_(&to, what, handle));
  };
  ask(k.registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
  ask(k.static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
}

/// Examines a kernel handle. The caller must hold the registry's lock.
const kernel* look_at(registry& r, CUfunction handle, unsigned generation) {
  session& s = session::get();
  auto k = std::make_unique<kernel>();
  const bool is_kernel = r.kernel_handles.contains(handle);
  k->name = name_of(handle, is_kernel);
  const bool named = !k->name.empty() && (s.is_named(k->name) || s.is_named(demangled(k->name)));
  if (!s.on() || !named) {
    return k.release();
  }
  const bool by_name = !s.asked().kernels.empty() || (s.asked().flags & (flag_all | flag_dependents)) != 0;
  const shared_text text = find_ptx(r, handle, k->name);
  if (text == nullptr) {
    s.write(nlohmann::json{{"machine_code_only", k->name}, {"recorded", by_name}}.dump());
    k->selected = by_name;
  } else {
    const std::vector<membar::ptx::ptx_part> parts = membar::ptx::parts_of(text->text);
    k->selected = by_name || membar::ptx::synchronizes(parts, k->name);
    if (k->selected) {
      look_at_variables(*k, handle, is_kernel, parts);
      if (text->session != generation) {
        const int file = ++r.files;
        const bool wrote = s.write_file(std::to_string(file) + ".ptx", text->text.data(), text->text.size());
        text->file = wrote ? file : -1;
        text->session = generation;
      }
      k->ptx = text->file;
      k->ptx_choices = text->choices;
    }
  }
  if (k->selected) {
    look_at_parameters(*k, handle, is_kernel);
    look_at_resources(*k, handle, is_kernel);
  }
  return k.release();
}

}  // namespace

const kernel* kernel_of(CUfunction handle) {
  registry& r = the_code();
  const unsigned generation = session::get().generation();
  {
    const std::shared_lock lock(r.mutex);
    if (const auto at = r.kernels.find(handle); at != r.kernels.end() && at->second.first == generation) {
      return at->second.second;
    }
  }
  const std::unique_lock lock(r.mutex);
  const kernel* const found = look_at(r, handle, generation);
  r.kernels[handle] = {generation, found};
  return found;
}

std::string ptx_with_kernel(const void* given, const std::string& name) {
  const std::shared_ptr<image> one = image_at(given);
  shared_text text = in_image(*one, name, capability());
  text = text == nullptr ? in_triton_cache(name, one.get()) : text;
  return text == nullptr ? std::string() : text->text;
}

void keep_image(const void* owner, const void* given) {
  if (given == nullptr) {
    return;
  }
  std::shared_ptr<image> one = image_at(given);
  std::size_t kept = one->machine_code.size();
  for (const packed_ptx& p : one->packed) {
    kept += p.bytes.size();
  }
  registry& r = the_code();
  const std::unique_lock lock(r.mutex);
  if (r.bytes + kept > most_bytes) {
    session::get().complain("the program loads more than 512 MiB of PTX: PTX loaded after that is not recorded");
    return;
  }
  r.bytes += kept;
  r.by_owner[owner] = one;
  r.images.push_back(std::move(one));
}

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string image_of_file(const char* path) {
  std::string text = text_of_file(path);
  text.push_back('\0');  // the text must end with a zero byte
  text.resize(text.size() + 64, '\0');
  return text;
}

void keep_image_file(const void* owner, const char* path) { keep_image(owner, image_of_file(path).c_str()); }

void keep_text(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  registry& r = the_code();
  const std::unique_lock lock(r.mutex);
  if (r.bytes + text.size() <= most_bytes) {
    r.bytes += text.size();
    r.seen.push_back(text_of(std::string(text)));
  }
}

void keep_ptx_of_program(void* program, void* next_function) {
  Dl_info info{};
  if (next_function == nullptr || dladdr(next_function, &info) == 0) {
    return;
  }
  void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return;
  }
  auto* const size_of = reinterpret_cast<int (*)(void*, std::size_t*)>(dlsym(library, "nvrtcGetPTXSize"));
  auto* const get = reinterpret_cast<int (*)(void*, char*)>(dlsym(library, "nvrtcGetPTX"));
  std::size_t bytes = 0;
  if (size_of != nullptr && get != nullptr && size_of(program, &bytes) == 0 && bytes > 1) {
    std::string text(bytes, '\0');
    if (get(program, text.data()) == 0) {
      keep_text(text);
    }
  }
  dlclose(library);
}

void keep_owner(const void* kernel, const void* owner, bool is_kernel_handle) {
  registry& r = the_code();
  const std::unique_lock lock(r.mutex);
  r.owners[kernel] = owner;
  if (is_kernel_handle) {
    r.kernel_handles.insert(kernel);
  } else {
    r.kernel_handles.erase(kernel);
  }
}

void forget_handles() {
  registry& r = the_code();
  const std::unique_lock lock(r.mutex);
  r.kernels.clear();
  session::get().forget();
}

bool cuda_begun() noexcept { return begun.load(std::memory_order_acquire); }
void cuda_begins() noexcept { begun.store(true, std::memory_order_release); }

}  // namespace membar_record
