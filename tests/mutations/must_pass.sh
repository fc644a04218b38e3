#!/bin/bash
# must_pass.sh PROGRAM: the same program as for the mutations, without one. It must pass, or what the
# mutations show means nothing. A machine that is busy with other things gets time for it; a mutation
# is told from a slow machine by its tests failing, or by its not ending at all.
set -u
# The oracle itself runs longer.
export FR_ORACLE_SECONDS=10
unset XML_OUTPUT_FILE GTEST_OUTPUT TEST_PREMATURE_EXIT_FILE
exec timeout -k 1 "${FR_MUTATION_CONTROL_BOUND_S:-200}" "$@"
