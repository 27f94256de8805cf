/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/complete.h"

#include <string.h>

#include "cli/opt.h"

/* What the values of an option or the arguments of a command are. */
enum values { VALUES_ANY, VALUES_CHOICES, VALUES_FILES, VALUES_PIDS };

static enum values opt_values(const struct opt *o)
{
	if (o->type == OPT_ENUM)
		return VALUES_CHOICES;
	if (o->type == OPT_PID)
		return VALUES_PIDS;
	if (o->type == OPT_STRING && (strstr(o->arg, "FILE") || strstr(o->arg, "PATH")))
		return VALUES_FILES;
	return VALUES_ANY;
}

/* ---- bash ---- */

static void bash_choices(const struct opt *o, FILE *f)
{
	for (int i = 0; o->choices[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", o->choices[i]);
}

static void bash_value(const struct opt *o, FILE *f)
{
	fputs("      ", f);
	if (o->letter)
		fprintf(f, "-%c | ", o->letter);
	fprintf(f, "--%s) ", o->name);
	switch (opt_values(o)) {
	case VALUES_CHOICES:
		fputs("_gnomon_words '", f);
		bash_choices(o, f);
		fputs("'", f);
		break;
	case VALUES_PIDS:
		fputs("_gnomon_words \"$(_gnomon_pids)\"", f);
		break;
	case VALUES_FILES:
		fputs("_gnomon_files ''", f);
		break;
	case VALUES_ANY:
		fputs("COMPREPLY=()", f);
		break;
	}
	fputs("; return ;;\n", f);
}

static void bash_arguments(const struct command *c, FILE *f)
{
	switch (c->takes) {
	case TAKES_RECORDINGS:
		fputs("    _gnomon_files '!*.jfr'\n", f);
		break;
	case TAKES_PID:
		fputs("    _gnomon_words \"$(_gnomon_pids)\"\n", f);
		break;
	case TAKES_COMMAND:
		fputs("    _gnomon_words \"", f);
		for (const struct command *const *k = commands; *k; k++)
			fprintf(f, "%s%s", k == commands ? "" : " ", (*k)->name);
		fputs("\"\n", f);
		break;
	case TAKES_SHELL:
		fputs("    _gnomon_words 'bash zsh'\n", f);
		break;
	case TAKES_NOTHING:
		break;
	}
}

static void bash_command(const struct command *c, FILE *f)
{
	bool any = false;

	fprintf(f, "  %s)\n", c->name);
	for (const struct opt *o = c->opts; o && o->type; o++)
		any |= o->type != OPT_FLAG;
	if (any)
		fputs("    case $prev in\n", f);
	for (const struct opt *o = c->opts; o && o->type; o++)
		if (o->type != OPT_FLAG)
			bash_value(o, f);
	if (any)
		fputs("    esac\n", f);
	fputs("    case $cur in -*) _gnomon_words '", f);
	for (const struct opt *o = c->opts; o && o->type; o++)
		fprintf(f, "--%s ", o->name);
	fputs("--help'; return ;; esac\n", f);
	bash_arguments(c, f);
	fputs("    ;;\n", f);
}

void complete_bash(FILE *f)
{
	fputs("# bash completion for gnomon\n"
	      "_gnomon_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
	      "_gnomon_files() {\n"
	      "  compopt -o filenames 2>/dev/null\n"
	      "  mapfile -t COMPREPLY < <(compgen -f ${1:+-X \"$1\"} -- \"$cur\"; "
	      "[ -z \"$1\" ] || compgen -d -- \"$cur\")\n"
	      "}\n"
	      "_gnomon_pids() { gnomon jvms 2>/dev/null | awk '$1 + 0 > 0 { print $1 }'; }\n"
	      "_gnomon() {\n"
	      "  local cur=${COMP_WORDS[COMP_CWORD]} prev= cmd= i\n"
	      "  COMPREPLY=()\n"
	      "  [ \"$COMP_CWORD\" -gt 0 ] && prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "  # --option=value comes as three words\n"
	      "  if [ \"$cur\" = = ]; then cur=\n"
	      "  elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "    case ${COMP_WORDS[i]} in -*) ;; *) cmd=${COMP_WORDS[i]}; break ;; esac\n"
	      "  done\n"
	      "  case $cmd in\n"
	      "  '') _gnomon_words '",
	      f);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(f, "%s ", (*c)->name);
	fputs("-v -vv -vvv -V --version --help' ;;\n", f);
	for (const struct command *const *c = commands; *c; c++)
		bash_command(*c, f);
	fputs("  esac\n}\ncomplete -F _gnomon gnomon\n", f);
}

