// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines whether an operation at system scope is atomic with respect to the host or another device. The answer depends on
/// the memory's location and on the links to it; a compiler can check neither.
///
/// Atomicity is not ordering: ordering depends on the operation's memory order. Source: libcu++ documentation, "Memory model:
/// Atomicity"; CUDA 13.0's `cudaDeviceGetHostAtomicCapabilities` and `cudaDeviceGetP2PAtomicCapabilities`.
#pragma once

#include <membar/detail/atomic_type.hpp>
#include <membar/error.hpp>

namespace membar {
inline namespace v0_3 {

/// The kind of operation that is performed on an object. `load_or_store` is a load or store that is relaxed or stronger; the
/// others are read-modify-writes.
enum class atomic_operation {
  load_or_store,
  integer_add,
  integer_min,
  integer_max,
  increment,
  decrement,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  exchange,
  compare_exchange,
  float_add,
  float_min,
  float_max
};

/// Returns the operation's name in words.
[[nodiscard]] constexpr const char* name(atomic_operation operation) noexcept {
  switch (operation) {
    case atomic_operation::load_or_store:
      return "load or store";
    case atomic_operation::integer_add:
      return "integer addition";
    case atomic_operation::integer_min:
      return "integer minimum";
    case atomic_operation::integer_max:
      return "integer maximum";
    case atomic_operation::increment:
      return "increment";
    case atomic_operation::decrement:
      return "decrement";
    case atomic_operation::bitwise_and:
      return "bitwise and";
    case atomic_operation::bitwise_or:
      return "bitwise or";
    case atomic_operation::bitwise_xor:
      return "bitwise exclusive or";
    case atomic_operation::exchange:
      return "exchange";
    case atomic_operation::compare_exchange:
      return "compare-and-exchange";
    case atomic_operation::float_add:
      return "floating-point addition";
    case atomic_operation::float_min:
      return "floating-point minimum";
    case atomic_operation::float_max:
      return "floating-point maximum";
  }
  return "unknown operation";
}

/// An operation of membar's atomics, with the properties that its instructions depend on.
struct atomic_use {
  atomic_operation operation = atomic_operation::integer_add;
  int bytes = 4;              ///< size of the object: 1, 2, 4, 8 or 16
  bool is_signed = false;     ///< for integers: whether they are signed
  bool returns_value = true;  ///< false for a reduction
};

/// The kind of memory that an object is in.
enum class memory_kind { device, mapped, managed, pageable };

/// A link between a device and the memory, and the atomic operations that the link supports.
struct atomic_link {
  bool native = false;        ///< whether the link supports all atomic operations
  bool partial = false;       ///< whether the link supports only the operations in `capabilities`; reported since CUDA 13.0
  unsigned capabilities = 0;  ///< bits of `cudaAtomicOperationCapability` for the instructions of the operation
};

/// A device that accesses the memory.
struct atomic_participant {
  int device = 0;
  bool pageable_access = false;
  bool concurrent_managed_access = false;
  atomic_link to_host{};
  atomic_link to_owner{};  ///< the link to the device that owns the memory, if that is another device
};

/// All the properties that determine whether an operation is atomic.
struct atomicity_facts {
  memory_kind kind = memory_kind::device;
  int owner = 0;  ///< the device that owns the memory
  atomic_participant device{};
  /// Whether the host uses the object at the same time.
  bool with_host = false;
  /// Whether `peer` uses the object at the same time.
  bool with_peer = false;
  atomic_participant peer{};
};

/// Whether an operation is atomic, and why.
struct atomicity {
  bool atomic = false;
  const char* reason = "";

  explicit constexpr operator bool() const noexcept { return atomic; }
};

namespace detail {

/// The bits of cudaAtomicOperationCapability, an enumeration introduced in CUDA 13.0.
enum atomic_capability : unsigned {
  capability_signed = 1U << 0,
  capability_unsigned = 1U << 1,
  capability_reduction = 1U << 2,
  capability_scalar_32 = 1U << 3,
  capability_scalar_64 = 1U << 4,
  capability_scalar_128 = 1U << 5
};

/// The instructions that a membar operation compiles to for compute capability 9.0. There are at most two; if there are two, a
/// condition selects one of them at run time.
struct atomic_instructions {
  atomic_use each[2] = {};
  int count = 0;
};

[[nodiscard]] constexpr atom_op opcode_of(atomic_operation operation) noexcept {
  switch (operation) {
    case atomic_operation::integer_add:
    case atomic_operation::float_add:
      return atom_op::add;
    case atomic_operation::integer_min:
    case atomic_operation::float_min:
      return atom_op::min;
    case atomic_operation::integer_max:
    case atomic_operation::float_max:
      return atom_op::max;
    case atomic_operation::increment:
      return atom_op::inc;
    case atomic_operation::decrement:
      return atom_op::dec;
    case atomic_operation::bitwise_and:
      return atom_op::bitwise_and;
    case atomic_operation::bitwise_or:
      return atom_op::bitwise_or;
    case atomic_operation::bitwise_xor:
      return atom_op::bitwise_xor;
    case atomic_operation::exchange:
    case atomic_operation::compare_exchange:
    case atomic_operation::load_or_store:
      break;
  }
  return atom_op::exchange;
}

template <class T>
[[nodiscard]] constexpr atomic_instructions instructions_of(const atomic_use& use) noexcept {
  const atom_op opcode = opcode_of(use.operation);
  const ptx_type type = native_type<T>(opcode);
  if (type != ptx_type::none) {
    const bool is_signed = type == ptx_type::s32 || type == ptx_type::s64;
    return {{{use.operation, use.bytes, is_signed, use.returns_value}}, 1};
  }
  if (kind_of<T> == value_kind::floating) {  // the maximum or minimum of the bits, depending on the operand's sign
    const bool is_max = opcode == atom_op::max;
    const auto signed_form = is_max ? atomic_operation::integer_max : atomic_operation::integer_min;
    const auto unsigned_form = is_max ? atomic_operation::integer_min : atomic_operation::integer_max;
    return {{{signed_form, use.bytes, true, use.returns_value}, {unsigned_form, use.bytes, false, use.returns_value}}, 2};
  }
  return {{{atomic_operation::compare_exchange, use.bytes < 4 ? 4 : use.bytes}}, 1};
}

/// Returns the instructions for `use`, from the same table that the device code uses to select them.
[[nodiscard]] constexpr atomic_instructions instructions_of(const atomic_use& use) noexcept {
  const bool floating = use.operation == atomic_operation::float_add || use.operation == atomic_operation::float_min ||
                        use.operation == atomic_operation::float_max;
  switch (use.operation) {
    case atomic_operation::load_or_store:
      return atomic_instructions{};
    case atomic_operation::compare_exchange:
      return {{{use.operation, use.bytes < 4 ? 4 : use.bytes}}, 1};
    default:
      break;
  }
  switch (use.bytes) {
    case 4:
      return floating        ? instructions_of<float>(use)
             : use.is_signed ? instructions_of<int>(use)
                             : instructions_of<unsigned>(use);
    case 8:
      return floating        ? instructions_of<double>(use)
             : use.is_signed ? instructions_of<long long>(use)
                             : instructions_of<unsigned long long>(use);
    case 16:
      return instructions_of<uint128>(use);
    default:
      return instructions_of<unsigned short>(use);
  }
}

[[nodiscard]] constexpr unsigned needed_by_instruction(const atomic_use& use) noexcept {
  unsigned needed = use.bytes == 4 ? capability_scalar_32 : use.bytes == 8 ? capability_scalar_64 : capability_scalar_128;
  if (use.operation == atomic_operation::integer_add || use.operation == atomic_operation::integer_min ||
      use.operation == atomic_operation::integer_max) {
    needed |= use.is_signed ? capability_signed : capability_unsigned;
  }
  if (!use.returns_value) {
    needed |= capability_reduction;
  }
  return needed;
}

/// Returns the capabilities that a link must provide for all of an operation's instructions.
[[nodiscard]] constexpr unsigned needed_capabilities(const atomic_use& use) noexcept {
  unsigned needed = 0;
  const atomic_instructions instructions = instructions_of(use);
  for (int i = 0; i != instructions.count; ++i) {
    needed |= needed_by_instruction(instructions.each[i]);
  }
  return needed;
}

[[nodiscard]] constexpr bool carries(const atomic_link& link, const atomic_use& use) noexcept {
  return link.native || (link.partial && (link.capabilities & needed_capabilities(use)) == needed_capabilities(use));
}

}  // namespace detail

/// Returns whether `use` at system scope is atomic with respect to all processors that, according to `facts`, use the object
/// concurrently.
[[nodiscard]] constexpr atomicity atomicity_of(const atomicity_facts& facts, const atomic_use& use) noexcept {
  const bool alone = !facts.with_host && !facts.with_peer;
  switch (facts.kind) {
    case memory_kind::pageable:
      if (!facts.device.pageable_access || (facts.with_peer && !facts.peer.pageable_access)) {
        return {false, "the memory is pageable host memory, which a device cannot access: register it, or use managed memory"};
      }
      return {true, "the memory is pageable host memory, to which the devices have coherent access"};
    case memory_kind::managed:
      if (alone && !facts.device.concurrent_managed_access) {
        return {true, "the memory is managed, and only this device uses it"};
      }
      if (!facts.device.concurrent_managed_access || (facts.with_peer && !facts.peer.concurrent_managed_access)) {
        return {false,
                "the memory is managed, but a device does not support concurrent managed access, so the host and the device "
                "must not access the memory at the same time"};
      }
      return {true, "the memory is managed, and the devices support concurrent managed access"};
    case memory_kind::mapped:
      if (use.operation == atomic_operation::load_or_store) {
        return {true, "the memory is mapped host memory, and a naturally aligned load or store is atomic there"};
      }
      if (alone) {
        return {true, "the memory is mapped host memory, and only this device uses it"};
      }
      if (!detail::carries(facts.device.to_host, use) || (facts.with_peer && !detail::carries(facts.peer.to_host, use))) {
        return {false,
                "the memory is mapped host memory, but a link to the host does not support this atomic operation: let one side "
                "write each object and the other only load it, or use managed memory"};
      }
      return {true, "the memory is mapped host memory, and the links to the host support this atomic operation"};
    case memory_kind::device:
      if (facts.with_host) {
        return {false, "the memory is device memory, which the host cannot access atomically: use mapped or managed memory"};
      }
      if (facts.device.device != facts.owner && facts.with_peer && !detail::carries(facts.device.to_owner, use)) {
        return {false, "the link from this device to the memory's device does not support this atomic operation"};
      }
      if (facts.with_peer && facts.peer.device != facts.owner && !detail::carries(facts.peer.to_owner, use)) {
        return {false, "the link from the peer to the memory's device does not support this atomic operation"};
      }
      return {true, facts.with_peer ? "the memory is device memory, and the links between the devices support this operation"
                                    : "the memory is device memory, and only this device uses it"};
  }
  return {false, "the kind of memory is unknown"};
}

namespace detail {

[[nodiscard]] inline bool flag_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "pass the index of a device that exists");
  return value != 0;
}

#if CUDART_VERSION >= 13000
/// Returns CUDA's name for a read-modify-write.
[[nodiscard]] constexpr cudaAtomicOperation native(atomic_operation operation) noexcept {
  switch (operation) {
    case atomic_operation::integer_min:
      return cudaAtomicOperationIntegerMin;
    case atomic_operation::integer_max:
      return cudaAtomicOperationIntegerMax;
    case atomic_operation::increment:
      return cudaAtomicOperationIntegerIncrement;
    case atomic_operation::decrement:
      return cudaAtomicOperationIntegerDecrement;
    case atomic_operation::bitwise_and:
      return cudaAtomicOperationAnd;
    case atomic_operation::bitwise_or:
      return cudaAtomicOperationOr;
    case atomic_operation::bitwise_xor:
      return cudaAtomicOperationXOR;
    case atomic_operation::exchange:
      return cudaAtomicOperationExchange;
    case atomic_operation::compare_exchange:
      return cudaAtomicOperationCAS;
    case atomic_operation::float_add:
      return cudaAtomicOperationFloatAdd;
    case atomic_operation::float_min:
      return cudaAtomicOperationFloatMin;
    case atomic_operation::float_max:
      return cudaAtomicOperationFloatMax;
    case atomic_operation::integer_add:
    case atomic_operation::load_or_store:
      break;
  }
  return cudaAtomicOperationIntegerAdd;
}
#endif

#if CUDART_VERSION >= 13000
/// Returns the capabilities that a link provides for every instruction of an operation; `ask` queries the capabilities for one
/// instruction. Capabilities that an instruction does not require count as present.
template <class Ask>
[[nodiscard]] unsigned capabilities_of(const atomic_use& use, Ask ask) {
  unsigned all = ~0U;
  const atomic_instructions instructions = instructions_of(use);
  for (int i = 0; i != instructions.count; ++i) {
    const cudaAtomicOperation operation = native(instructions.each[i].operation);
    unsigned capabilities = 0;
    ask(&capabilities, &operation);
    all &= capabilities | ~needed_by_instruction(instructions.each[i]);
  }
  return all;
}
#endif

[[nodiscard]] inline atomic_link link_to_host(int device, [[maybe_unused]] const atomic_use& use) {
  atomic_link link;
  link.native = flag_attribute(cudaDevAttrHostNativeAtomicSupported, device);
#if CUDART_VERSION >= 13000
  link.partial = flag_attribute(cudaDevAttrOnlyPartialHostNativeAtomicSupported, device);
  if (link.partial) {
    link.native = false;
    link.capabilities = capabilities_of(use, [device](unsigned* capabilities, const cudaAtomicOperation* operation) {
      check(cudaDeviceGetHostAtomicCapabilities(capabilities, operation, 1, device));
    });
  }
#endif
  return link;
}

[[nodiscard]] inline atomic_link link_between(int device, int owner, [[maybe_unused]] const atomic_use& use) {
  atomic_link link;
  if (device == owner) {
    link.native = true;
    return link;
  }
  int value = 0;
  check(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrNativeAtomicSupported, device, owner));
  link.native = value != 0;
#if CUDART_VERSION >= 13000
  check(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrOnlyPartialNativeAtomicSupported, device, owner));
  link.partial = value != 0;
  if (link.partial) {
    link.native = false;
    link.capabilities = capabilities_of(use, [device, owner](unsigned* capabilities, const cudaAtomicOperation* operation) {
      check(cudaDeviceGetP2PAtomicCapabilities(capabilities, operation, 1, device, owner));
    });
  }
