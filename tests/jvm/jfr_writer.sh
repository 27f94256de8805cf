#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# jfr_writer.sh [BUILD] [KIND ...]: write recordings of every kind and have the JDKs' tools read them.
# Only when named: large and rotation (100,000 stacks; 15 s each) and huge (2.3 GB, and twice that
# below TMPDIR; a minute). No root needed.
# overlaps
# in make check-all
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
build=${1:-${BUILD:-$top/build}}
[ $# -gt 0 ] && shift
kinds=${*:-normal cputime zero chunks deep names}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 ${JFR_GEN_CFLAGS-} -I"$top" -I"$top/user" \
	"$here/jfr_gen.c" "$build/libgnomon.a" -lpthread -o "$tmp/gen" || exit 1

for kind in $kinds; do
	counts=$("$tmp/gen" "$kind" "$tmp/$kind.jfr") && [ -n "$counts" ] || failed=1
	counts=$(printf '%s\n' "$counts" | tr ' ' '=')
	quick=
	case $kind in large | rotation | huge) quick=-q ;; esac
	# shellcheck disable=SC2086
	"$here/jfrcheck.sh" $quick "$tmp/$kind.jfr" $counts
	rc=$?
	[ $rc = 77 ] && exit 77
	[ $rc = 0 ] || failed=1
done

# Frames of the file behind another, and of each chunk, must be its own: the JDK's parser takes an
# id it knows from the chunk before to mean what it meant there.
own_frames() {
	for jfr in /usr/lib/jvm/*/bin/jfr; do
		[ -x "$jfr" ] || continue
		n=$("$jfr" print --events jdk.ExecutionSample "$1" |
			sed -n 's/^ *\(chunk[0-9]*\.C[0-9]*\)\.work.*/\1/p' | sort -u | wc -l)
		[ "$n" = 500 ] && continue
		echo "FAIL $1: $jfr shows $n classes, not 500"
		failed=1
	done
}
case " $kinds " in
*" chunks "*)
	own_frames "$tmp/chunks.jfr"
	"$tmp/gen" normal "$tmp/a.jfr" >/dev/null 2>&1 || failed=1
	"$tmp/gen" chunks "$tmp/b.jfr" >/dev/null 2>&1 || failed=1
	cat "$tmp/a.jfr" "$tmp/b.jfr" >"$tmp/cat.jfr"
	own_frames "$tmp/cat.jfr"
	"$here/jfrcheck.sh" "$tmp/cat.jfr" jdk.ExecutionSample=2001 || failed=1
	;;
esac
exit $failed
