// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The place where the processes of a job find each other, and a class that owns a file descriptor.
#pragma once

#include <membar/error.hpp>

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// A file descriptor that is closed at the end of its scope.
class owned_file {
 public:
  owned_file() noexcept = default;
  explicit owned_file(int descriptor) noexcept : descriptor_(descriptor) {}
  owned_file(owned_file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  owned_file& operator=(owned_file&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~owned_file() {
    if (descriptor_ >= 0) {
      static_cast<void>(::close(descriptor_));
    }
  }

  /// Returns the descriptor, or -1 if there is none.
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// The place where processes find each other, as text that a launcher passes to each process: in the environment, as arguments,
/// or in memory before a fork.
struct rendezvous {
  std::string directory;  ///< accessible only to its owner (mode 0700)
  std::string token;      ///< at most 64 characters; every process must present it, so that processes of other jobs are
                          ///< rejected
};

/// Creates a new directory that only the owner can access, in XDG_RUNTIME_DIR or otherwise in /tmp, and 128 random bits as a
/// token. PE 0 removes the directory when all processes have joined, or when PE 0 aborts. Errors: throws `error` if no
/// directory can be created.
[[nodiscard]] inline rendezvous make_rendezvous() {
  rendezvous made;
  unsigned char random[16];
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    throw error(
        cudaErrorOperatingSystem,
        "membar: the system provided no random bytes (%s): fill in a rendezvous yourself, with a token from the launcher",
        std::strerror(errno));
  }
  for (const unsigned char each : random) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", each);
    made.token += text;
  }
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  made.directory = std::string(runtime != nullptr && *runtime == '/' ? runtime : "/tmp") + "/membar-rendezvous.XXXXXX";
  if (::mkdtemp(made.directory.data()) == nullptr) {
    throw error(cudaErrorOperatingSystem,
                "membar: the directory %s could not be created (%s): set XDG_RUNTIME_DIR to a directory of this user",
                made.directory.c_str(), std::strerror(errno));
  }
  return made;
}

/// Creates a rendezvous on PE 0 and returns it in every process, for a program that already has a process group (MPI, PyTorch).
/// Collective. `all_gather(number)` must return the numbers of all processes in PE order, as for `adopted_backend`.
///
/// Errors, on every PE: throws `error` if PE 0 could not create a rendezvous. Exceptions that the callback throws are
/// propagated.
template <class AllGather>
[[nodiscard]] rendezvous shared_rendezvous(int rank, AllGather all_gather) {
  rendezvous made;
  std::string text;
  const auto from_first = [&](unsigned long long mine) { return static_cast<unsigned long long>(all_gather(mine).at(0)); };
  if (rank == 0) {
    try {
      made = make_rendezvous();
    } catch (...) {
      static_cast<void>(from_first(0));
      throw;
    }
    text = made.directory + '\n' + made.token;
  }
  const auto size = static_cast<std::size_t>(from_first(text.size()));
  if (size == 0) {
    throw error(cudaErrorOperatingSystem, "membar: PE 0 could not create a rendezvous: see its standard error");
  }
  text.resize(size);
  for (std::size_t i = 0; i < size; i += sizeof(unsigned long long)) {
    unsigned long long word = 0;
    const std::size_t bytes = size - i < sizeof word ? size - i : sizeof word;
    std::memcpy(&word, text.data() + i, bytes);
    word = from_first(word);
    std::memcpy(text.data() + i, &word, bytes);
  }
  const std::size_t end = text.find('\n');
  return {text.substr(0, end), text.substr(end + 1)};
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
