#!/bin/bash
# Passes only when ThreadSanitizer reports the race in the program $1.
set -uo pipefail
unset XML_OUTPUT_FILE  # That is for the result of this script.
output=$("$1" 2>&1)
status=$?
if [[ $status == 0 ]] || ! grep -q 'WARNING: ThreadSanitizer: data race' <<<"$output"; then
  printf 'no race was reported (status %s):\n%s\n' "$status" "$output"
  exit 1
fi
