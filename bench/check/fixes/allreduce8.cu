// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "allreduce.hpp"

template __global__ void allreduce8<float>(float*, float*, float*, mscclpp::DeviceHandle<mscclpp::SmChannel>*,
                                           mscclpp::DeviceHandle<mscclpp::SmChannel>*, size_t, size_t, int, int, int, size_t);
