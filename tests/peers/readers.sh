#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/peers/readers.sh
#
# Other people's readers on recordings made now, of every JDK found: README.md beside this file. Fetches
# what is not in GNOMON_PEERS (default /var/cache/gnomon-peers). Exit code 77, and why, where something
# is missing that cannot be had.
PEERS=$(cd "$(dirname "$0")" && pwd)
. "$PEERS/../jvm/lib.sh"
. "$PEERS/jars.sh"
. "$PEERS/../jvm/tree.sh"
. "$PEERS/../jvm/push.sh"
umask 022
need_root
need_gnomon render
for c in go mvn protoc npm node; do need_cmd $c; done
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
[ -n "$CHROMIUM" ] || skip "no chromium (apt-get install chromium)"
export CHROMIUM
CACHE=${GNOMON_PEERS:-/var/cache/gnomon-peers}
mkdir -p "$CACHE" || fail "cannot make '$CACHE'"
exec 8>"$CACHE/lock"
flock 8

# ---- what is fetched -----------------------------------------------------------------------

# A Go from before 1.21 (Debian 12's) does not fetch a newer one by itself; that is a module like others.
fetch_go() {
    local want

    export GOMODCACHE=$CACHE/go GOCACHE=$CACHE/go-build GOFLAGS="-mod=readonly -modcacherw" GOTOOLCHAIN=auto
    want=$(sed -n 's/^go //p' "$PEERS/go/go.mod")
    if go version | grep -Eq ' go1\.(1[0-9]|20)[ .]'; then
        want=golang.org/toolchain@v0.0.1-go$want.linux-$(dpkg --print-architecture)
        (cd "$T" && go mod download "$want") >"$T/go" 2>&1 || fail "go: $(tail -n 20 "$T/go")"
        chmod -R u+x "$GOMODCACHE/$want/bin" "$GOMODCACHE/$want/pkg/tool"
        export PATH=$GOMODCACHE/$want/bin:$PATH GOROOT=$GOMODCACHE/$want GOTOOLCHAIN=local
    fi
    (cd "$PEERS/go" && go build -trimpath -o "$T/peers" .) >"$T/go" 2>&1 || fail "go: $(tail -n 20 "$T/go")"
    SCHEMA=$(cd "$PEERS/go" && go list -m -f '{{.Dir}}' github.com/google/pprof)/proto
}

# The versions and checksums of package-lock.json; no package's own scripts are run.
fetch_js() {
    mkdir -p "$CACHE/js"
    cmp -s "$PEERS/js/package-lock.json" "$CACHE/js/done" && return
    cp "$PEERS"/js/package*.json "$CACHE/js/"
    (cd "$CACHE/js" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null) >"$T/npm" 2>&1 ||
        fail "npm: $(tail -n 20 "$T/npm")"
    cp "$PEERS/js/package-lock.json" "$CACHE/js/done"
}

# JDK 21 is asked for, and this host has none
needs_tree() {
    [[ " $JDKS " == *" 21 "* ]] && ! jdks | while read -r home; do jdk_version "$home"; done | grep -qx 21
}

# ---- recordings ----------------------------------------------------------------------------

# began FILE OPTION...: a recording of JVM_PID
began() {
    "$GNOMON" record -p "$JVM_PID" "${@:2}" -o "$1" </dev/null >"$1.said" 2>&1 &
    RECORDERS+=("$!")
    CHILDREN+=("$!")
}

# mixed OPTION...: one more JVM
mixed() {
    JVM_OPTS=$* jvm_start Mixed
    PIDS+=("$JVM_PID")
    FDS+=("$JVM_FD")
}

# How busy the machine is decides how long that takes.
recorded() {
    local p

    sleep 3
    for p in "${PIDS[@]}"; do cpu_spent 1000 "$p"; done
    kill -INT "${RECORDERS[@]}" 2>/dev/null # those with a duration may have ended
    for p in "${RECORDERS[@]}"; do wait "$p" || fail "gnomon: $(cat "$T"/*.said)"; done
    for p in "${FDS[@]}"; do
        echo end >&"$p"
        exec {p}>&-
    done
    for p in "${PIDS[@]}"; do pid_gone "$p" 60 || fail "a JVM does not end"; done
}

# forms VERSION, collectors VERSION: what there is of that JDK. One that is neither the oldest nor the newest has what may be its own.
forms() { between "$1" && echo all launched || echo all cputime plain launched; }
collectors() { between "$1" && echo G1 Z || echo "$COLLECTORS"; }
between() { [ "$1" != "${JDKS%% *}" ] && [ "$1" != "${JDKS##* }" ]; }

