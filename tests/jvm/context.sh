# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh: what a process publishes of its requests, read with user/context.

PROBE=$BUILD/tests/jvm/context_probe
[ -x "$PROBE" ] || make -s -C "$ROOT" BUILD="${BUILD#"$ROOT"/}" "${PROBE#"$ROOT"/}" || exit 1

# context_classes NAME...: the jar's classes and these programs of context/ beside the tests' own.
context_classes() {
    local jar=$BUILD/gnomon-context.jar files=("${@/%/.java}")

    files=("${files[@]/#/$LIB_DIR/context/}")
    [ -s "$jar" ] || make -s -C "$ROOT" BUILD="${BUILD#"$ROOT"/}" "${jar#"$ROOT"/}" || exit 1
    classes
    cp -r "$CLASSES" "$T/classes"
    CLASSES=$T/classes
    (cd "$CLASSES" && "$(jdk_newest)/bin/jar" xf "$jar" && rm -r META-INF) || fail "the jar is none"
    "$(jdk_oldest)/bin/javac" --release 17 -Xlint:all,-try -Werror -cp "$CLASSES" -d "$CLASSES" "${files[@]}" ||
        fail "$* does not compile"
    chmod -R a+rwX "$CLASSES"
}
