// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks that instructions with predecoded operands compute the same results as ptx::compute.
#include <check/thread_context.hpp>
#include <ptx/compute.hpp>
#include <sanitize/fast_code.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>

namespace fast_code_test {
namespace {

using membar::check::instruction;
using membar::check::op;
using membar::check::ptx_type;

instruction of_three_registers(op code, ptx_type type) {
  instruction i;
  i.code = code;
  i.type = type;
  i.destinations = 1;
  i.to[0] = {3, 64};
  i.sources = 3;
  for (int k = 0; k < 3; ++k) {
    i.by[static_cast<std::size_t>(k)].kind = membar::check::source_operand::kind_t::reg;
    i.by[static_cast<std::size_t>(k)].word = k;
  }
  return i;
}

bool is_nan(ptx_type type, std::uint64_t bits) { return type == ptx_type::f32 && (bits & 0x7fffffffU) > 0x7f800000U; }

TEST(fast_code, computes_what_the_machine_does) {
  std::mt19937_64 random(3);
  int computed = 0;
  for (int code = static_cast<int>(op::add); code <= static_cast<int>(op::find_leading_one); ++code) {
    for (const ptx_type type : {ptx_type::b32, ptx_type::u32, ptx_type::s32, ptx_type::b64, ptx_type::u64, ptx_type::s64,
                                ptx_type::f32, ptx_type::f64, ptx_type::pred}) {
      membar::check::kernel_code kernel;
      kernel.words = 4;
      kernel.code.push_back(of_three_registers(static_cast<op>(code), type));
      const auto fast = membar::sanitize::fast_code_of(kernel, {});
      ASSERT_EQ(fast.size(), 1U);
      if (fast[0].compute == nullptr) {
        continue;
      }
      for (int turn = 0; turn < 200; ++turn) {
        // Small numbers, which are special cases for shifts and comparisons, and arbitrary bit patterns.
        const auto word = [&] { return turn % 2 == 0 ? random() : (random() % 80) - 8; };
        const std::uint64_t words[4] = {word(), word(), word(), 0};
        const std::uint64_t wanted = membar::ptx::compute(kernel.code[0], words[0], words[1], words[2]);
        const std::uint64_t found = fast[0].compute(fast[0], words, membar::check::thread_context{});
        ASSERT_TRUE(found == wanted || (is_nan(type, found) && is_nan(type, wanted)))
            << "operation " << code << " of type " << static_cast<int>(type) << " of " << words[0] << ", " << words[1] << ", "
            << words[2] << ": " << found << " instead of " << wanted;
      }
      ++computed;
    }
  }
  EXPECT_GT(computed, 100);
}

}  // namespace
}  // namespace fast_code_test
