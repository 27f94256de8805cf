/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: the unwinder's tables in memory instead of maps, and the tables of a live process. ELF
 * files are read with libelf here, so that these tests stand on their own.
 */
#ifndef TESTS_UWMEM_H
#define TESTS_UWMEM_H

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture/utable.h"
#include "kern/unwind_walk.h"
#include "sym/ehframe.h"

struct uwmem {
	struct uw_page *pages[UW_MAX_FILES];
	uint32_t npages[UW_MAX_FILES];
	struct uw_rule rules[UW_MAX_RULES];
	struct uw_proc proc; /* the last one set */
	pid_t pid;	     /* whose memory */
	struct utable *u;
	struct uw_env env;
};

static int uwmem_rule(void *ctx, uint32_t id, const struct uw_rule *rule)
{
	((struct uwmem *)ctx)->rules[id] = *rule;
	return 0;
}

static int uwmem_file(void *ctx, uint32_t id, const struct uw_page *pages, uint32_t n)
{
	struct uwmem *m = ctx;

	m->pages[id] = calloc(n, sizeof(*pages));
	memcpy(m->pages[id], pages, n * sizeof(*pages));
	m->npages[id] = n;
	return 0;
}

static int uwmem_file_drop(void *ctx, uint32_t id)
{
	struct uwmem *m = ctx;

	free(m->pages[id]);
	m->pages[id] = NULL;
	m->npages[id] = 0;
	return 0;
}

static int uwmem_proc(void *ctx, uint32_t tgid, const struct uw_proc *proc)
{
	((struct uwmem *)ctx)->proc = *proc;
	return 0;
}

static int uwmem_proc_drop(void *ctx, uint32_t tgid)
{
	((struct uwmem *)ctx)->proc.tgid = 0;
	return 0;
}

static const struct uw_page *uwmem_get_page(void *ctx, __u32 file, __u32 page)
{
	struct uwmem *m = ctx;

	return file < UW_MAX_FILES && page < m->npages[file] ? &m->pages[file][page] : NULL;
}

static const struct uw_rule *uwmem_get_rule(void *ctx, __u32 rule)
{
	return rule < UW_MAX_RULES ? &((struct uwmem *)ctx)->rules[rule] : NULL;
}

static int uwmem_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	struct uwmem *m = ctx;
	struct iovec to = {dst, len}, from = {(void *)(uintptr_t)addr, len};

	return process_vm_readv(m->pid, &to, 1, &from, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

static inline struct uwmem *uwmem_new(pid_t pid)
{
	struct uwmem *m = calloc(1, sizeof(*m));
	struct utable_sink sink = {
		.ctx = m,
		.rule = uwmem_rule,
		.file = uwmem_file,
		.file_drop = uwmem_file_drop,
		.proc = uwmem_proc,
		.proc_drop = uwmem_proc_drop,
	};

	m->pid = pid;
	m->env = (struct uw_env){.ctx = m,
				 .read = uwmem_read,
				 .proc = &m->proc,
				 .page = uwmem_get_page,
				 .rule = uwmem_get_rule};
	if (utable_new(&m->u, &sink))
		abort();
	return m;
}

static inline void uwmem_free(struct uwmem *m)
{
	for (int i = 0; i < UW_MAX_FILES; i++)
		free(m->pages[i]);
	utable_free(m->u);
	free(m);
}

/* ---- ELF ---- */

struct uwelf {
	uint8_t *bytes; /* the whole file */
	Elf *elf;
	struct ehframe_section eh; /* data NULL: none */
};

/* Takes the malloc'ed bytes. */
static inline int uwelf_open(struct uwelf *x, uint8_t *bytes, size_t len)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	memset(x, 0, sizeof(*x));
	x->bytes = bytes;
	elf_version(EV_CURRENT);
	x->elf = elf_memory((char *)bytes, len);
	if (!x->elf || elf_getshdrstrndx(x->elf, &strings))
		return -EBADMSG;
	while ((scn = elf_nextscn(x->elf, scn))) {
		GElf_Shdr sh;
		const char *name;
		Elf_Data *d;

		gelf_getshdr(scn, &sh);
		name = elf_strptr(x->elf, strings, sh.sh_name);
		if (!name || strcmp(name, ".eh_frame") || sh.sh_type == SHT_NOBITS)
			continue;
		d = elf_rawdata(scn, NULL);
		if (d)
			x->eh = (struct ehframe_section){d->d_buf, d->d_size, sh.sh_addr, false};
	}
	return 0;
}

