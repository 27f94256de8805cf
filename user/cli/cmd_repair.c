/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "cli/cmds.h"
#include "jfr/repair.h"

static int repair_one(const char *path, struct error *e)
{
	struct jfr_repair r;
	const char *plural;

	if (jfr_repair(path, &r, e))
		return e->exit;
	plural = r.chunks == 1 ? "" : "s";
	if (!r.mended && !r.bytes_cut)
		printf("%s: in order, %u chunk%s\n", path, r.chunks, plural);
	else
		printf("%s: %u chunk%s kept (%u mended), %llu bytes cut\n", path, r.chunks, plural,
		       r.mended, (unsigned long long)r.bytes_cut);
	return EXIT_OK;
}

static int run(int argc, char **argv, struct error *e)
{
	if (!argc) {
		error_set(e, -EINVAL, EXIT_USAGE, "no file");
		error_hint(e, "give the JFR files to repair: gnomon repair FILE...");
		return EXIT_USAGE;
	}
	for (int i = 0; i < argc; i++) {
		int rc = repair_one(argv[i], e);

		if (rc)
			return rc;
	}
	return EXIT_OK;
}

const struct command cmd_repair = {
	.name = "repair",
	.summary = "make an unfinished or damaged JFR file readable",
	.usage = "repair FILE...",
	.examples = "  gnomon repair killed.jfr\n"
		    "  cp half.jfr copy.jfr && gnomon repair copy.jfr\n",
	.notes = "Works in place: each chunk is kept up to its last whole checkpoint, and what "
		 "cannot\n"
		 "be read behind it is cut off. A file that is in order is not written to. A\n"
		 "recording of gnomon that was killed needs this only if that happened in the\n"
		 "instant between two writes.\n",
	.opts = (const struct opt[]){{0}},
	.takes = TAKES_RECORDINGS,
	.run = run,
};
