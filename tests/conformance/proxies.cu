// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The async proxy: a bulk copy reads what ordinary stores wrote before a proxy fence, and may overwrite memory that ordinary
/// accesses used before a proxy fence. Source: fence.cuh, `proxy_fence`; bulk_copy.cuh.
///
/// The other proxies are not tested: the alias proxy would need a second mapping of the cells, and the tensormap proxy would
/// need a tensor map.
#include "holds.cuh"

#include <membar/bulk_copy.cuh>
#include <membar/mbarrier.cuh>
#include <membar/model/asynchronous.hpp>

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
    return sequence(Proxy == membar::proxy::async_shared_block ? model::async_proxy_fence(model::state_space::shared)
                    : Proxy == membar::proxy::async_global     ? model::async_proxy_fence(model::state_space::global)
                                                               : model::async_proxy_fence());
  }
  static std::string text() {
    return Proxy == membar::proxy::async_shared_block ? "proxy_fence.async_shared_block"
           : Proxy == membar::proxy::async_global     ? "proxy_fence.async_global"
                                                      : "proxy_fence.async";
  }
};
using any_fence = fenced<membar::proxy::async>;

/// The thread's own place in shared memory. In the model's version, the cell is location x.
constexpr model::variable place = model::shared(y);

/// Writes 2 and then 1 to the thread's own place in shared memory, copies it to the cell in bulk, and observes which value
/// arrived.
template <class Fence>
struct copy_in_bulk {
  __device__ static read<unsigned long long> run(void* cell) noexcept {
    __shared__ quad places[1024];  // One place for each thread of the largest block.
    quad* const mine = &places[threadIdx.x];
    const auto from = static_cast<unsigned>(__cvta_generic_to_shared(mine));
    const std::size_t to = __cvta_generic_to_global(cell);
    membar::store_weak(mine, number<quad>::of(2));
    membar::proxy_fence<membar::proxy::async>();  // After this, the copy cannot read the earlier value.
    membar::store_weak(mine, number<quad>::of(1));
    Fence::run();
    // cp.async.bulk.dst.src.completion_mechanism [dstMem], [srcMem], size;  PTX ISA 8.0, sm_90
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" ::"l"(to), "r"(from) : "memory");
    // cp.async.bulk.commit_group;  cp.async.bulk.wait_group N;  PTX ISA 8.0, sm_90
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    // Completion makes the copy's writes visible to this thread.
    return {membar::load_weak(static_cast<const unsigned long long*>(cell))};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    return joined(sequence(model::store(place, 2)), any_fence::instructions(), sequence(model::store(place, 1)),
                  Fence::instructions(),
                  sequence(model::bulk_store(at, place), model::bulk_commit(), model::bulk_wait(), model::load(first, at)));
  }
  static std::string text() { return std::string("copy_in_bulk.") + Fence::text(); }
};

/// The thread's actions before a bulk copy of the cell to its own place in shared memory, and the value that it observes.
enum class before_load {
  store_to_source,       ///< Writes 2 and then 1 to the cell, and observes the place at the end.
  store_to_destination,  ///< Writes 1 to the cell and 2 to the place, and observes the place at the end.
  load_of_destination    ///< Does the same, also reads the place, and observes the value read.
};

/// Accesses the cell or the place with ordinary accesses, executes `Fence`, and then copies the cell to the place in bulk.
template <before_load Before, class Fence>
struct load_in_bulk {
  __device__ static read<unsigned long long> run(void* cell) noexcept {
    __shared__ quad places[1024];  // One place for each thread of the largest block.
    __shared__ membar::mbarrier<thread_scope::block> barriers[1024];
    quad* const mine = &places[threadIdx.x];
    membar::mbarrier<thread_scope::block>& full = barriers[threadIdx.x];
    full.init(1);
    membar::mbarrier_init_fence();
    membar::store_weak(static_cast<quad*>(cell), number<quad>::of(Before == before_load::store_to_source ? 2 : 1));
    if constexpr (Before == before_load::load_of_destination) {
      membar::store_weak(mine, number<quad>::of(2));
    }
    any_fence::run();  // After this, the copy cannot read the earlier value.
    unsigned long long seen = 0;
    if constexpr (Before == before_load::store_to_source) {
      membar::store_weak(static_cast<quad*>(cell), number<quad>::of(1));
    } else if constexpr (Before == before_load::store_to_destination) {
      membar::store_weak(mine, number<quad>::of(2));
    } else {
      seen = membar::load_weak(reinterpret_cast<const unsigned long long*>(mine));
    }
    Fence::run();
    full.arrive_expect(membar::bulk_load(mine, cell, sizeof(quad), full), membar::relaxed);
    if (full.wait_parity(0, membar::acquire, membar::wait_budget::milliseconds(2'000)) != membar::wait_result::done) {
      __trap();
    }
    full.invalidate();
    if constexpr (Before != before_load::load_of_destination) {
      seen = membar::load_weak(reinterpret_cast<const unsigned long long*>(mine));
    }
    return {seen};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    constexpr model::variable full{z};
    const auto copied = sequence(model::bulk_load(place, at, full), model::arrive_expect(full, 16, membar::relaxed),
                                 model::wait_phase(full, 0));
    if constexpr (Before == before_load::store_to_source) {
      return joined(sequence(model::store(at, 2)), any_fence::instructions(), sequence(model::store(at, 1)),
                    Fence::instructions(), copied, sequence(model::load(first, place)));
    } else if constexpr (Before == before_load::store_to_destination) {
      return joined(sequence(model::store(at, 1)), any_fence::instructions(), sequence(model::store(place, 2)),
                    Fence::instructions(), copied, sequence(model::load(first, place)));
    } else {
      return joined(sequence(model::store(at, 1), model::store(place, 2)), any_fence::instructions(),
                    sequence(model::load(first, place)), Fence::instructions(), copied);
    }
  }
  static std::string text() {
    constexpr const char* names[] = {"load_in_bulk.", "store_before_load_in_bulk.", "load_before_load_in_bulk."};
    return names[static_cast<int>(Before)] + Fence::text();
  }
};

template <class Fence>
struct stale_copy : shape<"Proxy", by<copy_in_bulk<Fence>>, finally<>, outcome<2>, thread<see<x, copy_in_bulk<Fence>>>> {};

template <before_load Before, class Fence>
struct early_load
    : shape<"Proxy", by<load_in_bulk<Before, Fence>>, finally<>, outcome<Before == before_load::load_of_destination ? 1 : 2>,
            thread<see<x, load_in_bulk<Before, Fence>>>> {
  static constexpr std::size_t mbarrier_of = z;
};

template <before_load Before, membar::proxy Proxy>
void add_load(const adding& to) {
  holds<early_load<Before, any_fence>, where::one_block, early_load<Before, no_fence>>(to);
  holds<early_load<Before, fenced<Proxy>>, where::one_block, early_load<Before, no_fence>>(to);
}

namespace proxies_rows {

void add(suite& all) {
  const adding to{&all, "proxies"};
  holds<stale_copy<any_fence>, where::one_block, stale_copy<no_fence>>(to);
  holds<stale_copy<fenced<membar::proxy::async_shared_block>>, where::one_block, stale_copy<no_fence>>(to);
  add_load<before_load::store_to_source, membar::proxy::async_global>(to);
  add_load<before_load::store_to_destination, membar::proxy::async_shared_block>(to);
  add_load<before_load::load_of_destination, membar::proxy::async_shared_block>(to);
}

const registered_family here("proxies", &add);

}  // namespace proxies_rows
}  // namespace conformance
