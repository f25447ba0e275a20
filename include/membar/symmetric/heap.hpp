// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The symmetric heap: memory on every PE that all PEs allocate and free together.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/backend.hpp>
#include <membar/symmetric/object.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

/// Returns the number of the process's next heap, starting at 1. This function does not use <atomic>, which would account for a
/// third of everything that this header includes.
[[nodiscard]] inline unsigned long long next_heap_number() noexcept {
  static unsigned long long made = 0;
  return __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
}

/// Allocates the bytes of a heap with a first-fit strategy. The results depend only on the sequence of calls, so every PE gets
/// the same offsets.
///
/// Allocations are kept in a vector that is sorted by offset, because a heap has few allocations and a std::map takes longer to
/// compile.
class offset_allocator {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct allocation {
    std::size_t offset;
    std::size_t bytes;
    std::uint64_t id = 0;    ///< the number of the allocation in its heap, counted from 1; 0 until the memory is zeroed on
                             ///< every PE
    bool abandoned = false;  ///< whether its scope has ended but not all PEs have freed it
  };

  explicit offset_allocator(std::size_t bytes) : bytes_(bytes) {}

  /// Allocates `bytes` bytes, which must not be 0, aligned to a power of two. Returns their offset, or `none` if they do not
  /// fit.
  [[nodiscard]] std::size_t take(std::size_t bytes, std::size_t alignment) {
    std::size_t begin = 0;
    for (std::size_t next = 0; next <= taken_.size(); ++next) {
      const std::size_t from = (begin + alignment - 1) / alignment * alignment;
      const std::size_t end = next != taken_.size() ? taken_[next].offset : bytes_;
      if (from <= end && bytes <= end - from) {
        taken_.insert(taken_.begin() + static_cast<std::ptrdiff_t>(next), {from, bytes});
        return from;
      }
      begin = next != taken_.size() ? end + taken_[next].bytes : end;
    }
    return none;
  }

  /// Returns the allocation at `offset`, or null if there is none. The pointer is valid until the next `take` or `give_back`.
  [[nodiscard]] allocation* at(std::size_t offset) noexcept {
    for (allocation& each : taken_) {
      if (each.offset == offset) {
        return &each;
      }
    }
    return nullptr;
  }
  [[nodiscard]] const allocation* at(std::size_t offset) const noexcept {
    return const_cast<offset_allocator*>(this)->at(offset);
  }

  /// Returns the size of the allocation at `offset`, or 0 if there is none.
  [[nodiscard]] std::size_t size_at(std::size_t offset) const noexcept {
    const allocation* const found = at(offset);
    return found != nullptr ? found->bytes : 0;
  }

  /// Frees the allocation at `offset`.
  void give_back(std::size_t offset) noexcept {
    if (const allocation* const found = at(offset); found != nullptr) {
      taken_.erase(taken_.begin() + (found - taken_.data()));
    }
  }

  /// Returns all allocations, ordered by offset.
  [[nodiscard]] const std::vector<allocation>& taken() const noexcept { return taken_; }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t allocations() const noexcept { return taken_.size(); }
  [[nodiscard]] std::size_t bytes_taken() const noexcept {
    std::size_t sum = 0;
    for (const allocation& each : taken_) {
      sum += each.bytes;
    }
    return sum;
  }
  [[nodiscard]] std::size_t largest_hole() const noexcept {
    std::size_t largest = 0;
    std::size_t begin = 0;
    for (const allocation& each : taken_) {
      largest = each.offset - begin > largest ? each.offset - begin : largest;
      begin = each.offset + each.bytes;
    }
    return bytes_ - begin > largest ? bytes_ - begin : largest;
  }

 private:
  std::size_t bytes_;
  std::vector<allocation> taken_;
};

/// Calls `function` with each atomic operation that an element type requires between any two PEs. Aligned loads and stores are
/// single accesses on every link, so they are not included.
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

template <backend Backend>
class heap;
template <class T, backend Backend>
class scoped_array;

/// `size()` objects on every PE, allocated by a heap. Host code uses an `array` as a value that refers to the objects. An
/// `array` does not free the objects; a `scoped_array` does.
template <class T, backend Backend>
class array {
 public:
  using element_type = T;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Returns the offset of object `index` in the heap, in bytes. The offset is the same on every PE. After the object is freed,
  /// another allocation may have the same offset.
  [[nodiscard]] std::size_t offset(std::size_t index = 0) const noexcept { return offset_ + index * sizeof(T); }

