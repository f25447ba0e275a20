// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The async proxy: a bulk copy reads what ordinary stores wrote before a proxy fence. Source: fence.cuh, `proxy_fence`.
///
/// The other proxies are not run: alias needs a second mapping of the cells, tensormap a tensor map.
#include "holds.cuh"

namespace conformance {

struct no_fence {
  __device__ static void run() noexcept {}
  static constexpr steps<0> instructions() { return {}; }
  static std::string text() { return "no-fence"; }
};
template <membar::proxy Proxy>
struct fenced {
  __device__ static void run() noexcept { membar::proxy_fence<Proxy>(); }
  static constexpr auto instructions() {
    model::instruction i;
    i.code = model::opcode::proxy_fence;
    i.via = model::proxy::async;
    return sequence(i);
  }
  static std::string text() { return Proxy == membar::proxy::async ? "proxy_fence.async" : "proxy_fence.async_shared_block"; }
};

/// Writes 2 and then 1 to the thread's own place in shared memory, copies that to the cell in bulk, and observes what arrived.
template <class Fence>
struct copy_in_bulk {
  __device__ static read<unsigned long long> run(void* cell) noexcept {
    __shared__ quad places[1024];  // one per thread of the largest block
    quad* const mine = &places[threadIdx.x];
    const auto from = static_cast<unsigned>(__cvta_generic_to_shared(mine));
    const std::size_t to = __cvta_generic_to_global(cell);
    membar::store_weak(mine, number<quad>::of(2));
    membar::proxy_fence<membar::proxy::async>();  // after this the copy cannot read the value before
    membar::store_weak(mine, number<quad>::of(1));
    Fence::run();
    // cp.async.bulk.dst.src.completion_mechanism [dstMem], [srcMem], size;  PTX ISA 8.0, sm_90
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" ::"l"(to), "r"(from) : "memory");
    // cp.async.bulk.commit_group;  cp.async.bulk.wait_group N;  PTX ISA 8.0, sm_90
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    // completion makes the copy's writes visible to this thread
    return {membar::load_weak(static_cast<const unsigned long long*>(cell))};
  }
  /// The cell receives what the copy read. For the model the location is the source in shared memory.
  static constexpr auto instructions(model::variable at, model::reg first) {
    model::instruction copied = model::load(first, at);
    copied.via = model::proxy::async;
    return joined(sequence(model::store(at, 2)), fenced<membar::proxy::async>::instructions(), sequence(model::store(at, 1)),
                  Fence::instructions(), sequence(copied));
  }
  static std::string text() { return std::string("copy_in_bulk.") + Fence::text(); }
};

template <class Fence>
struct stale_copy : shape<"Proxy", by<copy_in_bulk<Fence>>, finally<>, outcome<2>, thread<see<x, copy_in_bulk<Fence>>>> {};

namespace {

void add(suite& all) {
  const adding to{&all, "proxies"};
  holds<stale_copy<fenced<membar::proxy::async>>, where::one_block, stale_copy<no_fence>>(to);
  holds<stale_copy<fenced<membar::proxy::async_shared_block>>, where::one_block, stale_copy<no_fence>>(to);
}

const registered_family here("proxies", &add);

}  // namespace
}  // namespace conformance
