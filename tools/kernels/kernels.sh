#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/kernels/kernels.sh [NAME...]
#
# Boots other kernels under qemu, without KVM, and there loads gnomon's BPF programs, records a
# native program and, if jlink is here, a JVM, and runs the BPF tests (tests/bpf). Tells for each
# program how much of its limit the verifier took, and ends with a table of the kernels. Root (for
# apt). NAME, else all:
#   bookworm  Debian 12's 6.1
#   trixie    Debian 13's 6.12
#   between   6.12 as 6.2 to 6.9 are: the kernel functions that find a task are there, but not for
#             programs that user space runs. Built here from Debian 13's sources, once.
#   bullseye  Debian 11's 5.10: lacks what gnomon needs, and has to be refused as it says of itself
#
# GUEST_SLACK (4): what the tests' bounds are widened by (SLACK) on a machine that slow. KERNEL_SECONDS
# (2400): a machine's time at most. V=1: its whole console. KERNEL_TESTS=PROGRAM[:TEST]: nothing but that one of the
# BPF tests.
#
# The kernels are Debian's, kept in GNOMON_KERNELS (default /var/cache/gnomon-test/kernels). Exit
# code 0: all recorded, with nearly all stacks complete, no test failed, and the too old one was
# refused; 77: something is missing, said which.
. "$(dirname "$0")/../../tests/jvm/lib.sh"
need_root
need_gnomon record
need_cmd qemu-system-x86_64
need_cmd busybox
here=$ROOT/tools/kernels
cache=${GNOMON_KERNELS:-/var/cache/gnomon-test/kernels}
: "${KERNEL_SECONDS:=2400}" "${GUEST_SLACK:=4}"
# The native program is launched: until its tables are made, which takes seconds on such a machine,
# its stacks have one frame, and its first thread sleeps with that to the end.
NATIVE_COMPLETE=${NATIVE_COMPLETE:-70} JVM_COMPLETE=${JVM_COMPLETE:-95}

# apt's files of our own: the machine's sources stay as they are.
apt_in() {
    local dir=$1

    shift
    "$@" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/sources" \
        -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/apt" -o APT::Sandbox::User=root
}

sources() {
    local suite=$1 uri=$2

    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' "$uri" "$suite" \
        /usr/share/keyrings/debian-archive-keyring.gpg
}

# listed SUITE: what it has, into directory SUITE of the cache, for apt_in.
listed() {
    local suite=$1 dir=$cache/$1

    mkdir -p "$dir"/{sources,lists/partial,apt/archives/partial}
    {
        sources "$suite" http://deb.debian.org/debian
        sources "$suite-security" http://deb.debian.org/debian-security
    } >"$dir/sources/debian.sources"
    apt_in "$dir" apt-get -qq update || skip "no package lists of Debian '$suite'"
}

# package DIR NAME TO: fetched with the lists in DIR, unpacked below TO.
package() {
    (cd "$1" && apt_in "$1" apt-get -qq download "$2") || skip "'$2' cannot be had"
    mkdir -p "$3"
    dpkg-deb -x "$1/$2"_*.deb "$3" || fail "'$2' cannot be unpacked"
    rm -f "$1/$2"_*.deb
}

# fetched SUITE VERSION: the directory with its image, made once.
fetched() {
    local suite=$1 version=$2 dir=$cache/$1 name

    compgen -G "$dir/root/boot/vmlinuz-*" >/dev/null && return
    listed "$suite"
    name=$(apt_in "$dir" apt-cache search --names-only "^linux-image-$version\.[0-9].*-cloud-amd64\$" |
        cut -d' ' -f1 | sort -V | tail -n 1)
    [ -n "$name" ] || skip "Debian '$suite' has no kernel $version"
    package "$dir" "$name" "$dir/root"
    rm -rf "$dir/apt" "$dir/lists"
}

