# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls functions of the CUDA driver, which is loaded at most once per process."""

import contextlib
import ctypes
import functools

# cuda.h
POINTER_DEVICE_ORDINAL = 9
LIMIT_PERSISTING_L2_CACHE_SIZE = 6
DEVICE_MAX_PERSISTING_L2_CACHE_SIZE = 108
DEVICE_MAX_ACCESS_POLICY_WINDOW_SIZE = 109
DEVICE_MEM_SYNC_DOMAIN_COUNT = 126
ATTRIBUTE_ACCESS_POLICY_WINDOW = 1
ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9
ATTRIBUTE_MEM_SYNC_DOMAIN = 10


class AccessPolicyWindow(ctypes.Structure):
    """CUaccessPolicyWindow"""

    _fields_ = [("base_ptr", ctypes.c_void_p), ("num_bytes", ctypes.c_size_t), ("hitRatio", ctypes.c_float), ("hitProp", ctypes.c_int),
                ("missProp", ctypes.c_int)]


class DomainMap(ctypes.Structure):
    """CUlaunchMemSyncDomainMap"""

    _fields_ = [("default_", ctypes.c_ubyte), ("remote", ctypes.c_ubyte)]


class AttributeValue(ctypes.Union):
    """CUlaunchAttributeValue, which has 64 bytes"""

    _fields_ = [("accessPolicyWindow", AccessPolicyWindow), ("memSyncDomainMap", DomainMap), ("memSyncDomain", ctypes.c_int),
                ("pad", ctypes.c_char * 64)]


class Error(RuntimeError):
    """A failed CUDA driver call. `code` is the CUresult."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


@functools.cache
def library():
    try:
        found = ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        raise Error(0, f"membar: cannot load the CUDA driver ({why}): install the driver of the GPU") from why
    status = found.cuInit(0)
    if status != 0:
        raise Error(status, f"membar: the CUDA driver failed to initialize (cuInit: CUresult {status}): check that this machine has a GPU that the process can use")
    return found


def call(function, *arguments, remedy):
    """Calls a driver function. If the call fails, raises an `Error` with the function's name and the remedy."""
    status = getattr(library(), function)(*arguments)
    if status != 0:
        text = ctypes.c_char_p()
        library().cuGetErrorString(status, ctypes.byref(text))
        raise Error(status, f"membar: {function} failed: {(text.value or b'unknown error').decode()} (CUresult {status}): {remedy}")


def device_attribute(attribute, device):
    value = ctypes.c_int()
    call("cuDeviceGetAttribute", ctypes.byref(value), attribute, ctypes.c_int(device), remedy="pass a device that this process can see")
    return value.value


@contextlib.contextmanager
def primary_context(device):
    """Makes the device's primary context current. The runtime, PyTorch and CuPy use this context."""
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device), remedy="pass a device that this process can see")
    try:
        call("cuCtxPushCurrent_v2", context, remedy="report this as a bug in membar")
        try:
            yield
        finally:
            call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()), remedy="report this as a bug in membar")
    finally:
        call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(device), remedy="report this as a bug in membar")


@contextlib.contextmanager
def stream_attribute(stream, attribute, value, remedy):
    """Sets a stream attribute, and restores the previous value at the end."""
    handle, previous = ctypes.c_void_p(stream), AttributeValue()
    call("cuStreamGetAttribute", handle, attribute, ctypes.byref(previous), remedy=remedy)
    call("cuStreamSetAttribute", handle, attribute, ctypes.byref(value), remedy=remedy)
    try:
        yield
    finally:
        call("cuStreamSetAttribute", handle, attribute, ctypes.byref(previous), remedy="the stream must outlive the with block")
