# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashInfer: a normalization with programmatic dependent launch, which the package compiles on the first call."""

import flashinfer
import torch

x = torch.ones(2, 128, dtype=torch.float16, device="cuda")
flashinfer.norm.rmsnorm(x, torch.ones(128, dtype=torch.float16, device="cuda"), enable_pdl=True)
torch.cuda.synchronize()
