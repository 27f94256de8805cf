#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/stacks/jvm.sh (root)
#
# Makes tests/data/stacks/jdk*.stack: of the JDKs under /usr/lib/jvm, and of JDK 21 in the Debian 13 tree
# of tests/jvm/tree.sh, which is made when it is not there. tests/jvm/hotspot_stacks.sh does the work.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/jvm/lib.sh
. tests/jvm/tree.sh
need_root
tree_make
jdk21=$(tree_home 21)
SAVE_STACKS=$PWD/tests/data/stacks JAVA_HOMES="$(jdks | tr '\n' ' ') $jdk21" tests/jvm/hotspot_stacks.sh
