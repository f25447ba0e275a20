// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/constant.cuh>
#include <membar/read_only.cuh>

struct with_constructor {
  __host__ __device__ with_constructor() : value(1) {}
  int value;
};

__constant__ membar::constant_table<float, 9> weights;

#ifdef RULE_a_table_has_at_most_64_KiB  // expect: membar: a constant table has at most 65536 bytes
__constant__ membar::constant_table<float, 16385> large;
#else
__constant__ membar::constant_table<float, 16384 - 9> large;
#endif
#ifdef RULE_a_table_has_an_element  // expect: membar: a constant table has at least one element
__constant__ membar::constant_table<float, 0> empty;
#endif
#ifdef RULE_a_table_runs_no_constructor  // expect: membar: a constant table holds a trivially copyable type without constructor
void use(membar::constant_table<with_constructor, 2>&);
const int size = sizeof(membar::constant_table<with_constructor, 2>);
#endif

__global__ void read(float* out, int i) {
#ifdef RULE_a_constant_index_lies_in_the_table  // expect: membar: the index is past the end of the constant table
  out[0] = weights.broadcast<9>();
#else
  out[0] = weights.broadcast<8>();
#endif
#ifdef RULE_a_table_is_not_written_by_a_kernel  // expect: expression must be a modifiable lvalue
  weights[i] = 1.0F;
#else
  out[1] = weights[i] + large[i];
#endif
}

__global__ void span(membar::read_only_span<float> values, float* out) {
#ifdef RULE_a_read_only_span_is_not_written  // expect: expression must be
  values[0] = 1.0F;
#else
  out[0] = values[0];
#endif
#ifdef RULE_what_is_volatile_is_not_read_only  // expect: membar: what is volatile changes, and is not read-only
  out[1] = membar::read_only_span<volatile float>()[0];
#else
  out[1] = membar::read_only_span<const float>(out, 1)[0];
#endif
}

int main() {
  const float nine[9] = {};
#ifdef RULE_an_upload_has_the_type_of_the_table  // expect: membar: an upload has the type of the constant table
  const double other[9] = {};
  membar::upload(weights, other, nullptr);
#else
  membar::upload(weights, nine, nullptr);
#endif
#ifdef RULE_an_upload_has_the_size_of_the_table  // expect: membar: an upload has as many elements as the constant table
  const float eight[8] = {};
  membar::upload(weights, eight, nullptr);
#else
  membar::upload_part(weights, 0, nine, 8, nullptr);
#endif
}