static inline void uwelf_close(struct uwelf *x)
{
	elf_end(x->elf);
	free(x->bytes);
}

static inline uint8_t *uwelf_slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	uint8_t *b;
	long n;

	*len = 0;
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	b = malloc(n + 1);
	*len = fread(b, 1, n, f);
	fclose(f);
	return b;
}

/* The address as linked of a file offset that is in an executable segment. */
static inline uint64_t uwelf_vaddr(const struct uwelf *x, uint64_t off)
{
	size_t n = 0;
	GElf_Phdr ph;

	elf_getphdrnum(x->elf, &n);
	for (size_t i = 0; i < n; i++) {
		gelf_getphdr(x->elf, i, &ph);
		if (ph.p_type == PT_LOAD && ph.p_flags & PF_X && off >= (ph.p_offset & ~4095ULL) &&
		    off < ph.p_offset + ph.p_filesz)
			return ph.p_vaddr + off - ph.p_offset;
	}
	return 0;
}

/* ---- a process ---- */

/* The vDSO has no file: its bytes are in the process. */
static inline uint8_t *uwmem_vdso(struct uwmem *m, uint64_t start, uint64_t end, size_t *len)
{
	uint8_t *b = malloc(end - start);

	*len = end - start;
	if (uwmem_read(m, start, b, *len)) {
		free(b);
		return NULL;
	}
	return b;
}

/* A mapped file: root can have that of a process with other mounts, too. */
static inline uint8_t *uwmem_slurp(struct uwmem *m, const char *path, uint64_t start, uint64_t end,
				   size_t *len)
{
	char mapped[64];
	uint8_t *b;

	*len = 0;
	if (*path != '/')
		return NULL;
	snprintf(mapped, sizeof(mapped), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, m->pid, start,
		 end);
	b = uwelf_slurp(mapped, len);
	return b ? b : uwelf_slurp(path, len);
}

static inline int uwmem_map_one(struct uwmem *m, const char *path, uint64_t start, uint64_t end,
				uint64_t off, struct unwind_mapping *out)
{
	struct unwind_table t;
	struct uwelf x;
	uint32_t id;
	size_t len;
	uint8_t *b = *path == '[' ? uwmem_vdso(m, start, end, &len)
				  : uwmem_slurp(m, path, start, end, &len);
	size_t n = strlen(path);
	const char *key = n > UNWIND_KEY_MAX ? path + n - UNWIND_KEY_MAX : path;

	*out = (struct unwind_mapping){.start = start, .end = end, .kind = UW_MAP_FP};
	if (!b)
		return -ENOENT;
	if (uwelf_open(&x, b, len) || !x.eh.data) {
		uwelf_close(&x);
		return -ENOENT;
	}
	id = utable_file_find(m->u, key, strlen(key));
	if (!id && !ehframe_compile(&x.eh, 0, &t)) {
		utable_file_add(m->u, key, strlen(key), &t, &id);
		ehframe_free(&t);
	}
	out->kind = UW_MAP_FILE;
	out->arg = id;
	out->bias = start - uwelf_vaddr(&x, *path == '[' ? 0 : off);
	uwelf_close(&x);
	return 0;
}

/* Read the executable mappings of m->pid. The last 64 bytes of their paths serve as keys. */
static inline int uwmem_load(struct uwmem *m)
{
	struct unwind_mapping v[256];
	char name[64], line[512], path[256], perm[8];
	uint64_t start, end, off;
	size_t n = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", m->pid);
	f = fopen(name, "r");
	if (!f)
		return -errno;
	while (n < 256 && fgets(line, sizeof(line), f)) {
		path[0] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s", &start,
			   &end, perm, &off, path) < 4 ||
		    perm[2] != 'x' || !strcmp(path, "[vsyscall]"))
			continue;
		uwmem_map_one(m, path, start, end, off, &v[n++]);
	}
	fclose(f);
	return utable_proc_set(m->u, m->pid, v, n, 1);
}

#endif
