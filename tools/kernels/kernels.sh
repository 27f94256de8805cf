#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/kernels/kernels.sh [NAME...]
#
# Boots other kernels under qemu, without KVM, and there loads gnomon's BPF programs and records a
# native program and, if jlink is here, a JVM. Tells for each program how much of its limit the
# verifier took. Root (for apt). NAME: bookworm (6.1) trixie (6.12), else both.
#
# The kernels are Debian's, kept in GNOMON_KERNELS (default /var/cache/gnomon-test/kernels). Exit
# code 0: all recorded, with nearly all stacks complete; 77: something is missing, said which.
. "$(dirname "$0")/../../tests/jvm/lib.sh"
need_root
need_gnomon record
need_cmd qemu-system-x86_64
need_cmd busybox
here=$ROOT/tools/kernels
cache=${GNOMON_KERNELS:-/var/cache/gnomon-test/kernels}
: "${KERNEL_SECONDS:=300}"
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

# fetched SUITE VERSION: the directory with its image, made once.
fetched() {
    local suite=$1 version=$2 dir=$cache/$1 name

    compgen -G "$dir/root/boot/vmlinuz-*" >/dev/null && return
    mkdir -p "$dir"/{sources,lists/partial,apt/archives/partial,root}
    {
        sources "$suite" http://deb.debian.org/debian
        sources "$suite-security" http://deb.debian.org/debian-security
    } >"$dir/sources/debian.sources"
    apt_in "$dir" apt-get -qq update || skip "no package lists of Debian '$suite'"
    name=$(apt_in "$dir" apt-cache search --names-only "^linux-image-$version\.[0-9].*-cloud-amd64\$" |
        cut -d' ' -f1 | sort -V | tail -n 1)
    [ -n "$name" ] || skip "Debian '$suite' has no kernel $version"
    (cd "$dir" && apt_in "$dir" apt-get -qq download "$name") || skip "'$name' cannot be had"
    dpkg-deb -x "$dir/$name"_*.deb "$dir/root" || fail "'$name' cannot be unpacked"
    rm -rf "$dir/$name"_*.deb "$dir/apt" "$dir/lists"
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
    local dir=$T/initramfs jdk

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
    jdk=$(jdk_oldest)
    if [ -x "$jdk/bin/jlink" ] && [ -d "$jdk/jmods" ]; then
        "$jdk/bin/jlink" --add-modules java.base --strip-debug --no-man-pages \
            --no-header-files --output "$dir/jre" || fail "jlink failed"
        with_libraries "$dir/jre/bin/java" "$dir"
        with_libraries "$dir/jre/lib/server/libjvm.so" "$dir"
        "$jdk/bin/javac" -d "$dir/classes" "$here/Guest.java" || fail "the Java program does not compile"
    else
        note "without a JVM: no jlink"
    fi
    (cd "$dir" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$T/initramfs.gz"
}

# part NAME: the lines that belong to one recording.
part() { awk -v p="@$1" '/^@/ && !/^@(prog|exit)/ { on = $0 == p } on' "$T/console"; }

# judged NAME SHARE EXIT-CODE
judged() {
    local what=$1 least=$2 code=$3 share

    part "$what" >"$T/part"
    [ -s "$T/part" ] || fail "'$what' was not recorded: $(tail -n 20 "$T/console")"
    grep -q "^@exit $code" "$T/part" || fail "'$what': $(grep -v '^@prog' "$T/part" | head -n 30)"
    share=$(sed -n 's/^ *\([0-9.]*\)%.* stacks complete.*/\1/p' "$T/part" | head -n 1)
    assert_ge "share of complete stacks ($what)" "$least" "${share:-0}"
    note "$what: $share% of the stacks complete"
}

programs() {
    part native | sed -n 's/^@prog //p' | sort -u | awk -F'\t' '
        BEGIN { printf "    %-18s %10s %9s %8s %8s\n", "program", "verified", "of limit", "insns", "bytes" }
        $2 > 0 { printf "    %-18s %10d %8.2f%% %8d %8d\n", $1, $2, $3, $4, $5; n++ }
        END { exit !n }' || fail "no BPF programs seen"
}

boot() {
    local suite=$1 image

    image=$(compgen -G "$cache/$suite/root/boot/vmlinuz-*" | tail -n 1)
    note "${image##*/vmlinuz-}"
    timeout "$KERNEL_SECONDS" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1536 \
        -nographic -no-reboot -kernel "$image" -initrd "$T/initramfs.gz" \
        -append "console=ttyS0 quiet panic=-1 rdinit=/init" </dev/null 2>&1 |
        tr -d '\r' >"$T/console"
    grep -q '^@end' "$T/console" || fail "the machine did not come to its end: $(tail -n 20 "$T/console")"
    [ -z "${V:-}" ] || cat "$T/console"
    programs
    # what is launched and no JVM is recorded nevertheless, and that is said
    judged native "$NATIVE_COMPLETE" 3
    ! grep -q '^@jvm' "$T/console" || judged jvm "$JVM_COMPLETE" 0
}

initramfs
for suite in ${*:-bookworm trixie}; do
    case $suite in
    bookworm) fetched bookworm '6\.1' ;;
    trixie) fetched trixie '6\.12' ;;
    *) fail "no kernel '$suite': bookworm or trixie" ;;
    esac
    boot "$suite"
done
