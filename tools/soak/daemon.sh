#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/soak/daemon.sh (as root; `make soak-daemon`)
#
# A daemon with a budget of 1% records ten JVMs, a busy web shop, its customers and eight that are idle, for
# SOAK_SECONDS (3600). Then: what it took of the host's CPUs, its memory and whether that grew, its disk and the cap of
# that; and of each JVM the CPU time and the time off the CPU that its recording tells, beside the kernel's own account.
#
# DAEMON_JVMS (10): how many. DAEMON_BUDGET (1): percent. DAEMON_CAP (64): MB on the disk. SOAK_WARMUP: seconds after which
# memory has to be flat (half, at most 600).
# shellcheck source=tests/jvm/lib.sh
. "$(dirname "$0")/../../tests/jvm/lib.sh"
# shellcheck source=tests/jvm/daemon.sh
. "$(dirname "$0")/../../tests/jvm/daemon.sh"
# shellcheck source=tools/soak/shop.sh
. "$(dirname "$0")/shop.sh"
# shellcheck source=tools/bench/verdict.sh
. "$(dirname "$0")/../bench/verdict.sh"
need_root
need_gnomon status

SECONDS_ALL=${SOAK_SECONDS:-3600}
JVMS=${DAEMON_JVMS:-10}
BUDGET=${DAEMON_BUDGET:-1}
CAP=${DAEMON_CAP:-64}
WARMUP=${SOAK_WARMUP:-$((SECONDS_ALL / 2 < 600 ? SECONDS_ALL / 2 : 600))}
TAKES_IN=12 # seconds
REC=$T/recordings
SOCK=$T/gnomon.sock
JAVA=$(jdk_newest)/bin
SERIES=$BUILD/soak/daemon.csv
mkdir -p "$BUILD/soak"

figure() { ask status --metrics 2>/dev/null | awk -v name="$1" 'index($0, name "{") == 1 || $1 == name { sum += $NF } END { printf "%.6g\n", sum }'; }
# It has figures, so its file has begun.
recorded_all() { [ "$(ask status --metrics 2>/dev/null | grep -c '^gnomon_jvm_sampled_seconds_total{.*kind="cpu"')" = "$JVMS" ]; }

recording_start() {
    printf '%s\n' "directory = $REC" "socket = $SOCK" "min-free = 0" "max-total-size = ${CAP}m" "budget = $BUDGET%" "record = no" \
        "[shop]" "name = shop.*" "[others]" "name = $OWN_NAME.jar" >"$CONF"
    daemon_run
    until_true 180 recorded_all || fail "of $JVMS JVMs $(figure gnomon_jvms) are recorded: $(cat "$T/daemon.err")"
}

# account: a line for each thread: PID, TID, when it started, its CPU time; seconds, by the kernel.
account() {
    python3 - "${PIDS[@]}" <<'END'
import os, sys, time
hz = os.sysconf("SC_CLK_TCK")
now = time.clock_gettime(time.CLOCK_BOOTTIME)
for pid in sys.argv[1:]:
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            stat = open(f"/proc/{pid}/task/{tid}/stat").read()
            ran = int(open(f"/proc/{pid}/task/{tid}/schedstat").read().split()[0]) / 1e9
        except OSError:
            continue
        f = stat[stat.rindex(")") + 2:].split()
        print(pid, tid, int(f[19]) / hz, ran, now)
    stat = open(f"/proc/{pid}/stat").read()
    f = stat[stat.rindex(")") + 2:].split()
    print(pid, 0, 0, (int(f[11]) + int(f[12])) / hz, now)
END
}

