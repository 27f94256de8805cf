#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: build.sh DIRECTORY [SEED [METHODS]]
#
# Generates and compiles the program with the known call tree into DIRECTORY: classes/, libtree.so,
# G*.class, tree.txt and check/ (the checker). JAVA_HOME: a JDK of 17 or later, whose jni.h is used.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1 seed=${2:-1} methods=${3:-4000}
: "${JAVA_HOME:?is not set}"

rm -rf "$dir"
mkdir -p "$dir/check"
"$JAVA_HOME/bin/javac" --release 17 -Xlint:all -Werror -d "$dir/check" "$here"/*.java
"$JAVA_HOME/bin/java" -cp "$dir/check" CallTree "$dir" "$seed" "$methods"
"$JAVA_HOME/bin/javac" --release 17 -d "$dir/classes" "$here"/tree/Rt.java "$dir"/src/tree/*.java
"$JAVA_HOME/bin/javac" --release 17 -cp "$dir/classes" -d "$dir/thrown" "$dir"/gone/tree/*.java
mv "$dir"/thrown/tree/*.class "$dir"
"${CC:-gcc}" -O2 -g -fPIC -shared -fomit-frame-pointer -I"$JAVA_HOME/include" \
    -I"$JAVA_HOME/include/linux" -o "$dir/libtree.so" "$dir/tree.c"
rm -r "$dir/thrown" "$dir/gone"
