// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The symmetric heap: memory at every PE, allocated and freed by all of them together.
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/backend.hpp>
#include <membar/symmetric/object.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>

namespace membar {

namespace detail {

/// Which bytes of a heap are taken: offsets, first fit, the neighbours of what is freed joined. The same calls give the same
/// offsets at every PE.
class offset_allocator {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  explicit offset_allocator(std::size_t bytes) : bytes_(bytes) {
    if (bytes != 0) {
      free_.emplace(0, bytes);
    }
  }

  /// `bytes`, not 0, aligned to a power of two, or `none`.
  [[nodiscard]] std::size_t take(std::size_t bytes, std::size_t alignment) {
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
      const auto [begin, size] = *hole;
      const std::size_t from = (begin + alignment - 1) / alignment * alignment;
      if (from - begin > size || bytes > size - (from - begin)) {
        continue;
      }
      free_.erase(hole);
      if (from != begin) {
        free_.emplace(begin, from - begin);
      }
      if (from + bytes != begin + size) {
        free_.emplace(from + bytes, begin + size - from - bytes);
      }
      taken_.emplace(from, bytes);
      return from;
    }
    return none;
  }

  /// The size of what was taken at `offset`; 0 if nothing was.
  [[nodiscard]] std::size_t size_at(std::size_t offset) const {
    const auto found = taken_.find(offset);
    return found == taken_.end() ? 0 : found->second;
  }

  /// Gives back what was taken at `offset`.
  void give_back(std::size_t offset) {
    const auto taken = taken_.find(offset);
    auto [begin, size] = *taken;
    taken_.erase(taken);
    auto after = free_.lower_bound(begin);
    if (after != free_.end() && after->first == begin + size) {
      size += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == begin) {
        before->second += size;
        return;
      }
    }
    free_.emplace(begin, size);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t allocations() const noexcept { return taken_.size(); }
  [[nodiscard]] std::size_t bytes_taken() const noexcept {
    std::size_t sum = 0;
    for (const auto& [offset, size] : taken_) {
      sum += size;
    }
    return sum;
  }
  [[nodiscard]] std::size_t largest_hole() const noexcept {
    std::size_t largest = 0;
    for (const auto& [offset, size] : free_) {
      largest = size > largest ? size : largest;
    }
    return largest;
  }

 private:
  std::size_t bytes_;
  std::map<std::size_t, std::size_t> free_;
  std::map<std::size_t, std::size_t> taken_;
};

/// The atomic operations that an element type needs between every two PEs: `function` is called with each. Aligned loads and
/// stores are whole on every link.
template <class T>
struct needed_atomics {
  template <class Function>
  static void each(Function) {}
};
template <>
struct needed_atomics<signal<add>> {
  template <class Function>
  static void each(Function function) {
    function(atomic_use{atomic_operation::integer_add, 8, false, false});
  }
};
template <class T, amo Amos>
struct needed_atomics<counter<T, Amos>> {
  template <class Function>
  static void each(Function function) {
    constexpr bool integer = std::is_integral_v<T>;
    const auto ask = [&](amo listed, atomic_operation operation, bool returns_value) {
      if ((Amos & listed) != amo::none) {
        function(atomic_use{operation, static_cast<int>(sizeof(T)), std::is_signed_v<T>, returns_value});
      }
    };
    ask(amo::exchange, atomic_operation::exchange, true);
    ask(amo::compare_exchange, atomic_operation::compare_exchange, true);
    ask(amo::add, integer ? atomic_operation::integer_add : atomic_operation::float_add, false);
    ask(amo::fetch_add, integer ? atomic_operation::integer_add : atomic_operation::float_add, true);
    ask(amo::bitwise_and, atomic_operation::bitwise_and, false);
    ask(amo::fetch_and, atomic_operation::bitwise_and, true);
    ask(amo::bitwise_or, atomic_operation::bitwise_or, false);
    ask(amo::fetch_or, atomic_operation::bitwise_or, true);
    ask(amo::bitwise_xor, atomic_operation::bitwise_xor, false);
    ask(amo::fetch_xor, atomic_operation::bitwise_xor, true);
    ask(amo::min, atomic_operation::integer_min, false);
    ask(amo::fetch_min, atomic_operation::integer_min, true);
    ask(amo::max, atomic_operation::integer_max, false);
    ask(amo::fetch_max, atomic_operation::integer_max, true);
  }
};

}  // namespace detail

template <symmetric_backend Backend>
class symmetric_heap;
template <class T, symmetric_backend Backend>
class scoped_symmetric_array;

