// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Addresses of symmetric objects: objects of one type at the same offset in every PE's symmetric heap.
///
/// A symmetric address is valid on its own PE. Together with a PE, it identifies that PE's object in operations. Pointers, and
/// addresses of other PEs' objects, have types that do not convert to a symmetric address.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/standard.hpp>
#include <membar/symmetric/pe.hpp>
#include <membar/symmetric/word.hpp>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

template <class T, class Backend = peer_backend>
class object;
template <class T, class Backend = peer_backend>
class span;

/// The address of some PE's objects, for direct loads and stores. This address is not a symmetric address and does not convert
/// to one.
template <class T>
class direct_span {
 public:
  using element_type = T;

  MEMBAR_HOST_DEVICE constexpr explicit direct_span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

  /// Returns the address, or null if loads and stores do not reach the PE.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr T& operator[](std::size_t index) const noexcept { return data_[index]; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr explicit operator bool() const noexcept { return data_ != nullptr; }

 private:
  T* data_;
  std::size_t size_;
};

namespace detail {

template <class T>
inline constexpr bool is_symmetric = false;
template <class T, class Backend>
inline constexpr bool is_symmetric<object<T, Backend>> = true;
template <class T, class Backend>
inline constexpr bool is_symmetric<span<T, Backend>> = true;

template <class T>
inline constexpr bool is_direct = false;
template <class T>
inline constexpr bool is_direct<direct_span<T>> = true;

template <class T>
MEMBAR_HOST_DEVICE constexpr void refuse_other_type() noexcept {
  static_assert(!std::is_same_v<T, T>,
                "membar: a symmetric object has one type and one backend: operations with another type would not be atomic or "
                "ordered with respect to its own operations");
}

/// Allows heaps and backends to create symmetric addresses, and operations to read them.
struct access;

/// The common base of `object` and `span`.
template <class T, class Backend>
class address {
  static_assert(is_word<T> || membar::detail::is_bytes<T>,
                "membar: symmetric memory needs a trivially copyable type, because its bytes are copied between PEs");
  static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                "membar: symmetric memory needs a type without const or volatile");

 public:
  using element_type = T;
  using backend = Backend;
  using reach_type = typename Backend::reach;

  /// Returns the reach of the PE where this address is valid: that PE's number, the number of PEs, and how that PE reaches
  /// them.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr const reach_type& reach() const noexcept { return reach_; }

  /// Returns the PE where this address is valid.
  [[nodiscard]] MEMBAR_HOST_DEVICE pe self() const noexcept { return reach_.self(); }
  /// Returns the number of PEs.
  [[nodiscard]] MEMBAR_HOST_DEVICE int count() const noexcept { return reach_.count(); }

 protected:
  MEMBAR_HOST_DEVICE constexpr address(T* local, const reach_type& reach) noexcept : local_(local), reach_(reach) {}

  MEMBAR_HOST_DEVICE static constexpr void require_data() noexcept {
    static_assert(!is_word<T>,
                  "membar: a signal, a counter, a barrier word or a packed message cannot be accessed by plain loads and "
                  "stores on any PE: use its "
                  "operations");
  }

  T* local_;
  [[no_unique_address]] reach_type reach_;
};

}  // namespace detail

/// The address of one symmetric object. Only heaps create such addresses; pointers do not convert to them.
///
/// `T` is trivially copyable data or a word (word.hpp).
template <class T, class Backend>
class object : public detail::address<T, Backend> {
  using base = detail::address<T, Backend>;

 public:
  object(T*) = delete;
  object(direct_span<T>) = delete;
  template <class Other, class OtherBackend>
    requires(!std::is_same_v<object<Other, OtherBackend>, object>)
  MEMBAR_HOST_DEVICE constexpr object(const object<Other, OtherBackend>& other) noexcept : base(nullptr, other.reach()) {
    detail::refuse_other_type<Other>();
  }

  /// Returns a pointer to this PE's object.
  [[nodiscard]] MEMBAR_HOST_DEVICE T* local() const noexcept {
    base::require_data();
    return this->local_;
  }

  /// Returns the object of PE `which`, for direct loads and stores. The result is not a symmetric address, and its `data()` is
  /// null if loads and stores do not reach that PE.
  [[nodiscard]] MEMBAR_HOST_DEVICE direct_span<T> at(pe which) const noexcept {
    base::require_data();
    return direct_span<T>(static_cast<T*>(this->reach_.direct(this->local_, which)), 1);
  }

 private:
  friend struct detail::access;
  MEMBAR_HOST_DEVICE constexpr object(T* local, const typename base::reach_type& reach) noexcept : base(local, reach) {}
};

/// The address of `size()` consecutive symmetric objects.
template <class T, class Backend>
class span : public detail::address<T, Backend> {
  using base = detail::address<T, Backend>;

 public:
  span(T*) = delete;
  span(direct_span<T>) = delete;
  template <class Other, class OtherBackend>
    requires(!std::is_same_v<span<Other, OtherBackend>, span>)
  MEMBAR_HOST_DEVICE constexpr span(const span<Other, OtherBackend>& other) noexcept : base(nullptr, other.reach()) {
    detail::refuse_other_type<Other>();
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr std::size_t size() const noexcept { return size_; }

  /// Returns a pointer to this PE's objects.
  [[nodiscard]] MEMBAR_HOST_DEVICE T* local() const noexcept {
    base::require_data();
    return this->local_;
  }

  /// Returns the objects of PE `which`, for direct loads and stores. The result is not a symmetric address, and its `data()` is
  /// null if loads and stores do not reach that PE.
  [[nodiscard]] MEMBAR_HOST_DEVICE direct_span<T> at(pe which) const noexcept {
    base::require_data();
    return direct_span<T>(static_cast<T*>(this->reach_.direct(this->local_, which)), size_);
  }

  /// Returns object `index`. The index is not checked.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr object<T, Backend> operator[](std::size_t index) const noexcept;

  /// Returns the `size` objects that start at index `first`, or fewer if this span ends before that.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr span subspan(std::size_t first, std::size_t size) const noexcept {
    const std::size_t from = first < size_ ? first : size_;
    return span(this->local_ + from, size < size_ - from ? size : size_ - from, this->reach_);
  }

 private:
  friend struct detail::access;
  MEMBAR_HOST_DEVICE constexpr span(T* local, std::size_t size, const typename base::reach_type& reach) noexcept
      : base(local, reach), size_(size) {}

  std::size_t size_;
};

namespace detail {

struct access {
  template <class T, class Backend>
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr object<T, Backend> make_object(
      T* local, const typename Backend::reach& reach) noexcept {
    return object<T, Backend>(local, reach);
  }
  template <class T, class Backend>
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr span<T, Backend> make_span(T* local, std::size_t size,
                                                                               const typename Backend::reach& reach) noexcept {
    return span<T, Backend>(local, size, reach);
  }
  template <class Address>
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr typename Address::element_type* local(const Address& address) noexcept {
    return address.local_;
  }
};

/// Returns the address of this PE's object, which may be a word.
template <class Address>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr auto* local(const Address& address) noexcept {
  return access::local(address);
}

/// Returns the address of the value in this PE's word.
template <class Address>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr auto* word(const Address& address) noexcept {
  return word_access::raw(access::local(address));
}

}  // namespace detail

template <class T, class Backend>
MEMBAR_HOST_DEVICE constexpr object<T, Backend> span<T, Backend>::operator[](std::size_t index) const noexcept {
  return detail::access::make_object<T, Backend>(this->local_ + index, this->reach_);
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
