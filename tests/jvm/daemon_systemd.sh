#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `make install` gives systemd: systemd-analyze finds nothing wrong with the units and little exposed; a real systemd,
# in namespaces of its own over this machine's files, starts both; the daemon says when it records, is read again, and
# comes back when it is killed; gnomon-http is nobody's.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon daemon
for c in systemd-analyze systemd-sysusers nsenter unshare curl; do need_cmd $c; done

R=$T/tree
OFF=/lib/systemd/systemd

install_below() { make -s -C "$ROOT" BUILD="$BUILD" DESTDIR="$1" PREFIX=/usr install >"$T/out" 2>&1 || fail "make install: $(tail -n 5 "$T/out")"; }

# exposure UNIT: ten times what systemd-analyze calls so
exposure() { systemd-analyze security --offline=true "$1" 2>/dev/null | sed -n 's/.*Overall exposure level for .*: \([0-9]*\)\.\([0-9]\).*/\1\2/p'; }

analyzed() {
    local unit units=$T/units

    mkdir "$units"
    for unit in gnomon gnomon-http; do
        sed "s,@BINDIR@,$BUILD," "$ROOT/user/service/$unit.service" >"$units/$unit.service"
        systemd-analyze verify --man=no "$units/$unit.service" >"$T/out" 2>&1 || fail "$unit.service: $(cat "$T/out")"
        assert_empty "what systemd-analyze says of $unit.service" "$T/out"
    done
    sed 's/^ProtectClock=.*/ProtectClok=yes/' "$units/gnomon.service" >"$units/spoilt.service"
    systemd-analyze verify --man=no "$units/spoilt.service" >"$T/out" 2>&1
    [ -s "$T/out" ] || fail "systemd-analyze says nothing of a setting that there is not"
    assert_between "exposure of gnomon.service, in tenths" 1 40 "$(exposure "$units/gnomon.service")"
    assert_between "exposure of gnomon-http.service, in tenths" 1 25 "$(exposure "$units/gnomon-http.service")"
}