# A line of the series: what there is now.
look() {
    ask status --metrics >"$T/metrics" 2>/dev/null
    awk -v at="$1" '
        { v[$1] = $2 }
        END {
            printf "%s,%.6f,%.0f,%.0f,%.0f\n", at, v["gnomon_cost_seconds_total{part=\"collector\"}"] + v["gnomon_cost_seconds_total{part=\"bpf\"}"],
                v["gnomon_memory_bytes"], v["gnomon_disk_bytes"], v["gnomon_cost_ratio"] * 1e6
        }' "$T/metrics" >>"$SERIES"
    # PID, the CPU interval, the seconds that its CPU samples stand for, when
    awk -v at="$EPOCHSECONDS" '
        match($0, /^gnomon_jvm_(interval|sampled)_seconds[_a-z]*\{.*kind="cpu"/) && match($0, /pid="[0-9]+"/) {
            pid = substr($0, RSTART + 5, RLENGTH - 6)
            if (/^gnomon_jvm_interval/) interval[pid] = $NF; else told[pid] = $NF
        }
        END { for (pid in told) print pid, interval[pid], told[pid], at }' "$T/metrics" >>"$T/intervals"
}

# Each ten seconds the kernel's account is looked at, too: of threads that end it is told up to then.
watch() {
    local began=$EPOCHREALTIME now accounted=0

    while now=$(calc "$EPOCHREALTIME - $began") && now=${now%.*} && ((now < SECONDS_ALL)); do
        look "$now"
        pid_ended "$DAEMON" && fail "it has ended: $(tail -n 5 "$T/daemon.err")"
        if ((now >= accounted + 10)); then
            account >"$T/seen/$EPOCHSECONDS"
            accounted=$now
        fi
        nap 1
    done
    look "$SECONDS_ALL"
}

# samples_of PID: its CPU samples since SINCE as far as they count for how sure their sum is, by the interval that was in
# force in each second: n of one weight have a standard deviation of 1/sqrt(n) of it.
samples_of() {
    awk -v pid="$1" -v since="$SINCE" '
        $1 == pid && $4 >= since { if ($3 > last && n++) { sum += $3 - last; squares += ($3 - last) * $2 } last = $3 }
        END { print squares ? sum * sum / squares : 0 }' "$T/intervals"
}

# column NAME HOW: of the series past the warm-up: max, or growth by the line of least squares.
column() {
    awk -F, -v c="$1" -v how="$2" -v from="$WARMUP" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) c = i; next }
        $c > max { max = $c }
        $1 >= from { n++; x += $1; y += $c; xx += $1 * $1; xy += $1 * $c; last = $1; if (n == 1) first = $1 }
        END {
            d = n * xx - x * x
            print how == "max" ? max : d ? (n * xy - x * y) / d * (last - first) : 0
        }' "$SERIES"
}

# longest_over FROM [TO]: of these seconds, the longest time for which the cost was above 1.5 x the budget.
longest_over() {
    awk -F, -v b="$BUDGET" -v from="$1" -v to="${2:-1e9}" '
        NR > 1 && $1 >= from && $1 < to { now = $5 / 1e4 > 1.5 * b ? now + 1 : 0; if (now > most) most = now }
        END { print most + 0 }' "$SERIES"
}

recording_of() { compgen -G "$REC/*-$1-*Z" || fail "process $1 has no directory"; }

# began_of PID: when the oldest of its files begins that there still are; older ones went when the cap was reached.
began_of() {
    local file

    file=$(find "$(recording_of "$1")" -name '*Z.jfr' | LC_ALL=C sort | head -n 1)
    date -d "$(sed -E 's/.*(....)(..)(..)T(..)(..)(..)Z\.jfr$/\1-\2-\3T\4:\5:\6Z/' <<<"$file")" +%s
}

# since: the first look at the kernel's account from which on every JVM has files.
since() {
    local pid began last=0 look

    for pid in "${PIDS[@]}"; do
        began=$(began_of "$pid")
        ((began <= last)) || last=$began
    done
    for look in $(find "$T/seen" -type f -printf '%f\n' | sort -n); do
        ((look <= last)) || break
    done
    echo "$look"
}

