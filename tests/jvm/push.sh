# SPDX-License-Identifier: Apache-2.0
# Sourced after lib.sh by push_*.sh: servers, recordings whose contents are known, and `gnomon push`.
need_cmd python3
umask 077

# recording KIND [NAME [BEGIN]]: $T/NAME.jfr, which begins with the last minute but one, as a window does; N_CPU: its CPU samples
recording() {
    [ -x "$T/gen" ] || ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 ${JFR_GEN_CFLAGS-} -I"$ROOT" -I"$ROOT/user" \
        "$LIB_DIR/jfr_gen.c" "$BUILD/libgnomon.a" -lpthread -o "$T/gen" || fail "jfr_gen does not compile"
    N_CPU=$("$T/gen" "$1" "$T/${2:-$1}.jfr" "${3:-$(($(date +%s) / 60 * 60 - 60))}" 2>/dev/null | awk 'NR == 1 { print $2 }')
}

# push_server NAME OPTION...: its URL in URL; what it sees lies in $T/NAME
push_server() {
    rm -rf "${T:?}/$1" && mkdir "$T/$1"
    python3 "$ROOT/tests/push/pyroscope.py" "$T/$1" "${@:2}" >"$T/$1.log" 2>&1 &
    CHILDREN+=("$!")
    until_true 60 test -s "$T/$1/port" || fail "the server does not start: $(cat "$T/$1.log")"
    URL=http://localhost:$(cat "$T/$1/port")
}
mode() { echo "${@:2}" >"$T/$1/mode.new" && mv "$T/$1/mode.new" "$T/$1/mode"; }

# lines SERVER FILE: how many
lines() { if [ -e "$T/$1/$2" ]; then wc -l <"$T/$1/$2"; else echo 0; fi; }
refusals() { cat "$T/$1/refused" 2>/dev/null; }

# taken SERVER PYTHON: with ALL, what it took
taken() {
    python3 -c '
import json, sys
ALL = [json.loads(line) for line in open(sys.argv[1])]
exec(sys.argv[2])' "$T/$1/taken" "$2"
}

# run_push ARG...: what it says in OUT, its exit code in RC
OUT=$T/out
run_push() {
    RC=0
    timeout 300 "$GNOMON" push "$@" >"$OUT" 2>&1 </dev/null || RC=$?
}
pushed() {
    run_push "$@"
    assert_eq "exit code of push $*" 0 $RC "$(cat "$OUT")"
}
