#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target whose /tmp is full of traps where gnomon and the attach protocol have their files, and
# whose name is made to mislead: gnomon goes on or refuses, in time, and writes nowhere else.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"

# A JVM of another user in a mount namespace, with a /tmp of its own unless OWN_TMP is empty; TMP is
# that, seen from here.
OWN_TMP=/tmp
target_start() {
    jvm_pipes
    unshare --mount sh -c '[ -z "$1" ] || mount -t tmpfs tmpfs "$1"; shift; exec "$@"' - "$OWN_TMP" \
        setpriv --reuid=1234 --regid=1234 --clear-groups "$JDK/bin/java" -Xmx64m "$@" \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    jvm_ready "the target"
    TMP=/proc/$JVM_PID/root/tmp
}

# trap_set KIND PATH: owned by the target's user, as its own doing.
trap_set() {
    case $1 in
    fifo) mkfifo "$2" ;;
    link) ln -s "$VICTIM" "$2" ;;
    up) ln -s ../../../../../../../../../../../../etc/gnomon-test-victim "$2" ;;
    dir) mkdir "$2" ;;
    file) echo garbage >"$2" ;;
    sparse) truncate -s 10G "$2" ;;
    zero) ln -s /dev/zero "$2" ;;
    listener) # somebody else answers, and would for ever
        "$T/listener" "$2" &
        LISTENER=$!
        CHILDREN+=($LISTENER)
        until_true 60 test -S "$2" || fail "the listener does not listen"
        ;;
    esac
    chown -h 1234:1234 "$2"
}

# in_time COMMAND...: ends within its time by itself, whatever it says.
in_time() {
    timeout -s KILL 120 bash -c 'ulimit -v 2000000; exec "$0" "$@"' "$@" >"$T/out.txt" 2>"$T/err"
    RC=$?
    [ $RC -le 7 ] || fail "$WHAT: $1 $2: exit code $RC: $(cat "$T/err")"
}

trapped() {
    local what=$2 path=$TMP/$3

    WHAT="a $1 in place of $what"
    trap_set "$1" "$path"
    in_time "$GNOMON" perfmap "$JVM_PID"
    note "$WHAT: perfmap $RC, $(head -n 1 "$T/err")"
    # its own regular file is made anew, however large; what is no such file is left alone
    case $1-$2 in
    sparse-*map | file-*map) assert_eq "$WHAT: exit code of perfmap" 0 $RC "$(cat "$T/err")" ;;
    *) assert_eq "$WHAT: exit code of perfmap" 3 $RC "$(cat "$T/err")" ;;
    esac
    # which writes no perf map
    if [[ $2 != *map ]]; then
        in_time "$GNOMON" record --force -p "$JVM_PID" --jvm agent -d 200ms -o "$T/trapped.jfr"
        assert_eq "$WHAT: exit code of record" 0 $RC "$(cat "$T/err")"
    fi
    assert_eq "$WHAT: the victim" precious "$(cat "$VICTIM")"
    assert_eq "$WHAT: the victim's owner and mode" "0:0 600" "$(stat -c '%u:%g %a' "$VICTIM")"
    [ -e /etc/gnomon-test-victim ] && fail "$WHAT: a file was made outside"
    file_has "$JVM_OUT" 'Full thread dump' && fail "$WHAT: the target dumped its threads"
    jvm_unharmed
    [ "$1" = listener ] && kill "$LISTENER"
    rm -rf "$path"
}

listener_build() {
    cat >"$T/listener.c" <<'EOF'
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM, 0), c;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", argv[argc - 1]);
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, 1))
		return 1;
	while ((c = accept(s, 0, 0)) >= 0) {
		while (send(c, "0\nAAAAAAA", 9, MSG_NOSIGNAL) > 0)
			;
		close(c);
	}
	return 0;
}
EOF
    "${CC:-gcc}" -O1 -Wall -Wextra -Werror -o "$T/listener" "$T/listener.c" || fail "no listener"
}

traps() {
    local n kind

    target_start -cp "$SEEN" Idle 3 1 30
    n=$JVM_PID
    # before there is a listener
    for kind in fifo link dir; do trapped $kind "the attach file" ".attach_pid$n"; done
    for kind in fifo link dir file listener; do trapped $kind "the attach socket" ".java_pid$n"; done
    for kind in sparse fifo link up zero dir file; do
        trapped $kind "the perf map" "perf-$n.map"
    done
    # and with nothing in the way all is well
    WHAT="without traps"
    rm -f "$TMP/perf-$n.map"
    in_time "$GNOMON" perfmap "$JVM_PID"
    assert_eq "exit code of perfmap without traps" 0 $RC "$(cat "$T/err")"
    assert_match "the perf map" ' (Harness|Idle)' "$TMP/perf-$n.map"
    jvm_end
}

# A jar with a name that is lines, escapes and a way up.
names() {
    local evil=x$$$'\n4711  root  -  ..\e[31m' dir=$T/jars out=$T/here/out

    rm -rf "$T/here" "$dir"
    chmod 755 "$T"
    mkdir -p "$out" "$dir"
    "$(jdk_oldest)/bin/jar" --create --file "$dir/plain.jar" --main-class Idle -C "$SEEN" . ||
        fail "no jar"
    mv "$dir/plain.jar" "$dir/$evil.jar"
    chmod -R a+rX "$dir"
    target_start -jar "$dir/$evil.jar" 3 1 30
    "$GNOMON" jvms -w >"$T/jvms" 2>"$T/err"
    assert_eq "lines about it" 1 "$(grep -c "^ *$JVM_PID " "$T/jvms")"
    grep -q $'\e' "$T/jvms" && fail "an escape sequence reaches the terminal"
    grep -q '^4711  root' "$T/jvms" && fail "a line of the target's own"
    WHAT="a misleading name"
    in_time "$GNOMON" record --name "x$$*" -d 1s -o "$out"
    assert_eq "exit code" 0 $RC "$(cat "$T/err")"
    assert_eq "files" 1 "$(find "$T/here" -type f | wc -l)"
    find "$out" -type f -name "*-$JVM_PID.jfr" | grep -q '^[A-Za-z0-9/._-]*$' ||
        fail "the file's name: $(ls "$out")"
    grep -q $'\e' "$T/err" && fail "an escape sequence reaches the terminal"
    note "its file: $(basename "$out"/*)"
    jfr_readable "$out"/*
    jvm_end
}

need_root
need_gnomon record
VICTIM=$T/victim
echo precious >"$VICTIM"
chmod 600 "$VICTIM"
JDK=$(jdk_oldest)
listener_build
classes_seen
traps
OWN_TMP= # the jar lies in the host's
for_one_jdk names
