#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jfrcheck.sh [-q] FILE.jfr [EVENT=COUNT ...]
#
# Every JDK's `jfr` on this machine reads the file: exit code 0, not a word on stderr, well-formed
# JSON, and exactly COUNT events of a type where given. -q leaves out what takes long on large files.
. "$(dirname "$0")/lib.sh"
quick=0
[ "${1-}" = -q ] && { quick=1; shift; }
[ $# -ge 1 ] || { echo "usage: jfrcheck.sh [-q] FILE.jfr [EVENT=COUNT ...]" >&2; exit 2; }
file=$1
shift
tmp=$T
failed=0

fail() {
	echo "FAIL $file: $*"
	failed=1
}

# run NAME HOME ARG...: `jfr ARG...`, its output to $tmp/out. The tool stays (lib.sh): it takes longer to start than
# to answer.
run() {
	local name=$1

	shift
	served "$1" jfr "${@:2}" || fail "$name: $(head -n 2 "$SERVED.err")"
	[ ! -s "$SERVED.err" ] || fail "$name: stderr: $(head -n 2 "$SERVED.err")"
	cp "$SERVED.out" "$tmp/out"
}

# offers HOME WHAT [COMMAND]: says the tool's help.
offers() { served "$1" jfr help "${@:3}" && grep -q -- "$2" "$SERVED.out"; }

count() {
	awk -v t="$1" '$1 == t { n = $2 } END { print n + 0 }' "$tmp/out"
}

check_jdk() {
	jfr=$1
	jdk=$2
	shift 2
	run "$jdk summary" "$jfr" summary "$file"
	chunks=$(awk '$1 == "Chunks:" { print $2 }' "$tmp/out")
	for want in "$@"; do
		n=$(count "${want%=*}")
		[ "$n" = "${want#*=}" ] || fail "$jdk summary: ${want%=*}: $n, not ${want#*=}"
	done
	run "$jdk metadata" "$jfr" metadata "$file"
	if [ $quick = 0 ]; then
		run "$jdk print" "$jfr" print --stack-depth 2048 "$file"
		for want in "$@"; do
			n=$(grep -c "^${want%=*} {" "$tmp/out")
			[ "$n" = "${want#*=}" ] || fail "$jdk print: ${want%=*}: $n, not ${want#*=}"
		done
		run "$jdk print --json" "$jfr" print --json --events \
			jdk.ExecutionSample,jdk.CPUTimeSample,profiler.WallClockSample "$file"
		if command -v python3 >/dev/null; then
			python3 -m json.tool <"$tmp/out" >/dev/null 2>"$tmp/err" ||
				fail "$jdk print --json: $(head -n 1 "$tmp/err")"
		fi
	fi
	check_rewrite "$jfr" "$jdk"
	check_views "$jfr" "$jdk"
}

# disassemble + assemble gives the same bytes; scrub (JDK 19+) works
check_rewrite() {
	mkdir "$tmp/parts"
	cp "$file" "$tmp/copy.jfr"
	# a file of one chunk cannot be taken apart
	if [ "$chunks" -gt 1 ]; then
		run "$2 disassemble" "$1" disassemble --max-chunks 1 --output "$tmp/parts" \
			"$tmp/copy.jfr"
		run "$2 assemble" "$1" assemble "$tmp/parts" "$tmp/again.jfr"
		cmp -s "$file" "$tmp/again.jfr" || fail "$2 assemble: differs"
	fi
	if offers "$1" scrub; then
		run "$2 scrub" "$1" scrub --exclude-events jdk.NativeLibrary \
			"$tmp/copy.jfr" "$tmp/scrubbed.jfr"
		run "$2 summary of the scrubbed" "$1" summary "$tmp/scrubbed.jfr"
	fi
	rm -rf "$tmp/parts" "$tmp"/*.jfr
}

check_views() {
	offers "$1" '  view' || return 0
	for view in hot-methods cpu-time-hot-methods cpu-time-statistics active-settings \
		native-libraries container-configuration events-by-count; do
		case $view in
		cpu-time-*) offers "$1" "$view" view || continue ;;
		esac
		run "$2 view $view" "$1" view "$view" "$file"
	done
}

found=0
while read -r home; do
	check_jdk "$home" "${home##*/}" "$@"
	found=$((found + 1))
done < <(jdks)
[ $found -gt 0 ] || { echo "SKIP: no jfr under /usr/lib/jvm or JAVA_HOME"; exit 77; }
[ $failed = 0 ] && echo "ok   $file ($found JDKs)"
exit $failed
