// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares host threads with the model: a single thread ends in the final state of the only execution; threads that run one
// after another end in the final state of some execution; and concurrent threads never end in a forbidden state.
#include "plans.hpp"

#include <litmus/host_interpreter.hpp>
#include <membar/litmus/launch_view.hpp>
#include <membar/model/outcomes.hpp>

#include <bench/model/random_test.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace litmus = membar::litmus;
namespace model = membar::model;
using namespace membar_test;
using membar::litmus_files::host_interpreter, membar::litmus_files::run_plan;

/// The memory and the digits of `instances` instances, in the engine's layout.
class memory {
 public:
  memory(const run_plan& plan, unsigned instances) : plan_(&plan) {
    layout_.width = instances;
    layout_.locations = static_cast<unsigned>(plan.cells());
    layout_.observations = static_cast<unsigned>(plan.digits().size());
    cells_.resize(layout_.region_bytes() / sizeof(litmus::cell_value));
    digits_.resize(layout_.digit_bytes());
  }

  void reset(unsigned instance) {
    const litmus::instance_cells at = cells(instance);
    for (int c = 0; c < plan_->cells(); ++c) {
      std::memcpy(at.as<char>(c), plan_->initial(c).data(), litmus::cell_bytes);
    }
  }

  [[nodiscard]] litmus::instance_cells cells(unsigned instance) {
    return {layout_, reinterpret_cast<unsigned char*>(cells_.data()), rotations_.data(), instance, nullptr, 0};
  }
  [[nodiscard]] litmus::instance_digits digits(unsigned instance) { return {layout_, digits_.data(), instance}; }

  /// Returns the outcome as the engine counts it.
  [[nodiscard]] std::size_t key(unsigned instance) {
    std::size_t key = 0;
    std::size_t weight = 1;
    for (std::size_t d = 0; d < plan_->digits().size(); ++d) {
      const membar::litmus_files::outcome_digit& one = plan_->digits()[d];
      std::size_t digit = digits_[litmus::digit_offset(layout_, static_cast<unsigned>(d), instance)];
      if (one.thread() < 0) {
        const membar::litmus_files::cell_part& part = plan_->part(one.what.index);
        const char* const from = cells(instance).as<char>(part.cell) + part.offset;
        std::int64_t value = 0;
        std::memcpy(&value, from, static_cast<std::size_t>(part.bytes));
        const int unused = 64 - 8 * part.bytes;
        value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
        digit = plan_->digit(static_cast<int>(d), value);
      }
      key += digit * weight;
      weight *= static_cast<std::size_t>(one.radix());
    }
    return key;
  }

 private:
  const run_plan* plan_;
  litmus::instance_layout layout_{};
  std::array<unsigned, litmus::max_locations> rotations_{};
  std::vector<litmus::cell_value> cells_;
  std::vector<unsigned char> digits_;
};

/// Returns an outcome as `membar-litmus outcomes` prints it, with " end=" for a thread that did not reach its end.
[[nodiscard]] std::string text_of(const run_plan& plan, std::size_t key) {
  std::string text;
  for (const membar::litmus_files::outcome_digit& d : plan.digits()) {
    const std::size_t digit = key % static_cast<std::size_t>(d.radix());
    key /= static_cast<std::size_t>(d.radix());
    if (d.end_of >= 0) {
      text += digit == 0 ? "" : " end=" + std::to_string(digit);
    } else {
      text += (text.empty() ? "" : " ") + d.name + "=" +
              (digit < d.values.size() ? model::value_text(plan.test(), d.values[digit]) : "other");
    }
  }
  return text;
}

/// Returns the test with all its threads on the host, if it can run there.
[[nodiscard]] plan_or_reason on_host(model::litmus_test test) {
  for (model::litmus_test::thread& t : test.threads) {
    t.where = {.host = true};
  }
  plan_or_reason made;
  try {
    made.plan = std::make_unique<run_plan>(std::move(test));
    static_cast<void>(host_interpreter(*made.plan));
  } catch (const std::exception& e) {
    made = {};
    made.reason = e.what();
  }
  return made;
}

[[nodiscard]] std::string run_alone(const std::string& text) {
  const plan_or_reason one = on_host(test_of(text));
  if (one.plan == nullptr) {
    return one.reason;
  }
  memory at(*one.plan, 32);
  at.reset(3);
  host_interpreter (*one.plan)(0, at.cells(3), at.digits(3));
  return text_of(*one.plan, at.key(3));
}