  /// Identifies object `index`, for example for a `deadlock::recorder`. The identity is the same on every PE and is never
  /// reused for another object.
  [[nodiscard]] object_identity identity(std::size_t index = 0) const noexcept {
    return {heap_ != nullptr ? heap_->number() : 0, id_, index};
  }

  /// Returns the objects' symmetric address for the kernels of PE `which`, which must belong to this process. Errors: throws
  /// `error` if the PE belongs to another process, or if the array is a `scoped_array` that is closed or whose heap was
  /// destroyed.
  [[nodiscard]] span<T, Backend> on(pe which) const {
    if (heap_ == nullptr) {
      throw error(
          cudaErrorInvalidValue,
          "membar: a symmetric array was used after its close() or after its heap was destroyed: close arrays after their "
          "last kernel has been launched, and close heaps after their arrays");
    }
    return detail::access::make_span<T, Backend>(heap_->template address_of<T>(which, offset_), size_, heap_->reach_of(which));
  }

 private:
  friend class heap<Backend>;
  friend class scoped_array<T, Backend>;
  array(heap<Backend>* heap, std::size_t offset, std::size_t size, std::uint64_t id) noexcept
      : heap_(heap), offset_(offset), size_(size), id_(id) {}

  heap<Backend>* heap_;
  std::size_t offset_;
  std::size_t size_;
  std::uint64_t id_;
};

/// Memory of the same size on every PE of a backend, in which all PEs collectively allocate and free objects, in any order.
///
/// `allocate` and `free` are collective: every process must call them in the same order with the same arguments, which both
/// functions check. An allocation is zeroed on every PE before `allocate` returns on any PE, so a put never races with the
/// zeroing. Before a `free`, every kernel that uses the memory must have ended on every PE. The `free` completes the puts of
/// these kernels.
///
/// Errors: throws `error` on every PE, without changing anything. The error names the difference between PEs, the space that is
/// left, or the link that does not support an atomic operation. `free` also throws `error` if the memory was already freed or
/// belongs to another heap.
///
/// The destructor is local: it does not communicate with other processes and does not throw. It waits for this process's
/// devices if a `scoped_array` has been destroyed since the last wait, and prints the number of allocations that were not
/// freed. `close` is the collective and checked way to end the use of a heap. With several processes, the backend informs the
/// others that this process has left; `host_group` does so within a second. The backend and the arrays may be destroyed before
/// or after the heap, but all other members of the heap require the backend.
template <backend Backend>
class heap {
 public:
  using backend_type = Backend;

  /// Creates a heap with `bytes` bytes on every PE, rounded up to the backend's mapping granularity.
  heap(Backend& backend, std::size_t bytes)
      : backend_(&backend),
        region_(mapped(backend, bytes)),
        bytes_of_(region_.bytes()),
        alone_(backend.local_pes().size() == backend.count()) {
    for (const pe which : backend.local_pes()) {
      devices_.push_back(backend.device_of(which));
    }
  }
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;
  ~heap() {
    while (scopes_ != nullptr) {  // these arrays outlive the heap
      let_go(*scopes_);
    }
    if (unwaited_) {  // kernels that use these arrays may still use the memory that the region releases
      membar::detail::report_failed_restore(waited_for_devices(), kernel_failed);
    }
    give_back_abandoned();  // this is not a leak, because their scopes have ended
    if (bytes_of_.allocations() != 0) {
      const error leak(cudaErrorInvalidValue,
                       "membar: a symmetric heap was destroyed before %zu allocations (%zu bytes in total) were freed: free "
                       "each of them on every PE",
                       bytes_of_.allocations(), bytes_of_.bytes_taken());
      membar::detail::handle_failed_restore(leak.what());
    }
  }

  /// Ends the use of the heap on every PE: waits for the devices of this process's PEs, completes the puts of kernels, and
  /// releases the memory if the backend's processes must free it together. Call it before the destructor. Collective.
  ///
  /// Errors, on every PE: throws `error` if allocations were not freed (the error names a PE that has such allocations), or if
  /// a kernel failed.
  void close() {
    detail::agree(*backend_, detail::collective::closed, bytes_of_.bytes());
    const cudaError_t waited = waited_for_devices();
    give_back_abandoned();
    const auto all = detail::gathered(*backend_, bytes_of_.allocations());
    for (int i = 0; i != backend_->count(); ++i) {
      if (const unsigned long long left = all[static_cast<std::size_t>(i)]; left != 0) {
        throw error(cudaErrorInvalidValue,
                    "membar: a symmetric heap cannot be closed, because PE %d has %llu allocations that were not freed: free "
                    "or close each of them on every PE",
                    i, left);
      }
    }
    detail::agree_on_success(*backend_, waited, "a kernel that used a symmetric heap");
    complete_puts();
    if constexpr (requires { region_.close(); }) {
      region_.close();
    }
  }

