// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The two all-reduces for PyTorch, in its own symmetric memory. One process for each GPU. pytorch_all_reduce.py compiles and uses it.
#include "all_reduce_one_shot.cuh"
#include "all_reduce_two_shots.cuh"

#include <membar/symmetric/adopted_backend.hpp>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <torch/extension.h>

class all_reduces {
 public:
  /// In adopted memory: what `membar.adopted_memory` returns. `small`, `large`: the most floats of one shot and of two.
  all_reduces(int rank, const std::vector<std::uintptr_t>& addresses, std::size_t bytes,
              symmetric::all_gather_callback all_gather, std::size_t small, std::size_t large)
      : gpus_(adopted(rank, addresses, bytes), std::move(all_gather)),
        heap_(gpus_, bytes),
        one_shot_(heap_, small),
        two_shots_(heap_),
        buffer_(heap_.allocate<float>(large)) {}

  /// Adds up `values` of all processes, in place, in PyTorch's current stream.
  void one_shot(torch::Tensor values) const {
    TORCH_CHECK(values.device() == gpu() && values.is_contiguous() && values.scalar_type() == torch::kFloat32,
                "values: contiguous float32 on this process's GPU");
    const c10::cuda::CUDAGuard guard(gpu());
    auto* const data = values.mutable_data_ptr<float>();
    one_shot_.enqueue(self(), data, data, static_cast<std::size_t>(values.numel()), at::cuda::getCurrentCUDAStream());
  }

  /// Symmetric memory, of which `two_shots` adds up the first `size` floats of all processes, in place: a multiple of 4.
  torch::Tensor buffer() const {
    const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(gpu());
    return torch::from_blob(buffer_.on(self()).local(), {static_cast<std::int64_t>(buffer_.size())}, options);
  }
  void two_shots(std::size_t size) const {
    const c10::cuda::CUDAGuard guard(gpu());
    two_shots_.enqueue(buffer_.on(self()), size, at::cuda::getCurrentCUDAStream());
  }

 private:
  static symmetric::adopted_memory adopted(int rank, const std::vector<std::uintptr_t>& addresses, std::size_t bytes) {
    symmetric::adopted_memory memory{rank, {}, bytes};
    for (const std::uintptr_t each : addresses) {
      memory.addresses.push_back(reinterpret_cast<void*>(each));
    }
    return memory;
  }
  pe self() const { return gpus_.local_pes().front(); }
  c10::Device gpu() const { return {torch::kCUDA, static_cast<c10::DeviceIndex>(gpus_.device_of(self()))}; }

  symmetric::adopted_backend gpus_;
  symmetric::heap<symmetric::adopted_backend> heap_;
  one_shot_all_reduce<symmetric::adopted_backend> one_shot_;
  two_shot_all_reduce<symmetric::adopted_backend> two_shots_;
  symmetric::scoped_array<float, symmetric::adopted_backend> buffer_;
};

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  pybind11::class_<all_reduces>(module, "AllReduces")
      .def(pybind11::init<int, const std::vector<std::uintptr_t>&, std::size_t, symmetric::all_gather_callback, std::size_t,
                          std::size_t>())
      .def("one_shot", &all_reduces::one_shot)
      .def("buffer", &all_reduces::buffer)
      .def("two_shots", &all_reduces::two_shots);
}