TEST(litmus_host_interpreter, a_thread_alone_ends_as_the_model_says) {
  std::vector<std::string> programs;
  for (const char* pattern : {
           // Each operation, with values that distinguish the operands.
           "st.weak x, 7 ;\n atom.relaxed.sys.(add|sub|mul|div|dec) r0, x, 5 ;\n ld.weak r1, x",
           "st.weak x, 7 ;\n atom.(acq_rel.sys.and|acquire.sys.or|release.sys.xor) r0, x, 12 ;\n ld.weak r1, x",
           "st.weak x, 7 ;\n atom.relaxed.sys.(min r0, x, -5|max r0, x, 15|inc r0, x, 7) ;\n ld.weak r1, x",
           "st.weak x, 7 ;\n atom.acq_rel.sys.(exch r0, x, 5|cas r0, x, 7, 5|cas r0, x, 5, 9) ;\n ld.weak r1, x",
           "st.weak x, 7 ;\n red.relaxed.sys.add x, 5 ;\n ld.weak r1, x",
           "st.release.sys.b8 x, -3 ;\n ld.acquire.sys.b8 r0, x ;\n mov r1, r0",
           "st.release.sys.b16 x, -3 ;\n ld.acquire.sys.b16 r0, x ;\n mov r1, r0",
           "st.volatile.b64 x, -3 ;\n ld.volatile.b64 r0, x ;\n mov r1, r0",
           "ld.weak r0, [p] ;\n st.weak [p], 4 ;\n ld.weak r1, x",
           "st.weak.v2 v, {8, 9} ;\n ld.weak.v2 {r0, r1}, v",
           "fence.sc.sys ;\n fence.acq_rel.gpu ;\n fence.acquire.cta ;\n fence.release.cluster ;\n membar.gl ;\n "
           "ld r0, 3 ;\n sub r1, r0, 5",
           "ld r0, 3 ;\n L: ;\n beq r0, 3, END ;\n st.weak x, 9 ;\n END: ;\n ld.weak r1, x",
           "ld r0, 9 ;\n div r1, r0, 0 ;\n div r0, r0, 2",
           "goto END ;\n st.weak x, 9 ;\n END: ;\n ld.weak r1, x",
           "mov r0, p ;\n add r1, p, 0",
       }) {
    for (const std::string& program : expanded(pattern)) {
      programs.push_back(program);
    }
  }
  for (const std::string& program : programs) {
    const std::string text = "PTX t\n{ x=0; v=0; v[1]=0; P0:p=&x; P0:r0=0; P0:r1=0; }\n P0@host ;\n " + program +
                             " ;\nexists (P0:r0 == 0 /\\ P0:r1 == 0)\n";
    const std::vector<std::string> outcomes = outcomes_of(test_of(text));
    ASSERT_EQ(outcomes.size(), 1U) << program;
    EXPECT_EQ(run_alone(text), outcomes.front()) << program;
  }
}

