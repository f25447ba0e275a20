// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <membar-check/zip_archive.hpp>

#include <membar/model/error.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

namespace {

constexpr std::string_view local_word("PK\3\4", 4), central_word("PK\1\2", 4), end_word("PK\5\6", 4), end64_word("PK\6\6", 4);
constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56, locator_bytes = 20;
constexpr std::uint64_t none32 = 0xffffffff;

[[noreturn]] void damaged() { throw membar::model::error("the archive is damaged: copy or download it again"); }

/// Returns a part of the archive. Throws if the part is not inside the archive.
std::string_view part(std::string_view all, std::uint64_t at, std::uint64_t bytes) {
  if (at > all.size() || bytes > all.size() - at) {
    damaged();
  }
  return all.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
}

/// Returns a little-endian number in a record.
std::uint64_t number(std::string_view record, std::size_t at, std::size_t bytes) {
  std::uint64_t result = 0;
  for (std::size_t k = bytes; k-- > 0;) {
    result = result << 8U | static_cast<unsigned char>(record[at + k]);
  }
  return result;
}

struct directory {
  std::uint64_t at, members;
};

directory directory_of(std::string_view all) {
  const std::size_t end_at = all.rfind(end_word);
  if (end_at == std::string_view::npos) {
    damaged();
  }
  const std::string_view end = part(all, end_at, end_bytes);
  directory result{number(end, 16, 4), number(end, 10, 2)};
  if (result.at == none32 ||
      result.members == 0xffff) {  // in a zip64 archive, a locator before this record points to a longer record
    const std::string_view locator = part(all, end_at < locator_bytes ? all.size() : end_at - locator_bytes, locator_bytes);
    const std::string_view end64 = part(all, number(locator, 8, 8), end64_bytes);
    if (!end64.starts_with(end64_word)) {
      damaged();
    }
    result = {number(end64, 48, 8), number(end64, 32, 8)};
  }
  return result;
}

/// Reads sizes and offsets that do not fit in 32 bits from an extra field.
void read_long_numbers(std::string_view extra, std::uint64_t& bytes, std::uint64_t& packed_bytes, std::uint64_t& at) {
  constexpr std::uint64_t kind_long = 1;
  while (extra.size() >= 4) {
    const std::string_view field = part(extra, 4, number(extra, 2, 2));
    std::size_t read = 0;
    for (std::uint64_t* const n : {&bytes, &packed_bytes, &at}) {
      if (number(extra, 0, 2) == kind_long && *n == none32) {
        *n = number(part(field, read, 8), 0, 8);
        read += 8;
      }
    }
    extra.remove_prefix(4 + field.size());
  }
}

/// Declarations from zlib's header. They have not changed since version 1.0.
struct z_stream {
  const unsigned char* next_in;
  unsigned avail_in;
  unsigned long total_in;
  unsigned char* next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char* message;
  void* state;
  void* allocate;
  void* free;
  void* opaque;
  int data_type;
  unsigned long adler, reserved;
};

struct zlib {
  int (*begin)(z_stream*, int, const char*, int) = nullptr;
  int (*inflate)(z_stream*, int) = nullptr;
  int (*end)(z_stream*) = nullptr;
  zlib() {
    if (void* const library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL); library != nullptr) {
      begin = reinterpret_cast<decltype(begin)>(dlsym(library, "inflateInit2_"));
      inflate = reinterpret_cast<decltype(inflate)>(dlsym(library, "inflate"));
      end = reinterpret_cast<decltype(end)>(dlsym(library, "inflateEnd"));
    }
  }
};

std::string inflated(const zip_member& member) {
  static const zlib library;
  if (library.begin == nullptr || library.inflate == nullptr || library.end == nullptr) {
    throw membar::model::error(
        "the archive is compressed, but libz.so.1 was not found: install it (Debian: zlib1g), or unpack the archive and "
        "name the folder");
  }
  constexpr int without_header = -15, finish_block = 0, ok = 0, at_end = 1;
  constexpr std::size_t step = std::numeric_limits<int>::max();
  z_stream stream{};
  std::string out(member.bytes, '\0');
  if (library.begin(&stream, without_header, "1.2.11", static_cast<int>(sizeof stream)) != ok) {
    throw membar::model::error("libz.so.1 has an unknown version: unpack the archive and name the folder");
  }
  std::size_t read = 0, written = 0;
  int state = ok;
  do {
    const auto in_step = static_cast<unsigned>(std::min(step, member.packed.size() - read));
    const auto out_step = static_cast<unsigned>(std::min(step, out.size() - written));
    stream.next_in = reinterpret_cast<const unsigned char*>(member.packed.data()) + read;
    stream.avail_in = in_step;
    stream.next_out = reinterpret_cast<unsigned char*>(out.data()) + written;
    stream.avail_out = out_step;
    state = library.inflate(&stream, finish_block);
    read += in_step - stream.avail_in;
    written += out_step - stream.avail_out;
  } while (state == ok);  // the call fails if it can make no more progress
  library.end(&stream);
  if (state != at_end || written != out.size()) {
    damaged();
  }
  return out;
}

}  // namespace

bool is_zip(std::string_view file) { return file.starts_with(local_word) || file.starts_with(end_word); }

std::vector<zip_member> members_of_zip(std::string_view archive) {
  constexpr std::uint64_t stored = 0, deflated = 8, encrypted = 1;
  const directory all = directory_of(archive);
  std::vector<zip_member> result;
  std::uint64_t at = all.at;
  for (std::uint64_t k = 0; k < all.members; ++k) {
    const std::string_view record = part(archive, at, central_bytes);
    const std::uint64_t name_bytes = number(record, 28, 2), extra_bytes = number(record, 30, 2), method = number(record, 10, 2);
    if (!record.starts_with(central_word)) {
      damaged();
    }
    std::uint64_t packed_bytes = number(record, 20, 4), bytes = number(record, 24, 4), local_at = number(record, 42, 4);
    read_long_numbers(part(archive, at + central_bytes + name_bytes, extra_bytes), bytes, packed_bytes, local_at);
    const std::string_view local = part(archive, local_at, local_bytes);
    zip_member one{std::string(part(archive, at + central_bytes, name_bytes)), method == deflated,
                   part(archive, local_at + local_bytes + number(local, 26, 2) + number(local, 28, 2), packed_bytes),
                   static_cast<std::size_t>(bytes),
                   (method == stored || method == deflated) && (number(record, 8, 2) & encrypted) == 0};
    if (!local.starts_with(local_word) || (method == stored && bytes != packed_bytes)) {
      damaged();
    }
    result.push_back(std::move(one));
    at += central_bytes + name_bytes + extra_bytes + number(record, 32, 2);
  }
  return result;
}

std::string unpacked(const zip_member& member) {
  constexpr std::size_t most_expansion = 1100;  // the limit of the format; a larger size is wrong and would exhaust memory
  if (!member.is_readable) {
    throw membar::model::error(membar_tools::quote(member.name) +
                               " is encrypted or packed in an unknown way: unpack the archive and name the folder");
  }
  if (member.is_deflated && member.bytes / most_expansion > member.packed.size()) {
    damaged();
  }
  return member.is_deflated ? inflated(member) : std::string(member.packed);
}

}  // namespace membar_check
