#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every stack of a generated program is a path of its known call tree, and most are complete:
# tools/accuracy/calltree.sh in a size for every build. All of its configurations on all JDKs, and how many are
# complete where no others want the CPUs: `make accuracy`.
# overlaps (long)
export TREE_SECONDS=${TREE_SECONDS:-3} TREE_WARM=${TREE_WARM:-2} TREE_METHODS=${TREE_METHODS:-4000}
[ -n "${QUIET:-}" ] || export SLACK=${SLACK:-8}
[ $# -gt 0 ] || export TREE_SOME=1
exec "$(dirname "$0")/../../tools/accuracy/calltree.sh" "$@"