/// Runs the test's threads to their ends, one after another, in every order, as instance `number`. Calls `use` with each
/// result.
void for_each_order(const run_plan& plan, unsigned number, auto use) {
  const host_interpreter threads(plan);
  memory at(plan, 32);
  std::vector<int> order(plan.test().threads.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    at.reset(number);
    for (const int t : order) {
      threads(t, at.cells(number), at.digits(number));
    }
    use(text_of(plan, at.key(number)));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(litmus_host_interpreter, random_threads_one_after_the_other_end_as_the_model_allows) {
  std::size_t compared = 0;
  membar_test::random_tests stream(6, {.threads = 3, .instructions = 4});
  for (int n = 0; n < 300; ++n) {
    const membar_test::random_program program = stream.next();
    const std::string text = program.text({0, 1, 2}, {"x", "y"}, program.everything());
    const plan_or_reason one = on_host(test_of(text));
    if (one.plan == nullptr) {
      continue;
    }
    const model::litmus_test& test = one.plan->test();
    const std::vector<std::string> allowed = outcomes_of(test);
    for_each_order(*one.plan, 5, [&](const std::string& seen) {
      EXPECT_TRUE(std::binary_search(allowed.begin(), allowed.end(), seen)) << seen << " of\n" << text;
      ++compared;
    });
  }
  EXPECT_GE(compared, 200U);
}

TEST(litmus_host_interpreter, the_catalogue_one_thread_after_the_other_ends_as_the_model_allows) {
  std::size_t compared = 0;
  std::size_t unfinished = 0;
  for (const auto& path : litmus_files(catalogue)) {
    const plan_or_reason one = on_host(test_of(read_text(path)));
    if (one.plan == nullptr) {
      continue;
    }
    const model::litmus_test& test = one.plan->test();
    const std::vector<std::string> allowed = outcomes_of(test);
    for_each_order(*one.plan, 0, [&](const std::string& seen) {
      if (seen.find("end=2") != std::string::npos) {
        ++unfinished;
      } else {
        EXPECT_TRUE(std::binary_search(allowed.begin(), allowed.end(), seen)) << path << ": " << seen;
        ++compared;
      }
    });
  }
  EXPECT_GE(compared, 600U);
  EXPECT_EQ(unfinished, 0U) << "no lock of the catalogue waits for a thread that comes later";
}

TEST(litmus_host_interpreter, a_loop_whose_condition_never_holds_ends_at_its_limit) {
  EXPECT_EQ(run_alone("PTX t\n{ x=0; }\n P0@host ;\n L: ;\n ld.acquire.sys r0, x ;\n bne r0, 1, L ;\nexists (P0:r0 == 0)\n"),
            "P0:r0=0 end=2");
}

TEST(litmus_host_interpreter, an_address_that_is_no_locations_is_not_accessed) {
  EXPECT_EQ(run_alone("PTX t\n{ x=5; P0:p=12345; }\n P0@host ;\n st.weak [p], 1 ;\nexists (x == 5)\n"), "x=5 end=1");
}

/// Runs the threads of a test concurrently many times. Returns the outcomes.
[[nodiscard]] std::set<std::string> run_at_once(const run_plan& plan, unsigned rounds) {
  constexpr unsigned instances = 64;
  const host_interpreter threads(plan);
  const auto count = static_cast<unsigned>(plan.test().threads.size());
  memory at(plan, instances);
  std::set<std::string> seen;
  std::atomic<unsigned> arrived{0};
  const auto barrier_of_all = [&](unsigned barrier) {
    ++arrived;
    while (arrived.load() < barrier * count) {
      std::this_thread::yield();
    }
  };
  std::vector<std::jthread> running;
  for (unsigned t = 0; t < count; ++t) {
    running.emplace_back([&, t] {
      for (unsigned round = 0; round < rounds; ++round) {
        if (t == 0) {
          for (unsigned i = 0; i < instances; ++i) {
            at.reset(i);
          }
        }
        barrier_of_all(3 * round + 1);
        for (unsigned i = 0; i < instances; ++i) {
          threads(static_cast<int>(t), at.cells(i), at.digits(i));
        }
        barrier_of_all(3 * round + 2);
        if (t == 0) {
          for (unsigned i = 0; i < instances; ++i) {
            seen.insert(text_of(plan, at.key(i)));
          }
        }
        barrier_of_all(3 * round + 3);
      }
    });
  }
  running.clear();
  return seen;
}

TEST(litmus_host_interpreter, threads_at_once_end_as_the_model_allows) {
  for (const char* name : {"MP.sys.two_blocks", "SB+fence.sc.sys.two_blocks", "Atomicity.increments.sys.two_gpus",
                           "CoRR.relaxed+weak.sys", "MP+release-then-relaxed.sys", "Lock.sys.two-domains"}) {
    const plan_or_reason one = on_host(test_of(read_text(catalogue / "forbidden" / (std::string(name) + ".litmus"))));
    ASSERT_NE(one.plan, nullptr) << one.reason;
    const std::vector<std::string> allowed = outcomes_of(one.plan->test());
    for (const std::string& outcome : run_at_once(*one.plan, 200)) {
      if (outcome.find("end=2") == std::string::npos) {
        EXPECT_TRUE(std::binary_search(allowed.begin(), allowed.end(), outcome)) << name << ": " << outcome;
      }
    }
  }
}

TEST(litmus_host_interpreter, what_the_host_cannot_do_is_named) {
  const auto reason = [](const std::string& instruction) {
    return run_alone("PTX t\n{ x=0; }\n P0@host ;\n " + instruction + " ;\nexists (x == 0)\n");
  };
  EXPECT_EQ(reason("fence.proxy.alias"),
            "line 4: 'fence.proxy.alias': a host thread accesses memory through only one proxy and needs no proxy fence: "
            "remove the fence");
  EXPECT_EQ(reason("ld.relaxed.sys.b128 r0, x"),
            "line 4: 'ld.relaxed.sys.b128 r0, x': a host thread can access only 1, 2, 4 or 8 bytes");
}

}  // namespace
