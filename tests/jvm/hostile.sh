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

# attack MODE [ARG...]: such a process, of a session of its own as the scheduler sees it, which does what attacker.c says of MODE. ARGV: its command line, an
# array. Sets ATTACKER, its pid; its output is in ATTACK_OUT.
ATTACK_N=0
ATTACKERS=()
ARGV=(java)
attack() {
    ATTACK_N=$((ATTACK_N + 1))
    ATTACK_OUT=$T/attack$ATTACK_N.out
    emptied "$ATTACK_OUT"
    # shellcheck disable=SC2016
    (cd "$DEN" && ATTACK="$*" ATTACK_LIB=$DEN/libjvm.so exec setsid setpriv --reuid=$ATTACKER_UID --regid=$ATTACKER_UID \
        --clear-groups bash -c 'exec -a "$1" "$0" "${@:2}"' "$DEN/attacker" "${ARGV[@]}") \
        </dev/null >"$ATTACK_OUT" 2>&1 &
    ATTACKER=$!
    CHILDREN+=("$ATTACKER")
    ATTACKERS+=("$ATTACKER")
    until_true 120 file_has "$ATTACK_OUT" '^READY' || fail "no attack '$*': $(cat "$ATTACK_OUT")"
    # that session's share: what else runs is not to wait for it
    { echo 5 >"/proc/$ATTACKER/autogroup"; } 2>/dev/null || true
}

attack_end() {
    is_ours "$ATTACKER" && kill -KILL "$ATTACKER" && wait "$ATTACKER" 2>/dev/null
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
    "${JDK:=$(jdk_newest)}/bin/java" -jar "$OWN_JAR" 1 "${1:-800}" <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
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
    local began p

    jvm_done
    began=$EPOCHREALTIME
    gnomon_stop
    STOPPED_MS=$(since "$began")
    note "the recording's end took $STOPPED_MS ms"
    sed -n 's/^  \(own cost\|lost\) /  \1/p' "$GN_ERR"
    strict assert_between "ms that the recording's end takes" 0 2000 "$STOPPED_MS"
    # they have had their time, and queries take CPU
    for p in "${ATTACKERS[@]}"; do ! is_ours "$p" || kill -KILL "$p"; done
    [ ${#ATTACKERS[@]} = 0 ] || wait "${ATTACKERS[@]}" 2>/dev/null
    VICTIM=$(find "$T/all" -name "*-$JVM_PID.jfr")
    [ -s "$VICTIM" ] || fail "the victim has no file: $(cat "$GN_ERR")"
}

# victim_whole: its samples are all of its CPU time, by the kernel's account, within 2% and what chance allows of
# where a thread's clock begins anew beside others; nearly all have their callers. What a machine that is too busy
# loses (the rings are not read for a second or more, or naming is too slow) is told by thread, and counts as told.
victim_whole() {
    local thread=split-worker-number-1 want got lost frames

    want=$(calc "$(truth $thread 3) / ($VICTIM_MS * 1000000)")
    got=$(weight "$VICTIM" $CPU_EVENT thread=$thread)
    lost=$(jfr_print "$VICTIM" gnomon.SamplesLost | awk -v t="\"$thread\"" -F' = ' '/^ *kind =/ { cpu = /"cpu"/ }
        /^ *lostSamples =/ { c = $2 } /^ *eventThread =/ { mine = index($2, t) } /^}/ { if (cpu && mine) n += c; mine = 0 }
        END { print n + 0 }')
    frames=$(told_lost "$VICTIM" | awk '/samples whose frames were lost/ { print $1 }')
    [ "$lost" = 0 ] || note "of the victim's CPU samples $lost were lost, and told"
    assert_near "the victim's CPU samples, and those told as lost" "$want" $((got + lost)) \
        "$(calc "$want / 50 + 2 + 3 * sqrt($want)")"
    # on the busiest machine it has some: to lose nearly all and say so is no way to be left alone
    assert_ge "of these not lost" "$(calc "int($want / 10)")" "$got"
    strict assert_percent "the victim's CPU samples" "$want" "$got" 2
    assert_ge "percent of them with their callers" 95 "$(calc "100 * ($(weight "$VICTIM" $CPU_EVENT \
        thread=$thread 'frame=Split\.work') + ${frames:-0}) / $got")"
}

# ---- file systems of their own ---------------------------------------------------------------

# ownfs_start KIND: ownfs.c as an attacker, with ARGV as its command line. Sets OWNFS_PID. What it holds up is let go
# when it is ended. Skips where no ordinary user can mount FUSE.
OWNFS_N=0
ownfs_start() {
    local out

    if [ -z "${OWNFS:-}" ]; then
        OWNFS=$(mktemp -d /var/lib/gnomon-test.XXXXXX) || fail "no directory in /var/lib"
        REMOVE+=("$OWNFS")
        chmod 755 "$OWNFS"
        "${CC:-gcc}" -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -Wno-unused-parameter -o "$OWNFS/ownfs" \
            "$LIB_DIR/ownfs.c" -lpthread || fail "ownfs.c does not compile"
        # The node may be root's alone, as it is on servers; on desktops it is everybody's.
        [ -c /dev/fuse ] || modprobe -q fuse || [ "$1" = lease ] || skip "no /dev/fuse"
        mknod -m 666 "$OWNFS/node" c 10 229 || skip "no device can be made"
        cp -L "$(jdk_newest)/lib/server/libjvm.so" "$OWNFS/libjvm.so" && chmod 644 "$OWNFS/libjvm.so"
    fi
    OWNFS_N=$((OWNFS_N + 1))
    OWNFS_DIR=$OWNFS/$OWNFS_N
    mkdir "$OWNFS_DIR" && chown $ATTACKER_UID "$OWNFS_DIR"
    out=$T/ownfs$OWNFS_N
    emptied "$out.out"
    # shellcheck disable=SC2016
    (OWN_KIND=$1 OWN_DIR=$OWNFS_DIR OWN_LIB=$OWNFS/libjvm.so OWN_NODE=$OWNFS/node exec \
        bash -c 'exec -a "$1" "$0" "${@:2}"' "$OWNFS/ownfs" "${ARGV[@]}") </dev/null >"$out.out" 2>"$out.err" &
    OWNFS_PID=$!
    CHILDREN+=("$OWNFS_PID")
    until_true 60 ownfs_is_up "$out" || fail "ownfs $1 is not ready: $(cat "$out.err")"
    ! pid_ended "$OWNFS_PID" || skip "no ownfs $1: $(cat "$out.err")"
}
ownfs_is_up() { file_has "$1.out" '^READY' || pid_ended "$OWNFS_PID"; }

# ended_by_itself WHAT COMMAND...: in a time that no command takes that waits for something that does not
# come; T/out and T/err have what it said. (One that hangs cannot always be killed.)
ended_by_itself() {
    local what=$1 p

    shift
    "$@" >"$T/out" 2>"$T/err" </dev/null &
    p=$!
    CHILDREN+=("$p")
    pid_gone "$p" 120 || fail "$what hangs: $(cat "$T/err")"
    wait "$p"
    ENDED_RC=$?
}

# told_lost FILE: what the recording says that it lost, a line each: COUNT REASON
told_lost() {
    jfr_print "$1" gnomon.SamplesLost |
        awk -F' = ' '/^ *reason =/ { r = $2 } /^ *lostSamples =/ { c = $2 } /^}/ { n[r] += c; r = "" }
            END { for (r in n) print n[r], r }'
}