  /// Allocates `size` objects on every PE. They are zeroed and aligned to `alignment` or 128 bytes, whichever is larger.
  /// Collective.
  template <class T>
  [[nodiscard]] array<T, Backend> allocate(std::size_t size, std::size_t alignment = alignof(T)) {
    static_assert(is_word<T> || membar::detail::is_bytes<T>,
                  "membar: symmetric memory needs a trivially copyable type, because its bytes are copied between PEs");
    require_atomics<T>();
    const std::size_t offset = allocate_bytes(size, sizeof(T), alignment < alignof(T) ? alignof(T) : alignment);
    return array<T, Backend>(this, offset, size, bytes_of_.at(offset)->id);
  }

  /// Allocates the words for one barrier across all PEs. Collective.
  [[nodiscard]] array<barrier_word, Backend> allocate_barrier() {
    return allocate<barrier_word>(static_cast<std::size_t>(backend_->count()) + 1);
  }

  /// Frees memory that `allocate` returned. Collective.
  template <class T>
  void free(const array<T, Backend>& allocated) {
    // No process may throw before every process has announced what it frees, or the others would wait forever for it.
    const std::uint64_t id = allocated.heap_ == this ? allocated.id_ : 0;
    free_bytes(allocated.offset_, id);
  }
  /// This overload does not compile, because only the `scoped_array` itself frees its memory.
  template <class T>
  void free(const scoped_array<T, Backend>&) = delete;

  /// Returns this heap's number in the process, counted from 1. The number is the same on every PE if all processes create
  /// their heaps in the same order.
  [[nodiscard]] unsigned long long number() const noexcept { return number_; }

  /// Returns the reach of PE `which`, which must belong to this process.
  [[nodiscard]] typename Backend::reach reach_of(pe which) const {
    require_local(which);
    return region_.reach_of(which);
  }

