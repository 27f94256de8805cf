#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/workloads/tomcat.sh
#
# Tomcat 10 under load: how many of its stacks are complete. See lib.sh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tomcat_lib.sh"
tomcat_prepare
java_start "${TOMCAT_ARGS[@]}"
tomcat_load $((WORKLOAD_SECONDS + 5))
sleep 3
workload_record tomcat
