# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh: small JVMs of JDK that do nothing, 20 to 30 MB each, and whose name no other test's have
# (own_jar); SMALL: their pids.
SMALL=()

small_ready() { [ "$(cat "$T"/small*.out | grep -c '^READY')" = ${#SMALL[@]} ]; }

# small_start COUNT: so many more of them.
small_start() {
    local i

    [ -n "${OWN_JAR:-}" ] || own_jar Idle
    [ -p "$T/hold" ] || mkfifo "$T/hold"
    [ -n "${HOLD:-}" ] || exec {HOLD}<>"$T/hold"
    for ((i = 0; i < $1; i++)); do
        "$JDK/bin/java" -Xmx16m -Xss256k -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto \
            -XX:ReservedCodeCacheSize=16m -jar "$OWN_JAR" 1 0 \
            <"$T/hold" >"$T/small${#SMALL[@]}.out" 2>&1 &
        SMALL+=($!)
        CHILDREN+=($!)
        # by tens: they would only be in each other's way
        (((i + 1) % 10)) || until_true 300 small_ready || fail "they do not get ready"
    done
    until_true 300 small_ready || fail "they do not get ready"
}