# recordings VERSION: one JVM in these forms, and one with each collector. At once: they do not mind each other.
recordings() {
    local v=$1 gc PIDS=() FDS=() RECORDERS=()

    mixed
    began "$T/$v-all.jfr" --cpu 5ms --chunk-time 2s
    between "$v" || began "$T/$v-cputime.jfr" --cpu 5ms --chunk-time 2s --cpu-event cputime
    # an event for each tick of each thread: JMC takes minutes for a million of them
    between "$v" || began "$T/$v-plain.jfr" --cpu 20ms --chunk-time 2s -d 6s --plain
    for gc in $(collectors "$v"); do
        mixed "-XX:+Use${gc}GC" -Xmx128m
        began "$T/$v-$gc.jfr" --environment
    done
    recorded
    { sleep 3; echo end; } | "$GNOMON" record -o "$T/$v-launched.jfr" -- "$JDK/bin/java" -cp "$CLASSES" Mixed \
        >"$T/out" 2>&1 || fail "gnomon: $(cat "$T/out")"
}

# ---- readers -------------------------------------------------------------------------------

# told FILE: what the JDK's own reader finds, "TYPE EVENTS SAMPLES" a line, into $T/told
told() {
    local type

    query "$1" types | awk '{ print $2, $1 }' | sort >"$T/types"
    for type in profiler.WallClockSample gnomon.WaitCause; do echo "$type $(weight "$1" $type)"; done >"$T/sum"
    awk 'NR == FNR { sum[$1] = $2; next } $2 { print $1, $2, sum[$1] + 0 }' "$T/sum" "$T/types" >"$T/told"
}

# jmc_reads FILE...: what JMC finds in them, into FILE.jmc. It is started once for all: most of its time is its start.
jmc_reads() { "$(jdk_newest)/bin/java" -Xmx2g -cp "$T/jmc:$CACHE/jars/*" Jmc "$@" >"$T/jmc.log" 2>&1; }

# jmc_has FILE: it was read to its end, and nothing was thrown
jmc_has() {
    [ -s "$1.jmc" ] || jmc_reads "$1"
    grep -q '^end' "$1.jmc" || { cp "$T/jmc.log" "$T/jmc.err"; return 1; }
    ! grep '^THREW' "$1.jmc" >"$T/jmc.err"
}

# jmc VERSION-NAME.jfr: the events that the JDK finds, and the JVM's version is known
jmc() {
    local v=${1##*/}

    jmc_has "$1" || return
    sed -n 's/^events //p' "$1.jmc" | awk '$2' | sort | diff - "$T/told" >"$T/jmc.err" || return
    grep -q "^java ${v%%-*}" "$1.jmc" || { grep '^java' "$1.jmc" >"$T/jmc.err"; return 1; }
}

# jmc_full VERSION-NAME.jfr: its pages and rules are as full as vitals make them, and the JVM's version is known
jmc_full() {
    local v=${1##*/} all filled rules said

    jmc_has "$1" || return
    read -r all filled < <(sed -n 's/^elements //p' "$1.jmc")
    read -r rules said < <(sed -n 's/^rules //p' "$1.jmc")
    note "$filled of $all elements of JMC's pages, $said of its $rules rules"
    [ "$filled" -ge 61 ] && [ "$said" -ge 34 ] && grep -q "^java ${v%%-*}" "$1.jmc" && return
    { echo "$filled elements, $said rules, $(grep '^java' "$1.jmc")"; grep ^empty "$1.jmc"; } >"$T/full.err"
    return 1
}

# jfr_parser FILE
jfr_parser() {
    "$T/peers" jfr "$1" >"$T/parser.out" 2>"$T/parser.err" || return
    awk '$2' "$T/parser.out" | sort | diff - <(grep -E '^(jdk.ExecutionSample|profiler.Wall|jdk.ActiveSetting)' "$T/told") >"$T/parser.err"
}

# jfrconv FILE: every format of it, and the totals of CPU and wall samples
jfrconv() {
    local format kind sum want

    for kind in cpu wall; do
        [ $kind = cpu ] && want=$(weight "$1" $CPU_EVENT) || want=$(weight "$1" $WALL_EVENT)
        for format in collapsed html pprof heatmap otlp; do
            "$(jdk_newest)/bin/java" -XX:TieredStopAtLevel=1 -jar "$CACHE/jars/jfr-converter-4.5.jar" --$kind \
                -o $format "$1" "$T/conv.$format" >"$T/conv.err" 2>&1 || return
        done
        sum=$(awk '{ n += $NF } END { print n + 0 }' "$T/conv.collapsed")
        [ "$sum" = "$want" ] || { echo "$sum $kind samples of $want" >"$T/conv.err"; return 1; }
    done
}

# pprof FILE: google's checks, no field that its schema does not have, and the totals
pprof() {
    local sum index

    "$T/peers" pprof "$1" >"$T/pprof.out" 2>"$T/pprof.err" || return
    zcat "$1" | protoc --decode=perftools.profiles.Profile -I"$SCHEMA" profile.proto 2>"$T/pprof.err" |
        grep -En '^ *[0-9]+[:{]' | head -n 3 >>"$T/pprof.err"
    [ ! -s "$T/pprof.err" ] || return
    while read -r index sum; do
        case $index in */nanoseconds) ;; *) continue ;; esac
        go tool pprof -top -nodecount=1 -unit=ns -sample_index="${index%/*}" "$1" >"$T/top" 2>"$T/pprof.err" || return
        grep -q " of ${sum}ns total" "$T/top" || { echo "$index: not $sum: $(head -n 6 "$T/top")" >"$T/pprof.err"; return 1; }
    done <"$T/pprof.out"
    : >"$T/pprof.err"
}

