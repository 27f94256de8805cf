# SPDX-License-Identifier: Apache-2.0
# bench.csv as a picture: awk -f chart.awk bench.csv > bench.svg
#
# For each workload the throughput beside no profiler: a bar for the median of the rounds' ratios
# and a line from the least to the most. What is right of 100% is noise.

function ratio_sort(n,    i, k, t) {
	for (i = 2; i <= n; i++)
		for (k = i; k > 1 && ratio[k] < ratio[k - 1]; k--) {
			t = ratio[k]; ratio[k] = ratio[k - 1]; ratio[k - 1] = t
		}
}

function text(x, y, s, more) {
	gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s)
	printf "<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", x, y, more, s
}

function colour(v) {
	if (v ~ /^gnomon$/) return "#b8651b"
	if (v ~ /^gnomon/) return "#dba36b"
	if (v ~ /^jfr/) return "#4a7ba6"
	if (v ~ /^async/) return "#5c9a5c"
	return "#8a8a8a"
}

# percent of no profiler's throughput
function across(q) {
	if (q < LOW) q = LOW
	if (q > HIGH) q = HIGH
	return LEFT + (q - LOW) / (HIGH - LOW) * WIDTH
}

BEGIN { FS = ","; LOW = 0; HIGH = 1.1; LEFT = 150; WIDTH = 550; BAR = 14 }
/^#/ { if (!title) title = substr($0, 3); next }
!header { header = 1; for (i = 1; i <= NF; i++) at[$i] = i; next }
$at["round"] > 0 && $at["seconds"] > 0 {
	w = $at["workload"]; v = $at["variant"]; r = $at["round"]
	if (!((w, v) in seen)) {
		seen[w, v] = 1
		if (!(w in nv)) order[++nw] = w
		if (v != "none") { variant[w, ++nv[w]] = v; bars++ } else nv[w] += 0
	}
	rate[w, v, r] = $at["operations"] / $at["seconds"]
	if (r > rounds) rounds = r
}

END {
	height = 80 + bars * BAR + nw * 30
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" " \
		"font-family=\"sans-serif\" font-size=\"11\">\n", LEFT + WIDTH + 160, height, LEFT + WIDTH + 160, height
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	text(10, 18, "Throughput beside no profiler (median and range)", " font-size=\"14\"")
	for (q = LOW; q <= 1.001; q += 0.2) {
		printf "<line x1=\"%.1f\" y1=\"46\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>\n", across(q), across(q), \
			height - 20, (q > 0.999 ? "#444" : "#ddd")
		text(across(q), 40, sprintf("%.0f%%", 100 * q), " text-anchor=\"middle\"")
	}
	y = 56
	for (i = 1; i <= nw; i++) {
		w = order[i]
		y += 14
		text(10, y, w, " font-weight=\"bold\"")
		for (k = 1; k <= nv[w]; k++) {
			v = variant[w, k]
			n = 0
			for (r = 1; r <= rounds; r++)
				if (rate[w, "none", r] > 0 && rate[w, v, r] > 0)
					ratio[++n] = rate[w, v, r] / rate[w, "none", r]
			if (!n) continue
			ratio_sort(n)
			m = (ratio[int((n + 1) / 2)] + ratio[int(n / 2) + 1]) / 2
			y += BAR
			text(LEFT - 6, y, v, " text-anchor=\"end\"")
			printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"10\" fill=\"%s\"/>\n", LEFT, y - 9, \
				across(m) - LEFT, colour(v)
			printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"black\"/>\n", \
				across(ratio[1]), y - 4, across(ratio[n]), y - 4
			text(LEFT + WIDTH + 8, y, sprintf("%.1f%% [%.1f .. %.1f]", 100 * m, 100 * ratio[1], \
				100 * ratio[n]))
		}
		y += 12
	}
	text(10, height - 6, title, " fill=\"#666\"")
	print "</svg>"
}
