#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/deps.sh [--check] [build] [test] [browser] [bench] [kernels] [programs] [peers]
#
# What building and testing need, on Debian 12 and 13, and opening the pages, measuring, booting other
# kernels, fetching programs. Root: installs what is missing and touches nothing (nor the network) when all is there. Anyone
# else, or with --check: says what is missing and how to get it. Without names the first two: what opens
# the HTML pages is 280 MB to fetch, and takes a minute. Exit code 0: all there; 4: something is missing.
set -u

check=0
sets=
for arg; do
    case $arg in
    --check) check=1 ;;
    build | test | browser | bench | kernels | programs | peers) sets+=" $arg" ;;
    *) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
: "${sets:=build test}"

# Each line: the package, and what shows that it is there: a command or a file (globs allowed).
# A file and not dpkg is asked, since a tool that came another way serves as well.
needs_build='
    make            make
    gcc             gcc
    libc6-dev       /usr/include/stdio.h
    clang           clang
    bpftool         bpftool
    libbpf-dev      /usr/include/bpf/libbpf.h
    libelf-dev      /usr/include/libelf.h
    zlib1g-dev      /usr/include/zlib.h
    liblzma-dev     /usr/include/lzma.h
    libiberty-dev   /usr/include/libiberty/demangle.h
    uthash-dev      /usr/include/uthash.h
    libinih-dev     /usr/include/ini.h
    libcurl4-openssl-dev /usr/include/*/curl/curl.h
    libmicrohttpd-dev /usr/include/microhttpd.h
'
needs_test='
    libcmocka-dev   /usr/include/cmocka.h
    libclang-rt-dev /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
    clang-format    clang-format
    binutils        readelf
    procps          ps
    xz-utils        xz
    runc            runc
    bubblewrap      bwrap
    podman          podman
    musl-tools      musl-gcc
    protobuf-compiler protoc
    mmdebstrap      mmdebstrap
    git             git
    python3         python3
    openssl         openssl
    curl            curl
    iproute2        ip
    man-db          man
    mandoc          mandoc
    zsh             zsh
    prometheus      promtool
    libc6-dev-arm64-cross /usr/*/*/gnu/stubs-lp64.h
    JDK             /usr/lib/jvm/*/bin/javac
'
needs_browser='
    chromium        chromium
    nodejs          node
'
needs_bench='
    procps          ps
    JDK             /usr/lib/jvm/*/bin/javac
    JDK-SOURCE      /usr/lib/jvm/*/lib/src.zip
    wrk             wrk
    tomcat10        /usr/share/tomcat10/bin/bootstrap.jar
    tomcat10-examples /usr/share/tomcat10-examples/examples
    libh2-java      /usr/share/java/h2.jar
    ant             /usr/share/ant/lib/ant-launcher.jar
    unzip           unzip
    linux-perf      perf
    bpftrace        bpftrace
'
needs_peers='
    JDK             /usr/lib/jvm/*/bin/javac
    golang-go       go
    maven           mvn
    protobuf-compiler protoc
    nodejs          node
    npm             npm
    mmdebstrap      mmdebstrap
    chromium        chromium
    prometheus      prometheus
    curl            curl
    python3-venv    /usr/lib/python3*/ensurepip/__init__.py
'
needs_kernels='
    JDK             /usr/lib/jvm/*/jmods/java.base.jmod
    qemu-system-x86 qemu-system-x86_64
    busybox-static  busybox
    gcc             gcc
    make            make
    flex            flex
    bison           bison
    bc              bc
    dwarves         pahole
    xz-utils        xz
    libelf-dev      /usr/include/libelf.h
    debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
'

needs_programs='
    maven           mvn
'

there() {
    case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] ;;
    esac
}

# Debian 12 has JDK 17, Debian 13 has 21 and 25.
jdk_version() {
    local version=

    [ -r /etc/os-release ] && version=$(. /etc/os-release && echo "${VERSION_ID:-}")
    [ "$version" = 12 ] && echo 17 || echo 21
}

missing() {
    local set package sign

    for set in $sets; do
        local -n table=needs_$set
        while read -r package sign; do
            [ -z "$package" ] || there "$sign" || echo "$package"
        done <<<"$table"
    done | sort -u | sed "s/^JDK\$/openjdk-$(jdk_version)-jdk-headless/; s/^JDK-SOURCE\$/openjdk-$(jdk_version)-source/"
}

# Debian's way to keep packages from starting daemons; ours only where there is none.
no_daemons() {
    local policy=/usr/sbin/policy-rc.d

    [ -e $policy ] && return
    trap "rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
}

mapfile -t list < <(missing)
[ ${#list[@]} -eq 0 ] && exit 0

command="apt-get install -y --no-install-recommends ${list[*]}"
if ! command -v apt-get >/dev/null; then
    echo "deps: missing: ${list[*]} (Debian's names; this is no Debian, install their like)" >&2
    exit 4
elif [ $check = 1 ] || [ "$(id -u)" != 0 ]; then
    echo "deps: missing: ${list[*]}" >&2
    echo "  as root: $command" >&2
    exit 4
fi

echo "deps: installing ${list[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
no_daemons
log=$(mktemp)
# The lists are fetched only where what there is does not do: old lists name packages that are gone.
if ! $command </dev/null >"$log" 2>&1 &&
    ! { apt-get update && $command; } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "deps: cannot install; by hand: $command" >&2
    rm -f "$log"
    exit 4
fi
rm -f "$log"
mapfile -t list < <(missing)
[ ${#list[@]} -eq 0 ] && exit 0
echo "deps: installed, but still not found: ${list[*]}" >&2
exit 4
