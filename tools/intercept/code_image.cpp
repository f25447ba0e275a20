// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "intercept/code_image.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace membar::intercept {

namespace {

struct wrapper {  // the wrapper around a fatbin that nvcc embeds in a program
  std::uint32_t magic, version;
  const void* data;
};
constexpr std::uint32_t wrapper_magic = 0x466243b1U;

struct fatbin {
  std::uint32_t magic;
  std::uint16_t version, header;
  std::uint64_t bytes;
};
constexpr std::uint32_t fatbin_magic = 0xba55ed50U;

/// An image in a fatbin, as written by fatbinary in CUDA 10 to 13.
struct fatbin_entry {
  std::uint16_t kind, version;
  std::uint32_t header;
  std::uint64_t bytes;
  std::uint32_t packed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t architecture;
  std::uint32_t name_at, name_bytes;
  std::uint64_t flags;
  std::uint64_t unused;
  std::uint64_t text_bytes;
};
constexpr std::uint16_t kind_ptx = 1, kind_machine_code = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

template <class T>
T read_as(const char* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

/// Decompresses an LZ4 block, which is the format that fatbinary uses up to CUDA 12. Returns an empty string if the block is
/// damaged.
std::string unpacked_lz4(std::string_view in, std::size_t bytes) {
  std::string out;
  out.reserve(bytes);
  std::size_t at = 0;
  const auto length = [&](std::size_t nibble) {
    std::size_t n = nibble;
    for (unsigned char more = 255; nibble == 15 && more == 255 && at < in.size();) {
      more = static_cast<unsigned char>(in[at++]);
      n += more;
    }
    return n;
  };
  while (at < in.size()) {
    const auto token = static_cast<unsigned char>(in[at++]);
    const std::size_t literals = length(token >> 4U);
    if (literals > in.size() - at || literals > bytes - out.size()) {
      return {};
    }
    out.append(in, at, literals);
    at += literals;
    if (out.size() == bytes || at + 2 > in.size()) {
      break;
    }
    const std::size_t back = static_cast<unsigned char>(in[at]) | std::size_t{static_cast<unsigned char>(in[at + 1])} << 8U;
    at += 2;
    const std::size_t copied = length(token & 15U) + 4;
    if (back == 0 || back > out.size() || copied > bytes - out.size()) {
      return {};
    }
    for (std::size_t k = 0; k < copied; ++k) {
      out += out[out.size() - back];
    }
  }
  return out.size() == bytes ? out : std::string();
}

/// Decompresses zstd data, which fatbinary writes in CUDA 13 and later. Requires libzstd to be installed.
std::string unpacked_zstd(std::string_view in, std::size_t bytes, std::string_view what, std::string& why) {
  using function = std::size_t(void*, std::size_t, const void*, std::size_t);
  static auto* const decompress = [] {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<function*>(dlsym(library, "ZSTD_decompress"));
  }();
  if (decompress == nullptr) {
    why = "the " + std::string(what) +
          " is compressed with zstd, but libzstd.so.1 was not found: install it (Debian: libzstd1), or build with nvcc "
          "-no-compress";
    return {};
  }
  std::string out(bytes, '\0');
  if (decompress(out.data(), bytes, in.data(), in.size()) != bytes) {
    why = "the compressed " + std::string(what) + " could not be unpacked: build with nvcc -no-compress";
    return {};
  }
  return out;
}

/// Returns the uncompressed bytes of PTX or machine code; `what` names the kind. Returns an empty string if they cannot be
/// decompressed or exceed 1 GiB.
std::string unpacked_bytes(const packed_ptx& packed, std::string_view what, std::string& why) {
  constexpr std::size_t most = std::size_t{1} << 30U;
  if (packed.text_bytes > most) {
    return {};
  }
  if (packed.packed == packed_ptx::form::lz4) {
    std::string out = unpacked_lz4(packed.bytes, packed.text_bytes);
    why = out.empty() ? "the compressed " + std::string(what) + " could not be unpacked: build with nvcc -no-compress" : "";
    return out;
  }
  return packed.packed == packed_ptx::form::zstd ? unpacked_zstd(packed.bytes, packed.text_bytes, what, why) : packed.bytes;
}

/// Returns the architecture in the text's .target directive, for example 90 for ".target sm_90a".
int target_of(std::string_view text) {
  int out = 0;
  std::size_t at = text.find(".target");
  at = at == std::string_view::npos ? at : text.find("sm_", at);
  for (at = at == std::string_view::npos ? text.size() : at + 3; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    out = 10 * out + (text[at] - '0');
  }
  return out;
}

std::size_t find_word(std::string_view all, std::string_view word, std::size_t from) {
  const char* const begin = all.data() + std::min(from, all.size());
  const void* const at = memmem(begin, static_cast<std::size_t>(all.data() + all.size() - begin), word.data(), word.size());
  return at == nullptr ? std::string_view::npos : static_cast<std::size_t>(static_cast<const char*>(at) - all.data());
}

/// Returns the size of the fatbin at the beginning of the text, which starts with the magic word. Returns 0 if the rest is not
/// a complete fatbin, or if the fatbin is empty.
std::size_t bytes_of_fatbin(std::string_view text) {
  if (text.size() < sizeof(fatbin) + sizeof(fatbin_entry)) {
    return 0;
  }
  const auto all = read_as<fatbin>(text.data());
  if (all.version != 1 || all.header != sizeof(fatbin) || all.bytes < sizeof(fatbin_entry) ||
      all.bytes > text.size() - all.header) {
    return 0;
  }
  const auto first = read_as<fatbin_entry>(text.data() + all.header);
  const bool fits =
      first.header >= sizeof(fatbin_entry) && first.header <= all.bytes && first.bytes <= all.bytes - first.header;
  return fits ? all.header + static_cast<std::size_t>(all.bytes) : 0;
}

/// Returns the size of the cubin at the beginning of the text, or 0 if the text is another ELF file or is truncated.
std::size_t bytes_of_cubin(std::string_view text) {
  constexpr std::uint16_t machine_cuda = 190;
  if (text.size() < sizeof(Elf64_Ehdr) || read_as<Elf64_Ehdr>(text.data()).e_machine != machine_cuda) {
    return 0;
  }
  const void* image = text.data();
  const std::size_t bytes = bytes_of_image(image);
  return bytes >= sizeof(Elf64_Ehdr) && bytes <= text.size() ? bytes : 0;
}

/// Returns the entries of one kind in a fatbin of `bytes` bytes.
std::vector<packed_ptx> entries_of(const char* all, std::size_t bytes, std::uint16_t kind) {
  std::vector<packed_ptx> out;
  for (std::size_t at = read_as<fatbin>(all).header; at + sizeof(fatbin_entry) <= bytes;) {
    const auto entry = read_as<fatbin_entry>(all + at);
    if (entry.header < sizeof(fatbin_entry) || entry.header > bytes - at || entry.bytes > bytes - at - entry.header) {
      break;
    }
    if (entry.kind == kind) {
      packed_ptx one;
      one.packed = (entry.flags & flag_zstd) != 0  ? packed_ptx::form::zstd
                   : (entry.flags & flag_lz4) != 0 ? packed_ptx::form::lz4
                                                   : packed_ptx::form::text;
      one.architecture = static_cast<int>(entry.architecture);
      const bool is_text = one.packed == packed_ptx::form::text;
      one.bytes.assign(all + at + entry.header, is_text ? entry.bytes : std::min<std::size_t>(entry.packed_bytes, entry.bytes));
      one.text_bytes = is_text ? one.bytes.size() : entry.text_bytes;
      out.push_back(std::move(one));
    }
    at += entry.header + entry.bytes;
  }
  return out;
}

}  // namespace

std::size_t bytes_of_image(const void*& image) {
  if (read_as<std::uint32_t>(static_cast<const char*>(image)) == wrapper_magic) {
    image = read_as<wrapper>(static_cast<const char*>(image)).data;
  }
  const char* const at = static_cast<const char*>(image);
  if (read_as<std::uint32_t>(at) == fatbin_magic) {
    const auto f = read_as<fatbin>(at);
    return f.header + f.bytes;
  }
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    const auto header = read_as<Elf64_Ehdr>(at);
    return std::max(header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize,
                    header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize);
  }
  const bool is_text = *at == '/' || *at == '.' || *at == '\n' || *at == ' ' || *at == '\t' || *at == '\r';
  return is_text ? std::strlen(at) : 0;
}

