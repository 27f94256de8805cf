/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/man.h"

#include <ctype.h>
#include <string.h>

static const struct {
	enum exit_code code;
	const char *means;
} exit_codes[] = {
	{EXIT_OK, "done"},
	{EXIT_INTERNAL, "unexpected: a bug, or out of memory"},
	{EXIT_USAGE, "a bad option or argument"},
	{EXIT_TARGET, "the target: no such process, not a JVM, gone before anything was recorded"},
	{EXIT_PERMISSION, "not permitted: root or a capability is missing"},
	{EXIT_KERNEL, "the kernel lacks something that cannot be done without"},
	{EXIT_OUTPUT, "the output: exists, cannot be written, disk full"},
	{EXIT_INPUT, "an input file is damaged or of another kind"},
};

/*
 * One line of text: what roff would take for its own is escaped. Hyphens are minus signs, since
 * what has them here is typed.
 */
static void text_line(const char *s, size_t n, FILE *f)
{
	if (n && (*s == '.' || *s == '\''))
		fputs("\\&", f);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\')
			fputs("\\e", f);
		else if (s[i] == '-')
			fputs("\\-", f);
		else
			fputc(s[i], f);
	}
	fputc('\n', f);
}

static void text_put(const char *s, FILE *f)
{
	text_line(s, strlen(s), f);
}

/* Text with lines as they are in --help: blank ones part paragraphs, indented ones stay so. */
static void text_block(const char *s, FILE *f)
{
	bool verbatim = false;

	while (*s) {
		size_t n = strcspn(s, "\n");
		bool indented = n && *s == ' ';

		if (indented != verbatim)
			fputs(indented ? ".nf\n" : ".fi\n", f);
		verbatim = indented;
		if (n)
			text_line(s, n, f);
		else
			fputs(".PP\n", f);
		s += n + (s[n] == '\n');
	}
	if (verbatim)
		fputs(".fi\n", f);
}

static void verbatim_block(const char *s, FILE *f)
{
	fputs(".nf\n", f);
	while (*s) {
		size_t n = strcspn(s, "\n");

		text_line(s, n, f);
		s += n + (s[n] == '\n');
	}
	fputs(".fi\n", f);
}

static void title_put(const char *name, FILE *f)
{
	fputs(".TH ", f);
	for (; *name; name++)
		fputc(toupper((unsigned char)*name), f);
	fputs(" 1 \"\" \"gnomon\" \"gnomon\"\n", f);
}

static void option_put(const struct opt *o, FILE *f)
{
	fputs(".TP\n", f);
	if (o->letter)
		fprintf(f, "\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", f);
	for (const char *s = o->name; *s; s++)
		fputs(*s == '-' ? "\\-" : (char[]){*s, 0}, f);
	fprintf(f, "\\fR%s%s%s\n", o->arg ? " \\fI" : "", o->arg ? o->arg : "",
		o->arg ? "\\fR" : "");
	text_put(o->help, f);
}

static void exits_put(FILE *f)
{
	fputs(".SH EXIT STATUS\n", f);
	for (size_t i = 0; i < sizeof(exit_codes) / sizeof(exit_codes[0]); i++) {
		fprintf(f, ".TP\n%d\n", exit_codes[i].code);
		text_put(exit_codes[i].means, f);
	}
}

void man_command(const struct command *c, FILE *f)
{
	char name[64];

	snprintf(name, sizeof(name), "gnomon-%s", c->name);
	title_put(name, f);
	fprintf(f, ".SH NAME\ngnomon\\-%s \\- ", c->name);
	text_put(c->summary, f);
	fputs(".SH SYNOPSIS\n.nf\ngnomon ", f);
	for (const char *s = c->usage; *s;) {
		size_t n = strcspn(s, "\n");

		text_line(s, n, f);
		s += n + (s[n] == '\n');
		s += strspn(s, " ");
	}
	fputs(".fi\n.SH DESCRIPTION\n", f);
	text_block(c->notes ? c->notes : c->summary, f);
	if (c->opts && c->opts->type)
		fputs(".SH OPTIONS\n", f);
	for (const struct opt *o = c->opts; o && o->type; o++)
		option_put(o, f);
	exits_put(f);
	if (c->examples) {
		fputs(".SH EXAMPLES\n", f);
		verbatim_block(c->examples, f);
	}
	fputs(".SH SEE ALSO\n.BR gnomon (1)\n", f);
}

void man_overview(FILE *f)
{
	title_put("gnomon", f);
	fputs(".SH NAME\ngnomon \\- a profiler for JVMs: CPU and wall clock in one recording\n"
	      ".SH SYNOPSIS\n.B gnomon\n[\\fB\\-v\\fR|\\fB\\-vv\\fR|\\fB\\-vvv\\fR] "
	      "\\fICOMMAND\\fR [options]\n"
	      ".SH DESCRIPTION\n"
	      "BPF programs take the stacks of a running JVM in the kernel, on the CPU and off it; "
	      "a\n"
	      "small collector names the frames and writes JDK Flight Recorder files. Nothing has "
	      "to\n"
	      "be set up in the JVM, and its threads are neither stopped nor signalled.\n"
	      ".PP\nData goes to stdout, messages to stderr: \\fB\\-v\\fR, \\fB\\-vv\\fR and "
	      "\\fB\\-vvv\\fR before\nthe command make them more.\n.SH COMMANDS\n",
	      f);
	for (const struct command *const *c = commands; *c; c++) {
		fprintf(f, ".TP\n.BR gnomon\\-%s (1)\n", (*c)->name);
		text_put((*c)->summary, f);
	}
	exits_put(f);
	fputs(".SH SEE ALSO\n.BR jfr (1)\n", f);
}
