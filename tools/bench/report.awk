# SPDX-License-Identifier: Apache-2.0
# bench.csv as a table for people: awk -f report.awk bench.csv
#
# A ratio is that of two windows of one round, so a machine that drifts does not count. Medians over
# the rounds; [least .. most] in brackets. Round 0 counts for BPF and samples only. Two tables for each
# workload: how it ran, and what that took and gave.

function sorted(list, out,    n, i, k, t) {
	n = split(list, out, " ")
	for (i = 2; i <= n; i++)
		for (k = i; k > 1 && out[k] + 0 < out[k - 1] + 0; k--) {
			t = out[k]; out[k] = out[k - 1]; out[k - 1] = t
		}
	return n
}

function median(list,    v, n) {
	n = sorted(list, v)
	return n ? (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2 : ""
}

function range(list, format,    v, n) {
	n = sorted(list, v)
	return n ? "[" sprintf(format, v[1]) " .. " sprintf(format, v[n]) "]" : ""
}

function show(format, x) { return x == "" ? "-" : sprintf(format, x) }

function big(x) {
	if (x == "") return "-"
	if (x >= 1e7) return sprintf("%.1fM", x / 1e6)
	if (x >= 1e4) return sprintf("%.1fk", x / 1e3)
	return sprintf(x >= 100 ? "%.0f" : "%.3g", x)
}

# A figure of a row in the list of its workload and variant.
function put(what, x) { if (x != "" && x != "-") list[w, v, what] = list[w, v, what] " " x }

BEGIN { FS = "," }
/^#/ { print substr($0, 3); next }
!header { header = 1; n = split($0, name, ","); for (i = 1; i <= n; i++) at[name[i]] = i; next }
{
	w = $at["workload"]; v = $at["variant"]; r = $at["round"]
	if (!((w, v) in seen)) {
		seen[w, v] = 1
		if (!(w in nvariants)) order[++nworkloads] = w
		variant[w, ++nvariants[w]] = v
	}
	if (r == 0) {
		wall = $at["wall_ns"]
		if ($at["bpf_runs"] > 0) {
			bpf[w, v] = 100 * $at["bpf_ns"] / wall
			mean[w, v] = $at["bpf_ns"] / $at["bpf_runs"]
		}
		cpu[w, v] = share($at["cpu_taken"], $at["cpu_expected"], $at["lost"])
		if ($at["wall_expected"] > 0) ticks[w, v] = share($at["wall_taken"], $at["wall_expected"])
		all = $at["cpu_taken"] + $at["wall_taken"]
		if (all > 0 && $at["complete"] != "") complete[w, v] = 100 * $at["complete"] / all
		next
	}
	rate = $at["seconds"] > 0 ? $at["operations"] / $at["seconds"] : 0
	put("rate", rate)
	rates[w, v, r] = rate
	put("p50", $at["p50_ns"]); put("p99", $at["p99_ns"]); put("p999", $at["p999_ns"])
	if ($at["target_cpu_ns"] != "" && rate > 0) {
		cost = $at["target_cpu_ns"] / $at["wall_ns"] / rate
		costs[w, v, r] = cost
		put("target", 100 * $at["target_cpu_ns"] / $at["wall_ns"])
	}
	if ($at["switches"] != "" && $at["operations"] > 0) {
		switches[w, v, r] = $at["switches"] / $at["operations"]
		put("switches", switches[w, v, r])
	}
	if ($at["target_rss"] > 0) resident[w, v, r] = $at["target_rss"]
	if ($at["profiler_cpu_ns"] != "")
		put("profiler", 100 * $at["profiler_cpu_ns"] / $at["wall_ns"])
	if ($at["profiler_rss"] != "")
		put("memory", ($at["profiler_rss"] + $at["bpf_map_bytes"]) / 1e6)
	if ($at["recorded_s"] > 0 && $at["file_bytes"] != "")
		put("bytes", $at["file_bytes"] / $at["recorded_s"] / 1e3)
	if ($at["idle_threads"] > 0) put("idle", $at["idle_switches"])
	put("start", $at["start_s"])
	if (r > rounds) rounds = r
}

# "taken/expected share", and what was counted as lost
function share(n, of, lost) {
	if (n == "") return "-"
	return big(n) "/" big(of) (of > 0 ? sprintf(" %.0f%%", 100 * n / of) : "") (lost > 0 ? " -" lost : "")
}

# Of one round each, to that of no profiler: ratios, or differences.
function beside(figures, w, v, minus,    r, a, b, out) {
	for (r = 1; r <= rounds; r++) {
		if (!((w, v, r) in figures) || !((w, "none", r) in figures)) continue
		a = figures[w, v, r]; b = figures[w, "none", r]
		if (minus) out = out " " a - b
		else if (b > 0 && a > 0) out = out " " a / b
	}
	return out
}

# three digits that say something
function three(x) { return x >= 100 ? sprintf("%.0f", x) : sprintf(x >= 10 ? "%.1f" : "%.2f", x) }
function us(x) { return x == "" ? "-" : x >= 1e6 ? three(x / 1e6) "ms" : three(x / 1e3) "us" }

function head() {
	printf "  %-13s %8s %20s %7s %17s %7s %9s %9s %9s %8s %8s %6s %7s %6s\n", "", "op/s", "range", "ratio", "range", \
		"CPU/op", "p50", "p99", "p99.9", "CPU", "own CPU", "BPF", "ns/run", "start"
}

function line(w, v,    n, x, rr) {
	rr = beside(rates, w, v)
	n = sorted(list[w, v, "rate"], x)
	printf "  %-13s %8s %20s %7s %17s %7s %9s %9s %9s %8s %8s %6s %7s %6s\n", v, big(median(list[w, v, "rate"])), \
		n ? "[" big(x[1]) " .. " big(x[n]) "]" : "-", show("%.3f", median(rr)), range(rr, "%.3f"), \
		show("%.3f", median(beside(costs, w, v))), us(median(list[w, v, "p50"])), us(median(list[w, v, "p99"])), \
		us(median(list[w, v, "p999"])), show("%.1f%%", median(list[w, v, "target"])), \
		show("%.2f%%", median(list[w, v, "profiler"])), show("%.2f%%", bpf[w, v]), show("%.0f", mean[w, v]), \
		show("%.1fs", v == "none" ? "" : median(list[w, v, "start"]))
}

function head_more() {
	printf "  %-13s %10s %7s %7s %8s %7s %8s %24s %20s %9s\n", "", "switch/op", "ratio", "idle+", "RSS+", "MB", \
		"kB/s", "CPU samples/expected", "wall/expected", "complete"
}

function line_more(w, v,    none) {
	none = v == "none"
	printf "  %-13s %10s %7s %7s %8s %7s %8s %24s %20s %9s\n", v, show("%.3g", median(list[w, v, "switches"])), \
		show("%.2f", median(beside(switches, w, v))), show("%.0f", median(list[w, v, "idle"])), \
		none ? "-" : show("%+.1f", median(beside(resident, w, v, 1)) / 1e6), show("%.1f", median(list[w, v, "memory"])), \
		show("%.1f", median(list[w, v, "bytes"])), (w, v) in cpu ? cpu[w, v] : "-", (w, v) in ticks ? ticks[w, v] : "-", \
		show("%.1f%%", complete[w, v])
}

END {
	for (i = 1; i <= nworkloads; i++) {
		w = order[i]
		printf "\n%s\n", w
		head()
		for (k = 1; k <= nvariants[w]; k++) line(w, variant[w, k])
		print ""
		head_more()
		for (k = 1; k <= nvariants[w]; k++) line_more(w, variant[w, k])
	}
}
