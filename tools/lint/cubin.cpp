// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/cubin.hpp>

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace membar::lint {

namespace {

constexpr std::uint16_t machine_cuda = 190;

template <class T>
std::optional<T> read_at(std::string_view bytes, std::size_t at) {
  if (at > bytes.size() || sizeof(T) > bytes.size() - at) {
    return std::nullopt;
  }
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

/// An entry of a .nv.info section begins with one byte for the format, one byte for the kind, and two more bytes. In format 4,
/// these two bytes contain the size of the value that follows. In the other formats, they are the value.
constexpr unsigned form_of_several_bytes = 4;
constexpr unsigned parameter_bank_entry = 0x0a, parameter_entry = 0x17;

parameter_bank read_info(std::string_view info) {
  parameter_bank result;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto form = static_cast<unsigned char>(info[at]);
    const auto what = static_cast<unsigned char>(info[at + 1]);
    const std::size_t bytes = form == form_of_several_bytes ? *read_at<std::uint16_t>(info, at + 2) : 0;
    const std::string_view value = info.substr(at + 4).substr(0, bytes);
    at += 4 + bytes;
    if (what == parameter_bank_entry && value.size() >= 8) {  // the value: a symbol, the start, the number of bytes
      result.begin = *read_at<std::uint16_t>(value, 4);
      result.bytes = *read_at<std::uint16_t>(value, 6);
    } else if (what == parameter_entry &&
               value.size() >= 12) {  // the value: an index, the parameter's number, its start, its kind and size
      constexpr unsigned size_shift = 18;
      result.parameters[*read_at<std::uint16_t>(value, 6)] = {
          *read_at<std::uint16_t>(value, 4), static_cast<int>(*read_at<std::uint32_t>(value, 8) >> size_shift)};
    }
  }
  return result;
}

}  // namespace

int architecture_of(std::string_view cubin) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  if (!header || header->e_machine != machine_cuda) {
    return 0;
  }
  // CUDA 13 stores the compute capability in the second byte; earlier compilers store it in the first byte.
  constexpr unsigned char abi_of_cuda_13 = 8;
  const bool is_late = header->e_ident[EI_ABIVERSION] >= abi_of_cuda_13;
  return static_cast<int>((is_late ? header->e_flags >> 8U : header->e_flags) & 0xffU);
}

bool may_be_dependent(std::string_view cubin) {
  constexpr int first_known = 90, last_known = 121;
  if (const int architecture = architecture_of(cubin); architecture < first_known || architecture > last_known) {
    return architecture > last_known;
  }
  constexpr std::size_t instruction_bytes = 16;
  constexpr std::uint64_t opcode_bits = 0xfff, preexit = 0x82d, acqbulk = 0x82e;
  for (std::size_t at = 0; const auto bits = read_at<std::uint64_t>(cubin, at); at += instruction_bytes) {
    if ((*bits & opcode_bits) == preexit || (*bits & opcode_bits) == acqbulk) {
      return true;
    }
  }
  return false;
}

std::map<std::string, parameter_bank, std::less<>> parameters_of(std::string_view cubin) {
  std::map<std::string, parameter_bank, std::less<>> result;
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](std::size_t number) {
    return read_at<Elf64_Shdr>(cubin, header->e_shoff + number * sizeof(Elf64_Shdr));
  };
  const auto names = header ? section(header->e_shstrndx) : std::nullopt;
  for (std::size_t k = 0; names && k < header->e_shnum; ++k) {
    const auto one = section(k);
    if (!one || names->sh_offset + one->sh_name >= cubin.size() || one->sh_offset > cubin.size()) {
      continue;
    }
    std::string_view name = cubin.substr(names->sh_offset + one->sh_name);
    name = name.substr(0, name.find('\0'));
    constexpr std::string_view prefix = ".nv.info.";
    if (name.starts_with(prefix)) {
      result.emplace(name.substr(prefix.size()), read_info(cubin.substr(one->sh_offset, one->sh_size)));
    }
  }
  return result;
}

}  // namespace membar::lint
