# SPDX-License-Identifier: Apache-2.0
# bench.csv as a Markdown table: gnomon's throughput divided by each peer's, window by window of the
# same round. Ahead or behind only where no round says otherwise.

BEGIN { FS = "," }
/^#/ { next }
!header { header = 1; for (i = 1; i <= NF; i++) at[$i] = i; next }
$at["round"] > 0 && $at["seconds"] > 0 {
	w = $at["workload"]; v = $at["variant"]; r = $at["round"]
	rate[w, v, r] = $at["operations"] / $at["seconds"]
	if (!((w, v) in seen)) {
		seen[w, v] = 1
		if (!(w in nv)) order[++nw] = w
		variant[w, ++nv[w]] = v
	}
	if (r > rounds) rounds = r
}

# least, median and most of ratio[1..n]
function spread(n,    i, k, t) {
	for (i = 2; i <= n; i++)
		for (k = i; k > 1 && ratio[k] < ratio[k - 1]; k--) {
			t = ratio[k]; ratio[k] = ratio[k - 1]; ratio[k - 1] = t
		}
	least = ratio[1]; most = ratio[n]
	middle = (ratio[int((n + 1) / 2)] + ratio[int(n / 2) + 1]) / 2
}

END {
	print "| workload | peer | throughput, gnomon / peer | range | gnomon is |"
	print "|---|---|---|---|---|"
	for (i = 1; i <= nw; i++) {
		w = order[i]
		for (k = 1; k <= nv[w]; k++) {
			v = variant[w, k]
			n = 0
			for (r = 1; r <= rounds; r++)
				if (rate[w, v, r] > 0 && rate[w, "gnomon", r] > 0)
					ratio[++n] = rate[w, "gnomon", r] / rate[w, v, r]
			if (!n || v ~ /^gnomon/) continue
			spread(n)
			if (n < 3) verdict = "not told apart: too few rounds"
			else if (least > 1) verdict = "ahead"
			else verdict = most < 1 ? "behind" : "not told apart"
			printf "| %s | %s | %.3f | %.3f .. %.3f | %s |\n", w, v, middle, least, most, verdict
		}
	}
}
