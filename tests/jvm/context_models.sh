#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The thread context is found in a program's own variable, in a library linked with it and in one that it loads later, for
# each way to get at such a variable and either C library: two threads have theirs and the others none.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context.sh"

need_root

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
    exec {FD}>&-
}

printf '%s\n' "000000000000000000000000000000aa 0000000000000001 0=hi" \
    "000000000000000000000000000000bb 0000000000000002" >"$T/expected"

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

# on aarch64 descriptors are the usual way
case $(uname -m) in
x86_64) GENERAL=-mtls-dialect=gnu DESCRIPTOR=-mtls-dialect=gnu2 ;;
*) GENERAL=-mtls-dialect=trad DESCRIPTOR=-mtls-dialect=desc ;;
esac
models gcc
need_cmd musl-gcc
models musl-gcc
