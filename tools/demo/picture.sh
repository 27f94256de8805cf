#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/demo/picture.sh [PAGE.html [PICTURE.png]] (`make picture`, after `make demo`)
#
# The README's picture: the page that `make demo` left in BUILD/demo, as Chromium shows it.
set -u
cd "$(dirname "$0")/../.." || exit 1
page=${1:-${BUILD:-build}/demo/demo.html}
picture=${2:-tools/demo/page.png}
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
[ -n "$chromium" ] || { echo 'picture: no chromium (apt-get install chromium)' >&2; exit 1; }
[ -s "$page" ] || { echo "picture: no '$page': sudo make demo" >&2; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# the page draws what it has read: it gets 5 s of its own time for that
"$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/profile" --window-size=1280,860 \
    --virtual-time-budget=5000 --screenshot="$dir/page.png" "file://$(readlink -f "$page")" >"$dir/log" 2>&1
[ -s "$dir/page.png" ] || { cat "$dir/log" >&2; exit 1; }
cp "$dir/page.png" "$picture" && ls -l "$picture"
