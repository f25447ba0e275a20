// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// membar::all_reduce for PyTorch, in PyTorch's own symmetric memory, with one process for each GPU. pytorch_all_reduce.py
/// turns it into PyTorch operators.
#include <membar/symmetric/adopted_backend.hpp>
#include <membar/symmetric/all_reduce.cuh>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <torch/extension.h>

namespace symmetric = membar::symmetric;

template <class T, torch::ScalarType Type>
class sums_of {
 public:
  /// `addresses` come from `membar.adopted_memory`; `most` counts elements; 0 for `most_in_one_shot` lets membar choose.
  sums_of(int rank, const std::vector<std::uintptr_t>& addresses, std::size_t bytes, symmetric::all_gather_callback all_gather,
          std::size_t most, std::size_t most_in_one_shot)
      : gpus_({rank, {from(addresses), from(addresses) + addresses.size()}, bytes}, std::move(all_gather)),
        heap_(gpus_, bytes),
        sums_(heap_, most, {.most_in_one_shot = most_in_one_shot}) {}

  /// Writes the sums of all processes' `in` to `out`, which may be `in`, in PyTorch's current stream.
  void enqueue(const torch::Tensor& in, const torch::Tensor& out) {
    TORCH_CHECK(in.sizes() == out.sizes(), "membar: the result of an all-reduce must have the shape of its input");
    in_turn([&](auto stream) { sums_.enqueue(self(), data(in), data(out), static_cast<std::size_t>(in.numel()), stream); });
  }
  /// Adds the sums of `in` to `residual`, and writes its rows, normalized and multiplied by `weight`, to `out`.
  void enqueue_with_norm(const torch::Tensor& in, const torch::Tensor& residual, const torch::Tensor& weight, double epsilon,
                         const torch::Tensor& out) {
    TORCH_CHECK(
        in.sizes() == out.sizes() && in.sizes() == residual.sizes() && in.size(-1) == weight.numel() && weight.numel() != 0,
        "membar: the rows of input, residual and result of an all-reduce with norm must have the weight's length");
    const auto width = static_cast<std::size_t>(weight.numel()), all = static_cast<std::size_t>(in.numel());
    const symmetric::residual_rms_norm<T> norm{data(residual), data(weight), static_cast<float>(epsilon), all / width, width};
    in_turn([&](auto stream) { sums_.enqueue(self(), data(in), data(out), norm, stream); });
  }
  void check() const { sums_.check(); }
  void close() { sums_.close(), heap_.close(); }

 private:
  static auto* from(const std::vector<std::uintptr_t>& all) { return reinterpret_cast<void* const*>(all.data()); }
  symmetric::pe self() const { return gpus_.local_pes().front(); }
  T* data(const torch::Tensor& of) const {
    TORCH_CHECK(of.is_cuda() && of.get_device() == gpus_.device_of(self()) && of.is_contiguous() && of.scalar_type() == Type,
                "membar: an all-reduce needs contiguous tensors of its type on this process's GPU");
    return static_cast<T*>(of.data_ptr());
  }
  template <class Enqueue>
  void in_turn(Enqueue enqueue) {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(gpus_.device_of(self())));
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    const auto held = sums_.guard(self()).on_after_previous(stream);  // PyTorch's streams take turns using the object.
    enqueue(stream);
  }

  symmetric::adopted_backend gpus_;
  symmetric::heap<symmetric::adopted_backend> heap_;
  membar::all_reduce<T, membar::sum, symmetric::adopted_backend> sums_;
};

template <class Sums>
void define(pybind11::module& module, const char* name) {
  pybind11::class_<Sums>(module, name)
      .def(pybind11::init<int, const std::vector<std::uintptr_t>&, std::size_t, symmetric::all_gather_callback, std::size_t,
                          std::size_t>())
      .def("enqueue", &Sums::enqueue)
      .def("enqueue_with_norm", &Sums::enqueue_with_norm)
      .def("check", &Sums::check)
      .def("close", &Sums::close);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  define<sums_of<float, torch::kFloat32>>(module, "float32");
  define<sums_of<__half, torch::kFloat16>>(module, "float16");
  define<sums_of<__nv_bfloat16, torch::kBFloat16>>(module, "bfloat16");
}
