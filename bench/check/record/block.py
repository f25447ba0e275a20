# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar.record in a program of CuPy: a fault is found in one block and not in the other."""

import membar
import test_ticket

with membar.record("right") as recorded:
    test_ticket.count("right")
recorded.check()
with membar.record("wrong") as recorded:
    test_ticket.count("wrong")
try:
    recorded.check()
except membar.Finding as finding:
    print(finding.report.partition("\n")[0])
else:
    raise SystemExit("no fault was found")
