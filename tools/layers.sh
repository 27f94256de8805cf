#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/layers.sh [--self-test | --objects FOLDER] [USER-FOLDER]
#
# Holds the include direction of user/: the table of user/README.md says for each folder what it may include. Says what
# is against it, and exit code 1 then:
# - a folder without a row, or a row without a folder;
# - an include of a folder that the row does not name;
# - libbpf's headers or the skeleton in a folder of which the row does not say "BPF";
# - a circle between modules (NAME.c and NAME.h, with the private halves NAME_int.h and NAME_impl.h);
# - a module without a row in its folder's README.md, or a row there without a file;
# - a file or a function that user/README.md names and that is not there.
# With --objects, the folder of user/'s objects (build/obj/user), that is asked of the linker's symbols instead: whatever
# a folder's objects call or read lies in itself or in a folder that its row names.
# --self-test breaks each of these rules in a tree made for it, and fails unless that is found.
set -u

# rows README: "folder allowed allowed..." for each row of the table whose first column is "folder".
rows() {
    awk -F' *[|] *' '
        $2 == "folder" { table = 1; next }
        !/^[|]/ { table = 0 }
        table && $2 !~ /^-/ { gsub(",", "", $4); print $2, $4 }' "$1"
}

# includes: "FILE HEADER" for each include, with paths from user/ on; the header of a system in <>.
includes() { find . -name '*.[ch]' -printf '%P\n' | sort | xargs sed -n 's/^#include \([<"][^>"]*[>"]\).*/\1/p;T;F' | paste - - | awk '{ print $2, $1 }'; }

folders_hold() {
    diff <(rows README.md | cut -d' ' -f1 | sort) <(find . -mindepth 1 -maxdepth 1 -type d -printf '%P\n' | sort) |
        sed -n 's/^< \(.*\)/README.md: a row for \1, which is no folder/p; s/^> \(.*\)/README.md: no row for the folder \1/p'
}

# A header of another folder is written with its folder; what stands without one is made by the build.
directions_hold() {
    awk 'NR == FNR { known[$1] = 1; for (i = 2; i <= NF; i++) may[$1, $i] = 1; next }
        {
            split($1, from, "/"); header = substr($2, 2, length($2) - 2); n = split(header, to, "/")
            bpf = $2 ~ /^<bpf\// || header ~ /skel\.h$/
            if (bpf && !may[from[1], "BPF"])
                print $1 ": includes " $2 ", and " from[1] "/ may not use BPF"
            else if ($2 ~ /^"/ && n > 1 && known[to[1]] && to[1] != from[1] && !may[from[1], to[1]])
                print $1 ": includes " $2 ", and " from[1] "/ may not include " to[1] "/"
        }' <(rows README.md) <(includes)
}

circles_none() {
    includes | awk '
        function unit(f) { sub(/\.[ch]$/, "", f); sub(/_(int|impl)$/, "", f); return f }
        $2 ~ /^"/ { gsub("\"", "", $2); from = unit($1); to = unit($2); if (from != to) print from, to }' |
        tsort 2>&1 >/dev/null | sed 's/^tsort: -: input contains a loop:/a circle of modules:/; s/^tsort: /    /'
}

# listed README: the names in the first column of its first table, without suffixes; NAME_* and NAME.* are as many as there are.
listed() {
    awk -F' *[|] *' '/^[|]/ { table = 1; if (++row > 2) print $2; next } table { exit }' "$1" | tr -s ', ' '\n' | sed 's/\.h$//'
}

