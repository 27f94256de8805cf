# SPDX-License-Identifier: Apache-2.0
# bench.csv as Markdown tables: awk -v us=VARIANT [-v why=FILE] -f versus.awk bench.csv
#
# That variant of gnomon beside each peer, window by window of the same round: throughput, CPU time of the
# target per operation, p99 and bytes as ratios, ours to theirs (medians of the rounds), and CPU samples of those
# expected. Each with its verdict; README.md has the rules. The file has the reasons for what is behind (why.txt);
# what has none is named on stderr.

BEGIN {
	while (why && (getline line < why) > 0) {
		if (line ~ /^#/ || split(line, item, " ") < 4) continue
		key[++nwhy] = item[1] " " item[2] " " item[3]
		sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", line)
		reason[nwhy] = line
	}
	FS = ","
	LEAST["throughput"] = 1.01; LEAST["cpu"] = 1.01; LEAST["p99"] = 1.05; LEAST["bytes"] = 1.05
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
	if (r == 0 && all > 0 && $at["complete"] != "") complete[w, v] = sprintf("%.1f%%", 100 * $at["complete"] / all)
	if (r == 0 && $at["cpu_expected"] > 0 && $at["cpu_taken"] != "") {
		expected[w, v] = $at["cpu_expected"]
		taken[w, v] = $at["cpu_taken"] / $at["cpu_expected"]
	}
}
$at["round"] > 0 && $at["seconds"] > 0 && $at["wall_ns"] > 0 {
	if (r > rounds) rounds = r
	figure["throughput", w, v, r] = $at["operations"] / $at["seconds"]
	if ($at["operations"] > 0)
		figure["cpu", w, v, r] = $at["target_cpu_ns"] / $at["wall_ns"] / figure["throughput", w, v, r]
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

# How many times better the median of u's is than none's: more is better of throughput alone.
function gain(what, w, u,    m) {
	if (u == "none" || !compare(what, w, "none", u)) return 1
	m = middle()
	return what == "throughput" ? m : 1 / m
}

# The noise: as much as any profiler seems to better the program, which none does.
function noise(what, w,    k, g, most) {
	most = LEAST[what]
	for (k = 1; k <= nv[w]; k++)
		if ((g = gain(what, w, variant[w, k])) > most) most = g
	return most
}

# Of ratio[]. Where ours bettered the program itself by more than the least it is noise that we had, and no merit.
function verdict(what, least, unreal,    m, worst, best) {
	if (n < 3) return "(too few rounds)"
	m = middle(); worst = ratio[1]; best = ratio[n]
	if (what != "throughput") { m = 1 / m; worst = 1 / ratio[n]; best = 1 / ratio[1] }
	if (worst > 1 && m > least) return unreal ? "level: above none" : "ahead"
	return best < 1 && m < 1 / least ? "**behind**" : sprintf("level within %.0f%%", 100 * (least - 1))
}

# a pattern with * for any
function matches(pattern, text) {
	gsub(/[.+]/, "[&]", pattern)
	gsub(/\*/, ".*", pattern)
	return text ~ "^" pattern "$"
}

function reason_of(what, w, v,    i) {
	for (i = 1; i <= nwhy; i++)
		if (matches(key[i], w " " us " " v "/" what)) return reason[i]
	print "versus: " us " is behind " v " in " w " (" what "), and no reason is in '" why "'" > "/dev/stderr"
	return "not looked into"
}

# Once for each reason of a workload.
function behind_note(what, w, v,    text) {
	text = reason_of(what, w, v)
	if (!((w, what, text) in noted)) notes[++nnotes] = w SUBSEP what SUBSEP text
	noted[w, what, text] = noted[w, what, text] (noted[w, what, text] ? ", " : "") v
}

function told(what, w, v, word) {
	if (word ~ /behind/ && why) behind_note(what, w, v)
	return word
}

# cell(WHAT, ...): "ratio verdict"; of throughput the range, too.
function cell(what, w, v,    least, unreal, span) {
	least = noise(what, w)
	unreal = gain(what, w, us) > LEAST[what]
	if (!compare(what, w, v, us)) return "-"
	span = what == "throughput" ? sprintf(" (%.3f .. %.3f)", ratio[1], ratio[n]) : ""
	return sprintf("%.3f", middle()) span " " told(what, w, v, verdict(what, least, unreal))
}

# The nearer to all that was expected the better, by more than two standard errors of the smaller count.
function samples(w, v,    a, b, least, fewer, text) {
	if (!((w, us) in taken) || !((w, v) in taken)) return "-"
	a = taken[w, us]; b = taken[w, v]
	text = sprintf("%.0f%% / %.0f%% ", 100 * a, 100 * b)
	fewer = expected[w, us] < expected[w, v] ? expected[w, us] : expected[w, v]
	least = 1 + 2 / sqrt(fewer)
	if (a > 1) a = 1 / a
	if (b > 1) b = 1 / b
	if (a > b * least) return text "ahead"
	return text told("samples", w, v, a * least < b ? "**behind**" : "level")
}

function pair(of, w, v) { return (w, v) in of ? of[w, us] " / " of[w, v] : "-" }

END {
	print "| workload | peer | throughput | CPU per op | p99 | bytes | CPU samples taken | complete |"
	print "|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= nw; i++) {
		w = order[i]
		for (k = 1; k <= nv[w]; k++) {
			v = variant[w, k]
			if (v ~ /^gnomon/ || !compare("throughput", w, v, us)) continue
			printf "| %s | %s | %s |", w, v, cell("throughput", w, v)
			printf " %s | %s | %s |", cell("cpu", w, v), cell("p99", w, v), cell("bytes", w, v)
			printf " %s | %s |\n", samples(w, v), pair(complete, w, v)
		}
	}
	if (nnotes) print "\nWhy it is behind:\n"
	for (i = 1; i <= nnotes; i++) {
		split(notes[i], part, SUBSEP)
		printf "- %s, %s (%s): %s.\n", part[1], part[2], noted[part[1], part[2], part[3]], part[3]
	}
}