/// `size()` objects at every PE, as a heap allocated them: a value that names them on the host. It frees nothing by itself;
/// a `scoped_symmetric_array` does.
template <class T, symmetric_backend Backend>
class symmetric_array {
 public:
  using element_type = T;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Where object `index` lies in the heap, in bytes: the same at every PE, so that it names the object, to a
  /// `dependency_recorder` for one.
  [[nodiscard]] std::size_t offset(std::size_t index = 0) const noexcept { return offset_ + index * sizeof(T); }

  /// The objects' symmetric address as the PE `which`, which is one of this process: what its kernels take. Errors: a PE of
  /// another process, whose symmetric address means nothing here.
  [[nodiscard]] symmetric_span<T, Backend> on(pe which) const {
    return detail::symmetric_access::span<T, Backend>(heap_->template address_of<T>(which, offset_), size_,
                                                      heap_->reach_of(which));
  }

 private:
  friend class symmetric_heap<Backend>;
  friend class scoped_symmetric_array<T, Backend>;
  symmetric_array(symmetric_heap<Backend>* heap, std::size_t offset, std::size_t size, std::uint64_t id) noexcept
      : heap_(heap), offset_(offset), size_(size), id_(id) {}

  symmetric_heap<Backend>* heap_;
  std::size_t offset_;
  std::size_t size_;
  std::uint64_t id_;
};

/// Memory of the same size at every PE of a backend, in which all PEs together allocate, in any order, and free, in any order.
///
/// `allocate` and `free` are collective: every process calls them, in one order with the same arguments, which is checked. What
/// is allocated holds zeros at every PE before the call returns at any, so no PE's put can meet another's zeroing. Nothing may
/// use what is freed: every PE's kernels that did have ended.
///
/// Errors, of every PE, and nothing is changed: `error` naming what differs between PEs, the room that is left, the link that
/// carries no such atomic operation; for `free`, what was freed before or belongs to another heap. A heap that dies with
/// allocations says how many. The backend outlives it.
template <symmetric_backend Backend>
class symmetric_heap {
 public:
  using backend_type = Backend;

  /// `bytes` at every PE, rounded up to what the backend maps.
  symmetric_heap(Backend& backend, std::size_t bytes)
      : backend_(&backend), region_(mapped(backend, bytes)), bytes_of_(region_.bytes()) {}
  symmetric_heap(const symmetric_heap&) = delete;
  symmetric_heap& operator=(const symmetric_heap&) = delete;
  ~symmetric_heap() {
    if (bytes_of_.allocations() != 0) {
      const error leak(
          cudaErrorInvalidValue,
          "membar: a symmetric heap ends with %zu allocations of %zu bytes that were not freed: free each on every PE",
          bytes_of_.allocations(), bytes_of_.bytes_taken());
      detail::current_restore_failure_handler(leak.what());
    }
  }

  /// `size` objects at every PE, of zero bytes, aligned to `alignment`, at least 128. Collective.
  template <class T>
  [[nodiscard]] symmetric_array<T, Backend> allocate(std::size_t size, std::size_t alignment = alignof(T)) {
    static_assert(is_word<T> || std::is_trivially_copyable_v<T>,
                  "membar: symmetric memory holds a trivially copyable type: its bytes travel between PEs");
    require_atomics<T>();
    const std::size_t offset = allocate_bytes(size, sizeof(T), alignment < alignof(T) ? alignof(T) : alignment);
    return symmetric_array<T, Backend>(this, offset, size, ids_.at(offset));
  }

  /// The words of one barrier of all PEs. Collective.
  [[nodiscard]] symmetric_array<barrier_word, Backend> allocate_barrier() {
    return allocate<barrier_word>(static_cast<std::size_t>(backend_->count()) + 1);
  }

  /// Frees what `allocate` gave. Collective.
  template <class T>
  void free(const symmetric_array<T, Backend>& array) {
    // No process may throw before all have said what they free: the others would wait for it.
    const std::uint64_t id = array.heap_ == this ? array.id_ : 0;
    detail::agree(*backend_, detail::collective::freed, id);
    if (id == 0) {
      throw error(cudaErrorInvalidValue,
                  "membar: an allocation of another symmetric heap was freed: free it in the heap that allocated it");
    }
    free_bytes(array.offset_, id);
  }
  /// Its holder frees it.
  template <class T>
  void free(const scoped_symmetric_array<T, Backend>&) = delete;

  /// How PE `which`, of this process, reaches the others.
  [[nodiscard]] typename Backend::reach reach_of(pe which) const {
    require_local(which);
    return region_.reach_of(which);
  }

