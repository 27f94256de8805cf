# SPDX-License-Identifier: Apache-2.0
# Sourced by bench.sh: the workloads. Each has NAME_start (starts it, sets TARGET, the pid of the
# JVM to profile), and a window: what measures it while `meter` runs. Names may carry a number:
# idle-10000 is workload_idle with 10000.
# shellcheck disable=SC2034
TOMCAT=/usr/share/tomcat10
TOMCAT_PORT=${TOMCAT_PORT:-18080}
EXAMPLES=/usr/share/tomcat10-examples/examples
H2_JAR=/usr/share/java/h2.jar

# workload_there NAME: 1 and a word on stderr where it lacks something.
workload_there() {
    local need=()

    case $1 in
    tomcat)
        command -v wrk >/dev/null || need+=(wrk)
        [ -f $TOMCAT/bin/bootstrap.jar ] || need+=(tomcat10)
        [ -d $EXAMPLES ] || need+=(tomcat10-examples)
        ;;
    h2) [ -f $H2_JAR ] || need+=(libh2-java) ;;
    ant)
        [ -f /usr/share/ant/lib/ant-launcher.jar ] || need+=(ant)
        [ -f "$(ant_sources)" ] || need+=("openjdk-$(jdk_version "$JDK")-source")
        command -v unzip >/dev/null || need+=(unzip)
        ;;
    esac
    [ ${#need[@]} -eq 0 ] && return
    echo "skip: workload '$1' needs (Debian packages): ${need[*]}" >&2
    return 1
}

# ---- programs of java/ ---------------------------------------------------------------------

work_start() {
    JVM_READY=120 jvm_start "$@"
    TARGET=$JVM_PID
}

idle_start() {
    room_for "$1" >&2
    JVM_OPTS="-Xss256k -Xmx1g" work_start Work idle "$1"
}
# A pair for each processor: one alone may spin on two, and hand over without a switch.
pingpong_start() { work_start Work pingpong "${1:-$(nproc)}"; }
compute_start() { work_start Work compute; }
# The profilers of the JDK end at 64 frames unless told otherwise at the start.
deep_start() { JVM_OPTS="-XX:FlightRecorderOptions=stackdepth=2048" work_start Work deep "$1"; }
alloc_start() { JVM_OPTS="-Xmx256m -XX:+UseG1GC" work_start Work alloc; }

# What MARK says of the window that ends now: "seconds operations p50 p99 p99.9".
mark() {
    local n

    n=$(grep -c '^MARK' "$JVM_OUT")
    echo mark >&"$JVM_FD"
    until_true 20 mark_answered "$n" || fail "the workload does not answer"
    awk '$1 == "MARK" { m = $0 } END { sub(/^MARK /, "", m); print m }' "$JVM_OUT"
}
mark_answered() { [ "$(grep -c '^MARK' "$JVM_OUT")" -gt "$1" ]; }

# window METER-OPTIONS...: prints the MARK.
work_window() {
    mark >/dev/null
    "$METER" "$@" -- sleep "$SECONDS_EACH"
    mark
}

work_stop() { jvm_end 60; }

# ---- servers -------------------------------------------------------------------------------

# server_start WORD COMMAND...: in the background, until its output has the word.
server_start() {
    local word=$1

    shift
    emptied "$T/server.log"
    "$@" </dev/null >"$T/server.log" 2>&1 &
    TARGET=$!
    CHILDREN+=("$TARGET")
    until_true 60 file_has "$T/server.log" "$word" || fail "no server: $(tail -n 5 "$T/server.log")"
}

server_stop() {
    kill "$TARGET"
    pid_gone "$TARGET" 30 || fail "the server does not end"
}

tomcat_start() {
    local base=$T/tomcat

    mkdir -p "$base"/{conf,logs,temp,work,webapps}
    cp -rL $TOMCAT/etc/. "$base/conf/"
    # Only on the loopback, on a port of ours, and no second one to be shut down by.
    sed -i -e 's/<Connector port="8080"/<Connector port="'"$TOMCAT_PORT"'" address="127.0.0.1"/' \
        -e 's/<Server port="8005"/<Server port="-1"/' "$base/conf/server.xml"
    cp -rL $EXAMPLES "$base/webapps/examples"
    server_start 'Server startup' "$JDK/bin/java" -Xmx512m -Dcatalina.home=$TOMCAT \
        "-Dcatalina.base=$base" "-Djava.io.tmpdir=$base/temp" \
        -cp "$TOMCAT/bin/bootstrap.jar:$TOMCAT/bin/tomcat-juli.jar" \
        org.apache.catalina.startup.Bootstrap start
    wrk_window "$WARM_UP" -p "$TARGET" -o /dev/null >/dev/null
}

# wrk's own report of percentiles ends at 99.
wrk_script() {
    cat <<-'END'
	done = function(s, latency, requests)
	    io.write(string.format("MARK %.3f %d %.0f %.0f %.0f\n", s.duration / 1e6, s.requests,
	        latency:percentile(50) * 1e3, latency:percentile(99) * 1e3,
	        latency:percentile(99.9) * 1e3))
	    local e = s.errors
	    local bad = e.connect + e.read + e.write + e.status + e.timeout
	    if bad > 0 then io.write("ERRORS " .. bad .. "\n") end
	end
	END
}

wrk_window() {
    local seconds=$1

    shift
    [ -f "$T/wrk.lua" ] || wrk_script >"$T/wrk.lua"
    "$METER" "$@" -- wrk -t1 -c64 "-d${seconds}s" -s "$T/wrk.lua" \
        http://127.0.0.1:$TOMCAT_PORT/examples/servlets/servlet/HelloWorldExample >"$T/wrk.out" 2>&1 ||
        fail "wrk: $(tail -n 3 "$T/wrk.out")"
    # one of thousands may run into a time limit on a busy machine
    awk '$1 == "MARK" { n = $3 } $1 == "ERRORS" { bad = $2 } END { exit bad * 1000 > n }' "$T/wrk.out" ||
        fail "requests failed: $(grep -E '^(ERRORS|MARK)' "$T/wrk.out")"
    sed -n 's/^MARK //p' "$T/wrk.out"
}

tomcat_window() { wrk_window "$SECONDS_EACH" "$@"; }
tomcat_stop() { server_stop; }

h2_start() {
    mkdir -p "$T/h2"
    server_start 'TCP server running' "$JDK/bin/java" -Xmx512m -Dh2.bindAddress=127.0.0.1 \
        -cp $H2_JAR org.h2.tools.Server -tcp -tcpPort 19092 -ifNotExists -baseDir "$T/h2"
    CLASSES=$CLASSES:$H2_JAR JVM_READY=60 jvm_start H2Load jdbc:h2:tcp://127.0.0.1:19092/bench 32
}

h2_window() { work_window "$@"; }

h2_stop() {
    jvm_end
    server_stop
}

# ---- a build: its whole life is the window, so the profiler starts with it -----------------

ant_sources() { echo "$JDK/lib/src.zip"; }

# CI: 204 files; full: java.xml, 1,857 files.
ant_start() {
    ANT_MODULE=java.naming
    [ "$SIZE" = full ] && ANT_MODULE=java.xml
    [ -d "$T/ant/src" ] && return
    mkdir -p "$T/ant/src"
    unzip -q "$(readlink -f "$(ant_sources)")" "$ANT_MODULE/*" -d "$T/ant/src" || fail "no sources in '$(ant_sources)'"
    cat >"$T/ant/build.xml" <<-END
	<project default="compile">
	  <target name="compile">
	    <delete dir="out"/>
	    <mkdir dir="out"/>
	    <javac srcdir="src/\${module}" destdir="out" includeantruntime="false" nowarn="true"
	           fork="false" debug="true">
	      <compilerarg value="-Xlint:none"/>
	      <compilerarg value="-XDignore.symbol.file"/>
	    </javac>
	  </target>
	</project>
	END
}

# ant_command METER_FILE WRAPPER...: the whole of it is the meter's window.
ant_command() {
    local m=$1

    shift
    # shellcheck disable=SC2086
    (cd "$T/ant" && exec "$METER" -o "$m" -- "$@" "$JDK/bin/java" ${ANT_JVM_OPTS:-} -Xmx1g \
        -cp "/usr/share/ant/lib/ant-launcher.jar:$CLASSES" \
        Build org.apache.tools.ant.launch.Launcher -q "-Dmodule=$ANT_MODULE" >"$T/ant.out" 2>&1)
}

# ant_meter METER_FILE WRAPPER...: what the command used, as the figures of a target and its profiler. A
# profiler within the JVM is part of the target; one around it has what the JVM says it did not use.
ant_meter() {
    local m=$1 all jvm

    shift
    all=$(figure "$m" command_cpu_ns)
    jvm=$(figure "$T/ant.out" CPU)
    [ -n "$jvm" ] || fail "ant did not end well: $(tail -n 5 "$T/ant.out")"
    [ $# -gt 0 ] || jvm=$all
    {
        echo "target_cpu_ns $jvm"
        [ $# = 0 ] || echo "profiler_cpu_ns $((all > jvm ? all - jvm : 0))"
        echo "target_rss_bytes $(figure "$m" command_rss_peak_bytes)"
        echo "switches_all $(figure "$m" command_switches)"
    } >>"$m"
}

# ant_run VARIANT FILE METER_FILE: prints "seconds 1 - - -", from the command's start to its end.
ant_run() {
    local wrap=()

    ANT_JVM_OPTS=
    case $1 in
    none) ;;
    # shellcheck disable=SC2046,SC2206
    gnomon*) wrap=("$GNOMON" record -q --force -o "$2" $(gnomon_options "$1") ${GNOMON_OPTS:-} --) ;;
    jfr*) ANT_JVM_OPTS="-XX:StartFlightRecording=filename=$2,settings=$(jfr_settings "$1")" ;;
    async*) ANT_JVM_OPTS="-agentpath:$ASYNC_PROFILER=$(async_options "$1" "$2")" ;;
    perf) wrap=(perf record -q -k CLOCK_REALTIME -e cpu-clock -c $((CPU_MS * 1000000)) -g -o "$2" --) ;;
    bpftrace) return 1 ;; # has no way to start with the target and name only it
    esac
    ant_command "$3" "${wrap[@]}" || fail "ant: $(tail -n 5 "$T/ant.out")"
    ant_meter "$3" "${wrap[@]}"
    awk '$1 == "wall_ns" { printf "%.3f 1 - - -\n", $2 / 1e9 }' "$3"
}
