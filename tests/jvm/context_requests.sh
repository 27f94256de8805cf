#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A server of ten threads on two CPUs, with ZGC, whose GET /allocation-stalls needs much memory. With a heap of 1 GiB `gnomon requests`
# tells that endpoint, how long its requests took, and that they stalled for as long as the JVM's own log says; so does the
# endpoint's flame graph, below ByteBuffer.allocate; and so do requests that are told by the stacks alone. With a large heap they ran and were queued, as the scheduler's account of the threads
# has it, and it is said who had the CPUs.
# in make check-all
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context.sh"

need_root
need_gnomon requests
need_cmd python3
need_cmd taskset
context_classes ContextStalls

# answered HEAP: 30 requests with such a heap, as $JFR; the JVM's log is $LOG.
answered() {
    JFR=$T/$1-$(jdk_version "$JDK").jfr
    LOG=$T/$1.log
    : >"$LOG"
    JVM_OPTS="-XX:+UseZGC -Xms$1 -Xmx$1 -XX:+AlwaysPreTouch -Xlog:gc:file=$LOG" jvm_start ContextStalls 30
    gnomon_start "$JFR" -p "$JVM_PID" --wall 10ms
    jvm_go
    jvm_done
    gnomon_stop
    jvm_unharmed
    jvm_end
    "$GNOMON" requests "$JFR" -n 1 | sed 's/^/  /' || fail "requests"
    "$GNOMON" requests "$JFR" --json >"$T/said.json" || fail "requests --json"
    "$GNOMON" requests "$JFR" --json --endpoint-rule 'ServerImpl$Exchange.run > ContextStalls.allocationStalls' >"$T/rule.json" ||
        fail "requests by rule"
    "$GNOMON" render "$JFR" -e 'GET /allocation-stalls' --causes --idle -D wall -f collapsed >"$T/flames" || fail "render"
}

# What was said beside what is true. A sum of samples is right but for chance: 4 standard deviations of a tick that either is one of these
# or not, and what lies at the ends of each request.
compare() {
    python3 - "$T/said.json" "$T/rule.json" "$T/flames" "$JVM_OUT" "$LOG" <<'END'
import json, re, sys
said, rule, flames, out, log = sys.argv[1:]
said, rule = (json.load(open(f)) for f in (said, rule))
took = [list(map(int, l.split()[1:])) for l in open(out) if l.startswith("TOOK")]
stalls = [float(m[1]) * 1e6 for l in open(log) if (m := re.search(r"Allocation Stall \(serves-\d+\) ([\d.]+)ms", l))]
ours = next(e for e in said["endpoints"] if e["endpoint"] == "GET /allocation-stalls")
tick = said["wall_interval_ns"]
all_ns = sum(t[0] for t in took)
wrong = False

def hold(what, got, least, most):
    global wrong
    ok = least <= got <= most
    wrong |= not ok
    print(f"  {what}: {got / 1e6:.0f} ms, true are {least / 1e6:.0f} to {most / 1e6:.0f}{'' if ok else '  WRONG'}")

def chance(ns):
    share = min(ns / all_ns, 1)
    return 4 * tick * (all_ns / tick * share * (1 - share)) ** .5 + tick * len(took) ** .5 + .03 * ns + tick

def caused(start, key="cause"):
    return sum(c["ns"] for c in ours["causes"] if c[key].startswith(start))

hold("requests (a ms each)", ours["requests"] * 1e6, sum(t[0] > 3 * tick for t in took) * 1e6, len(took) * 1e6)
got = sum(ours[k + "_ns"] for k in ("running", "queued", "blocked", "waiting"))
hold("time of all", got, all_ns - chance(all_ns), all_ns + chance(all_ns) + .05 * all_ns)
rows = [l.rsplit(" ", 1) for l in open(flames)]
# of samples whose stack ended too early
cut = sum(int(n) for s, n in rows if "ContextStalls.allocationStalls" not in s)
# these begin a little earlier, and answer, too
ruled = next(e for e in rule["endpoints"] if e["endpoint"] == "ContextStalls.allocationStalls")
got_ruled = sum(ruled[k + "_ns"] for k in ("running", "queued", "blocked", "waiting"))
hold("time of all by rule", got_ruled, all_ns - chance(all_ns) - cut, all_ns + chance(all_ns) + .5 * all_ns)
# of one whose stack is cut in the midst, or has a method without a name, two may be made
hold("requests by rule (a ms each)", ruled["requests"] * 1e6, 1e6, 2 * len(took) * 1e6)
for percent in (50, 95, 99):
    true = sorted(t[0] for t in took)[(len(took) * percent + 99) // 100 - 1]
    hold(f"percentile {percent}", ours[f"p{percent}_ns"], .9 * true - 4 * tick, 1.1 * true + 4 * tick)
stalled, queued, ran = sum(stalls), sum(t[2] for t in took), sum(t[1] for t in took)
hold("ran", ours["running_ns"], ran - chance(ran), ran + chance(ran))
hold("queued", ours["queued_ns"], queued - chance(queued), queued + chance(queued))
# the JVM's stall ends when the thread has a CPU again
stall = caused("(JVM) ZGC allocation stall")
hold("stalled", stall, stalled - min(queued, stalled / 2) - chance(stalled), stalled + chance(stalled) if stalls else 0)
# causes_cpu holds that each sample says it; here the machine is so busy that a stack may come too late for its cause
hold("who had the CPUs", caused("(CPU) "), .95 * ours["queued_ns"], ours["queued_ns"])
hold("of these its own threads", caused("(CPU) its own serves-#"), tick, ours["queued_ns"])
hold("the flame graph's", sum(int(n) for _, n in rows), got, got)
# of a starved heap, what answers a request may have to wait as well: whoever allocates first
stalling = [(s, int(n)) for s, n in rows if s.endswith(";(JVM) ZGC allocation stall")]
below = re.compile(r"ContextStalls.allocate;java.nio.ByteBuffer.allocate;")
hold("below ByteBuffer.allocate", sum(n for s, n in stalling if below.search(s)), .75 * stall - cut, stall)
for s, n in sorted((r for r in stalling if not below.search(r[0])), key=lambda r: -r[1])[:3]:
    print(f"  elsewhere: {n / 1e6:.0f} ms {s[-300:]}")
print(f"  shares: {stall / got:.0%} stalled, {ours['running_ns'] / got:.0%} ran, {ours['queued_ns'] / got:.0%} queued")
sys.exit(wrong)
END
}

small() {
    answered 1g
    compare || fail "a heap of 1 GiB"
    [ "$(grep -c 'Allocation Stall (serves' "$LOG")" -gt 10 ] || fail "the JVM had no stalls to be told"
    file_has "$T/flames" 'ByteBuffer.allocate;.*(JVM) ZGC allocation stall' || fail "no stalls in the flame graph"
}

# What the machine bears: other tests run beside.
large() {
    local free

    free=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
    [ "$free" -ge 7 ] || { note "a large heap needs 7 GiB, $free are free"; return; }
    answered $((free >= 12 ? 6 : 4))g
    compare || fail "a large heap"
}

CPUS=$(python3 -c 'import os; print(",".join(map(str, sorted(os.sched_getaffinity(0))[:2])))')
taskset -pc "$CPUS" $$ >/dev/null || fail "taskset"
for_one_jdk small
for_any_jdk large
