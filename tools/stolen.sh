# SPDX-License-Identifier: Apache-2.0
# Sourced (bash): CPU time that the host of a virtual machine gives to others, which no test or figure
# of shares of time can see.

# stolen_ms: of all CPUs, since the start of the machine.
stolen_ms() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%d", $9 * 1000 / hz }' /proc/stat; }

# stolen_percent MS SECONDS: of the CPU time of the last SECONDS, when stolen_ms was MS.
stolen_percent() {
    awk -v ms=$(($(stolen_ms) - $1)) -v s="$2" -v cpus="$(nproc)" \
        'BEGIN { printf "%.3f", ms / 10 / (s ? s : 1) / cpus }'
}
