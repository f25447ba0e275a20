#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# record.sh <result> <command>...: runs the command as a build step and writes <result>: PASSED, FAILED or "SKIPPED: <reason>" on the first
# line, then what the command printed. A command is skipped if it prints such a line first, or exits with status 77. The step never fails,
# so that the build continues; the test that reads the result fails instead. The result of a failed command gets an old date, so that the
# next build tries again.
result=$1
shift
"$@" >"$result.output" 2>&1
status=$?
first=
IFS= read -r first <"$result.output"
case $status,$first in
  0,"SKIPPED: "*) cat "$result.output" >"$result" ;;
  77,*) { printf 'SKIPPED: '; cat "$result.output"; } >"$result" ;;
  0,*) { echo PASSED; cat "$result.output"; } >"$result" ;;
  *)
    { echo "FAILED: exit status $status of: $*"; cat "$result.output"; } >"$result"
    touch -t 197001020000 "$result"
    ;;
esac
rm -f "$result.output"