# What makes `between` what it is: one line of kfunc_init() (kernel/bpf/helpers.c) less, which came
# with 6.10 (a8e03b6bbb2c, "bpf: Allow invoking kfuncs from BPF_PROG_TYPE_SYSCALL progs").
KFUNC_LINE='register_btf_kfunc_id_set(BPF_PROG_TYPE_SYSCALL, &generic_kfunc_set)'

# source_changed DIR
source_changed() {
    [ "$(grep -cF "$KFUNC_LINE" "$1/kernel/bpf/helpers.c")" = 1 ] ||
        fail "kernel/bpf/helpers.c is another than it was: what is to be taken out of it?"
    sed -i "/$KFUNC_LINE/d" "$1/kernel/bpf/helpers.c"
}

# built NAME VERSION: a kernel from trixie's sources, with what small.config says and no more. Kept by
# what it was made of.
built() {
    local name=$1 version=$2 key dir=$cache/$1 src

    key=$(cat "$here/small.config" <(echo "$version $KFUNC_LINE") | sha256sum | cut -c1-12)
    compgen -G "$dir/root/boot/vmlinuz-*-$key" >/dev/null && return
    rm -rf "$dir"
    listed trixie
    note "the kernel '$name' is built: some ten minutes"
    package "$cache/trixie" "linux-source-$version" "$dir/source"
    tar -xJf "$dir/source/usr/src/linux-source-$version.tar.xz" -C "$dir"
    rm -rf "$dir/source" "$cache/trixie/apt" "$cache/trixie/lists"
    src=$dir/linux-source-$version
    source_changed "$src"
    {
        nice make -s -C "$src" O="$dir/out" KCONFIG_ALLCONFIG="$here/small.config" allnoconfig &&
            nice make -s -C "$src" O="$dir/out" LOCALVERSION="-$name" -j"$(nproc)" bzImage
    } >"$dir/log" 2>&1 </dev/null || fail "the kernel does not build: $(tail -n 20 "$dir/log")"
    mkdir -p "$dir/root/boot"
    mv "$dir/out/arch/x86/boot/bzImage" \
        "$dir/root/boot/vmlinuz-$(make -s -C "$src" O="$dir/out" LOCALVERSION="-$name" kernelrelease)-$key"
    rm -rf "$src" "$dir/out"
}

# with_libraries PROGRAM DIR: what it is linked with.
with_libraries() {
    local lib

    ldd "$1" | grep -o '/[^ ]*' | while read -r lib; do
        mkdir -p "$2${lib%/*}"
        cp -L "$lib" "$2$lib"
    done
}

