# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that need jars of Maven Central's, behind lib.sh, with PEERS and CACHE set.

jars_right() { (cd "$2" 2>/dev/null && sha256sum --quiet -c "$PEERS/$1/jars.sha256") >"$T/sums" 2>&1; }

# fetch_jars NAME DIRECTORY: those of NAME/pom.xml, and no others than NAME/jars.sha256 has. One Maven at a time:
# both write the same repository.
fetch_jars() {
    jars_right "$@" && return
    rm -rf "$2"
    flock "$CACHE/m2.lock" mvn -q -B -C -Dmaven.repo.local="$CACHE/m2" -f "$PEERS/$1/pom.xml" \
        dependency:copy-dependencies -DoutputDirectory="$2" </dev/null >"$T/mvn" 2>&1 ||
        fail "mvn: $(tail -n 20 "$T/mvn")"
    jars_right "$@" || fail "not what they were: $(cat "$T/sums")"
}
