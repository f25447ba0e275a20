#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the scopes in the Python package on a GPU, with streams from PyTorch and CuPy, as far as they are installed. The test reads a
stream's attributes back from the driver. To check that kernels get these attributes, it captures a launch and reads the graph
node's attributes. The first line of the output starts with SKIPPED if there is neither PyTorch nor CuPy, or no GPU.
"""

import ctypes
import os
import sys

import membar
from membar import _driver

REQUIRED = "MEMBAR_REQUIRE_GPU" in os.environ


def attribute_of(stream, attribute):
    value = _driver.AttributeValue()
    _driver.call("cuStreamGetAttribute", ctypes.c_void_p(stream), attribute, ctypes.byref(value), remedy="")
    return value


def state_of(stream):
    window = attribute_of(stream, _driver.ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow
    domains = attribute_of(stream, _driver.ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap
    return {"domain": attribute_of(stream, _driver.ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain, "map": (domains.default_, domains.remote),
            "window": (window.base_ptr or 0, window.num_bytes)}


def set_aside():
    value = ctypes.c_size_t()
    _driver.call("cuCtxGetLimit", ctypes.byref(value), _driver.LIMIT_PERSISTING_L2_CACHE_SIZE, remedy="")
    return value.value


def expect(what, seen, right):
    if seen != right:
        sys.exit(f"FAILED: {what}: {seen}, which should be {right}")
    print(f"{what}: {seen}")


def attributes_of_captured_nodes(graph):
    """Returns the domain of each kernel node in a graph."""
    count = ctypes.c_size_t()
    _driver.call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count), remedy="")
    nodes = (ctypes.c_void_p * count.value)()
    _driver.call("cuGraphGetNodes", ctypes.c_void_p(graph), nodes, ctypes.byref(count), remedy="")
    found = []
    for node in nodes:
        kind, value = ctypes.c_int(), _driver.AttributeValue()
        _driver.call("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind), remedy="")
        if kind.value == 0:  # CU_GRAPH_NODE_TYPE_KERNEL
            _driver.call("cuGraphKernelNodeGetAttribute", ctypes.c_void_p(node), _driver.ATTRIBUTE_MEM_SYNC_DOMAIN, ctypes.byref(value),
                         remedy="")
            found.append(value.memSyncDomain)
    return found


def captured(handle, launch):
    """Returns the domains of the kernels that `launch` enqueues in the stream."""
    graph = ctypes.c_void_p()
    _driver.call("cuStreamBeginCapture_v2", ctypes.c_void_p(handle), 2, remedy="")  # CU_STREAM_CAPTURE_MODE_RELAXED
    try:
        launch()
    finally:
        _driver.call("cuStreamEndCapture", ctypes.c_void_p(handle), ctypes.byref(graph), remedy="")
    found = attributes_of_captured_nodes(graph.value)
    _driver.call("cuGraphDestroy", graph, remedy="")
    return found


def check(library, stream, handle, array, address, size, add_one, total, synchronize):
    before, limit, count = state_of(handle), set_aside(), membar.sync_domain_count()
    with membar.sync_domain(stream, remote=True):
        expect(f"{library}: the stream's domain in the block", state_of(handle)["domain"], 1)
        expect(f"{library}: the domain of a captured kernel", set(captured(handle, add_one)), {1})
        add_one()
    expect(f"{library}: the stream after the block", state_of(handle), before)
    with membar.sync_domain(stream, map=(count - 1, count - 1)):
        expect(f"{library}: the stream's map in the block", state_of(handle)["map"], (count - 1, count - 1))
        add_one()
    with membar.persisting(array):
        expect(f"{library}: the window in the block", state_of(handle)["window"], (address, size))
        expect(f"{library}: at least the array is set aside", set_aside() >= size, True)
        add_one()
    expect(f"{library}: the stream after all blocks", state_of(handle), before)
    expect(f"{library}: the set-aside after all blocks", set_aside(), limit)
    try:
        with membar.sync_domain(stream, map=(0, count)):
            sys.exit("FAILED: a map beyond the device's domains was accepted")
    except ValueError as refused:
        print(f"{library}: refused: {refused}")
    synchronize()
    expect(f"{library}: the results of the blocks' kernels", total(), 3 * (size // 4))


def with_pytorch():
    import torch  # pylint: disable=import-outside-toplevel
    if not torch.cuda.is_available():
        return False
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.zeros(1 << 18, device="cuda")
        check(f"PyTorch {torch.__version__}", stream, stream.cuda_stream, tensor, tensor.data_ptr(), tensor.numel() * 4,
              lambda: tensor.add_(1), lambda: int(tensor.sum().item()), stream.synchronize)
    return True


def with_cupy():
    import cupy  # pylint: disable=import-outside-toplevel
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        array = cupy.zeros(1 << 18, dtype=cupy.float32)
        cupy.add(array, 1, out=array)  # the kernel is compiled before a capture
        array.fill(0)
        check(f"CuPy {cupy.__version__}", stream, stream.ptr, array, array.data.ptr, array.nbytes, lambda: cupy.add(array, 1, out=array),
              lambda: int(array.sum()), stream.synchronize)
    return True


def main():
    ran = 0
    missing = []
    for attempt in (with_pytorch, with_cupy):
        try:
            _driver.library()
            ran += attempt()
        except (ImportError, membar.Error) as why:
            if isinstance(why, membar.Error) and os.path.exists("/dev/nvidiactl"):
                raise
            missing.append(str(why))
    if ran == 0:
        print(f"{'FAILED' if REQUIRED else 'SKIPPED'}: neither PyTorch nor CuPy can use a GPU here: {'; '.join(missing)}")
        return 1 if REQUIRED else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
