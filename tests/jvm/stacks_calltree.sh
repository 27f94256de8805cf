#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every stack of a generated program is a path of its known call tree, and nearly all are complete:
# tools/accuracy/calltree.sh in a size for every build. All of its configurations on all JDKs: `make accuracy`.
# overlaps (long)
# in make check-all
export TREE_SECONDS=${TREE_SECONDS:-2} TREE_WARM=${TREE_WARM:-2} TREE_METHODS=${TREE_METHODS:-1200}
export TREE_CHECK=${TREE_CHECK-xint fp zgc} # some with what is known, some also without
[ $# -gt 0 ] || export TREE_SOME=1
exec "$(dirname "$0")/../../tools/accuracy/calltree.sh" "$@"
