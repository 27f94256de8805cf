#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/isolated.sh [JVMS [SECONDS [ROUNDS [GNOMON]]]]        (100 10 5; as root)
#
# What --isolate costs: CPU time and memory of all of its processes beside a recording without it, by that binary, of the
# same JVMs at once, JVMS small ones of one user that do nothing, in ROUNDS windows of SECONDS. Then both from their
# beginning to their end, one after the other in ROUNDS turns: what making the processes and reading the JVMs costs is
# in that.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/pair.sh"
. "$ROOT/tests/jvm/small.sh"
need_gnomon record
JVMS=${1:-100}
SECS=${2:-10}
ROUNDS=${3:-5}
JDK=${JDK:-$(jdk_oldest)}
GNOMON_WITHOUT=${4:-$GNOMON}

# worse_by FILE FILE: percent by which the first median is above the second.
worse_by() { calc "100 * ($(median <"$1") / $(median <"$2") - 1)"; }

# whole GNOMON OPTION...: seconds of CPU time of a recording of SECS, with all it made.
whole() {
    rm -rf "$T/whole"
    mkdir "$T/whole"
    "$METER" -o "$T/whole.meter" -- "$1" record -o "$T/whole" -d "${SECS}s" --name "$OWN_NAME.jar" "${@:2}" \
        </dev/null >"$T/whole.out" 2>&1 || fail "$(cat "$T/whole.out")"
    calc "$(figure "$T/whole.meter" command_cpu_ns) / 1e9"
}

machine | sed 's/^/  /'
small_start "$JVMS"
pair_start --isolate "" --name "$OWN_NAME.jar"
pair_windows "${SMALL[0]}" "$SECS" "$ROUNDS"
pair_stop
note "percent of a core: with $(spread <"$T/with.cpu"), without $(spread <"$T/without.cpu")"
note "MB: with $(spread <"$T/with.mb"), without $(spread <"$T/without.mb")"
verdict "CPU time, $JVMS JVMs, more by" "$(worse_by "$T/with.cpu" "$T/without.cpu")" % '<=' 5
verdict "memory, more by" "$(worse_by "$T/with.mb" "$T/without.mb")" % '<=' 5
for ((i = 0; i < ROUNDS; i++)); do
    echo "$(whole "$GNOMON_WITHOUT")" >>"$T/whole.without"
    echo "$(whole "$GNOMON" --isolate)" >>"$T/whole.with"
done
note "$SECS s from beginning to end, seconds of CPU time: with $(spread <"$T/whole.with"), without $(spread <"$T/whole.without")"
verdict "CPU time from beginning to end, more by" "$(worse_by "$T/whole.with" "$T/whole.without")" % '<=' 5
verdicts_end
