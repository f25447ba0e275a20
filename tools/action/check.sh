#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The script that action.yml runs. It checks $FILES with $OPTIONS, or lints them if $COMMAND is lint. Then it writes $SARIF,
# prints the report, and fails if there are findings.
set -uo pipefail
shopt -s globstar nullglob
# shellcheck disable=SC2086  # patterns and options must be split into words
files=($FILES)
if [ ${#files[@]} -eq 0 ]; then
  echo "membar-check: no file matches '$FILES'" >&2
  exit 2
fi
case ${COMMAND:-check} in
  check) command=(membar-check) ;;
  lint) command=(membar-check lint) ;;
  *)
    echo "membar-check: the action's command must be check or lint, not '$COMMAND'" >&2
    exit 2
    ;;
esac
# shellcheck disable=SC2086
"${command[@]}" $OPTIONS --format=sarif "${files[@]}" > "$SARIF"
status=$?
if [ $status -ne 0 ]; then
  # shellcheck disable=SC2086
  "${command[@]}" $OPTIONS "${files[@]}"
fi
if [ $status -eq 3 ] && [ "${GAVE_UP:-false}" != true ]; then
  status=0
fi
exit $status
