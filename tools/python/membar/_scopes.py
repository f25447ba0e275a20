# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sets attributes for all kernels that a `with` block launches into a stream, including kernels of PyTorch, CuPy and other libraries."""

import contextlib
import ctypes
import sys
import threading

from membar import _driver


def _handle_of(stream):
    """Returns the CUstream that an object represents."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr"):  # in PyTorch and in CuPy
        if isinstance(getattr(stream, name, None), int):
            return getattr(stream, name)
    raise TypeError(f"membar: {stream!r} is not a stream: pass a stream of PyTorch or CuPy, an object with __cuda_stream__, or a CUstream as int")


def _device_of_stream(handle):
    """Returns the device of a stream; for a default stream, the device of the current context."""
    device = ctypes.c_int()
    with contextlib.ExitStack() as stack:
        if handle > 2:  # 0, 1 and 2 are the default streams
            context = ctypes.c_void_p()
            _driver.call("cuStreamGetCtx", ctypes.c_void_p(handle), ctypes.byref(context), remedy="pass an existing stream")
            _driver.call("cuCtxPushCurrent_v2", context, remedy="report this as a bug in membar")
            stack.callback(_driver.call, "cuCtxPopCurrent_v2", ctypes.byref(context), remedy="report this as a bug in membar")
        _driver.call("cuCtxGetDevice", ctypes.byref(device), remedy="use the GPU once first, or pass a stream other than the default stream")
    return device.value


def sync_domain_count(device=0):
    """Returns the number of physical memory synchronization domains of a device: 4 on compute capability 9.0, and 1 on earlier devices."""
    return _driver.device_attribute(_driver.DEVICE_MEM_SYNC_DOMAIN_COUNT, device)


@contextlib.contextmanager
def sync_domain(stream, *, remote=None, map=None):  # pylint: disable=redefined-builtin
    """Sets the memory synchronization domain of the kernels that the block launches into `stream`.

    remote: True for kernels that write to other devices or the host, False for others. map: the physical domains to which the stream maps
    its logical domains (default, remote), each from 0 to `sync_domain_count() - 1`. A kernel's fences, and the end of the kernel, wait only
    for writes in the kernel's domain. Kernels in different physical domains need system scope to order accesses between them; device scope
    is not enough. When the block ends, the stream's previous attributes are restored, even after an exception. Captured launches keep the
    domain in the graph. On a device with one domain, `remote` has no effect.
    """
    if remote is None and map is None:
        raise TypeError("membar: sync_domain has nothing to set: pass remote=True or False, or map=(default, remote)")
    if remote is not None and not isinstance(remote, bool):
        raise TypeError(f"membar: remote is {remote!r}: pass True or False; to set physical domains, use map=(default, remote)")
    handle = _handle_of(stream)
    remedy = "pass an existing stream of the current device"
    with contextlib.ExitStack() as stack:
        if map is not None:
            ids = tuple(map)
            if len(ids) != 2 or not all(isinstance(each, int) and not isinstance(each, bool) for each in ids):
                raise TypeError(f"membar: map is {map!r}: pass two physical domains, for the default and the remote logical domain")
            count = sync_domain_count(_device_of_stream(handle))
            for each in ids:
                if not 0 <= each < count:
                    raise ValueError(f"membar: the map contains physical domain {each}, but the device has {count} synchronization "
                                     f"domain{'s' if count != 1 else ''}: use ids from 0 to {count - 1}")
            value = _driver.AttributeValue(memSyncDomainMap=_driver.DomainMap(*ids))
            stack.enter_context(_driver.stream_attribute(handle, _driver.ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, value, remedy))
        if remote is not None:
            value = _driver.AttributeValue(memSyncDomain=int(remote))
            stack.enter_context(_driver.stream_attribute(handle, _driver.ATTRIBUTE_MEM_SYNC_DOMAIN, value, remedy))
        yield


def _memory_of(array):
    """Returns the address of a tensor or array in device memory, and the number of bytes from its first to its last element."""
    if hasattr(array, "data_ptr"):  # PyTorch, whose __cuda_array_interface__ rejects tensors that require a gradient
        start, shape, item = array.data_ptr(), tuple(array.shape), array.element_size()
        strides = tuple(stride * item for stride in array.stride())
    elif hasattr(array, "__cuda_array_interface__"):
        facts = array.__cuda_array_interface__
        start, shape, item, strides = facts["data"][0], facts["shape"], int(facts["typestr"][2:]), facts.get("strides")
    else:
        raise TypeError(f"membar: {type(array).__name__} is not an array on a GPU: pass a PyTorch tensor or an array with __cuda_array_interface__")
    if 0 in shape:
        return start, 0
    if strides is None:  # contiguous, in C order
        size = item
        for extent in shape:
            size *= extent
        return start, size
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    return start + sum(each for each in reach if each < 0), sum(abs(each) for each in reach) + item


def _current_stream(array):
    """Returns the stream that the array's library launches into."""
    library = type(array).__module__.split(".")[0]
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    if library == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    raise TypeError(f"membar: cannot determine the current stream for a {type(array).__name__}: pass stream=")