  /// Returns the address of the object on `other`, for copies that the host enqueues. `other` must be a PE of this process.
  /// With adopted memory, it may be any PE, and the address is the one that this process's device uses.
  template <class T>
  [[nodiscard]] T* address_at(const span<T, Backend>& object, pe other) const {
    const auto* const local = reinterpret_cast<const unsigned char*>(detail::access::local(object));
    const auto offset = static_cast<std::size_t>(local - static_cast<const unsigned char*>(base(object.self())));
    // an empty span may be at the end of the memory
    if (offset >= region_.bytes() && !(object.size() == 0 && offset == region_.bytes())) {
      throw error(cudaErrorInvalidValue,
                  "membar: the symmetric object belongs to another heap: pass the heap that allocated it");
    }
    if constexpr (requires { region_.base_from_here(other); }) {
      return reinterpret_cast<T*>(static_cast<unsigned char*>(region_.base_from_here(other)) + offset);
    } else {
      return address_of<T>(other, offset);
    }
  }

  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_of_.bytes(); }
  [[nodiscard]] std::size_t bytes_taken() const noexcept { return bytes_of_.bytes_taken(); }
  /// Returns the size in bytes of the largest allocation that is still possible.
  [[nodiscard]] std::size_t largest_free() const noexcept { return bytes_of_.largest_hole(); }

 private:
  template <class, symmetric::backend>
  friend class array;
  template <class, symmetric::backend>
  friend class scoped_array;

  // This is sufficient for packed words and 16-byte accesses, and gives each signal its own sector.
  static constexpr std::size_t least_alignment = 128;
  static constexpr const char* kernel_failed = "a kernel that used symmetric memory failed after that memory's scope ended";

  [[nodiscard]] static typename Backend::region mapped(Backend& backend, std::size_t bytes) {
    detail::agree(backend, detail::collective::heap_bytes, bytes);
    if (bytes == 0) {
      throw error(cudaErrorInvalidValue,
                  "membar: a symmetric heap of 0 bytes was requested: request the total size of its allocations");
    }
    return backend.map(bytes);
  }

  /// Throws on every PE if a link of any PE does not support the operations that `T` needs. Collective.
  template <class T>
  void require_atomics() const {
    const char* reason = nullptr;
    atomic_use lacking{};
    bool asked = false;
    detail::needed_atomics<T>::each([&](const atomic_use& use) {
      asked = true;
      const atomicity answer = backend_->supports(use);
      if (!answer && reason == nullptr) {
        reason = answer.reason;
        lacking = use;
      }
    });
    constexpr const char* what = detail::is_signal<T> ? "signal<add>" : "this counter";
    int elsewhere = -1;
    if (asked && backend_->local_pes().size() != backend_->count()) {  // another process may see different links
      const auto all = detail::gathered(*backend_, reason != nullptr ? 1ULL : 0ULL);
      for (int i = 0; i != backend_->count(); ++i) {
        elsewhere = all[static_cast<std::size_t>(i)] != 0 ? i : elsewhere;
      }
    }
    if (reason != nullptr) {
      throw error(cudaErrorNotSupported,
                  "membar: %s has an operation (%s, %d bytes) that is "
                  "not atomic between all PEs, because %s: list fewer "
                  "operations, or use signal<set> with one writer each",
                  what, name(lacking.operation), lacking.bytes, reason);
    }
    if (elsewhere >= 0) {
      throw error(cudaErrorNotSupported,
                  "membar: %s has an operation that is not atomic between "
                  "all PEs, because PE %d has a link that does not "
                  "support it: list fewer operations, or use signal<set> with one writer each",
                  what, elsewhere);
    }
  }

  void require_local(pe which) const {
    const pe_range local = backend_->local_pes();
    if (!local.contains(which)) {
      throw error(cudaErrorInvalidValue,
                  "membar: a symmetric address of PE %d was requested in the process of PEs %d to %d, but it is valid only on "
                  "its own PE: request it there",
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
                  "membar: %zu objects of %zu bytes were requested from a symmetric heap of %zu bytes: request at least 1 "
                  "object, and no more than fit",
                  size, element, bytes_of_.bytes());
    }
    if ((alignment & (alignment - 1)) != 0) {
      throw error(cudaErrorInvalidValue, "membar: an alignment of %zu bytes was requested: use a power of two", alignment);
    }
    require_alignment(alignment);
    free_abandoned();
    const std::size_t bytes = size * element;
    const std::size_t offset = bytes_of_.take(bytes, alignment < least_alignment ? least_alignment : alignment);
    try {
      agree_on_place(offset);
    } catch (...) {
      if (offset != detail::offset_allocator::none) {
        bytes_of_.give_back(offset);
      }
      throw;
    }
    if (offset == detail::offset_allocator::none) {
      throw error(cudaErrorMemoryAllocation,
                  "membar: %zu bytes do not fit into the symmetric heap: %zu of %zu bytes are in use and the largest free "
                  "block is %zu bytes: make the heap larger",
                  bytes, bytes_of_.bytes_taken(), bytes_of_.bytes(), bytes_of_.largest_hole());
    }
    try {
      // This is also a barrier: only after it may a PE put data into memory that another PE has zeroed.
      detail::agree_on_success(*backend_, zeroed(offset, bytes), "zeroing an allocation");
    } catch (...) {
      bytes_of_.give_back(offset);
      throw;
    }
    bytes_of_.at(offset)->id = next_id_++;
    return offset;
  }

  /// `id` is 0 if the allocation belongs to another heap.
  void free_bytes(std::size_t offset, std::uint64_t id) {
    detail::agree(*backend_, detail::collective::freed, id);
    if (id == 0) {
      throw error(cudaErrorInvalidValue,
                  "membar: the allocation belongs to another symmetric heap: free it in the heap that allocated it");
    }
    require_allocated(offset, id);
    complete_puts();
    bytes_of_.give_back(offset);
  }

  /// Completes all puts. Over a network, a put may still be in flight when the kernel that started it has ended. It could then
  /// write to the next allocation at the same place after that allocation was zeroed. Collective.
  void complete_puts() {
    if constexpr (requires { backend_->complete(); }) {
      backend_->complete();
    }
  }

  /// Frees the allocations whose scopes have ended, if they are the same on every PE. Collective.
  void free_abandoned() {
    if (alone_ ? !unwaited_ : !all_abandoned_the_same()) {
      return;
    }
    // This is also a barrier: no PE may zero memory to which another PE's kernel still writes.
    detail::agree_on_success(*backend_, waited_for_devices(), "an earlier kernel that used symmetric memory");
    complete_puts();
    give_back_abandoned();
  }
  /// Returns whether all PEs have abandoned the same allocations, and at least one. Collective.
  [[nodiscard]] bool all_abandoned_the_same() {
    unsigned long long mine = 0;  // a hash of the abandoned allocations; 0 if there are none
    for (const auto& each : bytes_of_.taken()) {
      if (each.abandoned) {
        mine = (mine ^ (mine >> 29) ^ each.id) * 0x9e3779b97f4a7c15ULL + 1;
      }
    }
    bool same = mine != 0;
    for (const unsigned long long theirs : detail::gathered(*backend_, mine)) {
      same = same && theirs == mine;
    }
    return same;
  }
  /// Waits for the devices of this process's PEs.
  [[nodiscard]] cudaError_t waited_for_devices() noexcept {
    cudaError_t waited = cudaSuccess;
    for (const int device : devices_) {
      cudaError_t status = cudaSuccess;
      try {
        const device_guard guard(device);
        status = cudaDeviceSynchronize();
      } catch (const error& failure) {
        status = failure.code();
      }
      // When a process exits, the driver may shut down before the last objects are destroyed. In that case, every kernel has
      // also ended.
      waited = waited == cudaSuccess && status != cudaErrorCudartUnloading ? status : waited;
    }
    unwaited_ = false;
    return waited;
  }
  void give_back_abandoned() {
    for (std::size_t i = bytes_of_.taken().size(); i != 0; --i) {
      if (const auto& each = bytes_of_.taken()[i - 1]; each.abandoned) {
        bytes_of_.give_back(each.offset);
      }
    }
  }

  /// Checks that an object has the same offset on every PE. Otherwise a put would write to a different object. Collective.
  void agree_on_place(std::size_t offset) {
    using detail::collective;
    const auto all = detail::gathered(*backend_, detail::tagged(collective::placed, detail::value_of(offset)));
    const auto place = [](char(&text)[40], unsigned long long at) {
      std::snprintf(text, sizeof text, at == detail::value_of(detail::offset_allocator::none) ? "nowhere" : "at byte %llu", at);
      return text;
    };
    for (int i = 1; i < backend_->count(); ++i) {
      const unsigned long long theirs = all[static_cast<std::size_t>(i)];
      if (detail::call_of(theirs) != detail::call_of(all[0])) {
        detail::refuse_difference(i, theirs, all[0]);
      }
      if (theirs != all[0]) {
        char here[40];
        char there[40];
        throw error(cudaErrorInvalidValue,
                    "membar: a symmetric heap differs between PEs: PE %d "
                    "places the next allocation %s, but PE 0 places it %s: "
                    "a call failed on only one of them; construct the heap again on every PE",
                    i, place(here, detail::value_of(theirs)), place(there, detail::value_of(all[0])));
      }
    }
  }

  /// This check is collective, because the backend's memory may have a larger alignment on one PE than on another.
  void require_alignment(std::size_t alignment) {
    unsigned long long less = 0;  // 1 plus the number of a PE with a smaller alignment; 0 if there is none
    for (const pe which : backend_->local_pes()) {
      if (less == 0 && reinterpret_cast<std::uintptr_t>(region_.base(which)) % alignment != 0) {
        less = static_cast<unsigned long long>(which.index()) + 1;
      }
    }
    const auto all = detail::gathered(*backend_, less);
    for (int i = 0; i != backend_->count(); ++i) {
      if (const unsigned long long one = all[static_cast<std::size_t>(i)]; one != 0) {
        throw error(cudaErrorInvalidValue,
                    "membar: an alignment of %zu bytes was requested, but the backend's memory on PE %llu has a smaller "
                    "alignment: request at most 256 bytes, or use peer_memory::mapped",
                    alignment, one - 1);
      }
    }
  }

  [[nodiscard]] cudaError_t zeroed(std::size_t offset, std::size_t bytes) const noexcept {
    for (const pe which : backend_->local_pes()) {
      try {
        const device_guard guard(backend_->device_of(which));
        // The zeroing uses its own stream, because the null stream would wait for the program's work.
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        const cudaError_t filled = cudaMemsetAsync(static_cast<unsigned char*>(region_.base(which)) + offset, 0, bytes, stream);
        const cudaError_t done = cudaStreamSynchronize(stream);
        const cudaError_t destroyed = cudaStreamDestroy(stream);
        for (const cudaError_t status : {filled, done, destroyed}) {
          check(status);
        }
      } catch (const error& failure) {
        return failure.code();
      }
    }
    return cudaSuccess;
  }

  [[nodiscard]] bool is_allocated(std::size_t offset, std::uint64_t id) const {
    const auto* const found = bytes_of_.at(offset);
    return found != nullptr && found->id == id;
  }
  void require_allocated(std::size_t offset, std::uint64_t id) const {
    if (!is_allocated(offset, id)) {
      throw error(cudaErrorInvalidValue,
                  "membar: allocation %llu of the symmetric heap was freed twice: free each allocation once on every PE",
                  static_cast<unsigned long long>(id));
    }
  }

  /// A `scoped_array` whose scope has not ended.
  struct scope {
    heap** of;  ///< where the array stores the pointer to its heap
    std::size_t offset;
    std::uint64_t id;
    scope* previous = nullptr;
    scope* next = nullptr;
  };
  void begin_scope(scope& begun) noexcept {
    begun.next = scopes_;
    if (scopes_ != nullptr) {
      scopes_->previous = &begun;
    }
    scopes_ = &begun;
  }
  void end_scope(scope& ended) noexcept {
    (ended.previous != nullptr ? ended.previous->next : scopes_) = ended.next;
    if (ended.next != nullptr) {
      ended.next->previous = ended.previous;
    }
    *ended.of = nullptr;
  }

  /// Releases a `scoped_array` in this process at the end of its scope. Other processes may still use it, so the bytes stay
  /// allocated until all processes have released it. The next `allocate` detects this and waits for the kernels.
  void let_go(scope& ended) noexcept {
    end_scope(ended);
    if (is_allocated(ended.offset, ended.id)) {
      unwaited_ = true;
      if (alone_) {
        bytes_of_.give_back(ended.offset);
      } else {
        bytes_of_.at(ended.offset)->abandoned = true;
      }
    }
  }

  /// Frees the memory of a `scoped_array` that is being closed. Collective.
  void close_scope(scope& closed) {
    detail::agree(*backend_, detail::collective::freed, closed.id);
    require_allocated(closed.offset, closed.id);
    detail::agree_on_success(*backend_, waited_for_devices(), "a kernel that used symmetric memory");
    complete_puts();
    end_scope(closed);
    bytes_of_.give_back(closed.offset);
  }

  Backend* backend_;
  typename Backend::region region_;
  detail::offset_allocator bytes_of_;
  bool alone_;                ///< whether all PEs belong to this process
  std::vector<int> devices_;  ///< the devices of this process's PEs
  scope* scopes_ = nullptr;
  bool unwaited_ = false;  ///< whether a scope has ended since the last wait for the devices
  std::uint64_t next_id_ = 1;
  unsigned long long number_ = detail::next_heap_number();
};

