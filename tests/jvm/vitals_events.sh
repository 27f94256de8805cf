#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The events of vitals beside the JVM's own recording of the same run: their types and fields, every flag with its
# value and origin, CPU loads, the collector's configuration; what looks like a secret is masked, environment and long
# waits are there as asked.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# fields FILE: "TYPE TYPE:FIELD ..." a line.
fields() {
    "$(jdk_newest)/bin/jfr" metadata "$1" | awk '
        /^@Name\("/ { name = $0; sub(/^@Name\("/, "", name); sub(/"\).*/, "", name) }
        /^class / { type = name != "" ? name : $2; name = "" }
        /^  [A-Za-z.]+(\[\])? [A-Za-z]+;$/ { sub(/;$/, "", $2); f[type] = f[type] " " $1 ":" $2 }
        END { for (t in f) print t f[t] }' | sort
}

# values FILE EVENTS FIELDS: of each event a line of these fields.
values() {
    jfr_print "$1" "$2" | awk -v names="$3" '
        BEGIN { n = split(names, want, " ") }
        { sub(/^ +/, "") }
        match($0, /^[A-Za-z]+ = /) { v[substr($0, 1, RLENGTH - 3)] = substr($0, RLENGTH + 1) }
        /^}/ { line = ""; for (i = 1; i <= n; i++) line = line want[i] "=" v[want[i]] " "; print line; delete v }' | sort
}

# means FILE: of the loads of the machine, and of the JVM's in user mode and in the kernel, in percent, in the time of
# our recording. Each event is of the second before it; the JVM's first one is 0.
means() {
    query "$T/ours.jfr" values jdk.CPULoad startTime >"$T/ours"
    query "$1" values jdk.CPULoad startTime machineTotal jvmUser jvmSystem | awk -v from="$(head -n 1 "$T/ours")" \
        -v to="$(tail -n 1 "$T/ours")" '
            $1 >= from - 5e8 && $1 <= to + 5e8 && $2 > 0 { m += $2; u += $3; s += $4; n++ }
            END { if (n) print 100 * m / n, 100 * u / n, 100 * s / n, n }'
}

# loads_near: a few of the JVM's may come late where it does not have the CPU
loads_near() {
    local want got i names=("machine's CPU load" "JVM's user load" "JVM's system load")

    read -r -a want < <(means "$T/jvms.jfr")
    read -r -a got < <(means "$T/ours.jfr")
    # of five or six, where gnomon has the CPU each second
    softly assert_ge "loads of ours" 2 "${got[3]:-0}"
    strict assert_ge "loads of ours" 4 "${got[3]:-0}"
    if [ "${want[3]:-0}" -lt 3 ]; then
        note "the JVM was too late to look at its loads"
        return
    fi
    for i in 0 1 2; do
        softly assert_near "${names[i]}, %" "${want[i]}" "${got[i]}" $((i ? 10 : 25))
        strict assert_near "${names[i]}, %" "${want[i]}" "${got[i]}" 1
        told "JDK $(jdk_version "$JDK")" "${names[i]}" "${want[i]}" "${got[i]}" % - 1
    done
}

FLAGS=jdk.BooleanFlag,jdk.IntFlag,jdk.UnsignedIntFlag,jdk.LongFlag,jdk.UnsignedLongFlag,jdk.DoubleFlag,jdk.StringFlag

# The newest JDK's types are those that ours are copies of. "Virtual" is of threads: older ones have none.
types() {
    fields "$T/ours.jfr" | grep '^jdk\.[A-Z]' | grep -v '^jdk.ActiveRecording' >"$T/ours"
    fields "$T/jvms.jfr" >"$T/jvms"
    awk 'NR == FNR { of[$1] = $0; next } of[$1] != $0 { print "ours: " $0 "\nJDK:  " of[$1]; bad = 1 } END { exit bad }' \
        "$T/jvms" "$T/ours" >"$T/differ" || fail "types differ: $(cat "$T/differ")"
    assert_ge "types compared" 45 "$(wc -l <"$T/ours")"
}