# pprof_all FILE: as `render` writes it of each kind
pprof_all() {
    local d

    for d in '' '--dim cpu' '--dim wall' '--dim off'; do
        # shellcheck disable=SC2086
        "$GNOMON" render --force $d "$1" -o "$T/p.pb.gz" 2>"$T/pprof.err" || return
        pprof "$T/p.pb.gz" || return
    done
}

# ---- viewers -------------------------------------------------------------------------------

# viewed KIND FILE ARG...: what js/view.mjs tells of it, into $T/view
# pprof_pushed FILE: the profiles that `push` sends of it, as they come to a server; together they have the recording's time
pprof_pushed() {
    local f cpu=$(($(weight "$1" $CPU_EVENT) * 5000000)) off=$(($(weight "$1" $WALL_EVENT) * 20000000))

    push_server pushed --keep
    run_push "$1" --idle --by-thread --window 2s --max-age 0 --to "$URL"
    [ $RC = 0 ] || { cp "$OUT" "$T/push.err"; return 1; }
    : >"$T/pushed.sums"
    for f in "$T/pushed/"*.pb.gz; do
        pprof "$f" || return
        cat "$T/pprof.out" >>"$T/pushed.sums"
    done
    awk '{ sum[$1] += $2 } END { for (k in sum) printf "%s %.0f\n", k, sum[k] }' "$T/pushed.sums" | sort >"$T/sums.pushed"
    printf '%s\n' "cpu/nanoseconds $cpu" "off_cpu/nanoseconds $off" "wall/nanoseconds $((cpu + off))" >"$T/sums.want"
    diff "$T/sums.want" "$T/sums.pushed" >"$T/push.err"
}

viewed() { timeout 400 node "$PEERS/js/view.mjs" "$@" >"$T/view" 2>"$T/view.err"; }

# ms_of FILE KIND [FILTER]: what its samples of that kind are worth, as the JDK's reader finds them
ms_of() {
    [ "$2" = cpu ] && calc "$(weight "$1" $CPU_EVENT "${@:3}") * 5" && return
    calc "$(weight "$1" $WALL_EVENT "${@:3}") * 20"
}

# said_near WHAT WANT-MS SAID: "12.34s" or "1:02.3", as a person reads it
said_near() {
    awk -v want="$2" -v said="$3" 'BEGIN {
        ms = said + 0
        if (said ~ /:/) { split(said, p, ":"); ms = p[1] * 60000 + p[2] * 1000 }
        else if (said !~ /[mµn]s/) ms *= 1000
        d = ms - want
        exit !((d < 0 ? -d : d) <= (said ~ /:/ ? 1000 : 10 + want / 100))
    }' || { echo "$1: $3, not $2 ms" >"$T/view.err"; return 1; }
}

