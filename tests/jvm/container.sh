# SPDX-License-Identifier: Apache-2.0
# Sourced by container_*.sh behind lib.sh: a JVM as process 1 of a runc container, and what gnomon
# has to find there. (No image and no daemon: the root is the host's /usr or a tree of Debian's.)

RUNC_STATE=$T/runc
CONTAINERS=()
TMP_NOEXEC= # or ,"noexec"
RESOURCES='"cpu":{"quota":50000,"period":100000},"memory":{"limit":536870912}'
MORE_MOUNTS=()

runc_() { runc --root "$RUNC_STATE" "$@"; }

containers_end() {
    local id

    for id in "${CONTAINERS[@]}"; do
        runc_ kill "$id" KILL
        until_true 5 runc_ delete --force "$id"
    done >"$T/runc.end" 2>&1
    # ours, and empty by now
    find /sys/fs/cgroup -depth -type d -path "*/docker/$$*" -exec rmdir {} + 2>/dev/null
    find /sys/fs/cgroup -depth -maxdepth 3 -type d -name docker -exec rmdir {} + 2>/dev/null
    return 0
}
trap 'rc=$?; containers_end; (exit $rc); cleanup' EXIT

# A root with nothing in it but where the host's files go.
root_of_host() {
    local d

    mkdir -p "$1"/{usr,etc,proc,sys,dev,tmp,classes}
    chmod 1777 "$1/tmp" # a tmpfs of runc's gets the mode of what it is mounted on
    for d in bin sbin lib lib32 lib64 libx32; do
        [ -L "/$d" ] && ln -s "$(readlink "/$d")" "$1/$d"
    done
    MOUNTS+=("$(bind /usr /usr)" "$(bind /etc /etc)")
}

# bind FROM TO [rw]
bind() {
    printf '{"destination":"%s","type":"bind","source":"%s","options":["rbind","%s"]}' \
        "$2" "$1" "${3:-ro}"
}

json_strings() {
    local out= s

    for s; do out+=${out:+,}\"$s\"; done
    echo "$out"
}

