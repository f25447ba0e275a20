// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A message of 16 bytes has a flag in its last word. A vector is several unordered accesses; a 128-bit number is one access.

template <bool Fixed>
__global__ void send(unsigned* box) {
  if constexpr (Fixed) {
    asm volatile(
        "{.reg .b128 m; .reg .b64 a, b; mov.b64 a, {%1, %2}; mov.b64 b, {%3, %4}; mov.b128 m, {a, b}; "
        "st.relaxed.sys.global.b128 [%0], m;}" ::"l"(box),
        "r"(5), "r"(6), "r"(7), "r"(1)
        : "memory");
  } else {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(box), "r"(5), "r"(6), "r"(7), "r"(1) : "memory");
  }
}

template <bool Fixed>
__global__ void receive(const unsigned* box, unsigned* out) {
  unsigned m[4];
  do {
    if constexpr (Fixed) {
      asm volatile(
          "{.reg .b128 m; .reg .b64 a, b; ld.relaxed.sys.global.b128 m, [%4]; mov.b128 {a, b}, m; mov.b64 {%0, %1}, a; mov.b64 "
          "{%2, %3}, b;}"
          : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
          : "l"(box)
          : "memory");
    } else {
      asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                   : "l"(box)
                   : "memory");
    }
  } while (m[3] == 0);
  out[0] = m[0];
}
template __global__ void send<false>(unsigned*);
template __global__ void send<true>(unsigned*);
template __global__ void receive<false>(const unsigned*, unsigned*);
template __global__ void receive<true>(const unsigned*, unsigned*);
