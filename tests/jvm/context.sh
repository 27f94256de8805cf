# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh: what a process publishes of its requests, read with user/context.

PROBE=$BUILD/tests/jvm/context_probe
[ -x "$PROBE" ] || make -s -C "$ROOT" BUILD="${BUILD#"$ROOT"/}" "${PROBE#"$ROOT"/}" || exit 1
