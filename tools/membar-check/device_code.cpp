// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <membar-check/device_code.hpp>
#include <membar-check/nvcc.hpp>
#include <membar-check/zip_archive.hpp>

#include <lint/cubin.hpp>
#include <membar/model/error.hpp>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace fs = std::filesystem;
namespace intercept = membar::intercept;

/// Maps a file, so that its bytes can be read without a copy.
class mapped_file {
 public:
  explicit mapped_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bytes_ = static_cast<std::size_t>(std::max<off_t>(file < 0 ? 0 : lseek(file, 0, SEEK_END), 0));
    begin_ = bytes_ == 0 ? nullptr : mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0) {
      close(file);
    }
    if (file < 0 || begin_ == MAP_FAILED) {
      throw membar::model::error("cannot open the file: check that it exists and can be read");
    }
  }
  ~mapped_file() {
    if (begin_ != nullptr) {
      munmap(begin_, bytes_);
    }
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(begin_), bytes_}; }

 private:
  void* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

bool is_ptx_name(const fs::path& name) { return name.extension() == ".ptx"; }

/// Returns `membar-check`'s term for a file that it checks without a subcommand, or an empty string for other files.
std::string kind_of_test(const fs::path& name) {
  return name.extension() == ".scenario" ? "scenario" : name.extension() == ".litmus" ? "litmus test" : "";
}

/// Returns whether a file with this name may contain device code.
bool is_binary_name(const fs::path& name) {
  constexpr std::string_view kinds[] = {".so", ".cubin", ".fatbin", ".a", ".o", ".dll", ".pyd", ".lib", ".obj", ".whl"};
  return std::ranges::find(kinds, name.extension().string()) != std::end(kinds) ||
         name.filename().string().find(".so.") != std::string::npos;
}

/// Returns the PTX that `nvcc -G` stores in a cubin. In this PTX, each line ends with a zero byte. Returns an empty string if
/// there is none.
std::string debug_ptx(std::string_view cubin) {
  const auto read = [&]<class T>(std::size_t at, T& into) {
    const bool fits = at <= cubin.size() && sizeof into <= cubin.size() - at;
    if (fits) {
      std::memcpy(&into, cubin.data() + at, sizeof into);
    }
    return fits;
  };
  Elf64_Ehdr header{};
  Elf64_Shdr names{};
  if (!read(0, header) || !read(header.e_shoff + std::size_t{header.e_shstrndx} * sizeof names, names)) {
    return {};
  }
  for (std::size_t k = 0; k < header.e_shnum; ++k) {
    Elf64_Shdr section{};
    constexpr std::string_view wanted(".nv_debug_ptx_txt\0", 18);
    if (read(header.e_shoff + k * sizeof section, section) && names.sh_offset + section.sh_name < cubin.size() &&
        cubin.substr(names.sh_offset + section.sh_name).starts_with(wanted) && section.sh_offset <= cubin.size() &&
        section.sh_size <= cubin.size() - section.sh_offset) {
      std::string text(cubin.substr(section.sh_offset, section.sh_size));
      std::ranges::replace(text, '\0', '\n');
      return text;
    }
  }
  return {};
}

/// Adds the machine code of an image that contains no PTX.
void add_machine_code(const std::string& name, std::string_view image, int& number, device_code& out) {
  constexpr int first_with_dependents = 90;
  for (intercept::packed_ptx& one : intercept::machine_code_of_image(image.data())) {
    const bool is_plain = one.packed == intercept::packed_ptx::form::text;
    const int architecture = is_plain ? membar::lint::architecture_of(one.bytes) : one.architecture;
    ++number;
    if (architecture >= first_with_dependents) {
      out.machine_code.push_back({name, number, std::move(one), true});
    }
  }
}

/// Adds the PTX in the images of a file, and the machine code of images without PTX. Returns whether the file contains an
/// image.
bool add_images(const std::string& name, std::string_view bytes, device_code& out) {
  int number = 0;
  int cubins = 0;
  int without = 0;
  for (const std::string_view image : intercept::images_in(bytes)) {
    std::vector<intercept::packed_ptx> found = intercept::ptx_of_image(image.data());
    if (std::string text = found.empty() ? debug_ptx(image) : std::string(); !text.empty()) {
      found.push_back({intercept::packed_ptx::form::text, 0, text.size(), std::move(text)});
    }
    if (found.empty()) {
      ++without;
      add_machine_code(name, image, cubins, out);
    }
    for (intercept::packed_ptx& one : found) {
      out.ptx.push_back({name, ++number, std::move(one), false});
    }
  }
  if (without != 0) {
    out.machine_code_only.emplace_back(name, without);
  }
  return number + without != 0;
}

