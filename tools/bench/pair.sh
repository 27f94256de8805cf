# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh: two recordings of the same JVMs at once, one WITH something and one WITHOUT it, so that
# whatever else the machine does befalls both.

# pair_start WITH-OPTION WITHOUT-OPTION ARGS...: either option may be empty. Their files lie in T/with and T/without.
# GNOMON_WITHOUT: the binary of the one without, if that is another one.
pair_start() {
    rm -rf "$T/with" "$T/without"
    mkdir "$T/with" "$T/without"
    gnomon_start "$T/with" ${1:+"$1"} "${@:3}"
    WITH=$GN_PID
    GNOMON=${GNOMON_WITHOUT:-$GNOMON} gnomon_start "$T/without" ${2:+"$2"} "${@:3}"
    WITHOUT=$GN_PID
    sleep 8 # past the first seconds, in which names are looked at more often
}

# pair_core METER_FILE: percent of a core that the recording's processes took.
pair_core() { per_core "$(figure "$1" profiler_cpu_ns)" "$(figure "$1" wall_ns)"; }

# pair_windows PID SECONDS ROUNDS: of each window with that JVM percent of a core into T/with.cpu, T/without.cpu and
# T/more.cpu, and MB resident into T/with.mb and T/without.mb.
pair_windows() {
    local i k

    for k in with without more; do : >"$T/$k.cpu" >"$T/$k.mb"; done
    for ((i = 0; i < $3; i++)); do
        "$METER" -p "$1" -c "$WITHOUT" -o "$T/without.meter" -- sleep "$2" &
        "$METER" -p "$1" -c "$WITH" -o "$T/with.meter" -- sleep "$2"
        wait $!
        for k in with without; do
            echo "$(pair_core "$T/$k.meter")" >>"$T/$k.cpu"
            echo "$(calc "$(figure "$T/$k.meter" profiler_bytes) / 1e6")" >>"$T/$k.mb"
        done
        echo "$(calc "$(pair_core "$T/with.meter") - $(pair_core "$T/without.meter")")" >>"$T/more.cpu"
    done
}

pair_stop() {
    for GN_PID in "$WITH" "$WITHOUT"; do gnomon_stop; done
}

# spread < FIGURES: median, and in brackets the least and the most.
spread() { sort -g | awk '{ v[NR] = $1 } END { printf "%.4g (%.4g to %.4g)", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'; }
