// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A mailbox between host and device in mapped memory: the host posts questions, and a running kernel answers them. Data is
/// written with plain stores, and flags are released and acquired at system scope. Each flag has one writer, so loads and
/// stores are sufficient.
#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/mapped_memory.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>

struct mailbox {
  alignas(128) int question;
  alignas(128) int asked;  // The round of the question, or `stop`; written by the host.
  alignas(128) int answer;
  alignas(128) int answered;  // The round of the answer; written by the device.
};
constexpr int stop = -1;

__global__ void answer_questions(mailbox* box, int rounds) {
  constexpr auto system = membar::thread_scope::system;
  for (int round = 1; round <= rounds; ++round) {
    int asked = 0;
    while ((asked = membar::load<system>(&box->asked, membar::acquire)) != round) {
      if (asked == stop) {  // The host's time limit has expired.
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
  membar::launch(membar::launch_config{1, 1}, answer_questions, memory.data(), rounds);

  int right = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 1; round <= rounds; ++round) {
    box.question = round;
    std::atomic_ref(box.asked).store(round, std::memory_order_release);
    while (std::atomic_ref(box.answered).load(std::memory_order_acquire) != round) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(4)) {
        std::puts("no answer within 4 seconds");
        std::atomic_ref(box.asked).store(stop, std::memory_order_release);
        membar::check(cudaDeviceSynchronize());
        return 1;
      }
    }
    right += box.answer == round * round ? 1 : 0;
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  membar::check(cudaDeviceSynchronize());
  std::printf("%d of %d answers are right, %.1f us for a question and its answer\n", right, rounds, time.count() / rounds);
  return right == rounds ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
