# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of bench/report.py: the report on what bench/fence_interference measured."""
