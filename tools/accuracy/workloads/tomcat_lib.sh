# SPDX-License-Identifier: Apache-2.0
# Sourced by tomcat*.sh behind lib.sh: Tomcat 10 of Debian's packages, put together in $TOMCAT.
TOMCAT=$T/base
TOMCAT_PORT=$((20000 + $$ % 10000))
TOMCAT_URL=http://127.0.0.1:$TOMCAT_PORT/examples/servlets/servlet/HelloWorldExample
TOMCAT_ARGS=(--add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED
    --add-opens=java.base/java.util=ALL-UNNAMED "-Dcatalina.home=$TOMCAT" "-Dcatalina.base=$TOMCAT"
    "-Djava.io.tmpdir=$TOMCAT/temp" -cp "$TOMCAT/bootstrap.jar:$TOMCAT/tomcat-juli.jar"
    org.apache.catalina.startup.Bootstrap start)

tomcat_prepare() {
    local home=/usr/share/tomcat10

    packages tomcat10 tomcat10-examples wrk
    mkdir -p "$TOMCAT"/{conf,logs,temp,work,webapps}
    cp -rL /etc/tomcat10/* "$TOMCAT/conf/"
    cp -rL /usr/share/tomcat10-examples/examples "$TOMCAT/webapps/"
    # the package's descriptor is of its own place, which a container has not
    rm -f "$TOMCAT/conf/Catalina/localhost/examples.xml"
    # the jars are links into /usr/share/java: copies serve in a container, too
    cp -rL "$home/lib" "$TOMCAT/lib"
    cp -L $home/bin/{bootstrap,tomcat-juli}.jar "$TOMCAT/"
    sed -i "s/port=\"8080\"/port=\"$TOMCAT_PORT\" address=\"127.0.0.1\"/; s/<Server port=\"[0-9-]*\"/<Server port=\"-1\"/" \
        "$TOMCAT/conf/server.xml"
}

tomcat_answers() {
    "$@" wrk -t1 -c1 -d1s "$TOMCAT_URL" >"$T/wrk.out" 2>&1 && ! grep -q "Non-2xx" "$T/wrk.out"
}

# tomcat_load SECONDS [COMMAND...]: as soon as it answers, in the background; COMMAND runs wrk where
# the server is.
tomcat_load() {
    local seconds=$1

    shift
    until_true 60 tomcat_answers "$@" ||
        fail "the servlet does not answer: $(tail -n 5 "$T/wrk.out" "$JVM_ERR")"
    "$@" wrk -t1 -c64 "-d${seconds}s" "$TOMCAT_URL" </dev/null >"$T/load.out" 2>&1 &
    LOAD_PID=$!
    CHILDREN+=("$LOAD_PID")
}
