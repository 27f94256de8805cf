#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/workloads/tomcat.sh
#
# Tomcat 10 under load: how many of its stacks are complete. See lib.sh.
. "$(dirname "$0")/lib.sh"
packages tomcat10 tomcat10-examples wrk

port=$((20000 + $$ % 10000))
home=/usr/share/tomcat10
base=$T/base
mkdir -p "$base"/{conf,logs,temp,work,webapps}
cp -rL /etc/tomcat10/* "$base/conf/"
cp -rL /usr/share/tomcat10-examples/examples "$base/webapps/"
# the jars are links into /usr/share/java: copies serve in a container, too
cp -rL "$home/lib" "$base/lib"
cp -L $home/bin/{bootstrap,tomcat-juli}.jar "$base/"
sed -i "s/port=\"8080\"/port=\"$port\" address=\"127.0.0.1\"/; s/<Server port=\"[0-9-]*\"/<Server port=\"-1\"/" \
    "$base/conf/server.xml"
java_start --add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED \
    --add-opens=java.base/java.util=ALL-UNNAMED -Dcatalina.home="$base" -Dcatalina.base="$base" \
    -Djava.io.tmpdir="$base/temp" -cp "$base/bootstrap.jar:$base/tomcat-juli.jar" \
    org.apache.catalina.startup.Bootstrap start
url=http://127.0.0.1:$port/examples/servlets/servlet/HelloWorldExample
answers() { wrk -t1 -c1 -d1s "$url" >"$T/wrk.out" 2>&1 && ! grep -q "Non-2xx" "$T/wrk.out"; }
until_true 60 answers || fail "the servlet does not answer: $(tail -n 5 "$T/wrk.out" "$JVM_ERR")"
wrk -t1 -c64 -d$((WORKLOAD_SECONDS + 5))s "$url" </dev/null >"$T/load.out" 2>&1 &
CHILDREN+=($!)
sleep 3
workload_record tomcat
