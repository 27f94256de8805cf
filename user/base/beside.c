/* SPDX-License-Identifier: Apache-2.0 */
#include "base/beside.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int beside_path(const char *program, char *to, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", to, size - 1);
	char *end;

	if (n <= 0)
		return -ENOENT;
	to[n] = '\0';
	end = strrchr(to, '/');
	if (!end || (size_t)(end + 1 - to) + strlen(program) + 1 > size)
		return -ENAMETOOLONG;
	strcpy(end + 1, program);
	return access(to, X_OK) ? -errno : 0;
}
