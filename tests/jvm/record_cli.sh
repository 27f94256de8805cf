#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line as users of other profilers try it: a JVM by pid or name, -d 30, no -o, pages at once,
# typing errors; and each line of the cheat sheet (user/man/gnomon-asprof.7).
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
cd "$T" || fail "no directory '$T'"

# Other tests record JVMs by name, too: this one's is its own.
name=Cli$$
cat >$name.java <<END
public class $name {
    static volatile double sink;

    static void handle() {
        for (long end = System.nanoTime() + 2_000_000; System.nanoTime() < end; )
            sink += Math.sqrt(sink + 1);
    }

    public static void main(String[] a) throws Exception {
        for (;;) {
            handle();
            Thread.sleep(20);
        }
    }
}
END
"$JDK/bin/javac" $name.java || fail "$name does not compile"
"$JDK/bin/java" -Xshare:auto -cp . $name </dev/null >/dev/null 2>&1 &
pid=$!
CHILDREN+=($pid)
until_true 20 sh -c "'$GNOMON' jvms | grep -q ' $name'" || fail "no JVM $name"

# try WHAT EXIT-CODE REGEX COMMAND...: what is said on stderr; its stdout is in out
try() {
    local what=$1 code=$2 regex=$3 rc

    shift 3
    timeout 60 "$@" </dev/null >out 2>err
    rc=$?
    softly assert_eq "exit code of $what" "$code" "$rc"
    [ -z "$regex" ] || grep -Eq -- "$regex" err || softly fail "$what: no /$regex/ in: $(cat err)"
}

# made PATTERN: the one file of that name, MADE
made() {
    local found=("$PWD"/$1)

    softly assert_eq "files named $1" 1 "${#found[@]}"
    [ -e "${found[0]}" ] || softly fail "no file named $1"
    MADE=${found[0]}
}

is_page() { grep -q '<script id="data"' "$1" || softly fail "'$1' is no page"; }
is_jfr() { [ "$(head -c 3 "$1")" = FLR ] || softly fail "'$1' is no recording"; }

# ---- a JVM, a time, a name of its own ----
try "a pid" 0 "recorded .* into '$name-$pid-[0-9]{8}-[0-9]{6}\.jfr'" "$GNOMON" record "$pid" -d 1
made "$name-$pid-*.jfr"
is_jfr "$MADE"
rm -f $name-*
try "options behind it" 0 '' "$GNOMON" record -q "$pid" -d 500ms --cpu 5ms -o behind.jfr
is_jfr behind.jfr
try "a name" 0 "into 'named.jfr'" "$GNOMON" record "${name}*" -d 1 -o named.jfr
try "a name of nobody" 3 "matches 'Nobody'" "$GNOMON" record Nobody -d 1
try "-d 3x" 2 "'3x'" "$GNOMON" record "$pid" -d 3x
try "--cpu 10" 2 "unit" "$GNOMON" record "$pid" --cpu 10

# ---- rendered at once ----
try "a page" 0 "recorded .* for 'app.html'" "$GNOMON" record "$pid" -d 300ms -o app.html
is_page app.html
softly assert_eq "recordings left" 0 "$(find . -name 'app*.jfr' | wc -l)"
try "a page that exists" 6 "'app.html' exists" "$GNOMON" record "$pid" -d 300ms -o app.html
try "a page anew, and its recording" 0 "" "$GNOMON" record -q "$pid" -d 300ms --keep --force -o app.html
is_jfr app.jfr
# rendered_KIND: `record -o` of a name by which it is that kind of file.
rendered_collapsed() {
    try "collapsed" 0 "" "$GNOMON" record -q "$pid" -d 300ms -o app.collapsed
    grep -q ";$name\." app.collapsed || softly fail "no stack of $name in app.collapsed"
}
rendered_pprof() {
    try "pprof" 0 "" "$GNOMON" record -q "$pid" -d 300ms -o app.pb.gz
    gzip -t app.pb.gz || softly fail "app.pb.gz is no gzip"
}
rendered_picture() {
    try "a picture" 0 "" "$GNOMON" record -q "$pid" -d 300ms -o app.svg
    grep -q "^<title>\|<title>$name\." app.svg || softly fail "no frame of $name in app.svg"
}
rendered_speedscope() {
    try "speedscope" 0 "" "$GNOMON" record -q "$pid" -d 300ms -o app.speedscope.json
    grep -q '"\$schema":"https://www.speedscope.app' app.speedscope.json || softly fail "no speedscope file"
    try "-f speedscope" 0 "" "$GNOMON" record -q "$pid" -d 300ms -f speedscope
    made "$name-$pid-*.speedscope.json"
}
rendered_firefox() {
    try "Firefox Profiler" 0 "" "$GNOMON" record -q "$pid" -d 300ms -o app.json.gz
    gzip -dc app.json.gz | grep -q '"preprocessedProfileVersion"' || softly fail "no file for the Firefox Profiler"
}
rendered_html() {
    try "-f html" 0 "" "$GNOMON" record -q "$pid" -d 300ms -f html
    made "$name-$pid-*.html"
    is_page "$MADE"
}
rendered() {
    "rendered_$1"
    rm -f $name-*
}
some_of 2 rendered collapsed pprof picture speedscope firefox html
try "an unknown format" 2 "expected one of .*html.*jfr" "$GNOMON" record "$pid" -f svgz
try "--keep of JFR" 2 "--keep" "$GNOMON" record "$pid" -d 1 --keep -o k.jfr
try "several into a page" 2 "JFR files only" "$GNOMON" record --all-jvms -d 300ms -f html
try "flame" 0 "" "$GNOMON" flame "$pid" -d 1
is_page "$(cat out)"
rm -f $name-*
try "flame of a name" 0 "" "$GNOMON" flame $name -d 1 -q -o f.html
softly assert_eq "what flame prints" f.html "$(cat out)"

