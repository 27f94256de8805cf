#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/fetch.sh [DIRECTORY]
#
# Two programs of Maven Central's, whose stacks calls.sh checks: Kotlin's compiler and Lucene, each with
# what it needs, as jars in DIRECTORY (default /var/cache/gnomon-peers/programs). Versions and contents are
# pinned; what is there already and right is not fetched again. Maven does it, by the user's settings.
# Exit code: 1 if it cannot be had, or is another.
set -u
dir=${1:-/var/cache/gnomon-peers/programs}
plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

# group artifact version sha256
jars='
org.apache.lucene lucene-core 9.12.1 8d812e9fa6dbd816808205e6cb4d7ab43a747e379c8cb31a0d6dc91050b3f97a
org.jetbrains annotations 13.0 ace2a10dc8e2d5fd34925ecac03e4988b2c0f851650c94b8cef49ba1bd111478
org.jetbrains.intellij.deps trove4j 1.0.20200330 c5fd725bffab51846bf3c77db1383c60aaaebfe1b7fe2f00d23fe1b7df0a439d
org.jetbrains.kotlin kotlin-compiler-embeddable 2.1.20 c54a00718c8c0e3ee858bf42771c7f401c5e3c1738861e18e9536371042fa1b3
org.jetbrains.kotlin kotlin-daemon-embeddable 2.1.20 d9e83df1d847a201ba3c016a786ced091be9503997d09f6a9cf1796ee489f374
org.jetbrains.kotlin kotlin-reflect 1.6.10 3277ac102ae17aad10a55abec75ff5696c8d109790396434b496e75087854203
org.jetbrains.kotlin kotlin-script-runtime 2.1.20 ae4397fbb3aa2a1ada09290e753bba99a4114548977c3115526b9958f4cb1a04
org.jetbrains.kotlin kotlin-stdlib 2.1.20 1bcc74e8ce84e2c25eaafde10f1248349cce3062b6e36978cbeec610db1e930a
org.jetbrains.kotlinx kotlinx-coroutines-core-jvm 1.8.0 9860906a1937490bf5f3b06d2f0e10ef451e65b95b269f22daf68a3d1f5065c5
'

list() { sed '/^$/d' <<<"$jars"; }
files() { list | awk '{ print $4 "  " $2 "-" $3 ".jar" }'; }
right() { (cd "$dir" 2>/dev/null && files | sha256sum --check --strict --status 2>/dev/null); }

# What is listed, and nothing that it asks for itself.
pom() {
    echo '<project><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>gnomon</groupId><artifactId>programs</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
    list | awk '{
        printf "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>", $1, $2, $3
        print "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
    }'
    echo '</dependencies></project>'
}

right && exit 0
command -v mvn >/dev/null || { echo "fetch: no 'mvn': install maven" >&2; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
pom >"$work/pom.xml"
# a damaged one would not be fetched over
if ! mkdir -p "$dir" || ! (cd "$dir" && files | awk '{ print $2 }' | xargs rm -f) ||
    ! mvn -B -q -f "$work/pom.xml" "$plugin:copy-dependencies" -DoutputDirectory="$dir" >"$work/log" 2>&1 </dev/null; then
    tail -n 5 "$work/log" >&2
    echo "fetch: the programs cannot be had from Maven Central" >&2
    exit 1
fi
right || { echo "fetch: what is in '$dir' is not what was asked for" >&2; exit 1; }
