#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A servlet filter of gnomon-context.jar publishes each request of a container, of jakarta.servlet and of javax.servlet, by its method and
# pattern, with the trace that its header says; what is thrown within comes out as it was.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context.sh"

need_root

# servlets NAME MAPPING: the interfaces of that name, as far as they matter, below $T/src. MAPPING: what Servlet 4.0 has more.
servlets() {
    local dir=$T/src/$1/servlet

    mkdir -p "$dir/http"
    echo "package $1.servlet; public interface ServletRequest { }" >"$dir/ServletRequest.java"
    echo "package $1.servlet; public interface ServletResponse { }" >"$dir/ServletResponse.java"
    echo "package $1.servlet; public class ServletException extends Exception { private static final long serialVersionUID = 1; }" \
        >"$dir/ServletException.java"
    echo "package $1.servlet; public interface FilterChain { void doFilter(ServletRequest r, ServletResponse s)
        throws java.io.IOException, ServletException; }" >"$dir/FilterChain.java"
    echo "package $1.servlet; public interface Filter { void doFilter(ServletRequest r, ServletResponse s, FilterChain c)
        throws java.io.IOException, ServletException; }" >"$dir/Filter.java"
    echo "package $1.servlet.http; public interface HttpServletRequest extends $1.servlet.ServletRequest {
        String getMethod(); String getHeader(String name); String getServletPath(); $2 }" >"$dir/http/HttpServletRequest.java"
    echo "package $1.servlet.http; public interface HttpServletMapping { String getPattern(); }" >"$dir/http/HttpServletMapping.java"
}

servlets jakarta 'HttpServletMapping getHttpServletMapping();'
servlets javax ''
context_jar
find "$T/src" -name '*.java' -exec "$(jdk_oldest)/bin/javac" --release 17 -d "$CLASSES" {} + || fail "the interfaces do not compile"
context_compile ContextServlets

served_both() {
    jvm_start ContextServlets
    "$PROBE" "$JVM_PID" >"$T/said" || fail "the probe fails: $(cat "$JVM_ERR")"
    sed -n 's/^thread [0-9]* //p' "$T/said" | sed 's/^\([0-9a-f]*\) [0-9a-f]\{16\} /\1 SPAN /; /OTHER/s/^[0-9a-f]\{32\} /TRACE /' |
        sort >"$T/threads"
    diff - "$T/threads" <<END || fail "the threads"
11111111111111112222222222222222 SPAN 0=GET /cart/*
TRACE SPAN 0=OTHER /pot
END
    jvm_unharmed
    jvm_end
}

for_one_jdk served_both
