#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names that are commands: to a terminal (escape sequences, also those of one byte and of C1), to a spreadsheet
# (a formula), to a page. A process's command line and threads, a library's name and its functions'.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"

ESC=$'\e' C1=$'\xc2\x9b' # both begin a sequence, and so does a lone \x9b where UTF-8 is off

# harmless FILE: no byte of it steers a terminal, but in lines and columns
harmless() {
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" || fail "$1: $(cat -v "$1" | head -n 20)"
    iconv -f UTF-8 -t UTF-8 "$1" >"$T/iconv" 2>&1 || fail "$1 is not UTF-8"
}

# shows CODE COMMAND...: what it says is harmless.
shows() {
    local want=$1

    shift
    timeout -s KILL 120 "$@" >"$T/shown" 2>"$T/err" </dev/null
    assert_eq "exit code of ${*:2:2}" "$want" $? "$(cat "$T/err")"
    harmless "$T/shown"
    harmless "$T/err"
}

attacker_build
ARGV=('')
attack called "$ESC[31m${C1}2J"$'\x9bx'
shows 0 "$GNOMON" jvms
assert_match "its line" "^ *$ATTACKER .* .\\[31m.2J.x " "$T/shown"
shows 0 "$GNOMON" jvms --json
shows 0 "$GNOMON" doctor
attack_end
# whoever is no JVM, in an error
as_attacker cp "$(command -v sleep)" "$DEN/sh$ESC[31m$C1"
(exec setpriv --reuid=$ATTACKER_UID --regid=$ATTACKER_UID --clear-groups "$DEN/sh$ESC[31m$C1" 1000) &
none=$!
CHILDREN+=($none)
until_true 60 grep -qF '[31m' "/proc/$none/comm" || fail "it has no such name"
shows 3 "$GNOMON" record -p $none -d 1s -o "$T/none.jfr"
assert_match "the error" '\[31m' "$T/err"

evil="=cmd|'/c'!A1$ESC[2J${C1}2J"$'\x9b'"<script>&quot;"
elf "=1+1$ESC${C1}.so" symbol "$evil"
ARGV=(java -jar "x$ESC[31m$C1.jar")
attack burn "$DEN/=1+1$ESC${C1}.so"
shows 0 "$GNOMON" record -p "$ATTACKER" -d 1s -o "$T/evil.jfr"
assert_ge "samples of it" 1 "$(weight "$T/evil.jfr" $CPU_EVENT "frame=.*=cmd.*")"
for form in text tree collapsed csv xml svg speedscope firefox html; do
    shows 0 "$GNOMON" render "$T/evil.jfr" -f $form
    case $form in html | firefox) continue ;; esac # its data are compressed, or a script of ours
    ! grep -q '<script>&quot' "$T/shown" || case $form in text | tree | collapsed | csv | speedscope) ;; *) fail "$form: markup" ;; esac
done
for form in summary 'render -f csv'; do
    # shellcheck disable=SC2086
    shows 0 "$GNOMON" ${form%% *} "$T/evil.jfr" ${form#"${form%% *}"}
done
assert_match "the field of the table" "^\"'=1\\+1.*=cmd" "$T/shown"
! grep -Eq '^"?[=+@-]' "$T/shown" || fail "a formula: $(cat "$T/shown")"
jfr_readable "$T/evil.jfr"
note "$(grep cmd "$T/shown")"
attack_end
