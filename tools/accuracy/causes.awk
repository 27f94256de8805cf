# SPDX-License-Identifier: Apache-2.0
# Rows of causes.sh, from three files: TRUTH lines of Waiters.java, wall samples ("thread state samples"), and
# gnomon.WaitCause ("thread state samples owner kind cause"). -v jdk=VERSION.
# Lines "what|expected|measured|unit|se" behind the bound that is theirs: 3 for a share, 0 for what is wrong, 1 for
# moments, 5 for what is not known.
# Besides what Waiters measures each thread may wait for moments: for the JVM itself, or for the lock of the queue by which
# it is asked: these are told, and few.
function is_moment(c) { return c ~ /^JVM / || c ~ /^synchronizer java\.util\.concurrent\.locks\.ReentrantLock@/ }
function waits(state) { return state ~ /BLOCKED|PARKED|WAITING|IO/ }

FNR == 1 { file++ }
file == 1 {
    if (split($0, f, "|") != 7 || f[1] != "TRUTH") next
    n++
    thread[n] = f[2]; what[n] = f[3]; cause[n] = "^(" f[4] ")$"; owner[n] = f[5]; share[n] = 100 * f[6] / f[7]
    mine[f[2]] = mine[f[2]] " " n
}
file == 2 {
    if (!($1 in mine)) next
    all[$1] += $3
    if (waits($2)) waiting[$1] += $3
}
file == 3 {
    t = $1; state = $2; samples = $3; had = $4
    if (!(t in mine) || !waits(state)) next
    sub(/^[^ ]* [^ ]* [^ ]* [^ ]* /, "")
    found = 0
    k = split(mine[t], i, " ")
    for (j = 1; j <= k; j++) {
        w = i[j]
        if (cause[w] == "^(-)$" || $0 !~ cause[w]) continue
        found = 1
        got[w] += samples
        if (owner[w] == "-" || had == owner[w]) known[t] += samples
        else if (had != "-") { wrong += samples; print "# " t " waits for " had " by " $0 >"/dev/stderr" }
        break
    }
    if (!found && is_moment($0)) { moments += samples; known[t] += samples }
    else if (!found && $0 !~ /^unknown /) { wrong += samples; print "# " t " waits for " $0 >"/dev/stderr" }
}
END {
    for (w = 1; w <= n; w++) {
        t = thread[w]
        if (cause[w] == "^(-)$") continue
        se = all[t] ? 100 * sqrt(share[w] / 100 * (1 - share[w] / 100) / all[t]) : "-"
        printf "3 %s for %s|%.4f|%.4f|%%|%s\n", t, what[w], share[w], all[t] ? 100 * got[w] / all[t] : 0, se
    }
    for (t in mine) { sum += waiting[t]; told += known[t] }
    printf "0 wrong causes and owners|0|%.4f|samples|-\n", wrong
    printf "1 for moments of the JVM and of queues|0|%.4f|%%|-\n", sum ? 100 * moments / sum : 100
    printf "5 without a cause, or an owner|0|%.4f|%%|-\n", sum ? 100 * (sum - told) / sum : 100
}
