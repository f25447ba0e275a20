#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the launches of a scenario with the driver that the loader finds: a real one or, with FAKE_DRIVER_PARAMETERS, the fake driver
without a device.

usage: replay.py <scenario> <its PTX>
"""

import ctypes
import os
import pathlib
import re
import sys

FAKE = os.environ.get("FAKE_DRIVER_PARAMETERS")
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z])(\d+)\s+(?:\.ptr[^,)]*?\s)?[\w$]+(?:\[(\d+)\])?")


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint32 * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


def kernels_of(ptx):
    """Returns the kernels and the size in bytes of each of their parameters."""
    return {name: [BYTES[bits] * int(count or 1) for _, bits, count in PARAMETER.findall(parameters)]
            for name, parameters in re.findall(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)", ptx)}


def mangled(name, kernels):
    base, _, rest = name.partition("<")
    wanted = f"_Z{len(base)}{base}" + {"false>": "ILb0EE", "true>": "ILb1EE"}.get(rest, "")
    return base if base in kernels else next(each for each in kernels if each.startswith(wanted) or f"{len(base)}{base}" in each)


class Player:
    CLUSTER, DEPENDENT, DOMAIN_MAP = 4, 6, 9

    def __init__(self, ptx):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.kernels = kernels_of(ptx)
        self.memory, self.streams, self.last = {}, {}, {}
        self.call("cuInit", 0)
        self.contexts = {}
        self.image = ctypes.create_string_buffer(ptx.encode())
        self.modules = {}
        self.use(0)

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status != 0:
            sys.exit(f"{name}: {status}")

    def use(self, device):
        if FAKE:
            self.driver.fakeUseDevice(device)
        elif device not in self.contexts:
            self.contexts[device] = ctypes.c_void_p()
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.contexts[device]), device)
        if not FAKE:
            self.call("cuCtxSetCurrent", self.contexts[device])
            for other, context in self.contexts.items():
                if other != device:
                    self.driver.cuCtxEnablePeerAccess(context, 0)
        if device not in self.modules:
            self.modules[device] = ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(self.modules[device]), self.image)

    def value(self, word):
        name, _, offset = word.partition("+")
        return self.memory[name] + int(offset or 0) if name in self.memory else int(word, 0)

    def allocate(self, words):
        name, type_, *rest = words
        kind, count = re.fullmatch(r"[usbf](\d+)(?:\[(\d+)\])?", type_).groups()
        size, values = BYTES[kind], [self.value(each) for each in rest[1:]] if rest[:1] == ["="] else []
        data = b"".join(each.to_bytes(size, "little") for each in values).ljust((size * int(count or 1) + 7) // 8 * 8, b"\0")
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size * int(count or 1)))
        self.call("cuMemcpyHtoD_v2", at, data, ctypes.c_size_t(len(data) if FAKE else size * int(count or 1)))
        self.memory[name] = at.value

    def stream(self, name):
        if name not in self.streams:
            self.streams[name] = ctypes.c_void_p(0x10000 * (1 + len(self.streams)))
            if not FAKE:
                self.call("cuStreamCreate", ctypes.byref(self.streams[name]), 1)
        return self.streams[name]

    def launch(self, words):
        kernel, asked, at = words[0], {"grid": ["1"], "block": ["1"], "after": []}, 1
        while at < len(words) and words[at] != "args":
            name = words[at]
            end = at + 1
            while name != "dependent" and end < len(words) and (end == at + 1 or (name in ("grid", "block") and words[end].isdigit())):
                end += 1
            asked[name] = asked["after"] + words[at + 1:end] if name == "after" else words[at + 1:end]
            at = end
        name = mangled(kernel, self.kernels)
        device = int(asked.get("device", ["0"])[0])
        self.use(device)
        stream = self.stream(asked.get("stream", [f"launch {len(self.streams)}"])[0])
        for before in asked["after"]:
            event = ctypes.c_void_p()
            self.call("cuEventCreate", ctypes.byref(event), 2)
            self.call("cuEventRecord", event, self.last[before])
            self.call("cuStreamWaitEvent", stream, event, 0)
        attributes = []
        if "cluster" in asked:
            attributes.append((self.CLUSTER, [int(asked["cluster"][0]), 1, 1]))
        if "dependent" in asked:
            attributes.append((self.DEPENDENT, [1]))
        if "domain" in asked:
            domain = int(asked["domain"][0])
            attributes.append((self.DOMAIN_MAP, [domain | domain << 8]))
        given = (Attribute * max(1, len(attributes)))(*(Attribute(id_, 0, (ctypes.c_uint32 * 16)(*value)) for id_, value in attributes))
        shape = [[int(each) for each in asked[of]] + [1] * (3 - len(asked[of])) for of in ("grid", "block")]
        config = Config((ctypes.c_uint * 3)(*shape[0]), (ctypes.c_uint * 3)(*shape[1]), int(asked.get("shared", ["0"])[0]), stream, given, len(attributes))
        held = [ctypes.create_string_buffer(self.value(word).to_bytes(max(size, 8), "little", signed=word.startswith("-")))
                for word, size in zip(words[at + 1:], self.kernels[name])]
        parameters = (ctypes.c_void_p * max(1, len(held)))(*(ctypes.cast(each, ctypes.c_void_p) for each in held))
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.modules[device], name.encode())
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)
        self.last[kernel] = self.last[asked.get("stream", [kernel])[0]] = stream


def main(scenario, ptx):
    text = pathlib.Path(ptx).read_text()
    if FAKE:
        pathlib.Path(FAKE).write_text("".join(f"{name} {' '.join(map(str, sizes))}\n" for name, sizes in kernels_of(text).items()))
    player = Player(text)
    for line in pathlib.Path(scenario).read_text().splitlines():
        words = line.partition("#")[0].replace(",", " ").split()
        if words[:1] == ["memory"]:
            player.allocate(words[1:])
        elif words[:1] == ["launch"]:
            player.launch(words[1:])
    player.call("cuCtxSynchronize")


if __name__ == "__main__":
    main(*sys.argv[1:])