  /// The address of a symmetric object's counterpart at `other`, a PE of this process, for copies that the host enqueues.
  template <class T>
  [[nodiscard]] T* address_at(const symmetric_span<T, Backend>& object, pe other) const {
    const auto* const local = reinterpret_cast<const unsigned char*>(detail::symmetric_access::local(object));
    const auto offset = static_cast<std::size_t>(local - static_cast<const unsigned char*>(base(object.self())));
    if (offset >= region_.bytes()) {
      throw error(cudaErrorInvalidValue,
                  "membar: a symmetric object of another heap was passed: pass the heap that allocated it");
    }
    return address_of<T>(other, offset);
  }

  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_of_.bytes(); }
  [[nodiscard]] std::size_t bytes_taken() const noexcept { return bytes_of_.bytes_taken(); }
  /// The most that one allocation can still have.
  [[nodiscard]] std::size_t largest_free() const noexcept { return bytes_of_.largest_hole(); }

 private:
  template <class, symmetric_backend>
  friend class symmetric_array;
  template <class, symmetric_backend>
  friend class scoped_symmetric_array;

  // Every allocation starts at one, so that packed words and 16-byte accesses find their alignment, and signals their sector.
  static constexpr std::size_t least_alignment = 128;

  [[nodiscard]] static typename Backend::region mapped(Backend& backend, std::size_t bytes) {
    detail::agree(backend, detail::collective::heap_bytes, bytes);
    if (bytes == 0) {
      throw error(cudaErrorInvalidValue,
                  "membar: a symmetric heap of 0 bytes was asked for: give it the sum of its allocations");
    }
    return backend.map(bytes);
  }

  template <class T>
  void require_atomics() const {
    detail::needed_atomics<T>::each([&](const atomic_use& use) {
      const atomicity answer = backend_->supports(use);
      if (!answer) {
        throw error(
            cudaErrorNotSupported,
            "membar: an atomic operation of %s (%s, %d bytes) is not atomic between all PEs: %s: name fewer operations, "
            "or use signal<set> with one writer each",
            detail::is_signal<T> ? "signal<add>" : "this counter", name(use.operation), use.bytes, answer.reason);
      }
    });
  }

  void require_local(pe which) const {
    const pe_range local = backend_->local_pes();
    if (!local.contains(which)) {
      throw error(
          cudaErrorInvalidValue,
          "membar: a symmetric address of PE %d was asked for in the process of PEs %d to %d: it is valid on its own PE only",
          which.index(), local.front().index(), local.front().index() + local.size() - 1);
    }
  }

  [[nodiscard]] void* base(pe which) const {
    require_local(which);
    return region_.base(which);
  }

  template <class T>
  [[nodiscard]] T* address_of(pe which, std::size_t offset) const {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(base(which)) + offset);
  }

  std::size_t allocate_bytes(std::size_t size, std::size_t element, std::size_t alignment) {
    detail::agree(*backend_, detail::collective::objects, size);
    detail::agree(*backend_, detail::collective::object_bytes, element);
    detail::agree(*backend_, detail::collective::alignment, alignment);
    if (size == 0 || size > bytes_of_.bytes() / element) {
      throw error(cudaErrorInvalidValue,
                  "membar: %zu objects of %zu bytes were asked of a symmetric heap of %zu bytes: ask for 1 or more that it has "
                  "room for",
                  size, element, bytes_of_.bytes());
    }
    if ((alignment & (alignment - 1)) != 0) {
      throw error(cudaErrorInvalidValue, "membar: an alignment of %zu was asked for: it is a power of two", alignment);
    }
    require_alignment(alignment);
    const std::size_t bytes = size * element;
    const std::size_t offset = bytes_of_.take(bytes, alignment < least_alignment ? least_alignment : alignment);
    if (offset == detail::offset_allocator::none) {
      throw error(
          cudaErrorMemoryAllocation,
          "membar: %zu bytes do not fit into the symmetric heap: %zu of %zu are taken and the largest gap has %zu: make "
          "the heap larger",
          bytes, bytes_of_.bytes_taken(), bytes_of_.bytes(), bytes_of_.largest_hole());
    }
    try {
      // Which is a barrier too: only behind it may any PE put into what any other has zeroed.
      detail::agree_on_success(*backend_, zeroed(offset, bytes), "the zeroing of an allocation");
    } catch (...) {
      bytes_of_.give_back(offset);
      throw;
    }
    ids_[offset] = next_id_++;
    return offset;
  }

  /// Gathered, for memory that the backend has at one PE may lie better than at another.
  void require_alignment(std::size_t alignment) {
    unsigned long long less = 0;  // PE that has less, and 1; 0 for none
    for (const pe which : backend_->local_pes()) {
      if (less == 0 && reinterpret_cast<std::uintptr_t>(region_.base(which)) % alignment != 0) {
        less = static_cast<unsigned long long>(which.index()) + 1;
      }
    }
    const auto all = detail::gathered(*backend_, less);
    for (int i = 0; i != backend_->count(); ++i) {
      if (const unsigned long long one = all[static_cast<std::size_t>(i)]; one != 0) {
        throw error(cudaErrorInvalidValue,
                    "membar: an alignment of %zu was asked for, and the backend's memory at PE %llu has less: ask for 256 at "
                    "most, or for peer_memory::mapped",
                    alignment, one - 1);
      }
    }
  }

  [[nodiscard]] cudaError_t zeroed(std::size_t offset, std::size_t bytes) const noexcept {
    for (const pe which : backend_->local_pes()) {
      try {
        const device_guard guard(backend_->device_of(which));
        // A stream of its own: the null stream would wait for the program's.
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        const cudaError_t filled = cudaMemsetAsync(static_cast<unsigned char*>(region_.base(which)) + offset, 0, bytes, stream);
        const cudaError_t done = cudaStreamSynchronize(stream);
        const cudaError_t destroyed = cudaStreamDestroy(stream);
        for (const cudaError_t status : {filled, done, destroyed}) {
          check(status, "the zeroing of symmetric memory");
        }
      } catch (const error& failure) {
        return failure.code();
      }
    }
    return cudaSuccess;
  }

  void free_bytes(std::size_t offset, std::uint64_t id) {
    const auto found = ids_.find(offset);
    if (found == ids_.end() || found->second != id) {
      throw error(cudaErrorInvalidValue,
                  "membar: allocation %llu of the symmetric heap was freed a second time: free each once on every PE",
                  static_cast<unsigned long long>(id));
    }
    ids_.erase(found);
    bytes_of_.give_back(offset);
  }

  /// At the end of a holder's scope. An exception may end that of one process alone: it meets with no other then.
  template <class T>
  void free_at_end(const symmetric_array<T, Backend>& array, bool by_exception) noexcept {
    try {
      cudaError_t waited = cudaSuccess;
      for (const pe which : backend_->local_pes()) {
        const device_guard guard(backend_->device_of(which));
        const cudaError_t status = cudaDeviceSynchronize();
        waited = waited == cudaSuccess ? status : waited;
      }
      if (by_exception) {
        free_bytes(array.offset_, array.id_);  // the exception says what failed
      } else {
        free(array);
        check(waited, "a kernel failed that used symmetric memory whose scope has ended");
      }
    } catch (const error& failure) {
      detail::current_restore_failure_handler(failure.what());
    } catch (...) {
      detail::current_restore_failure_handler(
          "membar: symmetric memory whose scope has ended could not be freed: the backend failed to ask the other PEs");
    }
  }

  Backend* backend_;
  typename Backend::region region_;
  detail::offset_allocator bytes_of_;
  std::map<std::size_t, std::uint64_t> ids_;
  std::uint64_t next_id_ = 1;
};

