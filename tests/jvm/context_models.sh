#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The thread context is found in a program's own variable, in a library linked with it and in one that it loads later, for
# each way to get at such a variable and either C library: two threads have theirs and the others none; also by the kernel side,
# which lies cost a read.
# overlaps
# in make check-all
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context.sh"

need_root

# recorded NAME PID: so does the kernel side, of threads that have been asleep all the time.
recorded() {
    "$GNOMON" record -q -p "$2" -d 1s -o "$T/$1.jfr" || fail "record"
    query "$T/$1.jfr" values gnomon.Context traceId spanId attributes | sort -u >"$T/$1.contexts"
    diff "$T/recorded" "$T/$1.contexts" || fail "$1 is recorded otherwise"
}

# publisher NAME LIBRARY-OR-NOTHING: runs $T/NAME and holds what the probe says of it.
publisher() {
    local name=$1 in=$T/$1.in

    shift
    mkfifo "$in"
    exec {FD}<>"$in"
    "$T/$name" "$@" <"$in" >"$T/$name.out" {FD}>&- &
    CHILDREN+=($!)
    until_true 60 file_has "$T/$name.out" READY || fail "'$name' does not begin"
    "$PROBE" $! >"$T/$name.said" || fail "the probe fails on '$name'"
    grep '^thread' "$T/$name.said" | cut -d' ' -f3- | sort >"$T/$name.threads"
    diff "$T/expected" "$T/$name.threads" || fail "$name: $(cat "$T/$name.said")"
    note "$name: $(grep ^place "$T/$name.said")"
    case $name in *-program | *-loads-general | *-loads-descriptor) recorded "$name" $! ;; esac
    exec {FD}>&-
}

printf '%s\n' "000000000000000000000000000000aa 0000000000000001 0=hi" \
    "000000000000000000000000000000bb 0000000000000002" >"$T/expected"

printf '%s\n' "000000000000000000000000000000aa 0000000000000001 key0=hi" \
    "000000000000000000000000000000bb 0000000000000002 null" >"$T/recorded"

# what is recorded is a JVM: nothing of it can be read, so nothing is
echo 'int none;' | gcc -x c -shared -fPIC -o "$T/libjvm.so" - || fail "no libjvm.so"
export LIBJVM=$T/libjvm.so

# models CC NAME: MODEL flags
models() {
    local cc=$1 model flags lib src=$LIB_DIR/context_publisher.c

    "$cc" -w -O2 -DWHOLE -rdynamic -o "$T/$cc-program" "$src" -lpthread || fail "$cc: the program does not compile"
    publisher "$cc-program"
    "$cc" -w -O2 -DLOADS -o "$T/$cc-loads" "$src" -lpthread -ldl || fail "$cc: the loader does not compile"
    while read -r model flags; do
        lib=$T/lib$cc-$model.so
        # shellcheck disable=SC2086
        "$cc" -w -O2 -DLIBRARY -fPIC -shared $flags -o "$lib" "$src" || fail "$cc: $model does not compile"
        "$cc" -w -O2 -o "$T/$cc-linked-$model" "$src" "$lib" -Wl,-rpath,"$T" -lpthread || fail "$cc: $model does not link"
        publisher "$cc-linked-$model"
        cp "$T/$cc-loads" "$T/$cc-loads-$model"
        [ "$cc-$model" = musl-gcc-initial ] || publisher "$cc-loads-$model" "$lib"
    done <<END
general $GENERAL
descriptor $DESCRIPTOR
bound $DESCRIPTOR -Wl,-Bsymbolic
sysv $GENERAL -Wl,--hash-style=sysv
initial -ftls-model=initial-exec
END
}

# Records that say they are longer than there is memory, lie nowhere, and are another at each sample.
hostile() {
    local in=$T/hostile.in

    gcc -w -O2 -DWHOLE -DHOSTILE -rdynamic -o "$T/hostile" "$LIB_DIR/context_publisher.c" -lpthread || fail "it does not compile"
    mkfifo "$in"
    exec {FD}<>"$in"
    "$T/hostile" <"$in" >"$T/hostile.out" {FD}>&- &
    CHILDREN+=($!)
    until_true 60 file_has "$T/hostile.out" READY || fail "the hostile one does not begin"
    "$GNOMON" record -q -p $! -d 1s -o "$T/hostile.jfr" || fail "record"
    query "$T/hostile.jfr" values gnomon.Context traceId spanId attributes | sort | uniq -c | sort -n >"$T/hostile.contexts"
    assert_eq "attributes that are not there" "000000000000000000000000000000bb 0000000000000002 null" \
        "$(grep -o '0*bb .*' "$T/hostile.contexts")"
    assert_ge "contexts of one that changes" 3 "$(grep -c ' 00000000.*aa 0*1 key0=hi' "$T/hostile.contexts")"
    assert_eq "others" 0 "$(grep -cv 'bb 0*2 null\|aa 0*1 key0=hi' "$T/hostile.contexts")"
    exec {FD}>&-
}

# on aarch64 descriptors are the usual way
case $(uname -m) in
x86_64) GENERAL=-mtls-dialect=gnu DESCRIPTOR=-mtls-dialect=gnu2 ;;
*) GENERAL=-mtls-dialect=trad DESCRIPTOR=-mtls-dialect=desc ;;
esac
models gcc
hostile
need_cmd musl-gcc
models musl-gcc