std::vector<packed_ptx> ptx_of_image(const void* image) {
  const std::size_t bytes = bytes_of_image(image);
  const char* const all = static_cast<const char*>(image);
  if (bytes == 0 || std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    return {};
  }
  if (read_as<std::uint32_t>(all) != fatbin_magic) {
    return {{packed_ptx::form::text, target_of({all, bytes}), bytes, std::string(all, bytes)}};
  }
  return entries_of(all, bytes, kind_ptx);
}

std::vector<packed_ptx> machine_code_of_image(const void* image) {
  const std::size_t bytes = bytes_of_image(image);
  const char* const all = static_cast<const char*>(image);
  if (bytes != 0 && std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    return {{packed_ptx::form::text, 0, bytes, std::string(all, bytes)}};
  }
  const bool is_fatbin = bytes != 0 && read_as<std::uint32_t>(all) == fatbin_magic;
  return is_fatbin ? entries_of(all, bytes, kind_machine_code) : std::vector<packed_ptx>();
}

std::vector<std::string_view> images_in(std::string_view file) {
  const std::string_view fatbin_word("\x50\xed\x55\xba", 4);
  const std::string_view elf_word(ELFMAG, SELFMAG);
  std::vector<std::string_view> out;
  std::size_t next_fatbin = find_word(file, fatbin_word, 0);
  std::size_t next_elf = find_word(file, elf_word, 0);
  while (next_fatbin != std::string_view::npos || next_elf != std::string_view::npos) {
    const std::size_t at = std::min(next_fatbin, next_elf);
    const std::size_t bytes = at == next_fatbin ? bytes_of_fatbin(file.substr(at)) : bytes_of_cubin(file.substr(at));
    if (bytes != 0) {
      out.push_back(file.substr(at, bytes));
    }
    const std::size_t end = at + std::max<std::size_t>(bytes, 1);
    next_fatbin = next_fatbin < end ? find_word(file, fatbin_word, end) : next_fatbin;
    next_elf = next_elf < end ? find_word(file, elf_word, end) : next_elf;
  }
  return out;
}

std::string unpacked(const packed_ptx& ptx, std::string& why) {
  std::string text = unpacked_bytes(ptx, "PTX", why);
  text.resize(std::min(text.size(), text.find('\0')));  // removes the padding at the end
  return text;
}

std::string unpacked_machine_code(const packed_ptx& cubin, std::string& why) {
  return unpacked_bytes(cubin, "machine code", why);
}

}  // namespace membar::intercept
