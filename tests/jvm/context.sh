# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh: what a process publishes of its requests, read with user/context.

PROBE=$BUILD/tests/jvm/context_probe
built "$PROBE"

# context_jar: the jar's classes beside the tests' own.
context_jar() {
    local jar=$BUILD/gnomon-context.jar

    built "$jar"
    classes
    cp -r "$CLASSES" "$T/classes"
    CLASSES=$T/classes
    (cd "$CLASSES" && "$(jdk_newest)/bin/jar" xf "$jar" && rm -r META-INF) || fail "the jar is none"
}

# context_compile NAME...: these programs of context/, too.
context_compile() {
    local files=("${@/%/.java}")

    files=("${files[@]/#/$LIB_DIR/context/}")
    "$(jdk_oldest)/bin/javac" --release 17 -Xlint:all,-try -Werror -cp "$CLASSES" -d "$CLASSES" "${files[@]}" ||
        fail "$* does not compile"
    chmod -R a+rwX "$CLASSES"
}

context_classes() {
    context_jar
    context_compile "$@"
}