# ---- one meaning of a letter ----
for command in record flame; do
    "$GNOMON" $command --help | grep -q '^  -d, --duration' || softly fail "-d of $command"
done
for command in record render; do
    "$GNOMON" $command --help | grep -q '^  -f, --format' || softly fail "-f of $command"
done
for command in render diff; do
    "$GNOMON" $command --help | grep -q '^  -D, --dim' || softly fail "-D of $command"
done
for command in record flame render diff summary; do
    "$GNOMON" $command --help | grep -q '^  -t, --thread ' || softly fail "-t of $command"
done
try "--sample-threads" 0 "" "$GNOMON" record -q "$pid" -d 1 --sample-threads 4 -o some.jfr

# ---- typing errors ----
try "two pids by -p" 2 "--pid is given twice" "$GNOMON" record -p "$pid" -p 1
try "two pids" 2 "two JVMs: '$pid' and '1'" "$GNOMON" record "$pid" 1
try "a pid twice told" 2 "both say which JVM" "$GNOMON" record -p 1 "$pid"
try "an option misspelt" 2 "did you mean '--wall'" "$GNOMON" record "$pid" --wal 5ms
try "a command misspelt" 2 "did you mean 'record'" "$GNOMON" recrod "$pid"
try "a choice misspelt" 2 "did you mean 'vmstructs'" "$GNOMON" record "$pid" --jvm vmstruct
try "a program without its mark" 2 "follows '--'" "$GNOMON" record java -jar x.jar
try "no program" 2 "no program" "$GNOMON" record --
try "asprof's -t" 2 "'-d' is an option" "$GNOMON" record "$pid" -t -d 3
try "the old --threads" 2 "unknown option '--threads'" "$GNOMON" record "$pid" --threads 4
try "a pid alone" 2 "did you mean 'gnomon record $pid'" "$GNOMON" "$pid"
try "no command" 2 "the command comes first" "$GNOMON" -d 30 "$pid"
try "another profiler's command" 2 "did you mean 'render'" "$GNOMON" report x.jfr
for command in record render; do
    try "unknown format of $command" 2 "expected one of text, tree, collapsed, html" "$GNOMON" $command "$pid" -f flamegraf
done
try "a flame graph as a picture" 2 "only a page" "$GNOMON" flame "$pid" -o x.svg
try "a comparison as a picture" 2 "only a page" "$GNOMON" diff x.jfr y.jfr -o x.svg
try "to send what is read once" 2 "reads the recording twice" "$GNOMON" push - --to http://localhost:1
try "-V" 0 "" "$GNOMON" -V
grep -q '^gnomon [^ ]' out || softly fail "-V says: $(cat out)"

# ---- the cheat sheet ----
export GNOMON
mkdir sheet && cd sheet || fail "no directory"
sheet_line() {
    local line=$1

    line=${line//\\-/-}
    line=${line//\\e/\\}
    line=${line/-d 30/-d 300ms}
    line=${line//PID/$pid}
    line=${line/java -version/$JDK/bin/java -version}
    line=${line/#gnomon /\"\$GNOMON\" }
    timeout 60 bash -c "$line" </dev/null >out 2>err || softly fail "exit code $?: $line: $(cat err)"
}
# Those of recordings that nothing else of it reads come by turns.
mapfile -t lines < <(grep '^gnomon ' "$ROOT/user/man/gnomon-asprof.7")
softly assert_ge "lines of the cheat sheet" 15 "${#lines[@]}"
alike=() others=()
for line in "${lines[@]}"; do
    case $line in
    *' \-o cpu.jfr' | *' \-o wall.jfr') others+=("$line") ;;
    'gnomon record '* | 'gnomon flame '*) alike+=("$line") ;;
    *) others+=("$line") ;;
    esac
done
softly assert_ge "of recordings" 5 "${#alike[@]}"
some_of 2 sheet_line "${alike[@]}"
for line in "${others[@]}"; do sheet_line "$line"; done
softly_end
