// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/constant.cuh>
#include <membar/read_only.cuh>

#include <array>
#include <span>
#include <vector>

using namespace membar;

struct with_constructor {
  __host__ __device__ with_constructor() : value(1) {}
  int value;
};

__constant__ constant_table<float, 9> weights;

// expect: membar: a constant table can be at most 65536 bytes long
REFUSED(a_table_has_at_most_64_KiB, __constant__ constant_table<float, 16385> refused_large);
__constant__ constant_table<float, 16384 - 9> large;
// expect: membar: a constant table needs at least one element
REFUSED(a_table_has_an_element, __constant__ constant_table<float, 0> empty);
// expect: membar: the elements of a constant table must be trivially copyable and have
REFUSED(a_table_runs_no_constructor, void use(constant_table<with_constructor, 2>&);
        [[maybe_unused]] const auto size = sizeof(constant_table<with_constructor, 2>));

__global__ void read(float* out, int i) {
  // expect: membar: the index is past the end of the constant table
  REFUSED(a_constant_index_lies_in_the_table, out[0] = weights.broadcast<9>());
  out[0] = weights.broadcast<8>();
  // expect: expression must be a modifiable lvalue
  REFUSED(a_table_is_not_written_by_a_kernel, weights[i] = 1.0F);
  out[1] = weights[i] + large[i];
}

__global__ void span(read_only_span<float> values, float* out) {
  // expect: expression must be
  REFUSED(a_read_only_span_is_not_written, values[0] = 1.0F);
  out[0] = values[0];
  // expect: membar: volatile data can change, so it cannot be read-only:
  REFUSED(what_is_volatile_is_not_read_only, out[1] = read_only_span<volatile float>()[0]);
  out[1] = read_only_span<const float>(out, 1)[0];
}

int main() {
  const float nine[9] = {};
  // expect: membar: the uploaded values must have the constant table's
  REFUSED(an_upload_has_the_type_of_the_table, const double other[9] = {}; upload(weights, other, nullptr));
  upload(weights, nine, nullptr);
  // expect: membar: an upload must have as many elements as the constant
  REFUSED(an_upload_has_the_size_of_the_table, const float eight[8] = {}; upload(weights, eight, nullptr));
  upload_part(weights, 0, nine, 8, nullptr);
  // expect: membar: the uploaded values must have the constant table's
  REFUSED(an_uploaded_range_has_the_type_of_the_table, upload(weights, std::vector<double>(9), nullptr));
  upload(weights, std::vector<float>(9), nullptr);
  // expect: membar: an upload must have as many elements as the constant
  REFUSED(an_uploaded_array_has_the_size_of_the_table, upload(weights, std::array<float, 8>{}, nullptr));
  upload(weights, std::array<float, 9>{}, nullptr);
  // expect: membar: an upload must have as many elements as the constant
  REFUSED(an_uploaded_span_has_the_size_of_the_table, upload(weights, std::span<const float, 8>(nine, 8), nullptr));
  upload(weights, std::span<const float, 9>(nine), nullptr);
}