# As the first process: all of this machine's files, none of which it can change, and what was installed.
cat >"$T/init" <<'END'
#!/bin/bash
set -e
R=$1
mkdir -p "$R/layers" "$R/root"
mount -t tmpfs none "$R/layers"
cp -a "$R/installed" "$R/layers/up"
mkdir "$R/layers/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$R/layers/up,workdir=$R/layers/work" "$R/root"
cd "$R/root"
mount -t proc proc proc
mount --rbind /sys sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs dev dev
for d in null zero full random urandom tty; do touch dev/$d; mount --bind /dev/$d dev/$d; done
touch dev/console "$R/console"
mount --bind "$R/console" dev/console
mkdir dev/shm dev/pts dev/mqueue dev/hugepages
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs run
mkdir -p "$R/root$GNOMON_TEST"
mount --bind "$GNOMON_TEST" "$R/root$GNOMON_TEST"
rm -rf etc/systemd/system/* etc/machine-id
echo 0123456789abcdef0123456789abcdef >etc/machine-id
printf '[Unit]\nRequires=gnomon.service gnomon-http.service\n' >etc/systemd/system/both.target
mkdir old
pivot_root . old
umount -l /old
exec env -i container=test GNOMON_TEST="$GNOMON_TEST" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=both.target --log-target=journal --show-status=no
END

within() { nsenter -t "$INIT" -m -p -n -C "$@"; }
unit_is() { [ "$(within systemctl is-active "$1" 2>/dev/null)" = active ]; }
main_of() { within systemctl show -P MainPID "$1"; }
log() { within journalctl --no-pager -n 60 2>/dev/null; cat "$R/console"; }

started() {
    mkdir -p "$R/installed/etc/gnomon"
    install_below "$R/installed"
    printf '%s\n' "group = gnomon" "chunk-time = 1s" "min-free = 0" "no-vitals = yes" >"$R/installed/etc/gnomon/gnomon.conf"
    (umask 077 && openssl rand -hex 32 >"$R/installed/etc/gnomon/http-token")
    cp /etc/group /etc/gshadow "$R/installed/etc/" 2>/dev/null
    systemd-sysusers --root="$R/installed" >"$T/out" 2>&1 || fail "sysusers: $(cat "$T/out")"
    grep -q '^gnomon:' "$R/installed/etc/group" || fail "there is no group"
    unshare --kill-child -m -p -f -C -i -u -n bash "$T/init" "$R" </dev/null >"$T/unshare" 2>&1 &
    CHILDREN+=("$!")
    has_init() { INIT=$(cat "/proc/$!/task/$!/children" 2>/dev/null | tr -d ' ') && [ -n "$INIT" ] && [ "$(cat "/proc/$INIT/comm")" = systemd ]; }
    until_true 60 has_init || fail "no systemd: $(cat "$T/unshare")"
    CHILDREN+=("$INIT")
    until_true 120 unit_is gnomon.service || fail "gnomon.service: $(within systemctl status gnomon --no-pager) $(log)"
    until_true 20 unit_is gnomon-http.service || fail "gnomon-http.service: $(within systemctl status gnomon-http --no-pager) $(log)"
}

# A JVM of these namespaces, which ends with them.
jvm_within() {
    jvm_pipes
    within "$JDK/bin/java" -Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m -cp "$SEEN" Idle 2 1 10 \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    CHILDREN+=("$!")
    jvm_ready Idle
}

files() { within find /var/lib/gnomon -name '*.jfr' | wc -l; }
more_files() { [ "$(files)" -gt "$1" ]; }
go_on() { local n; n=$(files); until_true 90 more_files $((n + 1)) || fail "$1: no more files: $(log)"; }

records() {
    go_on "it is started"
    told() { within systemctl show -P StatusText gnomon | grep -q '^1 JVM recorded'; }
    until_true 60 told || fail "systemd is not told what it does: $(within systemctl show -P StatusText gnomon)"
    within systemctl reload gnomon || fail "reload: $(log)"
    go_on "it was reloaded"
    # with all that the unit takes from it a process without rights can be made
    assert_eq "users of what names" nobody "$(within ps -o user= -C gnomon-namer | sort -u)"
    before=$(main_of gnomon)
    within kill -KILL "$before"
    comes_back() { unit_is gnomon.service && [ "$(main_of gnomon)" != "$before" ]; }
    until_true 90 comes_back || fail "killed, it does not come back: $(within systemctl status gnomon --no-pager)"
    go_on "it came back"
    assert_eq "directories of the JVM" 1 "$(within find /var/lib/gnomon -mindepth 1 -maxdepth 1 -type d | wc -l)"
}

by_http() {
    asked() { within curl -s -m 60 -H "Authorization: Bearer $(cat "$R/installed/etc/gnomon/http-token")" "http://127.0.0.1:9466/$1"; }
    has_jvm() { asked jvms | grep -q '"name": "Idle"'; }
    until_true 60 has_jvm || fail "gnomon-http does not know the JVM: $(asked jvms) $(log)"
    asked 'dump?last=1m' >"$T/dump.jfr"
    grep -aq '^FLR' "$T/dump.jfr" || fail "no recording: $(head -c 500 "$T/dump.jfr" | tr -d '\0') $(within ls -lan /var/lib/gnomon)"
    jfr_silent "$(jdk_newest)" summary "$T/dump.jfr"
    assert_eq "user of gnomon-http" 65534 "$(within ps -o uid= -p "$(main_of gnomon-http)" | tr -d ' ')"
}

stopped() {
    within systemctl stop gnomon gnomon-http || fail "stop: $(log)"
    assert_eq "result" success "$(within systemctl show -P Result gnomon)"
    assert_eq "result of gnomon-http" success "$(within systemctl show -P Result gnomon-http)"
}

analyzed
[ -x $OFF ] || skip "no systemd"
JDK=$(jdk_oldest)
classes_seen
started
jvm_within
records
by_http
stopped
kill -KILL "$INIT"
