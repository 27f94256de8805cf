# SPDX-License-Identifier: Apache-2.0
# bench.csv as a table for people: awk -f report.awk bench.csv
#
# A ratio is that of two windows of one round, so a machine that drifts does not count. Medians over
# the rounds; [least .. most] in brackets. Round 0 counts for BPF and samples only.

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
		expected[w, v] = $at["cpu_expected"]
		taken[w, v] = $at["cpu_taken"]
		lost[w, v] = $at["lost"]
		all = $at["cpu_taken"] + $at["wall_taken"]
		if (all > 0) complete[w, v] = 100 * $at["complete"] / all
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

function ratios(of, w, v,    r, out) {
	for (r = 1; r <= rounds; r++)
		if (of == "rate" && rates[w, "none", r] > 0)
			out = out " " rates[w, v, r] / rates[w, "none", r]
		else if (of == "cost" && costs[w, "none", r] > 0 && costs[w, v, r] > 0)
			out = out " " costs[w, v, r] / costs[w, "none", r]
	return out
}

function us(x) { return x == "" ? "-" : x >= 1e5 ? sprintf("%.1fms", x / 1e6) : sprintf("%.1fus", x / 1e3) }


END {
	for (i = 1; i <= nworkloads; i++) {
		w = order[i]
		printf "\n%s\n", w
		printf "  %-13s %8s %20s %7s %17s %7s %9s %9s %9s %7s %6s %7s %6s %8s %6s %6s %17s %9s\n", "", "op/s", \
			"range", "ratio", "range", "CPU/op", "p50", "p99", "p99.9", "own CPU", "BPF", "ns/run", \
			"MB", "kB/s", "start", "idle+", "samples/expected", "complete"
		for (k = 1; k <= nvariants[w]; k++) {
			v = variant[w, k]
			rr = ratios("rate", w, v)
			n = sorted(list[w, v, "rate"], x)
			samples = taken[w, v] == "" ? "-" : taken[w, v] "/" expected[w, v] \
				(lost[w, v] > 0 ? " -" lost[w, v] : "")
			printf "  %-13s %8s %20s %7s %17s %7s %9s %9s %9s %7s %6s %7s %6s %8s %6s %6s %17s %9s\n", v, \
				big(median(list[w, v, "rate"])), \
				n ? "[" big(x[1]) " .. " big(x[n]) "]" : "-", \
				show("%.3f", median(rr)), range(rr, "%.3f"), \
				show("%.3f", median(ratios("cost", w, v))), \
				us(median(list[w, v, "p50"])), us(median(list[w, v, "p99"])), \
				us(median(list[w, v, "p999"])), \
				show("%.2f%%", median(list[w, v, "profiler"])), show("%.2f%%", bpf[w, v]), \
				show("%.0f", mean[w, v]), show("%.1f", median(list[w, v, "memory"])), \
				show("%.1f", median(list[w, v, "bytes"])), show("%.1fs", v == "none" ? "" : median(list[w, v, "start"])), \
				show("%.0f", median(list[w, v, "idle"])), \
				samples, show("%.1f%%", complete[w, v])
		}
	}
}