/// An array that frees its allocation at the end of its scope: `scoped_array halo(heap.allocate<float>(4096))`. The heap may be
/// destroyed first.
///
/// The end of the scope is local and immediate: it does not wait for kernels or communicate with other processes, so it may
/// happen in any order, with or without an exception, and at process exit. The bytes stay allocated until the scope has ended
/// on every PE. The next `allocate` detects this, waits for the devices, and frees the bytes; if this fails, that call throws
/// an error on every PE.
///
/// `close` frees the allocation immediately: it waits for the devices of this process's PEs and is collective like `free`. It
/// throws the errors of `free`, and an error if a kernel failed. Afterwards, the array is empty. After an error, it is
/// unchanged.
template <class T, backend Backend>
class [[nodiscard]] scoped_array : public array<T, Backend> {
 public:
  explicit scoped_array(const array<T, Backend>& allocated) noexcept : array<T, Backend>(allocated) {
    this->heap_->begin_scope(scope_);
  }
  scoped_array(const scoped_array&) = delete;
  scoped_array& operator=(const scoped_array&) = delete;
  ~scoped_array() {
    if (this->heap_ != nullptr) {
      this->heap_->let_go(scope_);
    }
  }

  /// Frees the memory. Collective. Does nothing if the array is already closed.
  void close() {
    if (this->heap_ != nullptr) {
      this->heap_->close_scope(scope_);
    }
  }

 private:
  typename heap<Backend>::scope scope_{&this->heap_, this->offset_, this->id_};
};

template <class T, class Backend>
scoped_array(const array<T, Backend>&) -> scoped_array<T, Backend>;

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
