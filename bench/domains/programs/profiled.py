# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles itself with torch.profiler, and reports how many of its 200 launches of one kernel the profiler recorded."""
import json

import torch
from torch.profiler import ProfilerActivity, profile

x = torch.zeros(1024, device='cuda')
for _ in range(400):
    x.add_(1)
torch.cuda.synchronize()
with profile(activities=[ProfilerActivity.CUDA]) as profiler:
    for _ in range(200):
        x.add_(1)
    torch.cuda.synchronize()
for _ in range(400):
    x.add_(1)
torch.cuda.synchronize()
seen = sum(event.count for event in profiler.key_averages() if 'elementwise' in event.key)
print('RESULT', json.dumps({'program': 'profiled', 'launches': 200, 'seen_by_the_profiler': seen}))
