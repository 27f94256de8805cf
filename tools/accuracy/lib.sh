# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of tools/accuracy (bash), over tools/bench/lib.sh: a recording and the
# truth of the same window, and lines of the table. See README.md beside this file.
# shellcheck disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/../bench/lib.sh"
ACCURACY_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
java_sources "$ACCURACY_DIR/java" accuracy/java
need_gnomon record
PROFILER=${PROFILER:-gnomon}
JDK=${JDK:-$(jdk_newest)}

# measured NAME SECONDS CLASS GNOMON-OPTIONS...: PROFILER records JVM_PID; afterwards T/NAME.meter is
# the truth and T/NAME.tally what was recorded, both of one window. T/NAME.jfr stays. Profilers other
# than gnomon have CPU_MS and WALL_MS as their intervals.
measured() {
    local name=$1 seconds=$2 klass=$3 jfr=$T/$1.jfr

    shift 3
    if [ "$PROFILER" = gnomon ]; then
        # shellcheck disable=SC2086
        GN_SETTLE=1.5 gnomon_start "$jfr" -p "$JVM_PID" "$@" ${GNOMON_OPTS:-}
    else
        profiler_start "$PROFILER" "$JVM_PID" "$jfr"
    fi
    "$METER" -e -p "$JVM_PID" -o "$T/$name.meter" -- sleep "$seconds"
    profiler_stop "$PROFILER" "$JVM_PID" "$jfr"
    jvm_unharmed
    tally "$jfr" "$T/$name.meter" "$klass" >"$T/$name.tally"
}

# What the profiler can tell of a thread's time: kinds of shares.awk.
kinds() {
    case $PROFILER in
    gnomon) echo on queued waiting life ;;
    async-both) echo on waiting ;;
    *) echo on ;;
    esac
}

# row CASE WHAT EXPECTED MEASURED UNIT SE BOUND [percent] [SLACK]: a line of the table. The error is the
# difference, or relative to what is expected in percent; within BOUND (what is no number is not), or where that is more within
# three standard errors, it passes; what is measured may also be less by SLACK (0). SE: the standard error that so many samples have at best, in the
# error's unit; "-" where there is none. SLACK of the environment widens bounds by a factor (.ci/run); what is printed is the bound applied. Of other profilers the figures are told and not judged.
row() {
    awk -v c="$1" -v what="$2" -v e="$3" -v m="$4" -v u="$5" -v se="$6" -v b="$7" -v rel="${8:-}" -v slack="${9:-0}" \
        -v widen="${SLACK:-1}" -v csv="${RESULTS:-/dev/null}" -v who="$PROFILER" 'BEGIN {
        d = m - e
        if (rel != "") d = e ? 100 * d / e : 0
        b *= widen
        if (3 * se > b) b = sprintf("%.1f", 3 * se) + 0
        number = "^[-+]?[0-9.]+(e[-+]?[0-9]+)?$"
        ok = e ~ number && m ~ number && d <= b && -d <= b + slack
        errors = se > 0 ? sprintf("%+.1f", d / se) : "-"
        word = ok ? "pass" : "FAIL"
        if (who != "gnomon") { word = ok ? "(ok)" : "(--)"; c = c " " who }
        if (slack >= 0.1) stolen = sprintf(", stolen %.1f", slack)
        printf "%-4s  %-18s %-38s %12.2f %12.2f %-7s %+8.2f%s %6s   bound %s%s\n", word, \
            c, what, e, m, u, d, rel != "" ? "%" : " ", errors, b, stolen
        printf "%s,%s,%.4f,%.4f,%s,%.4f,%s,%s,%s\n", c, what, e, m, u, d, errors, b, \
            word >>csv
        exit word == "FAIL"
    }' || VERDICTS=1
}

heading() {
    printf '      %-18s %-38s %12s %12s %-7s %8s  %6s\n' case what expected measured unit error "in SE"
}

# rows CASE BOUND [percent]: from lines "what|expected|measured|unit|se[|slack]" on standard input.
rows() {
    local case=$1 bound=$2 rel=${3:-} what expected measured unit se slack

    while IFS='|' read -r what expected measured unit se slack; do
        row "$case" "$what" "$expected" "$measured" "$unit" "$se" "$bound" "$rel" "$slack"
    done
}

# shares NAME COMM-REGEX [KIND...]: percent of the window that each such thread ran, queued, waited.
# Kinds: on queued waiting life. BUSY=1: the threads never wait.
shares() {
    local name=$1 comm=$2 runs=

    shift 2
    [ "$PROFILER" = gnomon ] || runs=STATE_RUNNABLE
    awk -v comm="$comm" -v kinds=" ${*:-on queued waiting} " -v cpu_ms="$CPU_MS" \
        -v wall_ms="$WALL_MS" -v busy="${BUSY:-0}" -v runs="$runs" -f "$ACCURACY_DIR/shares.awk" "$T/$name.meter" "$T/$name.tally"
}
