#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `render -f pprof` writes, judged by protoc with the published schema's fields: nothing that
# the schema does not have, every reference leads somewhere, the sample types and units that
# readers of pprof know, and the counts that were written and that the text output has. No root.
# overlaps
. "$(dirname "$0")/lib.sh"
need_gnomon render
need_cmd protoc

${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 ${JFR_GEN_CFLAGS-} -I"$ROOT" -I"$ROOT/user" \
    "$LIB_DIR/jfr_gen.c" "$BUILD/libgnomon.a" -lpthread -o "$T/gen" || fail "jfr_gen does not compile"

# The message as "sample cpu-samples/count=N ...", or what is wrong with it.
cat >"$T/judge.awk" <<'END'
function bad(what) { print "BAD " what; failed = 1; exit 1 }
function text(i) { if (!(i in string)) bad("no string " i); return string[i] }
function unit_of(t) { return text(type[t]) "/" text(unit[t]) }
$1 ~ /^[0-9]+[:{]?$/ { bad("a field that the schema does not have: " $0) }
$2 == "{" { path = path "." $1; if (path ~ /^\.(sample_type|period_type)$/) n_types++ }
$1 == "}" {
    if (path == ".sample") {
        if (n_values != n_sample_types || !n_places)
            bad("a sample of " n_values + 0 " values and " n_places + 0 " locations")
        n_values = n_places = 0
    }
    if (path ~ /^\.(location|function)$/ && (id == 0 || (path, id) in known))
        bad("id " id + 0 " of a " path " is no unique one")
    if (path ~ /^\.(location|function)$/) { known[path, id] = 1; id = 0 }
    if (path == ".sample_type") n_sample_types = n_types
    if (path == ".period_type") period_at = n_types
    sub(/\.[a-z_]*$/, "", path)
}
$1 == "id:" { id = $2 }
$1 == "location_id:" { n_places++; places[$2] }
$1 == "function_id:" { functions[$2] }
$1 == "value:" { sum[++n_values] += $2 }
$1 == "type:" { type[n_types] = $2; strings[$2] }
$1 == "unit:" { unit[n_types] = $2; strings[$2] }
$1 ~ /^(key|str|name|system_name):$/ { strings[$2] }
$1 == "period:" { period = $2 }
/^string_table: / {
    if (!n_strings && $2 != "\"\"") bad("string 0 is " $2)
    string[n_strings++ + 0] = substr($2, 2, length($2) - 2)
}
END {
    if (failed) exit 1
    for (i in strings) text(i)
    for (i in places) if (!((".location", i) in known)) bad("no location " i)
    for (i in functions) if (!((".function", i) in known)) bad("no function " i)
    for (i = 1; i <= n_sample_types; i++) printf "%s=%.0f ", unit_of(i), sum[i]
    printf "period=%s=%.0f\n", unit_of(period_at), period
}
END

# judged FILE OPTIONS...: `render -f pprof` of it, as the awk program above says it
judged() {
    local jfr=$1

    shift
    "$GNOMON" render "$jfr" --force -o "$T/out.pb.gz" "$@" 2>"$T/err" || fail "render: $(cat "$T/err")"
    zcat "$T/out.pb.gz" >"$T/out.pb" || fail "no gzip"
    protoc --decode=perftools.profiles.Profile -I"$ROOT/tests/data" pprof.proto \
        <"$T/out.pb" >"$T/out.txt" 2>"$T/err" || fail "protoc: $(head -n 3 "$T/err")"
    assert_empty "what protoc says" "$T/err"
    awk -f "$T/judge.awk" "$T/out.txt"
}

# text_count FILE KIND: the number in the first line of `render`: "1,001 CPU samples", "52 wall samples"
text_count() {
    "$GNOMON" render "$1" 2>/dev/null | sed -n "1s/.* \([0-9,]*\) $2 samples.*/\1/p" | tr -d ,
}

# One event of 10 ms each on the CPU. The wall events stand for 52 ticks of 20 ms, of 64 threads out
# of 800 at a time.
normal() {
    local n off=$((52 * 20 * 800 / 64 * 1000000)) cpu

    n=$("$T/gen" "$1" "$T/$1.jfr" 2>/dev/null | awk 'NR == 1 { print $2 }')
    cpu=$((n * 10000000))
    assert_eq "CPU samples in the text" "$n" "$(text_count "$T/$1.jfr" CPU)"
    assert_eq "wall samples in the text" 52 "$(text_count "$T/$1.jfr" wall)"
    assert_eq "both of $1" "cpu-samples/count=$n cpu-time/nanoseconds=$cpu \
wall-samples/count=$((n + 52)) wall-time/nanoseconds=$((cpu + off)) period=cpu/nanoseconds=10000000" \
        "$(judged "$T/$1.jfr")"
    assert_eq "CPU of $1" "samples/count=$n cpu/nanoseconds=$cpu period=cpu/nanoseconds=10000000" \
        "$(judged "$T/$1.jfr" --dim cpu)"
    assert_eq "wall of $1" "samples/count=$((n + 52)) wall/nanoseconds=$((cpu + off)) \
period=wall/nanoseconds=20000000" "$(judged "$T/$1.jfr" --dim wall)"
    assert_eq "off CPU of $1" "samples/count=52 off_cpu/nanoseconds=$off \
period=wall/nanoseconds=20000000" "$(judged "$T/$1.jfr" --dim off)"
}

# Without samples, with stacks of 2,048 frames, and with names that are no UTF-8: counts alone
odd() {
    local n

    n=$("$T/gen" "$1" "$T/$1.jfr" 2>/dev/null | awk 'NR == 1 { print $2 }')
    [[ "$(judged "$T/$1.jfr")" == "cpu-samples/count=$n "* ]] ||
        fail "$1: $(judged "$T/$1.jfr"), not of $n CPU samples"
}

normal normal
normal cputime
for kind in zero deep names; do odd $kind; done
note "as the schema has it"