# What a container runtime gives: namespaces, a read-only root, no network, limits, no privileges.
config_json() {
    local root=$1 cgroup=$2 user_ns=$3 spaces='"pid" "mount" "ipc" "uts" "network"' maps=

    shift 3
    if [ "$user_ns" = 1 ]; then
        spaces+=' "user"'
        maps='"uidMappings":[{"containerID":0,"hostID":300000,"size":65536}],
              "gidMappings":[{"containerID":0,"hostID":300000,"size":65536}],'
    fi
    cat <<JSON
{"ociVersion":"1.0.2","hostname":"box","root":{"path":"$root","readonly":true},
 "process":{"terminal":false,"user":{"uid":1000,"gid":1000},"cwd":"/","noNewPrivileges":true,
  "args":[$(json_strings "$@")],"env":["PATH=/usr/bin","LANG=C.UTF-8"]},
 "mounts":[$(IFS=,; echo "${MOUNTS[*]}"),
  {"destination":"/proc","type":"proc","source":"proc"},
  {"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755"]},
  {"destination":"/tmp","type":"tmpfs","source":"tmpfs","options":["nosuid","nodev"$TMP_NOEXEC,"mode=1777"]}$([ ${#MORE_MOUNTS[@]} = 0 ] || printf ',%s' "${MORE_MOUNTS[@]}")],
 "linux":{$maps"cgroupsPath":"$cgroup",
  "namespaces":[$(for s in $spaces; do echo "{\"type\":$s}"; done | paste -sd,)],
  "resources":{$RESOURCES},
  "seccomp":{"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_X86_64","SCMP_ARCH_AARCH64"],
   "syscalls":[{"names":["ptrace","process_vm_readv","process_vm_writev","perf_event_open","bpf",
    "unshare","setns","mount"],"action":"SCMP_ACT_ERRNO"}]}}}
JSON
}

# container_run ROOT|host USER-NS COMMAND...: sets CONTAINER_ID, JVM_OUT, JVM_ERR, and JVM_PID (here).
# ROOT is a tree to be used as it is.
container_run() {
    local root=$1 user_ns=$2 bundle

    shift 2
    JVM_N=$((JVM_N + 1))
    bundle=$T/bundle$JVM_N
    JVM_OUT=$T/jvm$JVM_N.out
    JVM_ERR=$T/jvm$JVM_N.err
    JVM_IN=$T/jvm$JVM_N.in
    CONTAINER_ID=$(printf "%07d%057x" $$ "$JVM_N")
    MOUNTS=("$(bind "$CLASSES" /classes)")
    mkdir -p "$bundle/root"
    if [ "$root" = host ]; then
        root=$bundle/root
        root_of_host "$root"
    fi
    config_json "$root" "/docker/$CONTAINER_ID" "$user_ns" "$@" >"$bundle/config.json"
    mkfifo "$JVM_IN"
    exec {JVM_FD}<>"$JVM_IN"
    CONTAINERS+=("$CONTAINER_ID")
    runc_ run --bundle "$bundle" --pid-file "$bundle/pid" "$CONTAINER_ID" \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    CHILDREN+=("$!")
    until_true 60 test -s "$bundle/pid" || fail "the container does not start: $(cat "$JVM_ERR")"
    JVM_PID=$(cat "$bundle/pid")
}

# container_start ROOT|host USER-NS JAVA-HOME CLASS ARGS...: JVM_OPTS as for jvm_start.
container_start() {
    local root=$1 user_ns=$2 home=$3

    shift 3
    classes
    # shellcheck disable=SC2086
    container_run "$root" "$user_ns" "$home/bin/java" ${JVM_OPTS:-} -Xmx64m -cp /classes "$@"
    jvm_ready "the container"
}

json_field() { grep -o "\"$2\": *[^,}]*" <<<"$1" | head -n 1 | sed 's/^[^:]*: *//; s/"//g'; }

# The object of JVM_PID in `gnomon jvms --json`, on one line.
jvms_entry() {
    "$GNOMON" jvms --json 2>/dev/null | tr -d '\n' | sed 's/},* *{ *"pid"/}\n{"pid"/g' |
        grep -E "\"pid\": *$JVM_PID[,}]"
}

listed() {
    local entry

    entry=$(jvms_entry)
    assert_eq "inner pid" 1 "$(json_field "$entry" inner_pid)" "$entry"
    assert_eq "container" "$CONTAINER_ID" "$(json_field "$entry" id)" "$entry"
    assert_eq "CPU limit" 0.500 "$(json_field "$entry" cpu_limit)" "$entry"
    assert_eq "memory limit" 536870912 "$(json_field "$entry" memory_limit)" "$entry"
    assert_eq "can be attached to" true "$(json_field "$entry" can_attach)" "$entry"
    [ -n "$(json_field "$entry" jdk)" ] || fail "no version of the JDK: $entry"
}

no_traces() {
    local f p root=/proc/$JVM_PID/root

    p=$(awk '/^NSpid:/ { print $NF }' "/proc/$JVM_PID/status")
    for f in "$root/tmp/.gnomon-agent-$p-"* "$root/tmp/.attach_pid$p" "$root/dev/shm/.gnomon-agent-$p-"*; do
        [ -e "$f" ] && fail "'$f' is left behind"
    done
    return 0
}

# whole_stacks FILE: percent of samples whose walk came to the thread's start.
whole_stacks() {
    jfr_print "$1" gnomon.StackQuality |
        awk '$1 == "samples" { n += $3 } $1 == "complete" { c += $3 }
             END { printf "%.2f\n", n ? 100 * c / n : 0 }'
}

# recorded HOW: Java frames with names, whole stacks, and the container's id in the file.
recorded() {
    local how=$1 jfr=$T/$JVM_N-$1.jfr all whole

    recorded_for 400 1 "$jfr" --container "${CONTAINER_ID:0:20}" --jvm "$how"
    jvm_rest
    jfr_readable "$jfr"
    all=$(weight "$jfr" $CPU_EVENT thread=busy-thread-number-1)
    assert_ge "$how: CPU samples of the busy thread" 20 "$all"
    whole=$(weight "$jfr" $CPU_EVENT thread=busy-thread-number-1 \
        'frame=Harness\.(crunch|burn|cpu)')
    assert_ge "$how: percent of them with the method's name" 95 "$(calc "100 * $whole / $all")"
    assert_ge "$how: wall samples of an idle thread, by its Java stack" 30 \
        "$(weight "$jfr" $WALL_EVENT thread=idle-thread-number-1 'frame=Harness\.await')"
    assert_ge "$how: percent of stacks that are whole" 97 "$(whole_stacks "$jfr")"
    jfr_print "$jfr" jdk.ActiveSetting >"$T/settings"
    assert_match "the settings" "$CONTAINER_ID" "$T/settings"
    file_has "$GN_ERR" warning && fail "$how: $(cat "$GN_ERR")"
    note "$how: $all CPU samples, $(calc "100 * $whole / $all")% named; $(whole_stacks "$jfr")% whole"
    no_traces
    jvm_wake
    jvm_unharmed
}

mapped() {
    local path

    path=$(timeout 300 "$GNOMON" perfmap "$JVM_PID" 2>"$T/perfmap.err") ||
        fail "perfmap: $(cat "$T/perfmap.err")"
    assert_eq "where the perf map is" "/proc/$JVM_PID/root/tmp/perf-1.map" "$path"
    assert_match "the perf map" ' (Harness|Idle)' "$path"
    rm -f "$path"
    no_traces
    jvm_unharmed
}

container_whole() {
    container_start "$1" "$2" "$3" Idle 3 1
    listed
    recorded vmstructs
    recorded agent
    mapped
    # the warning of JEP 451 apart, nothing came out of it
    grep -v '^WARNING: ' "$JVM_ERR" >"$T/noise"
    assert_empty "the container's stderr" "$T/noise"
    jvm_end
}
