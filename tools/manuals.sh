#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/manuals.sh [--self-test | --install] (BUILD: where gnomon is built, default build)
#
# Holds the manual pages of user/man against the commands, of make check. Says what differs, and exits with 1, where
# - a command has no page, or there is a page of no command;
# - a long option of --help is not in the command's page, or one of the page is not in --help, or its letter or the name of
#   its value is another;
# - gnomon-jfr(5) has no entry of an event that a recording may have (user/jfr/types.c and vitals.c), or one of no event;
# - a page refers to one that is not there;
# - mandoc or man (groff), where they are installed, have a warning about a page.
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
GNOMON=${GNOMON:-$BUILD/gnomon}
MAN=${MAN:-user/man}
failed=0
say() {
    echo "$*"
    failed=1
}

commands() { "$GNOMON" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

# helped COMMAND, paged COMMAND: "[LETTER] --NAME [VALUE]" of each option
help_of() { if [ "$1" = http ]; then "${GNOMON%/*}/gnomon-http" --help; else "$GNOMON" "$1" --help; fi; }
helped() { help_of "$1" | sed -n '/^Options:/,/^$/{s/^  \(-.,\)\{0,1\} *\(--[a-z-]*\)\( [^ ]\{1,\}\)\{0,1\}\(  .*\)\{0,1\}$/\1 \2\3/p}' | sed 's/,//; s/^ //' | sort; }
paged() {
    awk '/^\.TP/ { head = 1; next } head { print; head = 0 }' "$MAN/gnomon-$1".[18] | sed 's/\\f.//g; s/\\-/-/g; s/,//' |
        grep -E '^(-. )?--[a-z]' | sort
}

options_held() {
    local c=$1

    diff <(helped "$c") <(paged "$c") | sed -n "s/^< /gnomon-$c's page lacks, or has otherwise: /p; s/^> /gnomon $c --help lacks, or has otherwise: /p"
}

# events_written, events_paged: types of events, one a line
EVENTS='(jdk|gnomon|profiler)\.[A-Z][A-Za-z]*'
events_written() { grep -ohE "\"$EVENTS\"" user/jfr/types.c user/jfr/vitals.c | tr -d '"' | sort -u; }
events_paged() { awk '/^\.TP/ { head = 1; next } head { print; head = 0 }' "$MAN/gnomon-jfr.5" | grep -oE "$EVENTS" | sort -u; }

# references FILE: the pages that it names, as "gnomon-record.1"
references() { sed 's/\\f.//g; s/\\-/-/g' "$1" | grep -oE 'gnomon(-[a-z]+)? ?\([0-9]\)' | sed 's/ *(\(.\))/.\1/' | sort -u; }

# LINT: of which page; all otherwise
lint() {
    [[ ${1##*/} == ${LINT:-*} ]] || return
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$1" | grep .
    fi
    if command -v man >/dev/null; then
        man -l -Tascii --warnings "$1" 2>&1 >/dev/null | grep .
    fi
}

all_held() {
    local c f found

    found=$(options_held http)
    [ -z "$found" ] || say "$found"
    for c in $(commands); do
        [ -e "$MAN/gnomon-$c.1" ] || { say "no page of the command '$c'" && continue; }
        found=$(options_held "$c")
        [ -z "$found" ] || say "$found"
        grep -q "gnomon.-$c" "$MAN/gnomon.1" || say "gnomon.1 does not have the command '$c'"
    done
    found=$(diff <(events_written) <(events_paged) | sed -n 's/^< /gnomon-jfr.5 has no entry of /p; s/^> /gnomon-jfr.5 has an entry of no event: /p')
    [ -z "$found" ] || say "$found"
    for f in "$MAN"/gnomon-*.1; do
        c=${f##*/gnomon-}
        commands | grep -qx "${c%.1}" || say "$f is of no command"
    done
    for f in "$MAN"/*.[1-8]; do
        for c in $(references "$f"); do
            [ -e "$MAN/$c" ] || say "$f refers to $c, which is not there"
        done
        found=$(lint "$f")
        [ -z "$found" ] || say "$found"
    done
}

# Pages in which something was spoilt: each has to be found; what mandoc and man look at costs most.
self_test() {
    local t

    t=$(mktemp -d) || exit 1
    trap 'rm -rf "$t"' EXIT
    spoilt() {
        local what=$1

        rm -rf "$t/man" && cp -r user/man "$t/man"
        (cd "$t/man" && eval "$2") || exit 1
        if LINT=${3:-none} MAN=$t/man tools/manuals.sh >"$t/out"; then
            echo "not found: $what" && failed=1
        fi
    }
    spoilt "an option that the page lacks" "sed -i s/-depth/-deep/ gnomon-record.1"
    spoilt "an option of gnomon-http that the page lacks" "sed -i s/token.-file/token/ gnomon-http.8"
    spoilt "another letter" "sed -i 's/^.fB.-q/\\\\fB\\\\-Q/' gnomon-flame.1"
    spoilt "a page that is missing" "rm gnomon-diff.1"
    spoilt "a page of no command" "cp gnomon-diff.1 gnomon-dif.1"
    spoilt "an event without an entry" "sed -i /^jdk.GCHeapSummary/d gnomon-jfr.5"
    spoilt "an entry of no event" "sed -i s/^jdk.GCHeapSummary/jdk.GCHeapSummery/ gnomon-jfr.5"
    spoilt "a reference to no page" "sed -i 's/overhead (7)/costs (7)/' gnomon-record.1"
    ! command -v mandoc >/dev/null || spoilt "what mandoc warns of" "echo .XX >>gnomon-diff.1" gnomon-diff.1
}

# What `make install` puts below DESTDIR, each file by its name, and that `make uninstall` leaves none.
installed() {
    local t f

    t=$(mktemp -d) || exit 1
    trap 'rm -rf "$t"' EXIT
    make -s BUILD="$BUILD" DESTDIR="$t" PREFIX=/usr install >"$t/log" 2>&1 || say "make install: $(tail -n 5 "$t/log")"
    rm -f "$t/log"
    [ -s "$t/etc/gnomon/gnomon.conf.sample" ] || say "not installed: gnomon.conf.sample"
    "$GNOMON" daemon --check --config "$t/etc/gnomon/gnomon.conf.sample" >/dev/null || say "the sample configuration is none"
    sed 's/^#\([a-z[]\)/\1/' "$t/etc/gnomon/gnomon.conf.sample" >"$t/all.conf"
    "$GNOMON" daemon --check --config "$t/all.conf" >/dev/null || say "the sample configuration's comments are none"
    rm "$t/all.conf"
    grep -q '^ExecStart=/usr/bin/gnomon daemon$' "$t/usr/lib/systemd/system/gnomon.service" || say "the unit starts something else"
    grep -q '^ExecStart=/usr/bin/gnomon-http ' "$t/usr/lib/systemd/system/gnomon-http.service" || say "the unit of gnomon-http starts something else"
    for f in bin/gnomon bin/gnomon-send bin/gnomon-http lib/tmpfiles.d/gnomon.conf lib/sysusers.d/gnomon.conf share/gnomon/grafana.json share/bash-completion/completions/gnomon share/zsh/site-functions/_gnomon; do
        [ -s "$t/usr/$f" ] || say "not installed: $f"
    done
    for f in "$MAN"/*.[1-8]; do
        cmp -s "$f" "$t/usr/share/man/man${f##*.}/${f##*/}" || say "not installed: ${f##*/}"
    done
    make -s BUILD="$BUILD" DESTDIR="$t" PREFIX=/usr uninstall >/dev/null 2>&1 || say "make uninstall fails"
    f=$(cd "$t" && find . -type f)
    [ -z "$f" ] || say "left by make uninstall: $f"
}

if [ "${1:-}" = --self-test ]; then
    self_test
elif [ "${1:-}" = --install ]; then
    installed
else
    all_held
fi
exit $failed
