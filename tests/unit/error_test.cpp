// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/error.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <cstring>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using fake_cuda::now;
using membar_test::refusal, membar_test::says;

class error : public fake_cuda::test {};

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

TEST_F(error, check_accepts_success) { EXPECT_NO_THROW(membar::check(cudaSuccess)); }

TEST_F(error, check_names_what_cuda_answered_the_remedy_and_the_place) {
  const auto line_before = std::source_location::current().line();
  try {
    membar::check(cudaErrorInvalidResourceHandle, "pass a handle that exists");
    FAIL() << "check did not throw";
  } catch (const membar::error& failure) {
    EXPECT_EQ(failure.code(), cudaErrorInvalidResourceHandle);
    EXPECT_TRUE(says(failure.what(),
                     "membar: cudaErrorInvalidResourceHandle (invalid resource handle): pass a handle that "
                     "exists ("));
    EXPECT_TRUE(says(failure.what(), "error_test.cpp:" + std::to_string(line_before + 2) + ", in "));
    EXPECT_TRUE(says(failure.what(), "::TestBody)"));
  }
}

template <class T>
struct owner {
  explicit owner(const T&) { membar::check(cudaErrorInvalidValue); }
};
template <class T>
std::vector<T>* makes(T, void (*)(int)) {
  membar::check(cudaErrorInvalidValue);
  return nullptr;
}

TEST_F(error, names_a_function_without_its_types) {
  EXPECT_TRUE(says(refusal([] { const owner<int> made(1); }), "::owner::owner)") ||
              says(refusal([] { const owner<int> made(1); }), "::owner<T>::owner)"));
  EXPECT_TRUE(says(refusal([] { makes(1, nullptr); }), "::makes)"));
  const auto name = [](const char* signature) {
    const membar::detail::function_name found = membar::detail::name_in(signature);
    return std::string(found.start, static_cast<std::size_t>(found.length));
  };
  EXPECT_EQ(name("void a::launch(const a::config<As ...>&, void (*)(Ps ...)) [with As = {int}]"), "a::launch");
  EXPECT_EQ(name("std::vector<int, std::allocator<int> >* a::b<int, char>::c()"), "a::b<int, char>::c");
  EXPECT_EQ(name("int (anonymous namespace)::f(int)"), "(anonymous namespace)::f");
  EXPECT_EQ(name("main"), "main");
}

TEST_F(error, check_can_name_the_place_of_its_caller) {
  const auto here = std::source_location::current();
  EXPECT_TRUE(says(refusal([&] { membar::check(cudaErrorInvalidValue, "no", here); }), std::to_string(here.line()) + ", in"));
}

TEST_F(error, check_leaves_no_error_for_the_next_call) {
  now().last_error = cudaErrorInvalidValue;
  EXPECT_THROW(membar::check(cudaErrorInvalidValue), membar::error);
  EXPECT_EQ(now().last_error, cudaSuccess);
}

TEST_F(error, check_of_success_hides_no_earlier_error) {
  now().last_error = cudaErrorInvalidValue;
  membar::check(cudaSuccess);
  EXPECT_EQ(now().last_error, cudaErrorInvalidValue);
}

TEST_F(error, the_handler_of_failed_restores_is_replaced_and_restored) {
  constexpr membar::restore_failure_handler one = [](const char*) noexcept {};
  constexpr membar::restore_failure_handler other = [](const char*) noexcept { static_cast<void>(now()); };
  ASSERT_NE(one, other);
  membar::set_restore_failure_handler(nullptr);
  const membar::restore_failure_handler printing = membar::set_restore_failure_handler(one);
  EXPECT_NE(printing, nullptr);
  EXPECT_EQ(membar::set_restore_failure_handler(other), one);
  EXPECT_EQ(membar::set_restore_failure_handler(nullptr), other);
  EXPECT_EQ(membar::set_restore_failure_handler(printing), printing) << "a null pointer restores the handler that prints";
}

}  // namespace
