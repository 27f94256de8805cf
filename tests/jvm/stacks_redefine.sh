#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Methods of classes that were redefined are freed though no class is unloaded, and others come to lie
# where they were: none of these has the name of one of those.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
CLASSES_OF_A_KIND=4

# kind KIND METHODS [CODE]: classes with so many small methods. (Those of two kinds differ in their sizes: a stack in
# which all is where it was in another would be taken for that.)
kind() {
    local i k more=${3:-}

    for ((i = 0; i < CLASSES_OF_A_KIND; i++)); do
        echo "final class $1$i {"
        for ((k = 1; k <= $2; k++)); do
            echo "    static long m$k(long v) { for (int i = 0; i < 40; i++) v = v * $2 + i + $k;$more return v; }"
        done
        echo "    static long all(long v) {"
        for ((k = 1; k <= $2; k++)); do echo "        v += m$k(v);"; done
        echo "        return v; } }"
    done >"$T/$1.java"
}

# named KIND THREAD: samples of the thread that have a frame of such a class.
named() {
    query "$jfr" $CPU_EVENT stack "thread=$2" | awk -v k="$1" \
        '{ s = " " $0; if (s ~ "[^A-Za-z0-9_.$]" k "[0-9][.]m") n += $1 } END { print n + 0 }'
}

redefine() {
    local jfr=$T/redefine.jfr

    JVM_OPTS="-javaagent:$T/agent.jar -Xmx64m" jvm_start Redefine $CLASSES_OF_A_KIND 250
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 1ms --no-wall --force
    jvm_go
    jvm_done
    gnomon_stop
    jvm_unharmed
    jvm_end
    assert_ge "samples in the old methods" 100 "$(named A old)"
    assert_ge "samples in the new methods" 100 "$(named B new)"
    assert_eq "samples of the new methods that are named after the old ones" 0 "$(named A new)"
    note "$(named A old) in the old methods, $(named B new) in the new ones"
}

JDK=$(jdk_oldest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
kind A 60
kind B 90 ' v ^= v >>> 7; v ^= v << 3;'
"$JDK/bin/javac" --release 17 -d "$T/classes" "$T"/[AB].java || fail "the classes do not compile"
printf 'Premain-Class: Redefine\nCan-Redefine-Classes: true\n' >"$T/manifest"
"$JDK/bin/jar" cfm "$T/agent.jar" "$T/manifest" -C "$T/classes" . || fail "no agent can be made"
JDK=$(jdk_newest) redefine