# What the recording of each JVM tells beside the kernel's account, from SINCE on.
totals() {
    local pid kind

    for pid in "${PIDS[@]}"; do
        for kind in cpu off; do
            "$GNOMON" render "$(recording_of "$pid")" --from "$(date -u -d "@$SINCE" +%Y%m%dT%H%M%SZ)" -f collapsed -D $kind --idle 2>"$T/err" |
                awk -v p="$pid" -v k=$kind '{ sum += $NF } END { printf "%s %s %.3f\n", p, k, sum / 1e9 }'
        done
    done >"$T/told"
    python3 - "$SINCE" "$T/seen" "$T/told" <<'END'
import collections, os, sys
def read(*paths):
    t = collections.defaultdict(dict) # by thread, as it was seen last
    for path in paths:
        for line in open(path):
            pid, tid, start, ran, now = line.split()
            t[pid][tid, start] = float(start), float(ran), float(now)
    return t
since, seen = sys.argv[1:3]
looks = sorted((f for f in os.listdir(seen) if int(f) >= int(since)), key=int)
before, after = read(f"{seen}/{since}"), read(*(f"{seen}/{f}" for f in looks))
told = {(a, b): float(c) for a, b, c in (l.split() for l in open(sys.argv[3]))}
whole = ("0", "0")
for pid in after:
    cpu = after[pid][whole][1] - before[pid][whole][1]
    off = 0
    for thread, (start, ran, now) in after[pid].items():
        if thread != whole:
            off += now - max(start, before[pid][whole][2]) - (ran - before[pid].get(thread, (0, 0))[1])
    print(pid, "%.3f %.3f %.3f %.3f" % (cpu, told[pid, "cpu"], off, told[pid, "off"]))
END
}

own_jar Idle
shop_start
others_start
echo seconds,cost,memory,disk,ratio >"$SERIES"
recording_start
mkdir "$T/seen"
account >"$T/seen/$EPOCHSECONDS"
cost_before=$(figure gnomon_cost_seconds_total) begun=$EPOCHREALTIME
watch
spent=$(calc "$(figure gnomon_cost_seconds_total) - $cost_before") took=$(calc "$EPOCHREALTIME - $begun")
ask status | sed 's/^/  | /'
account >"$T/seen/$EPOCHSECONDS"
daemon_stop
note "$JVMS JVMs for $took s; load $(cut -d' ' -f1-3 /proc/loadavg); steps of the budget: $(grep -c '(step ' "$T/daemon.err")"
verdict "cost of the host" "$(calc "100 * $spent / $took / $(nproc)" | sed 's/\.\(...\).*/.\1/')" % '<=' "$BUDGET"
# nothing is taken from a JVM in its first seconds, and all of them are new at first
note "longest above 1.5 x the budget in the first $TAKES_IN s: $(longest_over 0 $TAKES_IN) s"
verdict "longest above 1.5 x the budget after them" "$(longest_over $TAKES_IN)" s '<=' 3
verdict "memory, at most" "$(calc "$(column memory max) / 1e6" | sed 's/\.\(.\).*/.\1/')" MB '<=' $((64 + 2 * JVMS))
verdict "memory after $WARMUP s, growth" "$(calc "$(column memory growth) / 1e6" | sed 's/\.\(..\).*/.\1/')" MB '<=' "${SOAK_RSS_MB:-4}"
verdict "disk, at most" "$(calc "$(column disk max) / 1e6" | sed 's/\.\(.\).*/.\1/')" MB '<=' "$(calc "$CAP * 1.048576 + 8")"
SINCE=$(since)
note "what was told of the JVMs is compared from $((SINCE - ${begun%.*})) s on"
if ! totals >"$T/totals"; then
    fail "no totals"
fi
while read -r pid cpu cpu_told off off_told; do
    note "process $pid: CPU time ${cpu}s by the kernel, ${cpu_told}s told; off the CPU ${off}s, ${off_told}s told"
    # as few samples as an idle JVM has are off by chance
    verdict "process $pid, CPU time off by" "$(off_percent "$cpu_told" "$cpu")" % '<=' \
        "$(awk -v n="$(samples_of "$pid")" 'BEGIN { b = n ? 300 / sqrt(n) : 100; printf "%.1f", b < 2 ? 2 : b }')"
    verdict "process $pid, time off the CPU, off by" "$(off_percent "$off_told" "$off")" % '<=' 2
done <"$T/totals"
verdicts_end
