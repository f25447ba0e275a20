// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// CUPTI without a device. When it is flushed, it returns the records of 20 short kernels that run alone and of 20 short
/// kernels that run concurrently with "ncclDevKernel_fake". The kernels that run alone are 2 µs apart; the concurrent kernels
/// are 3 µs apart. With FAKE_CUPTI_MANY, there are 100 of each. With FAKE_CUPTI_PUTS, it instead returns a launch of "put"
/// during which the kernels are 2 µs apart, and a later launch during which they are 3 µs apart; FAKE_CUPTI_FILLS makes the
/// later launch occupy the fake driver's whole device. FAKE_CUPTI_BUSY makes CUPTI fail, as if another profiler used it.
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
CUpti_CallbackFunc leave = nullptr;
void* leave_data = nullptr;

CUpti_ActivityKernel10 kernel(const char* name, unsigned stream, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityKernel10 k;
  std::memset(static_cast<void*>(&k), 0, sizeof k);
  k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  k.name = name;
  k.streamId = stream;
  k.start = start;
  k.end = end;
  return k;
}

}  // namespace

FAKE CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c) {
  request = r;
  complete = c;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
  return std::getenv("FAKE_CUPTI_BUSY") == nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}
FAKE CUptiResult cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
FAKE CUptiResult cuptiActivityFlushPeriod(std::uint32_t) { return CUPTI_SUCCESS; }
FAKE CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiGetResultString(CUptiResult, const char** words) {
  *words = "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void* data) {
  leave = callback;
  leave_data = data;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {  // The callbacks at the beginning and the end of a driver call.
    CUpti_CallbackData call{};
    for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT, CUPTI_API_EXIT}) {
      call.callbackSite = site;
      std::fprintf(stderr, "cupti: the driver is %s\n", site == CUPTI_API_ENTER ? "entered" : "left");
      leave(leave_data, domain, 0, &call);
    }
  }
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiFinalize() {
  std::fprintf(stderr, "cupti: detached\n");
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* const next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
  if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t records = 0;
  request(&buffer, &size, &records);
  std::size_t valid = 0;
  const auto put = [&](const CUpti_ActivityKernel10& k) {
    std::memcpy(buffer + valid, &k, sizeof k);
    valid += sizeof k;
  };
  std::uint64_t now = 1'000'000;
  if (std::getenv("FAKE_CUPTI_PUTS") != nullptr) {
    // The later launch's record comes first, because a kernel's record can arrive before the record of a kernel that ended
    // earlier.
    for (unsigned launch = 2; launch >= 1; --launch) {
      auto k = kernel("put", 9, launch * 10'000'000 - 100, launch * 10'000'000 + 100'000);
      k.correlationId = launch;
      k.gridX = launch == 2 && std::getenv("FAKE_CUPTI_FILLS") != nullptr ? 64 : 1;
      k.gridY = k.gridZ = k.blockY = k.blockZ = 1;
      k.blockX = 1024;
      k.registersPerThread = 32;
      put(k);
      now = launch * 10'000'000;
      for (int i = 0; i < 20; ++i) {
        put(kernel("_Z5smallPf", 7, now, now + 1000));
        now += launch == 2 ? 3000 : 2000;
      }
    }
    now = 1'000'000;
    for (int i = 0; i < 20; ++i, now += 2000) {
      put(kernel("_Z5smallPf", 7, now, now + 1000));
    }
    complete(nullptr, 0, buffer, size, valid);
    return CUPTI_SUCCESS;
  }
  const unsigned half = std::getenv("FAKE_CUPTI_MANY") == nullptr ? 20 : 100;
  for (unsigned i = 0; i < 2 * half; ++i) {
    now += i == half ? 500'000 : i > half ? 3000 : 2000;
    put(kernel("_Z5smallPf", 7, now, now + 1000));
    if (i == half) {
      put(kernel("ncclDevKernel_fake", 9, now - 100, now + half * 5000));
    }
  }
  complete(nullptr, 0, buffer, size, valid);
  return CUPTI_SUCCESS;
}
