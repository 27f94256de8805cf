#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JDK 21, of which this host may have none: what the other stacks_* tests ask of the JDKs under
# /usr/lib/jvm is asked of the one in the Debian 13 tree, too.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree.sh"

need_root
need_gnomon record
classes
tree_make
jdk21=$(tree_home 21)
JAVA_HOMES="$(jdks | tr '\n' ' ') $jdk21"
export JAVA_HOMES JDKS=21
"$LIB_DIR/stacks_rest.sh" || fail "stacks_rest"
# in the tree by its own means
TREE_HOMES=none TREE_ROOT=$TREE "$LIB_DIR/stacks_calltree.sh" default || fail "stacks_calltree"