# speedscope FILE: its three profiles, and each thread's, have the recording's times
speedscope() {
    local cpu wall name time

    cpu=$(ms_of "$1" cpu) wall=$(ms_of "$1" wall)
    "$GNOMON" render --force --idle "$1" -o "$T/v.speedscope.json" 2>"$T/view.err" || return
    viewed speedscope "$T/v.speedscope.json" || return
    [ "$(cut -f1 "$T/view" | tr '\n' ,)" = "CPU time,wall time,time off the CPU," ] || { cp "$T/view" "$T/view.err"; return 1; }
    while IFS=$'\t' read -r name time; do
        case $name in
        CPU*) said_near "$name" "$cpu" "$time" || return ;;
        wall*) said_near "$name" "$(calc "$cpu + $wall")" "$time" || return ;;
        *) said_near "$name" "$wall" "$time" || return ;;
        esac
    done <"$T/view"
    "$GNOMON" render --force --idle --by-thread -D cpu "$1" -o "$T/v.speedscope.json" 2>"$T/view.err" || return
    viewed speedscope "$T/v.speedscope.json" || return
    time=$(sed -n 's/^crunch ([0-9]*)\t//p' "$T/view")
    said_near crunch "$(ms_of "$1" cpu thread=crunch)" "$time"
}

# firefox FILE: each thread that a test knows has its CPU and wall time; what a first sample's CPU time was of, the
# format does not say
firefox() {
    local name ms cpu kinds=0

    "$GNOMON" render --force --idle "$1" -o "$T/v.firefox.json" 2>"$T/view.err" || return
    viewed firefox "$T/v.firefox.json" || return
    "$GNOMON" render --force --idle "$1" -o "$T/v.json.gz" 2>"$T/view.err" || return
    viewed firefox "$T/v.json.gz" crunch grüße zeros sleeper parker || return
    while IFS=$'\t' read -r name ms cpu; do
        kinds=$((kinds + 1))
        said_near "$name" "$(calc "$(ms_of "$1" cpu "thread=$name") + $(ms_of "$1" wall "thread=$name")")" "${ms}ms" || return
        awk -v c="$cpu" -v w="$(ms_of "$1" cpu "thread=$name")" 'BEGIN { exit !(c <= w && c >= w - 5) }' ||
            { echo "$name: $cpu ms of CPU time" >"$T/view.err"; return 1; }
    done <"$T/view"
    [ $kinds = 5 ] || { cp "$T/view" "$T/view.err"; return 1; }
}

# svg FILE: well-formed, with the whole of CPU time; a search finds what is there, a click zooms
svg() {
    local frames zoomed found all

    "$GNOMON" render --force "$1" -o "$T/v.svg" 2>"$T/view.err" || return
    viewed svg "$T/v.svg" || return
    cp "$T/view" "$T/view.err"
    frames=$(sed -n 's/^frames //p' "$T/view") zoomed=$(sed -n 's/^zoomed //p' "$T/view")
    found=$(sed -n 's/^found Harness: \(.*\)%/\1/p' "$T/view") all=$(sed -n 's/^all \(.*\), 100.0% of all.*/\1/p' "$T/view")
    [ "$frames" -gt 30 ] && [ "$zoomed" -ge 1 ] && [ "$zoomed" -lt "$frames" ] &&
        said_near all "$(ms_of "$1" cpu)" "${all// /}" &&
        said_near "found" "$(ms_of "$1" cpu 'frame=Harness.*')" "$(calc "$found / 100 * $(ms_of "$1" cpu)")ms"
}