# objects_hold FOLDER: of the files that there are; the agent is another program, with names of its own.
objects_hold() {
    local o

    (cd "$1" && find . -name '*.o' -printf '%P\n') | while read -r o; do
        [[ $o == agent/* ]] || [ ! -e "${o%.o}.c" ] || echo "$1/$o"
    done | xargs nm -A -g | sed "s,^$1/,," | awk '
        NR == FNR { for (i = 2; i <= NF; i++) may[$1, $i] = 1; next }
        { split($1, at, ":"); split(at[1], from, "/"); symbol = $NF; kind = $(NF - 1) }
        kind != "U" && kind != "w" { home[symbol] = from[1]; next }
        { uses[++n] = from[1]; of[n] = at[1]; what[n] = symbol }
        END {
            for (i = 1; i <= n; i++) {
                to = home[what[i]]
                if (to && to != uses[i] && !may[uses[i], to])
                    print of[i] ": uses " what[i] "() of " to "/, and " uses[i] "/ may not"
                if (what[i] ~ /^(bpf|btf|libbpf)_/ && !may[uses[i], "BPF"])
                    print of[i] ": uses " what[i] "(), and " uses[i] "/ may not use BPF"
            }
        }' <(rows README.md) - | sort -u
}

# Without one, the folder's row above says it all.
modules_listed() {
    local readme dir name

    for readme in */README.md; do
        [ -e "$readme" ] || continue
        dir=${readme%/*}
        while read -r name; do
            compgen -G "$dir/$name.*" >/dev/null || compgen -G "$dir/$name" >/dev/null || echo "$readme: a row for $name, which is no file"
        done < <(listed "$readme")
        find "$dir" -maxdepth 1 -type f ! -name README.md ! -name '*.mk' -printf '%f\n' | sed 's/\..*//; s/_\(int\|impl\)$//' | sort -u |
            while read -r name; do
                listed "$readme" | while read -r row; do
                    # shellcheck disable=SC2053
                    [[ $name == ${row%.\*} ]] && echo 1
                done | grep -q 1 || echo "$readme: no row for $name"
            done
    done
}

# What user/README.md calls dir/name.c or `name()`; in capitals: what a reader fills in.
names_exist() {
    local name

    grep -oE '[a-z0-9]+(/[a-z0-9_]+)+\.(bpf\.)?[chS]\b' README.md | sort -u | while read -r name; do
        [ -e "$name" ] || [ -e "../$name" ] || echo "README.md: names $name, which is not there"
    done
    grep -oE '`[a-z0-9_]+\(\)`' README.md | tr -d '`()' | sort -u | while read -r name; do
        grep -qrwE "(static|uw_fn|BPF_PROG|^[a-z_].*)[^;]*$name" --include='*.[ch]' . ../kern 2>/dev/null || echo "README.md: names $name(), which is not there"
    done
}

check() {
    (cd "$1" && { folders_hold; directions_hold; circles_none; modules_listed; names_exist; })
}

# ---- the test of this script ---------------------------------------------------------------------
# made DIR: a tree against which nothing can be said.
made() {
    mkdir -p "$1"/{low,mid,top}
    printf '%s\n' 'See low/a.c, `a_made()`.' '' '| folder | what it is | may include |' '|---|---|---|' '| low | | |' '| mid | | low |' \
        '| top | | low, mid, BPF |' >"$1/README.md"
    printf '%s\n' '| file | what |' '|---|---|' '| a | all |' >"$1/low/README.md"
    printf '#include <stdio.h>\nint a_made(void);\n' >"$1/low/a.h"
    printf '#include "low/a.h"\n' >"$1/low/a.c"
    printf '#include "low/a.h"\n#include "kern/abi.h"\n' >"$1/mid/b.h"
    printf '#include "mid/b.h"\n' >"$1/mid/b_int.h"
    printf '#include "mid/b_int.h"\n' >"$1/mid/b.c"
    printf '#include "mid/b.h"\n' >"$1/mid/e.h"
    printf '#include "mid/b.h"\n#include <bpf/libbpf.h>\n#include "made.skel.h"\n' >"$1/top/c.c"
}

# finds WORDS FILE LINE...: that lines added to a file are found fault with, in these words.
finds() {
    local words=$1 dir=$tmp/broken said

    rm -rf "$dir"
    made "$dir"
    mkdir -p "$(dirname "$dir/$2")"
    printf '%s\n' "${@:3}" >>"$dir/$2"
    said=$(check "$dir")
    [[ $said == *"$words"* ]] && return
    echo "layers.sh: did not say \"$words\" of: ${*:2}; but: $said"
    failed=1
}

# links_found: the same of calls, which a declaration of one's own hides from includes.
links_found() {
    local dir=$tmp/linked said

    mkdir -p "$dir"/{low,mid,o/low,o/mid}
    cp "$tmp/good/README.md" "$dir"
    echo 'int low_f(void); int low_f(void) { return 1; }' >"$dir/low/f.c"
    echo 'int low_f(void); int mid_g(void); int mid_g(void) { return low_f(); }' >"$dir/mid/g.c"
    objects_made && said=$(cd "$dir" && objects_hold "$dir/o")
    [ -z "$said" ] || { echo "layers.sh: good objects are found fault with: $said"; failed=1; }
    echo 'int mid_g(void); int bpf_x(void); int low_h(void); int low_h(void) { return mid_g() + bpf_x(); }' >"$dir/low/h.c"
    objects_made && said=$(cd "$dir" && objects_hold "$dir/o")
    [[ $said == *'low/h.o: uses mid_g() of mid/, and low/ may not'* ]] && [[ $said == *'low/h.o: uses bpf_x()'* ]] && return
    echo "layers.sh: did not say whom low/h.o may not call, but: $said"
    failed=1
}

objects_made() {
    local f

    for f in "$dir"/low/*.c "$dir"/mid/*.c; do
        f=${f#"$dir/"}
        ${CC:-cc} -c -o "$dir/o/${f%.c}.o" "$dir/$f" || return
    done
}

self_test() {
    local failed=0 said

    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    made "$tmp/good"
    said=$(check "$tmp/good")
    [ -z "$said" ] || { echo "layers.sh: a good tree is found fault with: $said"; failed=1; }
    finds 'low/a.h: includes "mid/b.h", and low/ may not include mid/' low/a.h '#include "mid/b.h"'
    finds 'mid/b.c: includes "top/d.h"' mid/b.c '#include "top/d.h" /* why */'
    finds 'mid/b.c: includes <bpf/bpf.h>, and mid/ may not use BPF' mid/b.c '#include <bpf/bpf.h>'
    finds 'low/a.c: includes "made.skel.h"' low/a.c '#include "made.skel.h"'
    finds 'a circle of modules' mid/b.c '#include "mid/e.h"'
    finds 'README.md: a row for none, which is no folder' README.md '| none | | low |'
    finds 'README.md: no row for the folder new' new/a.h '#include "low/a.h"'
    finds 'low/README.md: no row for b' low/b.h '/* new */'
    finds 'low/README.md: a row for gone, which is no file' low/README.md '| gone | it was here |'
    finds 'README.md: names low/x.c' README.md '' 'See low/x.c.'
    finds 'README.md: names f_made()' README.md '' 'See `f_made()`.'
    links_found
    return $failed
}

cd "$(dirname "$0")/.." || exit 1
case ${1:-} in
--self-test) self_test; exit ;;
--objects) said=$(cd "${3:-user}" && objects_hold "$(cd "$OLDPWD" && realpath "$2")") ;;
*) said=$(check "${1:-user}") ;;
esac
[ -z "$said" ] || { echo "$said"; exit 1; }
