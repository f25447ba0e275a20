# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar.record in a CuPy program: it finds a fault in one block of code and none in the other."""

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
