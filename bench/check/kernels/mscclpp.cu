// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mscclpp: the barrier among a device's blocks, the semaphores, and packets with flags.
#include <mscclpp/concurrency_device.hpp>
#include <mscclpp/packet_device.hpp>
#include <mscclpp/semaphore_device.hpp>

__global__ void sync_device(mscclpp::DeviceSyncer* syncer, int* parts, int* out) {
  const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
  parts[n] = static_cast<int>(blockIdx.x) + 1;
  syncer->sync(static_cast<int>(gridDim.x));
  out[n] = parts[(n + blockDim.x) % (gridDim.x * blockDim.x)];
}

__global__ void limit(mscclpp::DeviceSemaphore* semaphore, int* count) {
  semaphore->acquire();
  *count += 1;
  semaphore->release();
}

__global__ void exchange(mscclpp::MemoryDevice2DeviceSemaphoreDeviceHandle semaphore, int* to, const int* from, int* out) {
  to[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    semaphore.signal();
    semaphore.wait();
  }
  __syncthreads();
  out[threadIdx.x] = from[threadIdx.x];
}

template <class Packet>
__global__ void put(Packet* packets) {
  packets[threadIdx.x].write(threadIdx.x + 1, 7, 1);
}
template <>
__global__ void put(mscclpp::LL8Packet* packets) {
  packets[threadIdx.x].write(threadIdx.x + 1, 1);
}
template <class Packet>
__global__ void get(const Packet* packets, typename Packet::Payload* out) {
  out[threadIdx.x] = packets[threadIdx.x].read(1);
}
template __global__ void put(mscclpp::LL16Packet*);
template __global__ void get(const mscclpp::LL16Packet*, uint2*);
template __global__ void get(const mscclpp::LL8Packet*, unsigned*);
