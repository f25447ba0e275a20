// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/contents.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

namespace {

/// A ring buffer in pinned memory. Positions increase monotonically and are mapped to the buffer modulo its size.
constexpr std::size_t ring_bytes = std::size_t{128} << 20U;
constexpr std::size_t alignment = 256;
constexpr std::uint32_t done = 1;

struct job {
  std::uint64_t begin, end;  ///< `begin` is the position of the word that the stream sets when the copies are complete
  std::vector<launch_copies::piece> pieces;
};

struct ring {
  std::mutex mutex;
  char* base = nullptr;
  CUdeviceptr device_base = 0;
  bool failed = false;
  bool has_writer = false;
  std::uint64_t head = 0, tail = 0;
  std::deque<job> jobs;
  std::uint64_t written = 0;
};

ring& the_ring() {
  static auto* const one = new ring;
  return *one;
}

[[nodiscard]] char* at(const ring& r, std::uint64_t place) { return r.base + place % ring_bytes; }

/// Writes the first job to its files if its copies are complete. Returns whether it has written a job.
bool write_front(ring& r) {
  job front;
  {
    const std::lock_guard lock(r.mutex);
    if (r.jobs.empty()) {
      return false;
    }
    auto* const flag = reinterpret_cast<std::uint32_t*>(at(r, r.jobs.front().begin));
    if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != done) {
      return false;
    }
    front = r.jobs.front();
  }
  for (const launch_copies::piece& p : front.pieces) {
    const char* const bytes = at(r, p.at);
    std::size_t count = p.bytes;
    while (count != 0 && bytes[count - 1] == 0) {
      --count;
    }
    if (!session::get().write_file(p.file, bytes, count)) {
      session::get().complain("contents of memory are missing, because --limit was reached or the disk is full");
    }
  }
  const std::lock_guard lock(r.mutex);
  r.tail = front.end;
  r.jobs.pop_front();
  ++r.written;
  return true;
}

void write_forever() {
  for (;;) {
    bool wrote = false;
    quietly([&] { wrote = write_front(the_ring()); });
    if (!wrote) {
      const timespec pause{0, 2'000'000};
      nanosleep(&pause, nullptr);
    }
  }
}

/// Starts the thread that writes the files. The caller must hold the ring's lock.
void start_writer(ring& r) {
  if (r.has_writer) {
    return;
  }
  r.has_writer = true;
  sigset_t every;
  sigset_t before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);  // signals must be delivered to the program's own threads
  std::thread(write_forever).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::atexit(drain_contents);
}

/// Registers the recorder's own memory as pinned memory, so that the memory stays readable after its context is destroyed. The
/// caller must hold the ring's lock.
bool pin(ring& r) {
  if (r.base != nullptr || r.failed) {
    return !r.failed;
  }
  r.failed = true;
  void* const memory = mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED ||
      driver::cuMemHostRegister_(memory, ring_bytes,
                                 static_cast<unsigned>(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP)) !=
          CUDA_SUCCESS ||
      driver::cuMemHostGetDevicePointer_(&r.device_base, memory, 0U) != CUDA_SUCCESS) {
    session::get().complain("pinned memory could not be allocated, so no contents were recorded");
    return false;
  }
  r.base = static_cast<char*>(memory);
  r.failed = false;
  return true;
}

[[nodiscard]] std::uint64_t rounded(std::uint64_t n) { return (n + alignment - 1) / alignment * alignment; }

}  // namespace

bool launch_copies::reserve(std::size_t bytes, std::size_t pieces) {
  ring& r = the_ring();
  const std::lock_guard lock(r.mutex);
  const std::uint64_t all = rounded(bytes + alignment * (pieces + 1));
  if (all > ring_bytes || !pin(r)) {
    return false;
  }
  std::uint64_t begin = r.head;
  if (begin % ring_bytes + all > ring_bytes) {
    begin += ring_bytes - begin % ring_bytes;
  }
  if (begin + all - r.tail > ring_bytes) {
    return false;
  }
  begin_ = begin;
  next_ = begin + alignment;
  end_ = r.head = begin + all;
  auto* const flag = reinterpret_cast<std::uint32_t*>(at(r, begin));
  __atomic_store_n(flag, 0U, __ATOMIC_RELEASE);
  // The job is queued now, so that the jobs are sorted by position. Its flag is not set yet.
  r.jobs.push_back({begin_, end_, {}});
  return true;
}

bool launch_copies::add(const std::string& file, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  ring& r = the_ring();
  if (driver::cuMemcpyAsync_(r.device_base + next_ % ring_bytes, from, bytes, stream) != CUDA_SUCCESS) {
    return false;
  }
  pieces_.push_back({file, next_, bytes});
  next_ += rounded(bytes);
  return true;
}

void launch_copies::finish(CUstream stream) {
  ring& r = the_ring();
  {
    const std::lock_guard lock(r.mutex);
    const auto mine = std::find_if(r.jobs.begin(), r.jobs.end(), [&](const job& j) { return j.begin == begin_; });
    if (mine != r.jobs.end()) {
      mine->pieces = pieces_;
    }
    start_writer(r);
  }
  if (driver::cuMemsetD32Async_(r.device_base + begin_ % ring_bytes, done, std::size_t{1}, stream) != CUDA_SUCCESS) {
    const std::lock_guard lock(r.mutex);
    const auto mine = std::find_if(r.jobs.begin(), r.jobs.end(), [&](const job& j) { return j.begin == begin_; });
    if (mine != r.jobs.end()) {  // the memory is not reused, because the copies may still write to it
      r.failed = true;
    }
  }
}

void drain_contents() {
  ring& r = the_ring();
  const auto state = [&] {
    const std::lock_guard lock(r.mutex);
    return std::pair(r.jobs.empty(), r.written);
  };
  auto [empty, written] = state();
  auto last = std::chrono::steady_clock::now();
  while (!empty && std::chrono::steady_clock::now() - last < std::chrono::seconds(2)) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
    const auto [now_empty, now_written] = state();
    last = now_written != written ? std::chrono::steady_clock::now() : last;
    empty = now_empty;
    written = now_written;
  }
}

void forget_pinned() {
  ring& r = the_ring();
  const std::lock_guard lock(r.mutex);
  r.failed = r.base != nullptr;
}

}  // namespace membar_record
