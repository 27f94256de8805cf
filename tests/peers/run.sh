#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/peers/run.sh
#
# Other people's readers on recordings made now, of every JDK found: README.md beside this file. Fetches
# what is not in GNOMON_PEERS (default /var/cache/gnomon-peers). Exit code 77, and why, where something
# is missing that cannot be had.
PEERS=$(cd "$(dirname "$0")" && pwd)
. "$PEERS/../jvm/lib.sh"
need_root
need_gnomon render
for c in go mvn protoc; do need_cmd $c; done
CACHE=${GNOMON_PEERS:-/var/cache/gnomon-peers}
mkdir -p "$CACHE" || fail "cannot make '$CACHE'"
exec 8>"$CACHE/lock"
flock 8

# ---- what is fetched -----------------------------------------------------------------------

jars_right() { (cd "$CACHE/jars" 2>/dev/null && sha256sum --quiet -c "$PEERS/jmc/jars.sha256") >"$T/sums" 2>&1; }

fetch_jars() {
    jars_right && return
    rm -rf "$CACHE/jars"
    mvn -q -B -C -Dmaven.repo.local="$CACHE/m2" -f "$PEERS/jmc/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$CACHE/jars" </dev/null >"$T/mvn" 2>&1 || fail "mvn: $(tail -n 20 "$T/mvn")"
    jars_right || fail "not what they were: $(cat "$T/sums")"
}

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

# ---- recordings ----------------------------------------------------------------------------

# At once: they do not mind each other.
recordings() {
    local v=$1 p pids=()

    jvm_start Mixed
    set -- all '' cputime '--cpu-event cputime'
    while [ $# -gt 0 ]; do
        # shellcheck disable=SC2086
        "$GNOMON" record -p "$JVM_PID" -d 6s --cpu 5ms --chunk-time 3s $2 -o "$T/$v-$1.jfr" </dev/null >"$T/$1.err" 2>&1 &
        pids+=($!)
        shift 2
    done
    for p in "${pids[@]}"; do wait "$p" || fail "gnomon: $(cat "$T"/*.err)"; done
    jvm_end
    { sleep 1; echo end; } | "$GNOMON" record -o "$T/$v-launched.jfr" -- "$JDK/bin/java" -cp "$CLASSES" Mixed \
        >"$T/out" 2>&1 || fail "gnomon: $(cat "$T/out")"
}

# ---- readers -------------------------------------------------------------------------------

# told FILE: what the JDK's own reader finds, "TYPE EVENTS SAMPLES" a line, into $T/told
told() {
    query "$1" types | awk '{ print $2, $1 }' | sort >"$T/types"
    echo "profiler.WallClockSample $(weight "$1" profiler.WallClockSample)" >"$T/sum"
    awk 'NR == FNR { sum[$1] = $2; next } $2 { print $1, $2, sum[$1] + 0 }' "$T/sum" "$T/types" >"$T/told"
}

# jmc FILE: nothing thrown, the events that the JDK finds, and the JVM's version known
jmc() {
    "$(jdk_newest)/bin/java" -cp "$T/jmc:$CACHE/jars/*" Jmc "$1" >"$T/jmc.out" 2>"$T/jmc.err" || return
    sed -n 's/^events //p' "$T/jmc.out" | awk '$2' | sort | diff - "$T/told" >"$T/jmc.err" || return
    grep -q "^java $(jdk_version "$JDK")" "$T/jmc.out" || { grep '^java' "$T/jmc.out" >"$T/jmc.err"; return 1; }
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
    { [ "$1" = jmc ] && grep '^THREW' "$T/jmc.out"; cat "$T"/*.err; } 2>/dev/null | cut -c 1-200 | head -n 12
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
    local file=$1

    told "$file"
    LC_ALL=C sed 's/(kernel)/[kernel]/g' "$file" >"$T/odd.jfr"
    refused "a class in square brackets, by JMC" jmc "$T/odd.jfr"
    LC_ALL=C sed 's/samples/zamples/g' "$file" >"$T/odd.jfr"
    refused "wall samples without a number, by jfr-parser" jfr_parser "$T/odd.jfr"
    LC_ALL=C sed 's/STATE_DEFAULT/STATE_DEFAULX/g' "$file" >"$T/odd.jfr"
    refused "CPU samples of another state, by jfrconv" jfrconv "$T/odd.jfr"
    "$GNOMON" render --force --dim cpu "$file" -o "$T/p.pb.gz" 2>/dev/null
    { zcat "$T/p.pb.gz"; printf '\370\006\001'; } | gzip >"$T/odd.pb.gz" # field 111
    refused "a field of no schema, by protoc" pprof "$T/odd.pb.gz"
}

fetch_jars
fetch_go
classes
mkdir "$T/java" "$T/jmc"
"$(jdk_oldest)/bin/javac" --release 17 -cp "$CLASSES" -d "$T/java" "$PEERS/Mixed.java" || fail "Mixed.java"
"$(jdk_oldest)/bin/javac" --release 17 -cp "$CACHE/jars/*" -d "$T/jmc" "$PEERS/jmc/Jmc.java" || fail "Jmc.java"
CLASSES=$T/java:$CLASSES
classes() { :; } # they are there

readers() {
    local v kind

    v=$(jdk_version "$JDK")
    recordings "$v"
    for kind in all cputime launched; do
        told "$T/$v-$kind.jfr"
        passes "JMC, JDK $v, $kind" "$T/$v-$kind.jfr" jmc
        passes "jfr-parser, JDK $v, $kind" "$T/$v-$kind.jfr" jfr_parser
    done
    note "$(grep '^rules' "$T/jmc.out" | awk '{ print $2 " rules of JMC, of which " $3 " say something" }')"
    passes "jfrconv, JDK $v" "$T/$v-all.jfr" jfrconv
    passes "pprof, JDK $v" "$T/$v-all.jfr" pprof_all
}
JDKS=${JDKS:-17 25}
for_each_jdk readers
softly_end
can_fail "$T/${JDKS##* }-all.jfr"
