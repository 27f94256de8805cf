#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/browser/run.sh [SCREENSHOT_DIR]
#
# Renders recordings of known content and uses the pages as a person does, in a headless Chromium; no
# root. Then the figures: 1,000,000 samples of 2,000 threads in 100,000 stacks become a page of less
# than 10 MB within 300 MB of memory; how long that took, and each thing done in the page, is told,
# and held to a bound where QUIET is set (`make accuracy`; SLACK multiplies the times).
# Exit code 77, and why, where there is no Chromium or no node.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
gnomon=$BUILD/gnomon
SLACK=${SLACK:-1}
shots=${1:-}

CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
export CHROMIUM
[ -n "$CHROMIUM" ] || { echo 'skip: no chromium (apt-get install chromium)'; exit 77; }
command -v node >/dev/null || { echo 'skip: no node (apt-get install nodejs)'; exit 77; }

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp # Chromium leaves directories there
failed=0

# use TEST PAGE: runs a test on a page
use() {
    echo "== $1 on $2"
    [ -z "$shots" ] || mkdir -p "$shots/$2"
    timeout 600 node "tests/browser/$1.mjs" "$tmp/$2.html" ${shots:+"$shots/$2"} || failed=1
}

# size NAME BYTES: a page's
size() {
    local n result=ok

    n=$(stat -c %s "$tmp/$1.html")
    [ "$n" -lt "$2" ] || { result=FAIL; failed=1; }
    printf '%-4s %s.html has %d bytes (bound %d)\n' $result "$1" "$n" "$2"
}

gen() { "$BUILD/tools/bench/jfrgen" "$@"; }

"$BUILD/tests/browser/scene" "$tmp/scene.jfr" && gen 20000 2000 30 20 1 >"$tmp/a.jfr" &&
    gen 20000 2000 30 20 2 >"$tmp/b.jfr" || exit 1
"$gnomon" render "$tmp/scene.jfr" -o "$tmp/scene.html" || exit 1
"$BUILD/tests/browser/served" "$tmp/served.jfr" && "$gnomon" render "$tmp/served.jfr" -o "$tmp/served.html" || exit 1
"$gnomon" render "$tmp/a.jfr" -o "$tmp/a.html" || exit 1
"$gnomon" diff "$tmp/a.jfr" "$tmp/b.jfr" -o "$tmp/diff.html" || exit 1
for page in scene served a diff; do use tree $page; done
use scene scene
use served served
for page in a diff; do use page $page; done

gen 1000000 100000 60 2000 >"$tmp/big.jfr" || exit 1
start=${EPOCHREALTIME/./}
# all of its address space, and so its memory
(ulimit -v $((300 * 1024)) && exec "$gnomon" render "$tmp/big.jfr" -o "$tmp/big.html") || failed=1
took=$(((${EPOCHREALTIME/./} - start) / 1000))
result=ok
bound=$((3000 * SLACK)) opens=$((2000 * SLACK)) acts=$((100 * SLACK))
[ -n "${QUIET:-}" ] || bound=600000 opens=120000 acts=60000
[ $took -le $bound ] || { result=FAIL; failed=1; }
printf '%-4s 1,000,000 samples rendered in %d ms (bound %d), within 300 MB\n' $result $took $bound
size big 10000000
export OPENS_MS=$opens ACTS_MS=$acts
use page big
exit $failed