/// Frees what a heap allocated at the end of its scope, also where an exception ends it:
/// `scoped_symmetric_array halo(heap.allocate<float>(4096))`. The heap outlives it, in the same place.
///
/// The end of the scope waits for the devices of this process's PEs, so that no kernel uses what is freed, and is collective
/// as `free` is: the scopes of all processes end in one order. Where an exception ends it, it meets with no other process, for
/// that may have none: the others wait then until this one's next collective call, which differs and is an error on every PE.
/// Errors: none are thrown; what fails is said through the handler of error.hpp.
template <class T, symmetric_backend Backend>
class [[nodiscard]] scoped_symmetric_array : public symmetric_array<T, Backend> {
 public:
  explicit scoped_symmetric_array(const symmetric_array<T, Backend>& array) noexcept
      : symmetric_array<T, Backend>(array), exceptions_(std::uncaught_exceptions()) {}
  scoped_symmetric_array(const scoped_symmetric_array&) = delete;
  scoped_symmetric_array& operator=(const scoped_symmetric_array&) = delete;
  ~scoped_symmetric_array() {
    this->heap_->free_at_end(static_cast<const symmetric_array<T, Backend>&>(*this), std::uncaught_exceptions() > exceptions_);
  }

 private:
  int exceptions_;
};

template <class T, class Backend>
scoped_symmetric_array(const symmetric_array<T, Backend>&) -> scoped_symmetric_array<T, Backend>;

}  // namespace membar
