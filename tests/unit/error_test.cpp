// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/error.hpp>

#include <tests/fake_cuda/device.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

using made_up::now;

class error : public made_up::machine_test {};

static_assert(std::is_base_of_v<std::exception, membar::error>);
static_assert(std::is_nothrow_constructible_v<membar::error, cudaError_t, const char*>);
static_assert(std::is_nothrow_copy_constructible_v<membar::error>);

TEST_F(error, holds_the_code_and_the_sentence) {
  const membar::error failure(cudaErrorInvalidValue, "membar: %s is %d", "the answer", 42);
  EXPECT_EQ(failure.code(), cudaErrorInvalidValue);
  EXPECT_STREQ(failure.what(), "membar: the answer is 42");
}

TEST_F(error, cuts_a_sentence_that_is_too_long) {
  const std::string longer(2000, 'x');
  const membar::error failure(cudaErrorInvalidValue, "%s", longer.c_str());
  const std::size_t length = std::strlen(failure.what());
  EXPECT_GE(length, 400U);
  EXPECT_LT(length, longer.size());
  EXPECT_EQ(longer.substr(0, length), failure.what());
}

TEST_F(error, is_caught_as_a_standard_exception_with_its_sentence) {
  try {
    throw membar::error(cudaErrorInvalidValue, "membar: no");
  } catch (const std::exception& failure) {
    EXPECT_STREQ(failure.what(), "membar: no");
  }
}

TEST_F(error, check_accepts_success) { EXPECT_NO_THROW(membar::check(cudaSuccess, "cudaAnything")); }

TEST_F(error, check_names_the_call_what_cuda_answered_and_the_remedy) {
  try {
    membar::check(cudaErrorInvalidResourceHandle, "cudaAnything", "pass a handle that exists");
    FAIL() << "check did not throw";
  } catch (const membar::error& failure) {
    EXPECT_EQ(failure.code(), cudaErrorInvalidResourceHandle);
    const std::string_view sentence = failure.what();
    EXPECT_NE(sentence.find("cudaAnything"), sentence.npos) << sentence;
    EXPECT_NE(sentence.find("cudaErrorInvalidResourceHandle"), sentence.npos) << sentence;
    EXPECT_NE(sentence.find(cudaGetErrorString(cudaErrorInvalidResourceHandle)), sentence.npos) << sentence;
    EXPECT_NE(sentence.find("pass a handle that exists"), sentence.npos) << sentence;
  }
}

TEST_F(error, check_leaves_no_error_for_the_next_call) {
  now().last_error = cudaErrorInvalidValue;
  EXPECT_THROW(membar::check(cudaErrorInvalidValue, "cudaAnything"), membar::error);
  EXPECT_EQ(now().last_error, cudaSuccess);
}

TEST_F(error, check_of_success_hides_no_earlier_error) {
  now().last_error = cudaErrorInvalidValue;
  membar::check(cudaSuccess, "cudaAnything");
  EXPECT_EQ(now().last_error, cudaErrorInvalidValue);
}

TEST_F(error, the_handler_of_failed_restores_is_replaced_and_brought_back) {
  constexpr membar::restore_failure_handler one = [](const char*) noexcept {};
  constexpr membar::restore_failure_handler other = [](const char*) noexcept { static_cast<void>(now()); };
  ASSERT_NE(one, other);
  const membar::restore_failure_handler printing = membar::set_restore_failure_handler(one);
  EXPECT_NE(printing, nullptr);
  EXPECT_EQ(membar::set_restore_failure_handler(other), one);
  EXPECT_EQ(membar::set_restore_failure_handler(nullptr), other);
  EXPECT_EQ(membar::set_restore_failure_handler(printing), printing) << "a null pointer brings the printing one back";
}

}  // namespace
