# SPDX-License-Identifier: Apache-2.0
# Where threads' time went: by the scheduler (meter -e) and by the recording (Tally), as lines
# "what|expected|measured|unit|standard error|slack": awk -v comm=REGEX -v kinds=" on queued waiting life "
# -v cpu_ms=N -v wall_ms=N -f shares.awk METER TALLY
#
# -v busy=1: the threads never wait, so what they do not run they queue. (The scheduler adds a wait in a
# run queue when it ends: of a window its figure is out by one wait at each end.)
#
# Time that the host of this machine took from whoever had the CPU is neither CPU time nor waiting.
# Whose it was is not known: what is left over of the window is so much less, or nothing (slack).
#
# -v runs=STATE: wall samples in this state are of threads that run or want to: no waiting. (async-profiler
# takes its wall samples of these, too.)
#
# A share p of n samples has at best the standard error of n random ones, sqrt(p (1 - p) / n); our
# ticks are one per interval, so that ours is smaller.

function line(kind, truth, got, n, slack,    p) {
	p = truth < 0 ? 0 : truth > 100 ? 1 : truth / 100
	if (index(kinds, " " kind " "))
		printf "%s %s|%.3f|%.3f|%%|%.4f|%.3f\n", name[tid], kind, truth, got, \
			100 * sqrt(p * (1 - p) / n), slack
}

$1 == "wall_ns" { window = $2 }
$1 == "stolen_ns" { stolen = 100 * $2 / window }
$1 == "thread" && FILENAME ~ /meter$/ {
	who = $7
	for (i = 8; i <= NF; i++) who = who " " $i
	if (who ~ comm) { name[$2] = who; ran[$2] = $3; delayed[$2] = $4; order[++n] = $2 }
}
$1 == "thread" && FILENAME ~ /tally$/ {
	# the kernel's name is cut to 15 characters
	if ($2 in name) { name[$2] = $5; for (i = 6; i <= NF; i++) name[$2] = name[$2] " " $i }
	if ($3 == "cpu") cpu[$2] += $4
	else if ($3 == "STATE_QUEUED") queued[$2] += $4
	else if ($3 != runs) waited[$2] += $4
}

END {
	for (i = 1; i <= n; i++) {
		tid = order[i]
		on = 100 * ran[tid] / window
		q = busy ? 100 - on : 100 * delayed[tid] / window
		ticks = window / (wall_ms * 1e6)
		a = 100 * cpu[tid] * cpu_ms * 1e6 / window
		b = 100 * queued[tid] * wall_ms * 1e6 / window
		c = 100 * waited[tid] * wall_ms * 1e6 / window
		line("on", on, a, ticks, 0)
		line("queued", q, b, ticks, busy ? stolen : 0)
		line("waiting", 100 - on - q, c, ticks, stolen)
		if (index(kinds, " life "))
			printf "%s all its time|100|%.3f|%%|%.4f|%.3f\n", name[tid], a + b + c, \
				100 * sqrt(on / 100 * (1 - on / 100) / ticks), stolen
	}
}
