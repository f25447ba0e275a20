#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run_group.sh <seconds> <folder> <program>: runs all tests of a program that uses tests/common/recording_main.cpp in one
# process, which records the result of each in the folder. If the program ends early, the tests that did not run fail by
# themselves. This script therefore fails only if the program failed after its last test, or never started.
seconds=$1 folder=$2 program=$3
rm -rf "$folder"
timeout "$seconds" "$program" --record="$folder"
status=$?
if [ $status != 0 ]; then echo "exit status $status of $program (124: it ran longer than $seconds s)"; fi
if [ ! -d "$folder" ] || { [ -e "$folder/finished" ] && [ $status != 0 ]; }; then exit 1; fi
exit 0
