#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/jvm/run.sh [NAME-PATTERN...]
#
# Runs the end-to-end tests: all, or those whose name matches a pattern such as 'record_*'. Which run at
# the same time: README.md. The compact list and the closing line are tools/check.sh's.
cd "$(dirname "$0")/../.." || exit 1
exec tools/check.sh --only jvm "$@"
