#!/bin/bash
# replay_main finds the bug planted in $1 from the corpus file $2, prints the input that
# shows it, and shows it again from that input alone.
set -uo pipefail
unset XML_OUTPUT_FILE  # That is for the results of this script, not of the programs it runs.
fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

output=$("$1" --runs=100000 "$2" 2>&1) && fail "the planted bug was not found"
input=$(sed -n 's/^the input that failed, in hex: //p' <<<"$output")
[[ $input == 776566ff* ]] || fail "not the input that fails: $output"

printf "$(sed 's/../\\x&/g' <<<"$input")" >"$TEST_TMPDIR/input"
"$1" --runs=0 "$TEST_TMPDIR/input" >/dev/null 2>&1 && fail "the printed input does not fail"
"$1" --runs=0 "$2" >/dev/null 2>&1 || fail "the corpus alone fails"
"$1" --runs=0 "$TEST_TMPDIR/absent" >/dev/null 2>&1 && fail "an absent corpus file passes"
exit 0
