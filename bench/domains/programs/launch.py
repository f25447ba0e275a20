# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a program in this folder once for each GPU, as torch.distributed.run does, but without the seconds that importing
PyTorch takes: launch.py <processes> <port> program.py [arguments]. The exit status is 0, or the exit status of a process that
failed."""
import os
import subprocess
import sys
import time

count, port, *program = sys.argv[1:]
common = {'WORLD_SIZE': count, 'LOCAL_WORLD_SIZE': count, 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': port, 'OMP_NUM_THREADS': '1'}
processes = [
    subprocess.Popen([sys.executable, *program], env={
        **os.environ,
        **common, 'RANK': str(rank),
        'LOCAL_RANK': str(rank)
    }) for rank in range(int(count))
]
failed = 0
while None in (statuses := [p.poll() for p in processes]):
    failed = next((s for s in statuses if s), 0)
    if failed:  # The other processes would wait for the failed one.
        for p in processes:
            p.terminate()
        break
    time.sleep(.02)
statuses = [p.wait() for p in processes]
failed = failed or next((s for s in statuses if s), 0)
sys.exit(failed if failed >= 0 else 128 - failed)