/// Adds the PTX from the files in a wheel. Returns whether there is any device code.
bool add_members(const std::string& name, std::string_view archive, device_code& out) {
  bool any = false;
  for (const zip_member& member : members_of_zip(archive)) {
    const std::string path = name + "/" + member.name;
    if (is_ptx_name(member.name)) {
      std::string text = unpacked(member);
      out.ptx.push_back({path, 1, {intercept::packed_ptx::form::text, 0, text.size(), std::move(text)}, false});
      any = true;
    } else if (is_binary_name(member.name)) {
      any = add_images(path, unpacked(member), out) || any;
    }
  }
  return any;
}

/// Adds the PTX in a binary file. Returns whether there is any device code.
bool add_binary(const std::string& path, device_code& out) {
  const mapped_file file(path);
  return is_zip(file.bytes()) ? add_members(path, file.bytes(), out) : add_images(path, file.bytes(), out);
}

void add_folder(const std::string& folder, device_code& out) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (entry.is_regular_file() && (is_ptx_name(path) || is_source_name(path) || is_binary_name(path))) {
      found.push_back(path.string());
    }
  }
  std::ranges::sort(found);
  std::set<fs::path> known;  // several links may refer to the same library
  std::erase_if(found, [&](const std::string& path) { return !known.insert(fs::canonical(path)).second; });
  bool any = false;
  for (const std::string& path : found) {
    if (is_binary_name(path)) {
      try {
        any = add_binary(path, out) || any;
      } catch (const std::exception& e) {
        out.errors.emplace_back(path, e.what());
      }
    } else {
      out.ptx.push_back({path, 0, {}, false});
      any = true;
    }
  }
  if (!any && out.errors.empty()) {
    throw membar::model::error(
        "the folder contains no .ptx, no .cu and no file with device code: name the folder in which the project is built, or a "
        "library");
  }
}

}  // namespace

std::string ptx_source::text(const std::vector<std::string>& nvcc_options) const {
  if (number == 0) {
    return is_source() ? compiled("", file, nvcc_options) : membar_tools::read_file(file);
  }
  std::string why;
  std::string result = intercept::unpacked(packed, why);
  if (!why.empty() || result.empty()) {
    throw membar::model::error(why.empty() ? "the PTX is empty, or longer than 1 GiB" : why);
  }
  return result;
}

std::string ptx_source::cubin() const {
  std::string why;
  std::string result = intercept::unpacked_machine_code(packed, why);
  if (!why.empty() || result.empty()) {
    throw membar::model::error(why.empty() ? "the machine code is empty, or longer than 1 GiB" : why);
  }
  return result;
}

bool ptx_source::is_source() const { return number == 0 && is_source_name(file); }

bool ptx_source::is_source_of_kernels() const {
  return is_source() && membar_tools::read_file(file).find("__global__") != std::string::npos;
}

std::string ptx_source::name() const {
  const std::string kind = machine_code ? "machine code " : "PTX ";
  return fs::path(file).filename().string() + (number == 0 ? "" : " (" + kind + std::to_string(number) + ")");
}

device_code code_in(const std::string& input, bool with_machine_code) {
  if (!fs::exists(input)) {
    throw membar::model::error("the file does not exist");
  }
  device_code result;
  if (fs::is_directory(input)) {
    add_folder(input, result);
  } else if (is_ptx_name(input) || is_source_name(input)) {
    result.ptx.push_back({input, 0, {}, false});
  } else if (const std::string kind = kind_of_test(input); !kind.empty()) {
    throw membar::model::error("this is a " + kind + ", which is not linted: 'membar-check " + input + "' checks it");
  } else if (!add_binary(input, result)) {
    throw membar::model::error(
        "the file contains no device code: name PTX (.ptx), CUDA C++ (.cu), or a cubin, fatbin, object, library or wheel with "
        "device code");
  }
  if (!with_machine_code) {
    result.machine_code.clear();
    if (result.ptx.empty() && result.errors.empty()) {
      throw membar::model::error("the file has only machine code: " + std::string(how_to_have_ptx));
    }
  }
  return result;
}

}  // namespace membar_check