# The first file system: the same for all kernels.
initramfs() {
    local dir=$T/initramfs

    mkdir -p "$dir"/{bin,dev,proc,sys,tmp,classes}
    cp "$(command -v busybox)" "$dir/bin/busybox"
    cp "$here/init" "$dir/init"
    chmod 755 "$dir/init"
    ln -s busybox "$dir/bin/sh"
    cp "$GNOMON" "$dir/gnomon"
    ${CC:-gcc} -O2 -pthread -o "$dir/load" "$here/load.c" || fail "the program does not compile"
    ${CC:-gcc} -O2 -o "$dir/progs" "$here/progs.c" -l:libbpf.a -l:libelf.a -l:libz.a ||
        fail "the lister does not compile"
    with_libraries "$dir/gnomon" "$dir"
    with_libraries "$dir/load" "$dir"
    initramfs_tests "$dir"
    initramfs_jvm "$dir"
    (cd "$dir" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$T/initramfs.gz"
}

initramfs_tests() {
    local dir=$1 test

    mkdir -p "$dir/tests"
    for test in "$ROOT"/tests/bpf/test_*.c; do
        test=$BUILD/tests/bpf/$(basename "$test" .c)
        [ -x "$test" ] || skip "no '$test': make tests"
        cp "$test" "$dir/tests"
        with_libraries "$test" "$dir"
    done
}

initramfs_jvm() {
    local dir=$1 jdk

    jdk=$(jdk_oldest)
    if [ -x "$jdk/bin/jlink" ] && [ -d "$jdk/jmods" ]; then
        "$jdk/bin/jlink" --add-modules java.base,jdk.jfr --strip-debug --no-man-pages \
            --no-header-files --output "$dir/jre" || fail "jlink failed"
        with_libraries "$dir/jre/bin/java" "$dir"
        with_libraries "$dir/jre/lib/server/libjvm.so" "$dir"
        "$jdk/bin/javac" -d "$dir/classes" "$here/Guest.java" || fail "the Java program does not compile"
    else
        note "without a JVM: no jlink"
    fi
}

# ---- what a machine said on its console --------------------------------------------------------

# part NAME: the lines that belong to one recording.
part() { awk -v p="@$1" '/^@/ && !/^@(prog|exit)/ { on = $0 == p } on' "$CONSOLE"; }

# judged NAME SHARE EXIT-CODE
judged() {
    local what=$1 least=$2 code=$3 share

    part "$what" >"$PART"
    [ -s "$PART" ] || fail "'$what' was not recorded: $(tail -n 20 "$CONSOLE")"
    grep -q "^@exit $code" "$PART" || fail "'$what': $(grep -v '^@prog' "$PART" | head -n 30)"
    share=$(sed -n 's/^ *\([0-9.]*\)%.* stacks complete.*/\1/p' "$PART" | sort -n | head -n 1)
    assert_ge "share of complete stacks ($what)" "$least" "${share:-0}"
    note "$what: $share% of the stacks complete (of CPU or of wall samples, the less)"
    cell "$(sed -n 's/^  samples *\([0-9,]* CPU\) every [^,]*, \([0-9,]* wall\).*/\1, \2/p' "$PART"), $share%"
}

programs() {
    part "$1" | sed -n 's/^@prog //p' | sort -u >"$T/programs"
    awk -F'\t' '
        BEGIN { printf "    %-18s %10s %9s %8s %8s\n", "program", "verified", "of limit", "insns", "bytes" }
        $2 > 0 { printf "    %-18s %10d %8.2f%% %8d %8d\n", $1, $2, $3, $4, $5; n++ }
        END { exit !n }' "$T/programs" || fail "no BPF programs seen"
    cell "$(sort -t $'\t' -k 3,3gr "$T/programs" | awk -F'\t' 'NR == 1 { printf "%s %.1f%%", $1, $3 }')"
}

# last FIELD: of the events that `jfr print` showed, the last one's.
last() { sed -n "s/^ *$1 = \([0-9.]*\).*/\1/p" "$PART" | tail -n 1; }

# kernels WHEN NAME: of the group's cpu.stat.
kernels() { sed -n "s/^@$1 $2 //p" "$CONSOLE"; }

# grown NAME: between both ends of the recording.
grown() { echo $(($(kernels end "$1") - $(kernels begin "$1"))); }

# grouped: what the recording says of the JVM's control group, of version 2, is what the kernel says of it.
grouped() {
    awk '/^@/ && !/^@(begin|end|exit)/ { on = $0 == "@group" } on' "$CONSOLE" >"$PART"
    if ! grep -q '^@begin' "$PART"; then
        note "no control groups of version 2 with limits there: $(tail -n 3 "$PART")"
        cell none
        return
    fi
    grep -q '^@exit 0' "$PART" || fail "the JVM in a group: $(cat "$PART")"
    assert_ge "slices in which it was throttled" 5 "$(grown nr_throttled)"
    assert_eq "slices throttled" "$(kernels end nr_throttled)" "$(last cpuThrottledSlices)"
    assert_eq "slices" "$(kernels end nr_periods)" "$(last cpuElapsedSlices)"
    note "group: throttled in $(last cpuThrottledSlices) of $(last cpuElapsedSlices) slices, as the kernel has it"
    cell "$(last cpuThrottledSlices) throttled slices"
}

# tests_named RESULT: the tests that cmocka says that of, once each.
tests_named() {
    awk -v what="$1" '/^@/ { on = /^@tests/ } on && index($0, "[") == 1 {
            name = $NF; sub(/^\[ */, ""); if (index($0, what) == 1 && name ~ /^test_/ && !seen[name]++) print name
        }' "$CONSOLE"
}

# test_said NAME: the last thing before its result.
test_said() {
    awk -v n="$1" '/^\[ RUN / { said = "" }
        $NF == n && /SKIPPED|FAILED/ { print said; exit }
        !/LINE/ { said = $0 }' "$CONSOLE"
}

# tests_judged: each program of tests came to its end, and none of its tests failed. What a kernel
# has not, or one CPU cannot show, is not tested, and said.
tests_judged() {
    local ran ended name failed=0 sum

    while read -r name; do
        note "  not right there: $name: $(test_said "$name")"
        failed=$((failed + 1))
    done < <(tests_named FAILED)
    while read -r name; do
        note "  cannot run there: $name: $(test_said "$name")"
    done < <(tests_named SKIPPED)
    ran=$(grep -c '^@tests' "$CONSOLE")
    ended=$(grep -c '^\[==========\] [0-9]* test(s) run' "$CONSOLE")
    if [ "$ran" = 0 ] || [ "$ran" != "$ended" ] || [ $failed -gt 0 ]; then
        awk '/^@/ { on = /^@tests/ } on && !/^\[ (RUN|  *OK)/' "$CONSOLE"
        fail "$failed BPF tests failed, $ended programs of $ran ended"
    fi
    sum="$(tests_named OK | wc -l) passed, $(tests_named SKIPPED | wc -l) cannot run there"
    note "BPF tests: $sum"
    cell "$sum"
}

# refused: record and doctor say the same of what is missing, and that it is the kernel that lacks it.
refused() {
    local what

    part native >"$PART"
    grep -q '^@exit 5' "$PART" || fail "not refused: $(head -n 30 "$PART")"
    what=$(sed -n "s/^gnomon: this kernel lacks '\([^']*\)', needed for .*/\1/p" "$PART" | head -n 1)
    [ -n "$what" ] || fail "refused, but not for what is missing: $(head -n 30 "$PART")"
    part doctor >"$T/doctor"
    grep -q '^@exit 5' "$T/doctor" || fail "doctor does not: $(cat "$T/doctor")"
    grep -Eq "missing +$what " "$T/doctor" || fail "doctor does not miss '$what': $(cat "$T/doctor")"
    note "refused: $(sed -n 's/^gnomon: //p' "$PART" | head -n 1)"
    cell "none loaded"
    cell "refused: lacks $what"
    cell "the same"
    cell "not run"
    cell "not run"
}

# accepted: what recorded is what doctor said to be able to.
accepted() {
    part doctor >"$T/doctor"
    grep -q '^@exit 0' "$T/doctor" || fail "doctor says otherwise: $(cat "$T/doctor")"
    sed -n 's/^ *\(degraded  .*\)/  doctor: \1/p' "$T/doctor"
}

# ---- the table -------------------------------------------------------------------------------------

# cell TEXT...: the next one of this kernel's row.
cell() { ROW="$ROW $* |"; }

table() {
    printf '\n| kernel | heaviest program, of what the verifier allows | native: samples, stacks complete |'
    printf ' JVM: samples, stacks complete | control group v2 | BPF tests |\n|---|---|---|---|---|---|\n'
    for name in "${names[@]}"; do
        echo "$(cat "$T/row-$name")$(cat "$T/tests-$name" 2>/dev/null)"
    done
}

# ---- machines --------------------------------------------------------------------------------------

# boot IMAGE PARTS QEMU-OPTION...: until it switches itself off. A TSC by which the kernel may keep its
# time: else it takes the HPET's, and gnomon sees by scans what it should see at switches. That its timer ticks
# is not checked: the ten ticks it waits for come too late from a host that is busy, and it would not start.
boot() {
    local image=$1 parts=$2 start=$SECONDS try

    shift 2
    for try in 1 2 3; do
        timeout "$KERNEL_SECONDS" qemu-system-x86_64 "$@" -cpu max -m 1536 \
            -nographic -no-reboot -kernel "$image" -initrd "$T/initramfs.gz" \
            -append "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check rdinit=/init parts=$parts SLACK=$GUEST_SLACK tests=${KERNEL_TESTS:-}" \
            </dev/null 2>&1 | tr -d '\r' >"$CONSOLE"
        [ -z "${V:-}" ] || cat "$CONSOLE"
        # With two threads of it the emulator may run an instruction that the kernel has changed meanwhile, as it does when a
        # tracepoint is first used: no processor does.
        grep -q 'Oops: int3' "$CONSOLE" || break
        note "the emulator has run what was no longer there (try $try): $(grep -m 1 'Oops: int3' "$CONSOLE")"
    done
    grep -q '^@end' "$CONSOLE" ||
        fail "the machine did not come to its end in $KERNEL_SECONDS s: $(tail -n 20 "$CONSOLE")"
    note "$parts: $((SECONDS - start)) s"
}

# Two CPUs, each a thread of ours, as fast as they are.
recordings() {
    # what is refused is seen within a minute
    boot "$1" doctor -accel tcg,thread=multi -smp 2
    accepted
    boot "$1" native,jvm,group -accel tcg,thread=multi -smp 2
    accepted
    programs native
    # what is launched and no JVM is recorded nevertheless, and that is said
    judged native "$NATIVE_COMPLETE" 3
    if grep -q '^@jvm' "$CONSOLE"; then
        judged jvm "$JVM_COMPLETE" 0
        grouped
    else
        cell none
        cell none
    fi
}

# What the tests hold against the clock is true however busy we are: the machine has one CPU, whose
# time is the instructions that it has done, four nanoseconds each. So as many of them as there are CPUs run at once.
tests() {
    boot "$1" tests -accel tcg,thread=single -icount shift=2,sleep=off -smp 1
    tests_judged
}

# of NAME: what is said of it, and its row of the table
of() {
    CONSOLE=$T/console-$1 PART=$T/part-$1
    IMAGE=$(compgen -G "$cache/$1/root/boot/vmlinuz-*" | tail -n 1)
    ROW="| ${IMAGE##*/vmlinuz-} |"
    note "${IMAGE##*/vmlinuz-}"
}

recorded() {
    of "$1"
    if [ "$1" = bullseye ]; then
        boot "$IMAGE" native -accel tcg,thread=multi -smp 2
        refused
    else
        recordings "$IMAGE"
    fi
    echo "$ROW" >"$T/row-$1"
}

# tested NAME: what it says comes when it is over, so that others' words do not lie between
tested() {
    {
        of "$1"
        ROW=
        tests "$IMAGE"
        echo "$ROW" >"$T/tests-$1"
    } >"$T/said-$1" 2>&1
}

tested_all() {
    local name running=0 rc=0

    for name in "${tests[@]}"; do
        [ $running -lt "$(nproc)" ] || { wait -n || rc=1; running=$((running - 1)); }
        (trap - EXIT; SOFTLY=1 tested "$name") &
        running=$((running + 1))
    done
    while [ $running -gt 0 ]; do
        wait -n || rc=1
        running=$((running - 1))
    done
    for name in "${tests[@]}"; do cat "$T/said-$name"; done
    [ $rc = 0 ] || fail "the BPF tests, see above"
}

names=(${*:-bookworm trixie between bullseye})
tests=()
initramfs
for name in "${names[@]}"; do
    case $name in
    bookworm) fetched bookworm '6\.1' ;;
    trixie) fetched trixie '6\.12' ;;
    between) built between 6.12 ;;
    bullseye) fetched bullseye '5\.10' ;;
    *) fail "no kernel '$name': bookworm, trixie, between or bullseye" ;;
    esac
    [ -n "${KERNEL_TESTS:-}" ] || recorded "$name"
    [ "$name" = bullseye ] || tests+=("$name")
done
tested_all
[ -n "${KERNEL_TESTS:-}" ] || table
