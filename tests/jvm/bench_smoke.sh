#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# That tools/bench works: a short run of one workload with gnomon and a stand-in for async-profiler that
# writes down what it is told, the tables made of it, and an agent that refuses, which is not overlooked.
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_cmd gcc

JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
BENCH=$ROOT/tools/bench
# One busy thread, which leaves a CPU to all that has to start.
export JVM_OPTS=-XX:ActiveProcessorCount=1 WARM_UP=0.2 BENCH_SETTLE=0.2 BENCH_OUT=$T/out

# The stand-in: on "stop" its file is a recording of the JDK's. It refuses all while T/refuse is there.
stand_in() {
    cat >"$T/async.c" <<-'END'
	#include <stdio.h>
	#include <string.h>
	#include <unistd.h>

	int Agent_OnAttach(void *vm, char *options, void *reserved)
	{
		char command[4096], *file = strstr(options, "file=");
		FILE *log = fopen(DIR "/told", "a");
		int rc = 0;

		(void)vm;
		(void)reserved;
		if (log) {
			fprintf(log, "%s\n", options);
			fclose(log);
		}
		if (!access(DIR "/refuse", F_OK))
			return 100;
		if (!strncmp(options, "stop", 4) && file) {
			FILE *from = fopen(DIR "/sample.jfr", "r"), *to = fopen(file + 5, "w");
			size_t n;

			while (from && to && (n = fread(command, 1, sizeof(command), from)))
				fwrite(command, 1, n, to);
			rc = !from || !to || fclose(to);
		}
		return rc;
	}
	END
    gcc -shared -fPIC -Wall -Wextra -Werror -DDIR="\"$T\"" -o "$T/libasync.so" "$T/async.c" ||
        fail "the stand-in does not compile"
    "$JDK/bin/java" -XX:StartFlightRecording="filename=$T/sample.jfr" -version >"$T/out.java" 2>&1 ||
        fail "no recording: $(cat "$T/out.java")"
}

# bench ARGS...: sets rc; what it said is in T/said and T/err.
WINDOW=0.3
bench() {
    timeout 600 "$BENCH/bench.sh" -w compute -s $WINDOW -j "$JDK" "$@" >"$T/said" 2>"$T/err" </dev/null
    rc=$?
}

# of VARIANT ROUND COLUMN: of bench.csv.
of() {
    awk -F, -v v="$1" -v r="$2" -v c="$3" '/^#/ { next } !h { h = 1; for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["variant"] == v && $at["round"] == r { print $at[c] }' "$T/out/bench.csv"
}

stand_in
ASYNC_PROFILER=$T/none.so bench
assert_eq "exit code without the library" 2 $rc "$(cat "$T/err")"
assert_match "what it says" "ASYNC_PROFILER='$T/none.so': no such file" "$T/err"

bench -v "none async"
assert_eq "exit code without its path" 2 $rc "$(cat "$T/err")"
assert_match "what it says" "variant 'async' needs ASYNC_PROFILER=" "$T/err"

export ASYNC_PROFILER=$T/libasync.so
# on a busy machine the thread may have no CPU for as long as that
for WINDOW in 0.3 3 30; do
    bench -v "none gnomon async" -r 1
    [ $rc = 0 ] && [ "$(of gnomon 0 cpu_taken)" = 0 ] || break
done
WINDOW=0.3
assert_eq "exit code" 0 $rc "$(cat "$T/err" "$T/said")"
assert_match "what the agent was told" \
    '^start,event=cpu,interval=10ms,jstackdepth=2048,signal=23/26,jfr,file=/.*/async\.jfr$' "$T/told"
assert_match "what the agent was told" '^stop,jfr,file=/.*/async\.jfr$' "$T/told"
for v in none gnomon async; do
    assert_ge "operations of $v" 1 "$(of $v 1 operations)"
    assert_ge "switches of $v" 0 "$(of $v 1 switches)"
done
assert_ge "CPU samples of gnomon" 1 "$(of gnomon 0 cpu_taken)"
assert_ge "wall samples of gnomon" 1 "$(of gnomon 0 wall_taken)"
assert_ge "those expected" 1 "$(of gnomon 0 wall_expected)"
assert_ge "bytes of the agent's" 1000 "$(of async 1 file_bytes)"
grep -q 'nan\|inf' "$T/out/bench.txt" && fail "no figures: $(cat "$T/out/bench.txt")"
for v in none gnomon async; do
    assert_eq "lines of $v in both tables" 2 "$(grep -c "^  $v  " "$T/out/bench.txt")"
done
awk -v us=gnomon -f "$BENCH/versus.awk" "$T/out/bench.csv" >"$T/versus" || fail "versus.awk"
assert_match "the comparison" '^\| compute \| async \| [0-9.]+ ' "$T/versus"

touch "$T/refuse"
bench -v async -r 0
assert_eq "exit code when the agent refuses" 1 $rc
assert_match "what it says" "does not take 'start,event=cpu.*return code: 100" "$T/err"
