/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from the option tables, --help and completion; and the tables themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/complete.h"
#include "cli/opt.h"

static char dir[] = "/tmp/gnomon-help.XXXXXX";

static int setup(void **state)
{
	return !mkdtemp(dir) || chdir(dir);
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") || system(command);
}

/* stdout and stderr of a shell command; freed by the caller. */
static char *shell(const char *command)
{
	char *text = NULL, buf[4096], whole[2048];
	size_t len = 0, n;
	FILE *to = open_memstream(&text, &len), *from;

	snprintf(whole, sizeof(whole), "{ %s\n} 2>&1", command);
	from = popen(whole, "r");
	assert_non_null(from);
	while ((n = fread(buf, 1, sizeof(buf), from)))
		fwrite(buf, 1, n, to);
	pclose(from);
	fclose(to);
	return text;
}

static bool have(const char *program)
{
	char command[64];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", program);
	return !system(command);
}

/* Every command shows how it is used; no option is there twice; what takes a value names it. */
static void test_tables(void **state)
{
	for (const struct command *const *c = commands; *c; c++) {
		assert_non_null((*c)->notes);
		assert_non_null(strstr((*c)->examples, "gnomon"));
		assert_ptr_equal(strstr((*c)->usage, (*c)->name), (*c)->usage);
		assert_ptr_equal(command_find((*c)->name), *c);
		for (const struct opt *o = (*c)->opts; o->type; o++) {
			assert_non_null(o->name);
			assert_true(o - (*c)->opts < OPTS_MOST);
			assert_true((o->type == OPT_FLAG) == !o->arg);
			assert_true((o->type == OPT_ENUM) == (o->choices[0] != NULL));
			for (const struct opt *p = o + 1; p->type; p++) {
				assert_string_not_equal(o->name, p->name);
				assert_true(!o->letter || o->letter != p->letter);
			}
		}
	}
	assert_null(command_find("reco"));
}

/* Types `words` in a shell that has read the script; the last one is completed. */
static void expect_words(const char *words, const char *want)
{
	char command[1024], *text;

	snprintf(
		command, sizeof(command),
		"bash --norc -c '. ./comp.bash; gnomon() { printf \"PID X\\n4711 a\\n42 b\\n\"; }\n"
		"COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gnomon\n"
		"echo \"${COMPREPLY[*]}\"'",
		words);
	text = shell(command);
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, want))
		fail_msg("'%s' gives '%s', not '%s'", words, text, want);
	free(text);
}

static void test_bash(void **state)
{
	FILE *f = fopen("comp.bash", "w");

	complete_bash(f);
	fclose(f);
	assert_int_equal(system("touch app.jfr b.txt && mkdir recs"), 0);
	expect_words("gnomon re", "record render requests repair");
	expect_words("gnomon -v --ve", "--version");
	expect_words("gnomon record --wall-e", "--wall-engine");
	expect_words("gnomon -v record --jvm \"\"", "auto agent vmstructs none");
	expect_words("gnomon record --jvm = a", "auto agent");
	expect_words("gnomon record --jvm =", "auto agent vmstructs none");
	expect_words("gnomon record -p \"\"", "4711 42");
	expect_words("gnomon perfmap 4", "4711 42");
	expect_words("gnomon summary \"\"", "app.jfr recs");
	expect_words("gnomon render -D o", "off");
	expect_words("gnomon render app.jfr -o b", "b.txt");
	expect_words("gnomon help su", "summary");
	expect_words("gnomon completion z", "zsh");
	expect_words("gnomon record --duration \"\"", "");
	expect_words("gnomon nosuch \"\"", "");
}

static void test_zsh(void **state)
{
	FILE *f = fopen("_gnomon", "w");
	char *text;

	complete_zsh(f);
	fclose(f);
	if (!have("zsh"))
		skip();
	/* a shell at a terminal of its own: completion works nowhere else */
	f = fopen("type.zsh", "w");
	fputs("zmodload zsh/zpty; zpty z zsh -f -i\n"
	      "seen() {\n" /* what comes within 20 s, up to $1 */
	      "  local all= part i\n"
	      "  for i in {1..200}; do\n"
	      "    while zpty -r -t z part; do all+=$part; done\n"
	      "    [[ $all == *$1* ]] && break\n"
	      "    sleep 0.1\n"
	      "  done\n"
	      "  print -r -- $all\n"
	      "}\n"
	      "zpty -w z \"PS1=; fpath=($PWD \\$fpath); autoload -U compinit; compinit -D -u\"\n"
	      "zpty -w z 'bindkey \"^I\" complete-word; print $((4000 + 711))'\n"
	      "seen 4711 >/dev/null\n"
	      "zpty -n -w z $'gnomon render --by-t\\t'\n"
	      "seen --by-thread\n"
	      "zpty -d z\n",
	      f);
	fclose(f);
	text = shell("zsh -f type.zsh");
	if (!strstr(text, "--by-thread"))
		fail_msg("%s", text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_bash),
		cmocka_unit_test(test_zsh),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
