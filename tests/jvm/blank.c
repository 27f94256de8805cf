/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blank PID STRING: makes STRING, in the read-only data of PID's libjvm.so, another one: the VM
 * structures do not have the field or type of that name any more. Exits 0 when there was one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The string with the zeros around it. */
static int blank(int mem, unsigned long start, unsigned long end, const char *s)
{
	size_t len = strlen(s), size = end - start;
	char *data = malloc(size), *at = data;
	int n = 0;

	if (!data || pread(mem, data, size, (off_t)start) != (ssize_t)size) {
		free(data);
		return 0;
	}
	while ((at = memmem(at, size - (size_t)(at - data), s, len + 1))) {
		if (at > data && !at[-1])
			n += pwrite(mem, "?", 1, (off_t)(start + (size_t)(at - data))) == 1;
		at++;
	}
	free(data);
	return n;
}

int main(int argc, char **argv)
{
	char path[64], line[4096], perms[8];
	unsigned long start, end;
	int mem, n = 0;
	FILE *maps;

	if (argc != 3)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
	maps = fopen(path, "r");
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	mem = open(path, O_RDWR | O_CLOEXEC);
	while (maps && mem >= 0 && fgets(line, sizeof(line), maps))
		if (strstr(line, "/libjvm.so") &&
		    sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 && perms[0] == 'r')
			n += blank(mem, start, end, argv[2]);
	return n ? 0 : 1;
}
