# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX: a scatter, which XLA compiles to atomic additions, and a sum."""

import jax
import jax.numpy as jnp

count = jax.jit(lambda at: jnp.zeros(4, jnp.int32).at[at].add(1))
counts = count(jnp.arange(32, dtype=jnp.int32) % 4)
assert int(counts[0]) == 8, counts
assert int(jax.jit(jnp.sum)(counts)) == 32
