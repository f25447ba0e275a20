// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The CUDA C++ and membar spellings of operations that have an order and a scope in PTX. The tools print these spellings next
/// to the PTX.
#pragma once

#include <ptx/instruction.hpp>
#include <ptx/words.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace membar::ptx {

/// The C++ function for a memory operation. `cuda` is empty if `cuda::atomic_ref` has no such function.
struct cuda_function {
  op code;
  model::operation what;  ///< for read-modify-writes: the operation
  std::string_view cuda, membar;
};

inline constexpr cuda_function cuda_functions[] = {
    {op::load, model::operation::move, "load", "load"},
    {op::store, model::operation::move, "store", "store"},
    {op::atomic, model::operation::move, "exchange", "exchange"},
    {op::atomic, model::operation::add, "fetch_add", "fetch_add"},
    {op::atomic, model::operation::bit_and, "fetch_and", "fetch_and"},
    {op::atomic, model::operation::bit_or, "fetch_or", "fetch_or"},
    {op::atomic, model::operation::bit_xor, "fetch_xor", "fetch_xor"},
    {op::atomic, model::operation::minimum, "fetch_min", "fetch_min"},
    {op::atomic, model::operation::maximum, "fetch_max", "fetch_max"},
    {op::atomic, model::operation::increment, "", "fetch_inc"},
    {op::atomic, model::operation::decrement, "", "fetch_dec"},
    {op::atomic, model::operation::compare_exchange, "compare_exchange_strong", "compare_exchange"},
    {op::reduction, model::operation::add, "fetch_add", "add"},
    {op::reduction, model::operation::bit_and, "fetch_and", "bit_and"},
    {op::reduction, model::operation::bit_or, "fetch_or", "bit_or"},
    {op::reduction, model::operation::bit_xor, "fetch_xor", "bit_xor"},
    {op::reduction, model::operation::minimum, "fetch_min", "min"},
    {op::reduction, model::operation::maximum, "fetch_max", "max"},
    {op::reduction, model::operation::increment, "", "inc"},
    {op::reduction, model::operation::decrement, "", "dec"}};

/// The names of orders and scopes in C++, without the prefixes `memory_order_` and `thread_scope_`.
inline constexpr meaning<memory_order> cuda_order_words[] = {{"relaxed", memory_order::relaxed},
                                                             {"acquire", memory_order::acquire},
                                                             {"release", memory_order::release},
                                                             {"acq_rel", memory_order::acq_rel},
                                                             {"seq_cst", memory_order::seq_cst}};
inline constexpr meaning<thread_scope> cuda_scope_words[] = {{"block", thread_scope::block},
                                                             {"cluster", thread_scope::cluster},
                                                             {"device", thread_scope::device},
                                                             {"system", thread_scope::system}};
/// The fences in CUDA C++. Each one is at least as strong as every other fence with the same scope.
inline constexpr meaning<thread_scope> cuda_fences[] = {{"__threadfence_block()", thread_scope::block},
                                                        {"__threadfence()", thread_scope::device},
                                                        {"__threadfence_system()", thread_scope::system}};

/// The functions for `fence.proxy.async`, keyed by the memory that the fence applies to (`instruction::proxy_spaces`).
struct cuda_proxy_fence {
  std::uint8_t spaces;
  std::string_view cuda, membar;
};
inline constexpr cuda_proxy_fence cuda_proxy_fences[] = {
    {every_proxy_space, "cuda::ptx::fence_proxy_async()", "membar::proxy_fence<membar::proxy::async>()"},
    {bit_of(proxy_space::global), "cuda::ptx::fence_proxy_async(cuda::ptx::space_global)",
     "membar::proxy_fence<membar::proxy::async_global>()"},
    {bit_of(proxy_space::own_shared), "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)",
     "membar::proxy_fence<membar::proxy::async_shared_block>()"},
    {bit_of(proxy_space::own_shared) | bit_of(proxy_space::other_shared),
     "cuda::ptx::fence_proxy_async(cuda::ptx::space_cluster)", "membar::proxy_fence<membar::proxy::async_shared_cluster>()"}};

/// An operation in C++. `p` points to the object, which has type `T`; `v` is the value, and `old` is the expected value of a
/// compare-and-swap.
struct cuda_spelling {
  std::string cuda;    ///< empty if CUDA C++ has no function for it, or only one with a wider scope
  std::string membar;  ///< empty if membar has no function for it
};

/// Returns the C++ spelling of a proxy fence.
[[nodiscard]] inline cuda_spelling proxy_fence_in_cuda(std::uint8_t spaces) {
  for (const cuda_proxy_fence& f : cuda_proxy_fences) {
    if (f.spaces == spaces) {
      return {std::string(f.cuda), std::string(f.membar)};
    }
  }
  return {};
}

/// Returns the C++ spelling of an operation with an order and a scope.
[[nodiscard]] inline cuda_spelling in_cuda(op code, model::operation what, memory_order order, thread_scope scope) {
  const std::string scope_word(word_for(cuda_scope_words, scope));
  const std::string order_word(word_for(cuda_order_words, order));
  const std::string membar_scope = "membar::thread_scope::" + scope_word;
  if (code == op::fence) {
    return {std::string(word_for(cuda_fences, scope)),
            "membar::thread_fence<" + membar_scope + ">(membar::" + order_word + ")"};
  }
  for (const cuda_function& f : cuda_functions) {
    if (f.code != code || (f.what != what && code != op::load && code != op::store)) {
      continue;
    }
    const std::string values = code == op::load ? "" : f.what == model::operation::compare_exchange ? "old, v, " : "v, ";
    const bool free = code == op::load || code == op::store;
    const std::string name(f.membar);
    cuda_spelling result;
    if (!f.cuda.empty() && scope != thread_scope::cluster) {
      result.cuda = "cuda::atomic_ref<T, cuda::thread_scope_" + scope_word + ">(*p)." + std::string(f.cuda) + "(" + values +
                    "cuda::memory_order_" + order_word + ")";
    }
    result.membar = (free ? "membar::" + name + "<" + membar_scope + ">(p, "
                          : "membar::atomic_ref<T, " + membar_scope + ">(*p)." + name + "(") +
                    values + "membar::" + order_word + ")";
    return result;
  }
  return {};
}

}  // namespace membar::ptx
