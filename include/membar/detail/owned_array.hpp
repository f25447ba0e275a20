// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// An array that owns memory from the CUDA runtime.
#pragma once

#include <membar/error.hpp>

#include <cstddef>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Returns the number of bytes in `size` objects of type `T`. Throws `error` if the size exceeds the address space.
template <class T>
[[nodiscard]] std::size_t bytes_of_array(std::size_t size) {
  if (size > static_cast<std::size_t>(-1) / sizeof(T)) {
    throw error(cudaErrorInvalidValue, "membar: %zu objects of %zu bytes exceed the address space: allocate fewer", size,
                sizeof(T));
  }
  return size * sizeof(T);
}

/// Objects in memory that `Free` frees. The array is movable but not copyable. A failure to free is reported to the handler of
/// error.hpp, so that it does not remain as CUDA's last error.
template <class T, cudaError_t (*Free)(void*)>
class owned_array {
 public:
  owned_array(owned_array&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  owned_array& operator=(owned_array&& other) noexcept {
    if (this != &other) {
      free();
      data_ = other.data_;
      size_ = other.size_;
      other.data_ = nullptr;
      other.size_ = 0;
    }
    return *this;
  }

  /// Returns the address on the host and on the devices.
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data_[index]; }
  [[nodiscard]] T* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() const noexcept { return data_ + size_; }

 protected:
  /// Takes ownership of memory for `size` objects.
  owned_array(void* memory, std::size_t size) noexcept : data_(static_cast<T*>(memory)), size_(size) {}
  ~owned_array() { free(); }

 private:
  void free() noexcept {
    if (data_ == nullptr) {
      return;
    }
    const cudaError_t status = Free(data_);
    if (status != cudaErrorCudartUnloading) {  // The end of the process also frees its memory.
      report_failed_restore(status, "the memory was not freed, or an earlier operation failed");
    }
  }

  T* data_;
  std::size_t size_;
};

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
