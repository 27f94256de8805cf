#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# "From nothing to a flame graph in Grafana" of gnomon-push(1), as it stands there: its commands are taken from the page and run,
# in a network of their own. What would be fetched is stood in for (tests/push): docker starts a server that takes what
# Pyroscope takes, and one that takes a data source as Grafana does; and of all JVMs only this test's are recorded, for a while.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/push.sh"
need_root
need_gnomon push
need_cmd unshare
need_cmd curl
need_cmd ip
unshare -n true 2>/dev/null || skip "no network namespace can be made here"

# The page's commands, a line each, as a reader would copy them.
commands() {
    sed -n '/^\.SS From nothing to a flame graph/,/^\.EE/p' "$ROOT/user/man/gnomon-push.1" | sed '1,/^\.EX/d; /^\.EE/d' |
        sed 's/\\-/-/g; s/\\e/\\/g' | sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ta}'
}

# stand_in NAME: an executable of that name, from standard input
stand_in() { { echo '#!/bin/bash' && cat; } >"$T/bin/$1" && chmod +x "$T/bin/$1"; }

mkdir "$T/bin" "$T/pyroscope" "$T/grafana"
own_jar Idle
stand_in docker <<END
case "\$*" in
"run -d --network host grafana/pyroscope") set -- pyroscope --port 4040 ;;
"run -d --network host grafana/grafana") set -- grafana 3000 ;;
*) echo "docker \$*: it does not know that" >&2; exit 1 ;;
esac
python3 "$ROOT/tests/push/\$1.py" "$T/\$1" "\${@:2}" >"$T/\$1.log" 2>&1 </dev/null &
echo \$! >>"$T/pids"
for ((i = 0; i < 1200; i++)); do
    [ ! -s "$T/\$1/port" ] || exit 0
    sleep 0.1
done
exit 1
END
stand_in sudo <<END
[ "\$*" != "mkdir /var/tmp/profiles" ] || set -- mkdir "$T/profiles"
exec "\$@"
END
stand_in gnomon <<END
printf '%s\n' "\$*" >"$T/recorded"
args=()
for a; do
    case \$a in
    --all-jvms) args+=(--name "$OWN_NAME*" -d 3) ;;
    /var/tmp/profiles/) args+=("$T/profiles/") ;;
    *) args+=("\$a") ;;
    esac
done
exec "$GNOMON" "\${args[@]}"
END

JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
JDK=$(jdk_newest)
jvm_start -jar "$OWN_JAR" 2 1 30
commands >"$T/commands"
assert_eq "commands" 5 "$(wc -l <"$T/commands")"
{ echo 'set -e; ip link set lo up' && cat "$T/commands"; } >"$T/script"
PATH=$T/bin:$PATH timeout 300 unshare -n bash "$T/script" >"$T/out" 2>&1 </dev/null
rc=$?
mapfile -t -O "${#CHILDREN[@]}" CHILDREN <"$T/pids"
assert_eq "exit code of the commands" 0 $rc "$(cat "$T/out" "$T/"*.log)"
assert_eq "what is recorded" "record --all-jvms -o /var/tmp/profiles/ --push http://localhost:4040" "$(cat "$T/recorded")"
assert_eq "the data source" '{"access": "proxy", "name": "p", "type": "grafana-pyroscope-datasource", "url": "http://localhost:4040"}' \
    "$(cat "$T/grafana/sources")"
assert_eq "refused" 0 "$(lines pyroscope refused)"
assert_eq "what Pyroscope has" "('off_cpu', '$OWN_NAME') ('process_cpu', '$OWN_NAME') ('wall', '$OWN_NAME')" \
    "$(taken pyroscope 'print(*sorted({(t["labels"]["__name__"], t["labels"]["service_name"]) for t in ALL}))')"
assert_eq "recordings" 1 "$(find "$T/profiles" -name '*.jfr' | wc -l)"
jvm_unharmed
note "$(wc -l <"$T/commands") commands, and what they make"
