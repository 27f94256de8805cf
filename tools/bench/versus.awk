# SPDX-License-Identifier: Apache-2.0
# bench.csv as Markdown tables: awk -v us=VARIANT [-v why=FILE] -f versus.awk bench.csv
#
# That variant of gnomon beside each peer, window by window of the same round: throughput, CPU time of the
# target per operation and p99 as ratios (medians of the rounds), recording size, complete stacks. Ahead or
# behind in throughput only where no round says otherwise and it is more than the noise. That is at least one
# percent, and as much as any profiler seems to make the program faster, which none does. The file has the
# reasons for rows that are behind (why.txt); one that has none is named on stderr.

BEGIN {
	while (why && (getline line < why) > 0) {
		if (line ~ /^#/ || split(line, item, " ") < 4) continue
		key[++nwhy] = item[1] " " item[2] " " item[3]
		sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", line)
		reason[nwhy] = line
	}
	FS = ","
}
/^#/ { next }
!header { header = 1; for (i = 1; i <= NF; i++) at[$i] = i; next }
{
	w = $at["workload"]; v = $at["variant"]; r = $at["round"]
	if (!((w, v) in seen)) {
		seen[w, v] = 1
		if (!(w in nv)) order[++nw] = w
		variant[w, ++nv[w]] = v
	}
	all = $at["cpu_taken"] + $at["wall_taken"]
	if (r == 0 && all > 0) complete[w, v] = sprintf("%.1f%%", 100 * $at["complete"] / all)
	if (r == 0 && $at["cpu_expected"] > 0 && $at["cpu_taken"] != "")
		taken[w, v] = sprintf("%.0f%%", 100 * $at["cpu_taken"] / $at["cpu_expected"])
}
$at["round"] > 0 && $at["seconds"] > 0 && $at["wall_ns"] > 0 {
	if (r > rounds) rounds = r
	figure["rate", w, v, r] = $at["operations"] / $at["seconds"]
	if ($at["operations"] > 0)
		figure["cost", w, v, r] = $at["target_cpu_ns"] / $at["wall_ns"] / figure["rate", w, v, r]
	figure["p99", w, v, r] = $at["p99_ns"] + 0
	if ($at["recorded_s"] > 0 && $at["file_bytes"] != "")
		figure["bytes", w, v, r] = $at["file_bytes"] / $at["recorded_s"]
}

# ratio[1..n], sorted: of what, that of u by that of v
function compare(what, w, v, u,    r, i, k, t, a, b) {
	n = 0
	for (r = 1; r <= rounds; r++) {
		a = figure[what, w, u, r]; b = figure[what, w, v, r]
		if (a > 0 && b > 0) ratio[++n] = a / b
	}
	for (i = 2; i <= n; i++)
		for (k = i; k > 1 && ratio[k] < ratio[k - 1]; k--) {
			t = ratio[k]; ratio[k] = ratio[k - 1]; ratio[k - 1] = t
		}
	return n
}

function middle() { return (ratio[int((n + 1) / 2)] + ratio[int(n / 2) + 1]) / 2 }
function cell(what, w, v) { return compare(what, w, v, us) ? sprintf("%.3g", middle()) : "-" }
function pair(of, w, v) { return (w, v) in of ? of[w, us] " / " of[w, v] : "-" }

function noise(w,    k, most) {
	most = 1.01
	for (k = 1; k <= nv[w]; k++)
		if (variant[w, k] != "none" && compare("rate", w, "none", variant[w, k]) && middle() > most)
			most = middle()
	return most
}

function verdict(least,    m) {
	if (n < 3) return "not told apart: too few rounds"
	m = middle()
	if (ratio[1] > 1 && m > least) return "ahead"
	return ratio[n] < 1 && m < 1 / least ? "**behind**" : sprintf("level (noise %.0f%%)", 100 * (least - 1))
}

# a pattern with * for any
function matches(pattern, text) {
	gsub(/[.+]/, "[&]", pattern)
	gsub(/\*/, ".*", pattern)
	return text ~ "^" pattern "$"
}

function reason_of(w, v,    i) {
	for (i = 1; i <= nwhy; i++)
		if (matches(key[i], w " " us " " v)) return reason[i]
	print "versus: " us " is behind " v " in " w ", and no reason is in '" why "'" > "/dev/stderr"
	return "not looked into"
}

# Once for each reason.
function behind_note(w, v,    text) {
	text = reason_of(w, v)
	if (!((w, text) in noted)) notes[++nnotes] = w SUBSEP text
	noted[w, text] = noted[w, text] (noted[w, text] ? ", " : "") v
}

END {
	print "| workload | peer | throughput | range | " us " is | CPU per op | p99 | kB/s | CPU samples taken | complete |"
	print "|---|---|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= nw; i++) {
		w = order[i]
		least = noise(w)
		for (k = 1; k <= nv[w]; k++) {
			v = variant[w, k]
			if (v ~ /^gnomon/ || !compare("rate", w, v, us)) continue
			word = verdict(least)
			if (word ~ /behind/ && why) behind_note(w, v)
			printf "| %s | %s | %.3f | %.3f .. %.3f | %s |", w, v, middle(), ratio[1], ratio[n], word
			printf " %s | %s | %s | %s | %s |\n", cell("cost", w, v), cell("p99", w, v), cell("bytes", w, v), \
				pair(taken, w, v), pair(complete, w, v)
		}
	}
	if (nnotes) print "\nWhy it is behind:\n"
	for (i = 1; i <= nnotes; i++) {
		split(notes[i], part, SUBSEP)
		printf "- %s (%s): %s.\n", part[1], noted[part[1], part[2]], part[2]
	}
}
