/* SPDX-License-Identifier: Apache-2.0 */
#include "target/javacmd.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"

/* Options whose value is the next word (the launcher and the module system). */
static const char *const with_value[] = {
	"-cp",
	"-classpath",
	"--class-path",
	"-p",
	"--module-path",
	"--source",
	"--upgrade-module-path",
	"--add-modules",
	"--limit-modules",
	"--add-reads",
	"--add-exports",
	"--add-opens",
	"--patch-module",
	"-d",
	"--describe-module",
	"--enable-native-access",
	NULL,
};

static bool takes_value(const char *opt)
{
	for (const char *const *o = with_value; *o; o++)
		if (!strcmp(*o, opt))
			return true;
	return false;
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

/* Shown to people and written to recordings: no control characters, whatever the process chose. */
static void main_set(struct java_cmd *c, enum java_main_kind kind, const char *name)
{
	c->kind = kind;
	utf8_printable(name, c->main, sizeof(c->main));
}

/* ---- VM options ------------------------------------------------------------------------------ */

static void flag_xx(const char *name, bool on, struct java_flags *f)
{
	size_t len = strlen(name);

	if (!strcmp(name, "DisableAttachMechanism"))
		f->disable_attach = on;
	else if (!strcmp(name, "StartAttachListener"))
		f->start_attach = on;
	else if (!strcmp(name, "ReduceSignalUsage"))
		f->reduce_signals = on;
	else if (!strcmp(name, "PreserveFramePointer"))
		f->preserve_fp = on;
	else if (!strcmp(name, "EnableDynamicAgentLoading"))
		f->agents = on ? JAVA_AGENTS_ALLOWED : JAVA_AGENTS_FORBIDDEN;
	else if (!strcmp(name, "DebugNonSafepoints"))
		f->debug_nonsafepoints = on;
	else if (on && len > 5 && len - 5 < sizeof(f->gc) && !strncmp(name, "Use", 3) &&
		 has_suffix(name, "GC"))
		snprintf(f->gc, sizeof(f->gc), "%.*s", (int)(len - 5), name + 3);
}

static void flag_parse(const char *opt, struct java_flags *f)
{
	if (!strncmp(opt, "-XX:+", 5))
		flag_xx(opt + 5, true, f);
	else if (!strncmp(opt, "-XX:-", 5))
		flag_xx(opt + 5, false, f);
	else if (!strcmp(opt, "-Xrs"))
		f->reduce_signals = true;
	else if (!strcmp(opt, "-Xint"))
		f->interpreted = true;
	else if (!strcmp(opt, "-Xmixed") || !strcmp(opt, "-Xcomp"))
		f->interpreted = false;
	else if (!strncmp(opt, "-Xmx", 4))
		snprintf(f->max_heap, sizeof(f->max_heap), "%.15s", opt + 4);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Words are parted by white space, and quotes of either kind protect it. */
static const char *word_take(const char *p, const char *end, struct buffer *out)
{
	char quote = 0;

	for (; p < end; p++) {
		if (quote && *p == quote)
			quote = 0;
		else if (!quote && (*p == '"' || *p == '\''))
			quote = *p;
		else if (!quote && isspace((unsigned char)*p))
			break;
		else
			buffer_byte(out, (uint8_t)*p);
	}
	buffer_byte(out, 0);
	return p;
}

/* Words, each with a NUL behind it, in *out. */
static void words_split(const char *p, const char *end, struct buffer *out)
{
	while (p < end)
		if (isspace((unsigned char)*p))
			p++;
		else
			p = word_take(p, end, out);
}

void java_options_parse(const char *options, struct java_flags *flags)
{
	struct buffer b = BUFFER_INIT;

	words_split(options, options + strlen(options), &b);
	if (!b.failed)
		for (size_t i = 0; i < b.len; i += strlen((char *)b.data + i) + 1)
			flag_parse((char *)b.data + i, flags);
	buffer_free(&b);
}

/* ---- the launcher's command line ------------------------------------------------------------- */

struct parse {
	struct java_cmd *out;
	bool value;    /* the next word is the value of an option */
	bool jar, mod; /* ... or what -jar or --module names */
	bool no_files; /* --disable-@files was seen */
	bool done;     /* what follows belongs to the program */
};

static void found(struct parse *ps, enum java_main_kind kind, const char *name)
{
	main_set(ps->out, kind, name);
	ps->done = true;
}

static void option(struct parse *ps, const char *w)
{
	if (!strcmp(w, "-jar"))
		ps->jar = true;
	else if (!strcmp(w, "-m") || !strcmp(w, "--module"))
		ps->mod = true;
	else if (!strncmp(w, "--module=", 9))
		found(ps, JAVA_MAIN_MODULE, w + 9);
	else if (!strcmp(w, "--disable-@files"))
		ps->no_files = true;
	else if (takes_value(w))
		ps->value = true;
	else
		flag_parse(w, &ps->out->flags);
}

static void word(struct parse *ps, const char *w)
{
	if (ps->value)
		ps->value = false;
	else if (ps->jar && w[0] != '-')
		found(ps, JAVA_MAIN_JAR, w);
	else if (ps->mod)
		found(ps, JAVA_MAIN_MODULE, w);
	else if (w[0] == '-')
		option(ps, w);
	else if (w[0])
		found(ps, has_suffix(w, ".java") ? JAVA_MAIN_SOURCE : JAVA_MAIN_CLASS, w);
}

static void launcher_parse(const struct proc_args *argv, struct parse *ps)
{
	for (size_t i = 1; i < argv->n && !ps->done; i++) {
		const char *w = argv->v[i];

		if (w[0] != '@' || ps->no_files)
			word(ps, w);
		else if (w[1] == '@') /* "@@x" stands for a literal "@x" */
			word(ps, w + 1);
		else
			found(ps, JAVA_MAIN_ARGFILE, w);
	}
}

static void program_parse(const struct proc_args *argv, struct java_cmd *out)
{
	const char *base;

	for (size_t i = 1; i < argv->n; i++) {
		const char *w = argv->v[i];

		/* the JDK's own tools pass -J... on to the VM */
		flag_parse(!strncmp(w, "-J-", 3) ? w + 2 : w, &out->flags);
	}
	if (!argv->n)
		return;
	base = strrchr(argv->v[0], '/');
	main_set(out, JAVA_MAIN_PROGRAM, base ? base + 1 : argv->v[0]);
}

void java_cmd_parse(const struct proc_args *argv, bool launcher, struct java_cmd *out)
{
	struct parse ps = {.out = out};

	out->kind = JAVA_MAIN_NONE;
	out->main[0] = '\0';
	if (launcher)
		launcher_parse(argv, &ps);
	if (out->kind == JAVA_MAIN_NONE)
		program_parse(argv, out);
}

/* ---- as the JVM tells it --------------------------------------------------------------------- */

/* What the launcher runs where it is given a source file, as the first argument. */
#define SOURCE_LAUNCHER "jdk.compiler/com.sun.tools.javac.launcher."

/* The bytes of the first word. A path may hold blanks: it goes on to where a jar's name ends. */
static size_t first_word(const char *s)
{
	const char *jar = s;
	size_t n = strcspn(s, " ");

	if (s[0] != '/' || (n > 4 && !strncmp(s + n - 4, ".jar", 4)))
		return n;
	while ((jar = strstr(jar, ".jar"))) {
		jar += 4;
		if (*jar == ' ' || !*jar)
			return (size_t)(jar - s);
	}
	return n;
}

static enum java_main_kind kind_of(const char *main)
{
	if (has_suffix(main, ".jar"))
		return JAVA_MAIN_JAR;
	return strchr(main, '/') ? JAVA_MAIN_MODULE : JAVA_MAIN_CLASS;
}

void java_command_parse(const char *command, struct java_cmd *out)
{
	enum java_main_kind kind = JAVA_MAIN_NONE;
	char main[JAVA_MAIN_LEN];

	command += strspn(command, " ");
	if (!strncmp(command, SOURCE_LAUNCHER, strlen(SOURCE_LAUNCHER)) && strchr(command, ' ')) {
		command += strcspn(command, " ") + 1;
		kind = JAVA_MAIN_SOURCE;
	}
	snprintf(main, sizeof(main), "%.*s", (int)first_word(command), command);
	if (main[0])
		main_set(out, kind ? kind : kind_of(main), main);
}
