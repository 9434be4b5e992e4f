#!/bin/bash
# The test of a weft_rank_test: runs its arguments, `weftrun FLAG... -- PROGRAM ARGUMENT...`.

# GoogleTest's mark of an early exit: the ranks would take each other's away, and weftrun's
# exit status tells of it.
unset TEST_PREMATURE_EXIT_FILE
exec "$@"
