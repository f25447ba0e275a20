// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/launches.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "intercept/driver.hpp"
#include "membar-domains/preload/pointers.hpp"

namespace membar_domains {

namespace {

/// Returns whether launches into the stream use CUDA's default map if they do not set their own.
bool has_usual_map(CUstream stream) {
  CUlaunchAttributeValue value{};
  return driver::cuStreamGetAttribute_(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value) == CUDA_SUCCESS &&
         value.memSyncDomainMap.default_ == 0 && value.memSyncDomainMap.remote == 1;
}

constexpr unsigned most_attributes = 32;

}  // namespace

this_thread::this_thread() { std::tie(counts_, is_only_mine_) = session::get().take_counts(); }

this_thread::~this_thread() {
  if (is_only_mine_) {
    session::get().give_back(counts_);
  }
}

this_thread& this_thread::make() {
  current_ = new this_thread;
  struct owner {
    ~owner() { delete std::exchange(current_, nullptr); }
  };
  static thread_local const owner ends;
  static_cast<void>(ends);
  return *current_;
}

target where_anew(this_thread::known& place, CUfunction kernel, void** parameters, void** extra) {
  session& of = session::get();
  const unsigned generation = of.generation();
  if (place.kernel != kernel || place.generation != generation) {
    const choice to = of.where(kernel);
    place = {kernel, generation, !to.by_pointer() && to.near.what == target::kind::leave, to};
  }
  const choice& to = place.to;
  if (!to.by_pointer()) {
    return to.near;
  }
  const bool far = reach_of(kernel, parameters, extra) != reach::own;
  of.meets(far ? to.far_rule : to.near_rule);
  return far ? to.far : to.near;
}

CUlaunchAttribute attribute_of(target to, mode how) {
  CUlaunchAttribute out{};
  if (how == mode::control || to.what == target::kind::physical) {
    out.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
    out.value.memSyncDomainMap.default_ = how == mode::control ? 0 : static_cast<unsigned char>(to.id);
    out.value.memSyncDomainMap.remote = how == mode::control ? 1 : static_cast<unsigned char>(to.id);
  } else {
    out.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
    out.value.memSyncDomain =
        to.what == target::kind::logical_remote ? CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE : CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  }
  return out;
}

bool launch_moved(const CUlaunchConfig& config, CUfunction kernel, void** parameters, void** extra, target to, mode how,
                  bool ptsz, CUresult& result) {
  session& of = session::get();
  auto* const launch_with_attributes = intercept::function_behind<CUresult(const CUlaunchConfig*, CUfunction, void**, void**)>(
      hook_of(ptsz ? hook_id::of_cuLaunchKernelEx_ptsz : hook_id::of_cuLaunchKernelEx));
  std::array<CUlaunchAttribute, most_attributes> attributes;
  if (launch_with_attributes == nullptr || config.numAttrs >= most_attributes) {
    of.complain(
        "a listed kernel could not be moved: the driver does not provide cuLaunchKernelEx, or the launch already has 32 "
        "attributes");
    of.state().refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (how == mode::control && !has_usual_map(stream_of(config.hStream, ptsz))) {
    return false;
  }
  const CUlaunchAttribute ours = attribute_of(to, how);
  unsigned count = 0;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != ours.id) {
      attributes[count++] = config.attrs[i];
    } else if (how == mode::control) {
      return false;  // the program has its own map, which the control must not change
    }
  }
  attributes[count++] = ours;
  CUlaunchConfig moved = config;
  moved.attrs = attributes.data();
  moved.numAttrs = count;
  result = launch_with_attributes(&moved, kernel, parameters, extra);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) {
    const char* name = "?";
    static_cast<void>(driver::cuGetErrorName_(result, &name));
    of.complain(std::string("the driver rejected the domain of a listed kernel (") + name + "), so the kernel was not moved");
    of.state().refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (how == mode::on) {
    this_thread::get().count(&thread_counts::moved);
  }
  return true;
}

void cannot_move(CUfunction kernel, CUstream stream, void** parameters) {
  session& of = session::get();
  this_thread::get().count(&thread_counts::launches);
  if (of.what() == job::watch) {
    const CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, stream, nullptr, 0};
    const watched_launch seen(config, stream, kernel, parameters, nullptr, capturing(stream));
  } else if (where(kernel, parameters, nullptr).what != target::kind::leave) {
    of.complain("'" + short_name(of.name_of(kernel)) +
                "' was launched by a function that takes no attribute (cuLaunch, cuLaunchGrid, cuLaunchGridAsync or "
                "cuLaunchCooperativeKernelMultiDevice), so it was not moved: launch it with cuLaunchKernel");
    this_thread::get().count(&thread_counts::listed);
    of.state().refused.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace membar_domains