/* ---- zsh ---- */

/* Within '...:...[...]': the specs of _arguments have their own special characters. */
static void zsh_text(const char *s, FILE *f)
{
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", f);
		else if (strchr("[]:\\", *s))
			fprintf(f, "\\%c", *s);
		else
			fputc(*s, f);
	}
}

static void zsh_value(const struct opt *o, FILE *f)
{
	fputc(':', f);
	zsh_text(o->arg, f);
	fputc(':', f);
	switch (opt_values(o)) {
	case VALUES_CHOICES:
		fputc('(', f);
		bash_choices(o, f);
		fputc(')', f);
		break;
	case VALUES_PIDS:
		fputs("_gnomon_pids", f);
		break;
	case VALUES_FILES:
		fputs("_files", f);
		break;
	case VALUES_ANY:
		break;
	}
}

static void zsh_option(const struct opt *o, FILE *f)
{
	const char *tail = o->type == OPT_FLAG ? "" : "=";

	fputs("      ", f);
	if (o->type == OPT_LIST)
		fputs("'*'", f);
	else if (o->letter)
		fprintf(f, "'(-%c --%s)'", o->letter, o->name);
	if (o->letter)
		fprintf(f, "{-%c,--%s%s}", o->letter, o->name, tail);
	else
		fprintf(f, "--%s%s", o->name, tail);
	fputs("'[", f);
	zsh_text(o->help, f);
	fputc(']', f);
	if (o->type != OPT_FLAG)
		zsh_value(o, f);
	fputs("' \\\n", f);
}

static void zsh_command(const struct command *c, FILE *f)
{
	static const char *const arguments[] = {
		[TAKES_NOTHING] = NULL,
		[TAKES_RECORDINGS] = "'*:recording:_files -g \"*.jfr\"'",
		[TAKES_PID] = "':PID:_gnomon_pids'",
		[TAKES_COMMAND] = "':command:_gnomon_commands'",
		[TAKES_SHELL] = "':shell:(bash zsh)'",
	};

	fprintf(f, "  %s)\n    _arguments -s \\\n", c->name);
	for (const struct opt *o = c->opts; o && o->type; o++)
		zsh_option(o, f);
	if (arguments[c->takes])
		fprintf(f, "      %s \\\n", arguments[c->takes]);
	fputs("      '--help[say more]' ;;\n", f);
}

void complete_zsh(FILE *f)
{
	fputs("#compdef gnomon\n"
	      "_gnomon_pids() {\n"
	      "  local -a pids\n"
	      "  pids=(${(f)\"$(gnomon jvms 2>/dev/null | awk '$1 + 0 > 0 { print $1 }')\"})\n"
	      "  compadd -a pids\n"
	      "}\n"
	      "_gnomon_commands() {\n"
	      "  local -a names\n"
	      "  names=(\n",
	      f);
	for (const struct command *const *c = commands; *c; c++) {
		fprintf(f, "    '%s:", (*c)->name);
		zsh_text((*c)->summary, f);
		fputs("'\n", f);
	}
	fputs("  )\n"
	      "  _describe command names\n"
	      "}\n"
	      "_gnomon() {\n"
	      "  local curcontext=$curcontext state line\n"
	      "  _arguments -C '-v[say more]' '-vv[say much more]' '-vvv[and all frames]' "
	      "'--version[which build this "
	      "is]' \\\n"
	      "    '--help[say more]' ':command:_gnomon_commands' '*::arguments:->rest'\n"
	      "  [[ $state == rest ]] || return\n"
	      "  case $line[1] in\n",
	      f);
	for (const struct command *const *c = commands; *c; c++)
		zsh_command(*c, f);
	fputs("  esac\n}\nif [[ $funcstack[1] == _gnomon ]]; then _gnomon \"$@\"; else compdef "
	      "_gnomon gnomon; fi\n",
	      f);
}