class _SetAside:
    """Each device's L2 set-aside, which all `with` blocks of this process share. The limit is the sum of the blocks' sizes.
    When the last block ends, it restores the limit that was set before the first block."""

    def __init__(self):
        self.lock = threading.Lock()
        self.held = {}  # for each device: the previous limit and the bytes of each holder

    def _limit(self, device, size):
        with _driver.primary_context(device):
            _driver.call("cuCtxSetLimit", _driver.LIMIT_PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(size),
                         remedy="the L2 set-aside cannot be changed; under MPS, set CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT before the server starts")

    def _found(self, device):
        found = ctypes.c_size_t()
        with _driver.primary_context(device):
            _driver.call("cuCtxGetLimit", ctypes.byref(found), _driver.LIMIT_PERSISTING_L2_CACHE_SIZE, remedy="report this as a bug in membar")
        return found.value

    @contextlib.contextmanager
    def hold(self, device, size, largest):
        with self.lock:
            found, sizes = self.held.get(device) or (self._found(device), [])
            self._limit(device, min(sum(sizes) + size, largest))
            self.held[device] = (found, sizes + [size])
        try:
            yield
        finally:
            with self.lock:
                found, sizes = self.held[device]
                sizes.remove(size)
                if not sizes:
                    del self.held[device]
                self._limit(device, min(sum(sizes), largest) if sizes else found)


_set_aside = _SetAside()


@contextlib.contextmanager
def persisting(array, *, stream=None, hit_ratio=None):
    """Keeps the memory of `array` in L2 for the kernels that the block launches into `stream`, with an L2 access-policy window.

    array: a PyTorch tensor, a CuPy array, or another object with `__cuda_array_interface__`. stream: by default the stream into which
    PyTorch or CuPy launches. hit_ratio: the fraction of accesses that persist, above 0 and at most 1; by default as large as the set-aside
    permits. The block reserves this fraction of the array's size in L2 for persisting lines. When the block ends, the previous window and
    set-aside are restored, even after an exception. Persisting lines stay persisting until `reset_persisting_lines` is called or the
    hardware resets them. A window affects neither values nor memory order. Requires compute capability 8.0 or higher.
    """
    start, size = _memory_of(array)
    if hit_ratio is not None and not 0 < hit_ratio <= 1:
        raise ValueError(f"membar: the hit ratio is {hit_ratio}: use a value above 0 and at most 1")
    if size == 0:
        raise ValueError("membar: the array is empty: pass an array with at least one element")
    handle = _current_stream(array) if stream is None else _handle_of(stream)
    ordinal = ctypes.c_int()
    _driver.call("cuPointerGetAttribute", ctypes.byref(ordinal), _driver.POINTER_DEVICE_ORDINAL, ctypes.c_uint64(start),
                 remedy="pass an array in the memory of a GPU")
    device = ordinal.value
    largest = _driver.device_attribute(_driver.DEVICE_MAX_PERSISTING_L2_CACHE_SIZE, device)
    largest_window = _driver.device_attribute(_driver.DEVICE_MAX_ACCESS_POLICY_WINDOW_SIZE, device)
    if largest == 0:
        raise ValueError(f"membar: device {device} cannot set aside L2: use a GPU of compute capability 8.0 or newer that is not a MIG instance")
    if size > largest_window:
        raise ValueError(f"membar: the array has {size} bytes, but the largest window on device {device} is {largest_window} bytes: pass the most frequently used part")
    ratio = min(1.0, largest / size) if hit_ratio is None else float(hit_ratio)
    if hit_ratio is None and int(ctypes.c_float(ratio).value * size) > largest:
        ratio *= 1 - 2**-22  # rounding to float must not exceed the set-aside
    window = _driver.AccessPolicyWindow(start, size, ratio, 2, 1)  # hits persist, misses stream
    with contextlib.ExitStack() as stack:
        stack.enter_context(_set_aside.hold(device, min(int(size * ratio), largest), largest))
        stack.enter_context(_driver.primary_context(device))
        stack.enter_context(_driver.stream_attribute(handle, _driver.ATTRIBUTE_ACCESS_POLICY_WINDOW,
                                                     _driver.AttributeValue(accessPolicyWindow=window),
                                                     "pass an existing stream of the array's device"))
        yield


def reset_persisting_lines(device=0):
    """Resets all persisting lines in a device's L2 cache to normal, including lines that other parts of the program use."""
    with _driver.primary_context(device):
        _driver.call("cuCtxResetPersistingL2Cache", remedy="use a GPU of compute capability 8.0 or newer")