# passes NAME FILE COMMAND...
passes() {
    local name=$1 file=$2

    shift 2
    rm -f "$T"/*.err
    if "$@" "$file"; then
        note "ok   $name"
        return
    fi
    SOFT_FAILURES=$((SOFT_FAILURES + 1))
    note "FAIL $name"
    cat "$T"/*.err 2>/dev/null | cut -c 1-200 | head -n 12
}

# ---- that they can fail --------------------------------------------------------------------

# refused WHAT COMMAND FILE
refused() {
    if "$2" "$3"; then
        fail "taken all the same: $1"
    fi
    note "ok   refused: $1"
}

# Words of the same length in place of ours.
can_fail() {
    local file=$1 v=${JDKS##* }

    told "$file"
    LC_ALL=C sed 's/(kernel)/[kernel]/g' "$file" >"$T/$v-odd.jfr"
    LC_ALL=C sed 's/jdk\.GC/jdk.ZC/g' "$T/$v-G1.jfr" >"$T/$v-odd-G1.jfr"
    LC_ALL=C sed 's/JRE (/JRX (/g' "$T/$v-G1.jfr" >"$T/$v-odd-jre.jfr"
    jmc_reads "$T/$v"-odd*.jfr
    refused "a class in square brackets, by JMC" jmc "$T/$v-odd.jfr"
    refused "events of the collector under other names, by JMC's pages" jmc_full "$T/$v-odd-G1.jfr"
    refused "a JVM without its version, by JMC's rules" jmc_full "$T/$v-odd-jre.jfr"
    LC_ALL=C sed 's/samples/zamples/g' "$file" >"$T/odd.jfr"
    refused "wall samples without a number, by jfr-parser" jfr_parser "$T/odd.jfr"
    LC_ALL=C sed 's/STATE_DEFAULT/STATE_DEFAULX/g' "$file" >"$T/odd.jfr"
    refused "CPU samples of another state, by jfrconv" jfrconv "$T/odd.jfr"
    "$GNOMON" render --force --dim cpu "$file" -o "$T/p.pb.gz" 2>/dev/null
    { zcat "$T/p.pb.gz"; printf '\370\006\001'; } | gzip >"$T/odd.pb.gz" # field 111
    refused "a field of no schema, by protoc" pprof "$T/odd.pb.gz"
    "$GNOMON" render --force "$file" -o "$T/v.speedscope.json" 2>"$T/err"
    sed 's/"unit":"nanoseconds"/"unit":"moments"/' "$T/v.speedscope.json" >"$T/odd.json"
    refused "a unit of no schema, by speedscope's" viewed_speedscope "$T/odd.json"
    "$GNOMON" render --force "$file" -o "$T/v.firefox.json" 2>"$T/err"
    sed 's/"stackTable":/"stackTables":/' "$T/v.firefox.json" >"$T/odd.json"
    refused "a thread without its stacks, by the Firefox Profiler" viewed_firefox "$T/odd.json"
    "$GNOMON" render --force "$file" -o "$T/v.svg" 2>"$T/err"
    sed 's/&#60;/</' "$T/v.svg" >"$T/odd.svg"
    grep -q '&#60;' "$T/v.svg" || sed 's/<title>/<title><init>/' "$T/v.svg" >"$T/odd.svg"
    refused "a name that looks like an element, by a browser" viewed_svg "$T/odd.svg"
}
viewed_speedscope() { viewed speedscope "$1"; }
viewed_firefox() { viewed firefox "$1"; }
viewed_svg() { viewed svg "$1"; }

# `make check-peers` has minutes; CI has all
COLLECTORS=${EVERY_JDK:+Serial Parallel }"G1 Z"
JDKS=${JDKS:-17${EVERY_JDK:+ 21} 25}
export NODE_MODULES=$CACHE/js/node_modules

# at once: they wait for other hosts. What fails ends the test.
fetch_jars jmc "$CACHE/jars" &
fetch_js &
needs_tree && tree_make &
fetch_go
wait
classes
mkdir "$T/java" "$T/jmc"
cp -r "$CLASSES/." "$T/java"
"$(jdk_oldest)/bin/javac" --release 17 -cp "$T/java" -d "$T/java" "$PEERS/Mixed.java" || fail "Mixed.java"
"$(jdk_oldest)/bin/javac" --release 17 -cp "$CACHE/jars/*" -d "$T/jmc" "$PEERS/jmc/"*.java || fail "Jmc.java"
CLASSES=$T/java
classes() { :; } # they are there

recorded_all() { recordings "$(jdk_version "$JDK")"; }

# what JMC and Pyroscope find depends on the JVM
readers() {
    local v kind gc

    v=$(jdk_version "$JDK")
    for kind in $(forms "$v"); do
        told "$T/$v-$kind.jfr"
        passes "JMC, JDK $v, $kind" "$T/$v-$kind.jfr" jmc
        passes "jfr-parser, JDK $v, $kind" "$T/$v-$kind.jfr" jfr_parser
    done
    for gc in $(collectors "$v"); do passes "JMC's pages, JDK $v, $gc" "$T/$v-$gc.jfr" jmc_full; done
    [ "$v" != "${JDKS##* }" ] || viewers "$v"
}

# what these find does not: the newest
viewers() {
    passes "jfrconv, JDK $1" "$T/$1-all.jfr" jfrconv
    passes "pprof, JDK $1" "$T/$1-all.jfr" pprof_all
    passes "pprof as it is pushed, JDK $1" "$T/$1-all.jfr" pprof_pushed
    passes "speedscope, JDK $1" "$T/$1-all.jfr" speedscope
    passes "the Firefox Profiler, JDK $1" "$T/$1-all.jfr" firefox
    passes "SVG in a browser, JDK $1" "$T/$1-all.jfr" svg
}

if needs_tree; then
    JAVA_HOMES="$(jdks | tr '\n' ' ') $(tree_home 21)" # tree_home asks for the newest of those before
fi
for_each_jdk recorded_all
jmc_reads "$T"/*.jfr
for_each_jdk readers
softly_end
can_fail "$T/${JDKS##* }-all.jfr"
