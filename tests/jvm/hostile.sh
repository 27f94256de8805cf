# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/jvm/hostile_*.sh after lib.sh: processes of uid 65534 that look like JVMs (attacker.c), and
# a JVM beside which they are recorded, whose recording has to be as if it were alone.

ATTACKER_UID=65534

need_root
need_gnomon record
need_cmd setpriv

# attacker_build: T/attacker and DEN, where everybody can read and attackers can write.
attacker_build() {
    DEN=$(mktemp -d /var/lib/gnomon-test.XXXXXX) || fail "no directory in /var/lib"
    REMOVE+=("$DEN")
    chown $ATTACKER_UID "$DEN"
    chmod 755 "$DEN"
    "${CC:-gcc}" -D_GNU_SOURCE -O2 -fno-omit-frame-pointer -Wall -Wextra -Wno-unused-parameter -Werror -o "$DEN/attacker" \
        "$LIB_DIR/attacker.c" -lpthread || fail "attacker.c does not compile"
    # what makes a process a JVM
    as_attacker cp "$DEN/attacker" "$DEN/libjvm.so"
}

as_attacker() { setpriv --reuid=$ATTACKER_UID --regid=$ATTACKER_UID --clear-groups "$@"; }

# attack MODE [ARG...]: such a process, which does what attacker.c says of MODE. ARGV: its command line, an
# array. Sets ATTACKER, its pid; its output is in ATTACK_OUT.
ATTACK_N=0
ARGV=(java)
attack() {
    ATTACK_N=$((ATTACK_N + 1))
    ATTACK_OUT=$T/attack$ATTACK_N.out
    emptied "$ATTACK_OUT"
    # shellcheck disable=SC2016
    (cd "$DEN" && ATTACK="$*" ATTACK_LIB=$DEN/libjvm.so exec setpriv --reuid=$ATTACKER_UID --regid=$ATTACKER_UID \
        --clear-groups bash -c 'exec -a "$1" "$0" "${@:2}"' "$DEN/attacker" "${ARGV[@]}") \
        </dev/null >"$ATTACK_OUT" 2>&1 &
    ATTACKER=$!
    CHILDREN+=("$ATTACKER")
    until_true 120 file_has "$ATTACK_OUT" '^READY' || fail "no attack '$*': $(cat "$ATTACK_OUT")"
}

attack_end() {
    kill -KILL "$ATTACKER" && wait "$ATTACKER" 2>/dev/null
    return 0
}

# elf FILE KIND [ARG...]: such a library in DEN (elves.c)
elf() {
    [ -x "$T/elves" ] || "${CC:-gcc}" -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -o "$T/elves" "$LIB_DIR/elves.c" -lz ||
        fail "elves.c does not compile"
    "$T/elves" "$T/elf" "${@:2}" || fail "no library '$*'"
    as_attacker cp --sparse=always "$T/elf" "$DEN/$1"
}

# ---- who is recorded beside them -------------------------------------------------------------

# victim_start [CPU_MS]: a JVM whose name the attackers' command lines have, too: `--name OWN_NAME.jar` records all.
# Once it is told to go its one thread uses so much CPU time, and else it idles.
VICTIM_MS=1
victim_start() {
    own_jar Split
    ARGV=(java -jar "$OWN_NAME.jar")
    jvm_pipes
    "${JDK:=$(jdk_newest)}/bin/java" -jar "$OWN_JAR" 1 "${1:-1500}" <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    jvm_ready "the victim"
}

# record_all OPTION...: the victim and whoever has its name, into T/all, until victim_done.
record_all() {
    rm -rf "$T/all"
    mkdir "$T/all"
    gnomon_start "$T/all" --name "$OWN_NAME.jar" --cpu ${VICTIM_MS}ms "$@"
    jvm_go
}

# victim_done: it has done its work, and the recording of all ended in time.
victim_done() {
    local began

    jvm_done
    began=$EPOCHREALTIME
    gnomon_stop
    STOPPED_MS=$(since "$began")
    note "the recording's end took $STOPPED_MS ms"
    strict assert_between "ms that the recording's end takes" 0 2000 "$STOPPED_MS"
    VICTIM=$(find "$T/all" -name "*-$JVM_PID.jfr")
    [ -s "$VICTIM" ] || fail "the victim has no file: $(cat "$GN_ERR")"
}

# victim_whole: its samples are all of its CPU time, by the kernel's account, within 2% and what chance allows of
# where a thread's clock begins anew beside others; nearly all stacks are complete and have their names.
victim_whole() {
    local want

    want=$(calc "$(truth split-worker-number-1 3) / ($VICTIM_MS * 1000000)")
    assert_near "the victim's CPU samples" "$want" \
        "$(weight "$VICTIM" $CPU_EVENT thread=split-worker-number-1)" "$(calc "$want / 50 + 2 + 3 * sqrt($want)")"
    strict assert_percent "the victim's CPU samples" "$want" \
        "$(weight "$VICTIM" $CPU_EVENT thread=split-worker-number-1)" 2
    assert_ge "percent of the victim's CPU samples with their callers" 95 "$(calc "100 * $(weight "$VICTIM" \
        $CPU_EVENT thread=split-worker-number-1 'frame=Split\.work') / $want")"
}

# told_lost FILE: what the recording says that it lost, a line each: COUNT REASON
told_lost() {
    jfr_print "$1" gnomon.SamplesLost |
        awk -F' = ' '/^ *reason =/ { r = $2 } /^ *count =/ { c = $2 } /^}/ { n[r] += c; r = "" }
            END { for (r in n) print n[r], r }'
}
