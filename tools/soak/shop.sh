# SPDX-License-Identifier: Apache-2.0
# Sourced by those of this folder that record a daemon's JVMs: the demo's shop, which is busy, its load, and idle ones, JVMS in all:
# PIDS.
shop_start() {
    local port

    mkdir "$T/shop"
    "$JAVA/javac" -d "$T/shop" "$ROOT"/tools/demo/shop/*.java || fail "javac"
    "$JAVA/java" -Xmx256m -cp "$T/shop" shop.Server >"$T/server.log" 2>&1 &
    CHILDREN+=("$!")
    PIDS=("$!")
    until_true 120 file_has "$T/server.log" READY || fail "the shop does not start"
    port=$(awk '$1 == "READY" { print $2; exit }' "$T/server.log")
    "$JAVA/java" -Xmx256m -cp "$T/shop" shop.Load "$port" 24 >"$T/load.log" 2>&1 &
    CHILDREN+=("$!")
    PIDS+=("$!")
}

others_start() {
    JDK=$(jdk_newest) JVM_OPTS="-Xmx64m -XX:+UseSerialGC"
    for ((i = 2; i < JVMS; i++)); do
        jvm_start -jar "$OWN_JAR" 30 0
        PIDS+=("$JVM_PID")
    done
}
