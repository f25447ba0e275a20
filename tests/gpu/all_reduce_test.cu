// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduces of every type, with sizes and addresses that do not divide evenly, launched directly and in graphs. Another test
// has a PE that does not arrive. Several PEs share a GPU.
#include <membar/symmetric/all_reduce.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/refusal.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace membar_test {
namespace {

namespace symmetric = membar::symmetric;
using symmetric::pe, symmetric::peer_backend;

float as_float(float value) { return value; }
float as_float(__half value) { return __half2float(value); }
float as_float(__nv_bfloat16 value) { return __bfloat162float(value); }
void set(float& to, float value) { to = value; }
void set(__half& to, float value) { to = __float2half(value); }
void set(__nv_bfloat16& to, float value) { to = __float2bfloat16(value); }

/// Small integers, whose sums every type can represent.
float value_of(std::size_t i, int which, int round) {
  return static_cast<float>((i + 3 * static_cast<std::size_t>(round)) % 7) - static_cast<float>(which);
}

struct on_stream_of_pe {
  explicit on_stream_of_pe(int its) : device(its) {
    const membar::device_guard here(device);
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  on_stream_of_pe(const on_stream_of_pe&) = delete;
  on_stream_of_pe& operator=(const on_stream_of_pe&) = delete;
  ~on_stream_of_pe() { cudaStreamDestroy(stream); }
  int device;
  cudaStream_t stream = nullptr;
};

/// Two, three and four PEs on the available GPUs. Several PEs may share a GPU.
class all_reduce_of_pes : public gpu_test {
 protected:
  [[nodiscard]] static std::vector<std::vector<int>> worlds() {
    int gpus = 0;
    check(cudaGetDeviceCount(&gpus));
    std::vector<std::vector<int>> all{{0, 0}, {0, 0, 0}, {0, 0, 0, 0}};
    if (gpus >= 2) {
      all.insert(all.end(), {{0, 1}, {0, 1, 0}, {0, 1, 0, 1}});
    }
    return all;
  }
};

template <class T, class Op>
void expect_right(const std::vector<int>& devices) {
  peer_backend gpus(devices);
  symmetric::heap heap(gpus, std::size_t{64} << 20);
  constexpr std::size_t most = 100'000;
  const int count = gpus.count();
  const membar::all_reduce<T, Op> sums(heap, most, {.most_in_one_shot = 8192});
  std::vector<std::unique_ptr<on_stream_of_pe>> streams;
  std::vector<std::unique_ptr<support::device_memory<T>>> in, out;
  for (const pe which : gpus.local_pes()) {
    const membar::device_guard here(gpus.device_of(which));
    streams.push_back(std::make_unique<on_stream_of_pe>(gpus.device_of(which)));
    in.push_back(std::make_unique<support::device_memory<T>>(3 * most));
    out.push_back(std::make_unique<support::device_memory<T>>(3 * most));
  }
  int round = 0;
  for (const std::size_t size : {1UL, 5UL, 6UL, 7UL, 1000UL, 4096UL, 4097UL, 65'537UL, 100'000UL, 250'003UL}) {
    for (const std::size_t offset : {0UL, 1UL, 8UL}) {
      for (const bool in_place : {false, true}) {
        ++round;
        std::vector<T> values(size), wanted(size);
        for (const pe which : gpus.local_pes()) {
          const auto k = static_cast<std::size_t>(which.index());
          for (std::size_t i = 0; i != size; ++i) {
            set(values[i], value_of(i, which.index(), round));
          }
          check(cudaMemcpy(in[k]->get() + offset, values.data(), size * sizeof(T), cudaMemcpyDefault));
        }
        for (std::size_t i = 0; i != size; ++i) {
          float all = std::is_same_v<Op, membar::sum> ? 0 : -1e30F;
          for (int which = 0; which != count; ++which) {
            const float one = value_of(i, which, round);
            all = std::is_same_v<Op, membar::sum> ? all + one : std::max(all, one);
          }
          set(wanted[i], all);
        }
        for (const pe which : gpus.local_pes()) {
          const auto k = static_cast<std::size_t>(which.index());
          T* const from = in[k]->get() + offset;
          sums.enqueue(which, from, in_place ? from : out[k]->get() + 2 * offset, size, streams[k]->stream);
        }
        for (const auto& each : streams) {
          check(cudaStreamSynchronize(each->stream));
        }
        sums.check();
        for (const pe which : gpus.local_pes()) {
          const auto k = static_cast<std::size_t>(which.index());
          check(cudaMemcpy(values.data(), in_place ? in[k]->get() + offset : out[k]->get() + 2 * offset, size * sizeof(T),
                           cudaMemcpyDefault));
          std::size_t wrong = 0;
          for (std::size_t i = 0; i != size; ++i) {
            if (as_float(values[i]) != as_float(wanted[i])) {
              ++wrong;
            }
          }
          ASSERT_EQ(wrong, 0U) << count << " PEs, " << size << " elements at " << offset << (in_place ? ", in place" : "");
        }
      }
    }
  }
}

TEST_F(all_reduce_of_pes, adds_every_type_at_every_size_and_place) {
  for (const std::vector<int>& devices : worlds()) {
    expect_right<float, membar::sum>(devices);
    expect_right<__half, membar::sum>(devices);
    expect_right<__nv_bfloat16, membar::sum>(devices);
  }
}

TEST_F(all_reduce_of_pes, finds_the_largest_of_every_type) {
  for (const std::vector<int>& devices : worlds()) {
    expect_right<float, membar::maximum>(devices);
    expect_right<__nv_bfloat16, membar::maximum>(devices);
  }
}

TEST_F(all_reduce_of_pes, with_norm_is_what_the_host_computes) {
  using T = __nv_bfloat16;
  constexpr std::size_t rows = 5, width = 200;
  for (const std::vector<int>& devices : worlds()) {
    for (const std::size_t one_shot : {std::size_t{1} << 20, std::size_t{2}}) {  // one kernel, or several kernels
      peer_backend gpus(devices);
      symmetric::heap heap(gpus, std::size_t{32} << 20);
      const membar::all_reduce<T> sums(heap, rows * width, {.most_in_one_shot = one_shot});
      std::vector<std::unique_ptr<on_stream_of_pe>> streams;
      std::vector<std::unique_ptr<device_copy<T>>> in, residual, weight;
      std::vector<T> values(rows * width), held(rows * width), weights(width);
      std::vector<float> all(rows * width, 0);
      for (std::size_t i = 0; i != rows * width; ++i) {
        set(held[i], static_cast<float>(i % 11) - 5);
        set(weights[i % width], static_cast<float>(i % width % 4) / 2);
      }
      for (const pe which : gpus.local_pes()) {
        const membar::device_guard here(gpus.device_of(which));
        for (std::size_t i = 0; i != rows * width; ++i) {
          set(values[i], value_of(i, which.index(), 1));
          all[i] += value_of(i, which.index(), 1);
        }
        streams.push_back(std::make_unique<on_stream_of_pe>(gpus.device_of(which)));
        in.push_back(std::make_unique<device_copy<T>>(values));
        residual.push_back(std::make_unique<device_copy<T>>(held));
        weight.push_back(std::make_unique<device_copy<T>>(weights));
      }
      for (const pe which : gpus.local_pes()) {
        const auto k = static_cast<std::size_t>(which.index());
        sums.enqueue(which, in[k]->get(), in[k]->get(), {residual[k]->get(), weight[k]->get(), 1e-6F, rows, width},
                     streams[k]->stream);
      }
      for (const auto& each : streams) {
        check(cudaStreamSynchronize(each->stream));
      }
      sums.check();
      for (std::size_t k = 0; k != streams.size(); ++k) {
        check(cudaMemcpy(values.data(), in[k]->get(), values.size() * sizeof(T), cudaMemcpyDefault));
        for (std::size_t row = 0; row != rows; ++row) {
          float squares = 0;
          for (std::size_t i = row * width; i != (row + 1) * width; ++i) {
            squares += (all[i] + as_float(held[i])) * (all[i] + as_float(held[i]));
          }
          for (std::size_t i = row * width; i != (row + 1) * width; ++i) {
            const float right =
                (all[i] + as_float(held[i])) / std::sqrt(squares / width + 1e-6F) * as_float(weights[i % width]);
            ASSERT_NEAR(as_float(values[i]), right, 0.01F * std::abs(right) + 1e-3F);
          }
        }
      }
    }
  }
}

TEST_F(all_reduce_of_pes, is_right_in_every_replay_of_a_graph) {
  for (const std::vector<int>& devices : worlds()) {
    peer_backend gpus(devices);
    symmetric::heap heap(gpus, std::size_t{32} << 20);
    constexpr std::size_t most = 20'001;
    const membar::all_reduce<float, membar::maximum> largest(heap, most, {.most_in_one_shot = 4096});
    std::vector<std::unique_ptr<on_stream_of_pe>> streams;
    std::vector<std::unique_ptr<device_copy<float>>> values;
    std::vector<cudaGraphExec_t> graphs;
    for (const pe which : gpus.local_pes()) {
      const membar::device_guard here(gpus.device_of(which));
      streams.push_back(std::make_unique<on_stream_of_pe>(gpus.device_of(which)));
      values.push_back(std::make_unique<device_copy<float>>(std::vector<float>(most, static_cast<float>(which.index()))));
      const cudaStream_t stream = streams.back()->stream;
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      for (const std::size_t size : {most, std::size_t{1000}}) {
        largest.enqueue(which, values.back()->get(), values.back()->get(), size, stream);
      }
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(stream, &graph));
      graphs.emplace_back();
      check(cudaGraphInstantiate(&graphs.back(), graph, 0));
      check(cudaGraphDestroy(graph));
      check(cudaGraphUpload(graphs.back(), stream));
      check(cudaStreamSynchronize(stream));
    }
    for (int i = 0; i != 10'000; ++i) {
      for (std::size_t k = 0; k != graphs.size(); ++k) {
        const membar::device_guard here(streams[k]->device);
        check(cudaGraphLaunch(graphs[k], streams[k]->stream));
      }
    }
    for (std::size_t k = 0; k != graphs.size(); ++k) {
      check(cudaStreamSynchronize(streams[k]->stream));
      std::vector<float> found(most);
      check(cudaMemcpy(found.data(), values[k]->get(), most * sizeof(float), cudaMemcpyDefault));
      EXPECT_EQ(std::count(found.begin(), found.end(), static_cast<float>(gpus.count() - 1)), static_cast<long>(most));
      check(cudaGraphExecDestroy(graphs[k]));
    }
    largest.check();
  }
}

TEST_F(all_reduce_of_pes, ends_where_a_pe_does_not_come_and_the_device_is_still_usable) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{10'000}}) {  // reduced in one shot and in two shots
    peer_backend gpus(std::vector<int>{0, 0});
    symmetric::heap heap(gpus, std::size_t{8} << 20);
    const membar::all_reduce<float> sums(heap, 10'000,
                                         {.most_in_one_shot = 4096, .budget = membar::wait_budget::milliseconds(20)});
    const support::device_memory<float> values(10'000);
    const on_stream_of_pe own(0);
    sums.enqueue(pe(0), values.get(), values.get(), size, own.stream);
    check(cudaStreamSynchronize(own.stream));
    EXPECT_TRUE(says(refusal([&] { sums.check(); }), "PE 1 did not reach an all-reduce within 20 ms of PE 0"));
    EXPECT_TRUE(says(refusal([&] { sums.enqueue(pe(0), values.get(), values.get(), size, own.stream); }),
                     "PE 1 did not reach an all-reduce"));
    check(cudaMemset(values.get(), 0, 4));
    check(cudaDeviceSynchronize());
  }
}

}  // namespace
}  // namespace membar_test