#endif
  return link;
}

[[nodiscard]] inline atomic_participant participant(int device, memory_kind kind, int owner, const atomic_use& use) {
  return {device, flag_attribute(cudaDevAttrPageableMemoryAccess, device),
          flag_attribute(cudaDevAttrConcurrentManagedAccess, device), link_to_host(device, use),
          kind == memory_kind::device ? link_between(device, owner, use) : atomic_link{}};
}

[[nodiscard]] inline atomicity_facts facts_of(const void* pointer, int device, const atomic_use& use) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "pass an address that this process uses");
  atomicity_facts facts;
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      facts.kind = memory_kind::device;
      break;
    case cudaMemoryTypeHost:
      facts.kind = memory_kind::mapped;
      break;
    case cudaMemoryTypeManaged:
      facts.kind = memory_kind::managed;
      break;
    default:
      facts.kind = memory_kind::pageable;
      break;
  }
  facts.owner = attributes.device;
  facts.device = participant(device, facts.kind, facts.owner, use);
  return facts;
}

}  // namespace detail

/// Returns whether `use` of the object at `pointer` by `device`, at system scope, is atomic while the host also uses the
/// object.
[[nodiscard]] inline atomicity atomicity_with_host(const void* pointer, int device, const atomic_use& use) {
  atomicity_facts facts = detail::facts_of(pointer, device, use);
  facts.with_host = true;
  return atomicity_of(facts, use);
}

/// Returns whether `use` of the object at `pointer` by `device` and by `peer`, at system scope, is atomic while both use it.
[[nodiscard]] inline atomicity atomicity_with_peer(const void* pointer, int device, int peer, const atomic_use& use) {
  atomicity_facts facts = detail::facts_of(pointer, device, use);
  facts.with_peer = true;
  facts.peer = detail::participant(peer, facts.kind, facts.owner, use);
  return atomicity_of(facts, use);
}

/// Returns whether `use` of the object at `pointer` is atomic if only the threads of `device` use the object.
[[nodiscard]] inline atomicity atomicity_alone(const void* pointer, int device, const atomic_use& use) {
  return atomicity_of(detail::facts_of(pointer, device, use), use);
}

}  // namespace v0_3
}  // namespace membar
