# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuda.core: two blocks count with atomic additions."""

import ctypes

import numpy
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = 'extern "C" __global__ void count(unsigned* p) { atomicAdd(p, 1); __threadfence(); }'
device = Device()
device.set_current()
stream = device.create_stream()
kernel = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin").get_kernel("count")
memory = device.memory_resource.allocate(64, stream=stream)
launch(stream, LaunchConfig(grid=2, block=1), kernel, ctypes.c_uint64(int(memory.handle)))
stream.sync()
