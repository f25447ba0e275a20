// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// membar::all_reduce for PyTorch, in its own symmetric memory. One process for each GPU. pytorch_all_reduce.py compiles it, and makes
/// operators of it.
#include <membar/symmetric/adopted_backend.hpp>
#include <membar/symmetric/all_reduce.cuh>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <torch/extension.h>

#include <variant>

namespace symmetric = membar::symmetric;
using backend = symmetric::adopted_backend;

class AllReduce {
  template <class T>
  using sums_of = membar::all_reduce<T, membar::sum, backend>;

 public:
  /// In adopted memory: what `membar.adopted_memory` returns. Of `dtype`, at most `most` elements at once; 0 bytes in one shot: as
  /// membar chooses.
  AllReduce(int rank, const std::vector<std::uintptr_t>& addresses, std::size_t bytes,
            symmetric::all_gather_callback all_gather, torch::ScalarType dtype, std::size_t most, std::size_t most_in_one_shot)
      : gpus_(adopted(rank, addresses, bytes), std::move(all_gather)), heap_(gpus_, bytes) {
    const membar::all_reduce_options options{.most_in_one_shot = most_in_one_shot};
    switch (dtype) {
      case torch::kFloat32:
        sums_.emplace<sums_of<float>>(heap_, most, options);
        break;
      case torch::kFloat16:
        sums_.emplace<sums_of<__half>>(heap_, most, options);
        break;
      case torch::kBFloat16:
        sums_.emplace<sums_of<__nv_bfloat16>>(heap_, most, options);
        break;
      default:
        TORCH_CHECK(false, "membar: an all-reduce is of float32, float16 or bfloat16");
    }
  }

  /// Sums of `in` of all processes to `out`, which may be `in`, in PyTorch's current stream.
  void enqueue(const torch::Tensor& in, const torch::Tensor& out) {
    TORCH_CHECK(in.sizes() == out.sizes(), "membar: the result of an all-reduce has another shape than its input");
    with(in, [&](auto& sums, auto* type, cudaStream_t stream) {
      sums.enqueue(self(), data(in, type), data(out, type), static_cast<std::size_t>(in.numel()), stream);
    });
  }
  /// Adds the sums of `in` to `residual`, and writes its rows, normalized and multiplied by `weight`, to `out`.
  void enqueue_with_norm(const torch::Tensor& in, const torch::Tensor& residual, const torch::Tensor& weight, double epsilon,
                         const torch::Tensor& out) {
    const auto width = static_cast<std::size_t>(weight.numel());
    TORCH_CHECK(in.sizes() == out.sizes() && in.sizes() == residual.sizes() && width != 0 && in.size(-1) == weight.numel(),
                "membar: input, residual and result of an all-reduce with norm have rows of the weight's length");
    with(in, [&]<class T>(auto& sums, T* type, cudaStream_t stream) {
      const symmetric::residual_rms_norm<T> norm{data(residual, type), data(weight, type), static_cast<float>(epsilon),
                                                 static_cast<std::size_t>(in.numel()) / width, width};
      sums.enqueue(self(), data(in, type), data(out, type), norm, stream);
    });
  }
  /// Throws if a process was too late for an all-reduce. After a wait for the stream.
  void check() {
    visit([](auto& sums, auto*) { sums.check(); });
  }
  /// The collective end, which is checked.
  void close() {
    visit([](auto& sums, auto*) { sums.close(); });
    heap_.close();
  }

 private:
  static symmetric::adopted_memory adopted(int rank, const std::vector<std::uintptr_t>& addresses, std::size_t bytes) {
    symmetric::adopted_memory memory{rank, {}, bytes};
    for (const std::uintptr_t each : addresses) {
      memory.addresses.push_back(reinterpret_cast<void*>(each));
    }
    return memory;
  }
  [[nodiscard]] symmetric::pe self() const { return gpus_.local_pes().front(); }
  [[nodiscard]] c10::Device gpu() const { return {torch::kCUDA, static_cast<c10::DeviceIndex>(gpus_.device_of(self()))}; }

  template <class T>
  [[nodiscard]] T* data(const torch::Tensor& of, T*) const {
    constexpr auto dtype = std::is_same_v<T, float>    ? torch::kFloat32
                           : std::is_same_v<T, __half> ? torch::kFloat16
                                                       : torch::kBFloat16;
    TORCH_CHECK(of.device() == gpu() && of.is_contiguous() && of.scalar_type() == dtype,
                "membar: an all-reduce takes contiguous tensors of its type on this process's GPU");
    return static_cast<T*>(of.data_ptr());
  }
  template <class Use>
  void visit(Use use) {
    std::visit(
        [&]<class Sums>(Sums& sums) {
          if constexpr (std::is_same_v<Sums, sums_of<float>>) {
            use(sums, static_cast<float*>(nullptr));
          } else if constexpr (std::is_same_v<Sums, sums_of<__half>>) {
            use(sums, static_cast<__half*>(nullptr));
          } else if constexpr (std::is_same_v<Sums, sums_of<__nv_bfloat16>>) {
            use(sums, static_cast<__nv_bfloat16*>(nullptr));
          }
        },
        sums_);
  }
  template <class Use>
  void with(const torch::Tensor& in, Use use) {
    const c10::cuda::CUDAGuard guard(in.device());
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    visit([&](auto& sums, auto* type) {
      const auto held = sums.guard(self()).on_after_previous(stream);  // PyTorch's streams take turns
      use(sums, type, stream);
    });
  }

  backend gpus_;
  symmetric::heap<backend> heap_;
  std::variant<std::monostate, sums_of<float>, sums_of<__half>, sums_of<__nv_bfloat16>> sums_;
};

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  pybind11::class_<AllReduce>(module, "AllReduce")
      .def(pybind11::init([](int rank, const std::vector<std::uintptr_t>& addresses, std::size_t bytes,
                             symmetric::all_gather_callback all_gather, const pybind11::object& dtype, std::size_t most,
                             std::size_t most_in_one_shot) {
             return std::make_unique<AllReduce>(rank, addresses, bytes, std::move(all_gather),
                                                torch::python::detail::py_object_to_dtype(dtype), most, most_in_one_shot);
           }),
           pybind11::arg("rank"), pybind11::arg("addresses"), pybind11::arg("bytes"), pybind11::arg("all_gather"),
           pybind11::arg("dtype"), pybind11::arg("most"), pybind11::arg("most_in_one_shot") = 0)
      .def("enqueue", &AllReduce::enqueue)
      .def("enqueue_with_norm", &AllReduce::enqueue_with_norm)
      .def("check", &AllReduce::check)
      .def("close", &AllReduce::close);
}
