#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/workloads/ant.sh
#
# ant compiling the module java.xml from the JDK's sources: how many stacks are complete. The build
# is short, so it is recorded from its start to its end. See lib.sh.
. "$(dirname "$0")/lib.sh"
packages ant openjdk-17-source

src=$(readlink -f /usr/lib/jvm/openjdk-17/src.zip /usr/lib/jvm/openjdk-17/lib/src.zip | tail -n 1)
[ -f "$src" ] || skip "no src.zip"
lib=$T/ant-lib
mkdir "$lib" "$T/classes" "$T/src"
cp -L /usr/share/ant/lib/ant{,-launcher}.jar "$lib/"
need_cmd unzip
unzip -q "$src" 'java.xml/*' -d "$T/src" || fail "cannot unpack '$src'"
cat >"$T/build.xml" <<X
<project default="xml"><target name="xml">
<javac srcdir="$T/src/java.xml" destdir="$T/classes" includeantruntime="false" fork="false"
 nowarn="true" failonerror="false"><compilerarg line="--patch-module java.xml=$T/src/java.xml"/></javac>
</target></project>
X
java_start -cp "$lib/ant.jar:$lib/ant-launcher.jar" org.apache.tools.ant.Main -f "$T/build.xml"
workload_record ant