beside() {
    local f

    rm -f "$T"/*.jfr
    JVM_OPTS="-XX:+UseG1GC -Xmx100m -XX:MaxGCPauseMillis=77 -Ddb.password=hunter2 -Dshown=yes
        -XX:StartFlightRecording=filename=$T/jvms.jfr,settings=default" jvm_start Collect 60 20 700
    "$GNOMON" record -q -p "$JVM_PID" -d 6s -o "$T/ours.jfr" >"$T/out" 2>&1 || fail "record: $(cat "$T/out")"
    jvm_end
    values "$T/ours.jfr" $FLAGS "name value origin" >"$T/ours"
    values "$T/jvms.jfr" $FLAGS "name value origin" >"$T/jvms"
    assert_ge "flags" 500 "$(wc -l <"$T/ours")"
    diff "$T/ours" "$T/jvms" >"$T/differ" || fail "flags differ: $(head -n 5 "$T/differ")"
    f="youngCollector oldCollector parallelGCThreads concurrentGCThreads usesDynamicGCThreads isExplicitGCConcurrent
        isExplicitGCDisabled pauseTarget gcTimeRatio minSize maxSize initialSize usesCompressedOops compressedOopsMode
        objectAlignment heapAddressBits maxTenuringThreshold initialTenuringThreshold usesTLABs minTLABSize
        tlabRefillWasteLimit newRatio"
    for e in GCConfiguration GCHeapConfiguration GCSurvivorConfiguration GCTLABConfiguration YoungGenerationConfiguration; do
        values "$T/ours.jfr" jdk.$e "$f" >"$T/ours"
        values "$T/jvms.jfr" jdk.$e "$f" | uniq >"$T/jvms"
        diff "$T/ours" "$T/jvms" >"$T/differ" || fail "$e differs: $(cat "$T/differ")"
    done
    loads_near
    values "$T/ours.jfr" jdk.InitialSystemProperty "key value" >"$T/properties"
    assert_match "properties" 'key="shown" value="yes"' "$T/properties"
    assert_match "properties" 'key="db.password" value="\*\*\*"' "$T/properties"
    assert_match "properties" 'key="java.version"' "$T/properties"
    [ "$(jdk_newest)" != "$JDK" ] || types
}

# code_right FILE: of the JVM that still runs, whose code cache may have grown by a little meanwhile
code_right() {
    local size used

    "$JDK/bin/jcmd" "$JVM_PID" Compiler.codecache >"$T/code" || fail "jcmd"
    read -r size used < <({ grep '^CodeHeap' "$T/code" || grep '^CodeCache' "$T/code"; } |
        awk '{ gsub(/[^0-9 ]/, " "); split($0, kb, " "); s += kb[1]; u += kb[2] } END { print s, u }')
    softly assert_eq "code cache, kB" "$size" "$(query "$1" values gnomon.Vitals codeCacheMax | tail -n 1 | awk '{ print $1 / 1024 }')"
    softly assert_near "used of it, kB" "$used" "$(query "$1" values gnomon.Vitals codeCacheUsed | tail -n 1 | awk '{ print $1 / 1024 }')" 600
}

# With the option, and what is asked not to be there is not.
asked() {
    SOME_TOKEN=hunter2 SHOWN=yes jvm_start Collect 10
    "$GNOMON" record -q -p "$JVM_PID" -d 1s --environment --no-wait-events -o "$T/asked.jfr" || fail "record"
    "$GNOMON" record -q -p "$JVM_PID" -d 2s -o "$T/plain.jfr" || fail "record"
    code_right "$T/plain.jfr"
    jvm_end
    values "$T/asked.jfr" jdk.InitialEnvironmentVariable "key value" >"$T/environment"
    assert_match "environment" 'key="SHOWN" value="yes"' "$T/environment"
    assert_match "environment" 'key="SOME_TOKEN" value="\*\*\*"' "$T/environment"
    strings "$T/asked.jfr" | grep -q hunter2 && fail "the token is in the file"
    assert_eq "waits not asked for" 0 "$(jfr_print "$T/asked.jfr" jdk.ThreadSleep,jdk.ThreadPark,jdk.JavaMonitorWait | wc -l)"
    assert_eq "environment not asked for" 0 "$(jfr_print "$T/plain.jfr" jdk.InitialEnvironmentVariable | wc -l)"
    jfr_print "$T/plain.jfr" gnomon.Vitals >"$T/vitals"
    assert_match "vitals" 'has = "process.* jvm' "$T/vitals"
}

# waits_of FILE: "EVENT START DURATION THREAD" of Waits' own threads
waits_of() {
    local e

    for e in ThreadPark ThreadSleep JavaMonitorEnter JavaMonitorWait; do
        query "$1" values jdk.$e startTime duration eventThread | grep ' waits-' | sed "s/^/$e /"
    done
}

# long_of EVENT FILE: how many of 40 ms and more there are in the time of our recording
long_of() {
    awk -v e="$1" -v t="$(awk '!a || $2 < a { a = $2 } $2 + $3 > b { b = $2 + $3 } END { printf "%.0f %.0f\n", a, b }' "$T/ours")" '
        BEGIN { split(t, at) } $1 == e && $3 >= 40e6 && $2 >= at[1] - 2e7 && $2 + $3 <= at[2] + 2e7' "$2" | wc -l
}

# Waits as the JVM's own recording has them, which takes those of 20 ms and more and counts the time that a thread
# then waits for a CPU, too. Each of ours is one of its, no longer; and as many as its, where CPUs are to be had.
waits() {
    local e all sum jvms none

    rm -f "$T"/*.jfr
    JVM_OPTS="-XX:StartFlightRecording=filename=$T/jvms.jfr,settings=default" jvm_start Waits 4
    "$GNOMON" record -q -p "$JVM_PID" -d 5s -o "$T/ours.jfr" >"$T/out" 2>&1 || fail "record: $(cat "$T/out")"
    jvm_end
    waits_of "$T/ours.jfr" >"$T/ours"
    waits_of "$T/jvms.jfr" >"$T/jvms"
    # of each event: ours of 22 ms and more, those without one of the JVM's, and the time of both
    awk 'NR == FNR { k = $1 " " $4; n[k]++; from[k, n[k]] = $2; long[k, n[k]] = $3; next }
        $3 >= 22e6 {
            k = $1 " " $4; best = 0
            for (i = 1; i <= n[k]; i++) {
                a = from[k, i] > $2 ? from[k, i] : $2
                b = from[k, i] + long[k, i]; if (b > $2 + $3) b = $2 + $3
                if (b - a > best) { best = b - a; of = i }
            }
            ours[$1]++
            if (!best || $3 > long[k, of] + 2e6) alone[$1]++
            else { sum[$1] += $3; jvms[$1] += long[k, of] }
        }
        END { for (e in ours) print e, ours[e], alone[e] + 0, sum[e] / 1e6, jvms[e] / 1e6 }' "$T/jvms" "$T/ours" >"$T/beside"
    softly assert_eq "kinds of waits" 4 "$(wc -l <"$T/beside")"
    while read -r e all none sum jvms; do
        # those of either end of the recording, which began before the JVM's or ended after it
        softly assert_between "jdk.$e without one of the JVM's" 0 8 "$none"
        softly assert_ge "jdk.$e" 10 "$all"
        note "jdk.$e: $all, $sum ms, the JVM's $jvms ms"
        strict assert_ge "jdk.$e of 40 ms and more" "$(calc "0.9 * $(long_of $e "$T/jvms")")" "$(long_of $e "$T/ours")"
    done <"$T/beside"
}

# Threads that park for 50 ms in turns: each wait is an event as long as it was, and each thread has its birth and end.
lives() {
    local n ms

    jvm_start Lives 40 60
    "$GNOMON" record -q -p "$JVM_PID" -d 120s -o "$T/lives.jfr" &
    GN_PID=$!
    CHILDREN+=("$GN_PID")
    until_true 60 recording_or_over
    sleep 1
    jvm_go
    jvm_done
    sleep 1
    kill -INT "$GN_PID"
    wait "$GN_PID" || fail "record"
    jvm_end
    jfr_print "$T/lives.jfr" jdk.ThreadStart,jdk.ThreadEnd >"$T/threads"
    n=$(grep -c 'thread = "life-' "$T/threads")
    # each has a beginning and an end
    assert_between "births and ends of 40 threads" 76 80 "$n"
    ms=$(jfr_print "$T/lives.jfr" jdk.ThreadPark,jdk.ThreadSleep | grep -A3 'duration = ' | awk '
        $1 == "duration" { d = $3 * ($4 == "s" ? 1000 : $4 == "us" ? 0.001 : 1) } /eventThread = "life-/ { s += d } END { print s + 0 }')
    softly assert_near "ms that they slept, of those that cross a tick" 2400 "$ms" 500
}
for_one_jdk beside
JDK=$(jdk_newest)
asked
waits
lives
softly_end
