// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A mailbox between host and device in mapped memory: the host posts requests, a running kernel answers them. Data is written
/// plainly, flags are released and acquired at system scope; no flag is written by both sides, so loads and stores suffice.
#include <membar/device_clock.cuh>
#include <membar/load_store.cuh>
#include <membar/mapped_memory.hpp>
#include <bench/common/cuda_handles.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>

struct mailbox {
  alignas(128) int question;
  alignas(128) int asked;  // round of the question; the host's
  alignas(128) int answer;
  alignas(128) int answered;  // round of the answer; the device's
};

__global__ void answer_questions(mailbox* box, int rounds) {
  constexpr auto system = membar::thread_scope::system;
  constexpr unsigned long long deadline_ns = 5'000'000'000;
  const unsigned long long begin = membar::global_nanoseconds();
  for (int round = 1; round <= rounds; ++round) {
    while (membar::load<system>(&box->asked, membar::acquire) != round) {
      const unsigned long long now = membar::global_nanoseconds();
      if (now - begin > deadline_ns) {
        return;
      }
    }
    box->answer = box->question * box->question;
    membar::store<system>(&box->answered, round, membar::release);
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  constexpr int rounds = 1000;
  const membar::mapped_memory<mailbox> memory(1);
  mailbox& box = memory[0];
  const support::stream stream;
  answer_questions<<<1, 1, 0, stream.get()>>>(memory.data(), rounds);
  membar::check(cudaGetLastError(), "launch");

  int right = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 1; round <= rounds; ++round) {
    box.question = round;
    std::atomic_ref(box.asked).store(round, std::memory_order_release);
    while (std::atomic_ref(box.answered).load(std::memory_order_acquire) != round) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(4)) {
        std::puts("no answer within 4 seconds");
        stream.synchronize();
        return 1;
      }
    }
    right += box.answer == round * round ? 1 : 0;
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  stream.synchronize();
  std::printf("%d of %d answers are right, %.1f us for a question and its answer\n", right, rounds, time.count() / rounds);
  return right == rounds ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
