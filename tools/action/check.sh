#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The step of action.yml: checks $FILES with $OPTIONS, writes $SARIF, prints the report, and fails if something was found.
set -uo pipefail
shopt -s globstar nullglob
# shellcheck disable=SC2086  # patterns and options are words
files=($FILES)
if [ ${#files[@]} -eq 0 ]; then
  echo "membar-check: no file matches '$FILES'" >&2
  exit 2
fi
# shellcheck disable=SC2086
membar-check $OPTIONS --format=sarif "${files[@]}" > "$SARIF"
status=$?
if [ $status -ne 0 ]; then
  # shellcheck disable=SC2086
  membar-check $OPTIONS "${files[@]}"
fi
if [ $status -eq 3 ] && [ "${GAVE_UP:-false}" != true ]; then
  status=0
fi
exit $status
