#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# record_group.sh <seconds> <folder> <program>: runs all tests of a program that uses tests/common/recording_main.cpp as a build
# step. The step never fails, so that the build continues; the tests that read the results fail instead. The next build tries
# again unless all tests passed or were skipped.
seconds=$1 folder=$2 program=$3
sh "$(dirname "$0")/run_group.sh" "$seconds" "$folder" "$program" >"$folder.log" 2>&1
status=$?
if [ $status != 0 ] && [ -d "$folder" ]; then  # All tests ran, but the program failed after the last one.
  for result in "$folder"/*.txt; do { echo FAILED; cat "$folder.log"; } >"$result"; done
fi
if [ $status != 0 ] || grep -q '^FAILED' "$folder"/*.txt; then rm -f "$folder/finished"; fi
exit 0
