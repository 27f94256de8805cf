/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/kerneltypes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gnomon.skel.h"

struct selection {
	const struct btf *from;
	struct btf *to;
	__u32 *ids; /* in `to`, by those in `from`; 0: not taken */
	__u32 taken;
};

/* ---- names ---- */

struct names {
	const char **all; /* in order */
	size_t n;
};

static bool has_name(const struct btf_type *t)
{
	return (btf_is_composite(t) || btf_is_any_enum(t)) && t->name_off;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int names_of(struct names *names, const struct btf *program)
{
	__u32 n = btf__type_cnt(program);

	names->all = calloc(n, sizeof(*names->all));
	if (!names->all)
		return -ENOMEM;
	for (__u32 id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(program, id);

		if (has_name(t))
			names->all[names->n++] = btf__name_by_offset(program, t->name_off);
	}
	qsort(names->all, names->n, sizeof(*names->all), by_name);
	return 0;
}

static bool names_have(const struct names *names, const char *name)
{
	return bsearch(&name, names->all, names->n, sizeof(*names->all), by_name);
}

/* ---- what is taken ---- */

static void take(struct selection *s, __u32 id);

static void members_take(struct selection *s, const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);

	for (int i = 0; i < btf_vlen(t); i++)
		take(s, m[i].type);
}

static void array_take(struct selection *s, const struct btf_array *a)
{
	take(s, a->type);
	take(s, a->index_type);
}

/* As deep as structures lie in each other. */
static void take(struct selection *s, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(s->from, id);

	if (!id || s->ids[id])
		return;
	s->ids[id] = 1;
	if (btf_is_composite(t))
		members_take(s, t);
	else if (btf_is_array(t))
		array_take(s, btf_array(t));
	else if (btf_is_mod(t) || btf_is_typedef(t))
		take(s, t->type);
}

static void names_take(struct selection *s, const struct names *names)
{
	__u32 n = btf__type_cnt(s->from);

	for (__u32 id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(s->from, id);

		if (has_name(t) && names_have(names, btf__name_by_offset(s->from, t->name_off)))
			take(s, id);
	}
	for (__u32 id = 1; id < n; id++)
		if (s->ids[id])
			s->ids[id] = ++s->taken;
}

/* ---- the copy: each returns its id, or -errno ---- */

static const char *name_in(const struct selection *s, __u32 offset)
{
	return btf__name_by_offset(s->from, offset);
}

static int composite_copy(struct selection *s, const struct btf_type *t)
{
	const char *name = name_in(s, t->name_off);
	const struct btf_member *m = btf_members(t);
	int id = btf_is_struct(t) ? btf__add_struct(s->to, name, t->size)
				  : btf__add_union(s->to, name, t->size);

	for (__u32 i = 0; id > 0 && i < btf_vlen(t); i++, m++) {
		int rc =
			btf__add_field(s->to, name_in(s, m->name_off), (int)s->ids[m->type],
				       btf_member_bit_offset(t, i), btf_member_bitfield_size(t, i));

		if (rc)
			return rc;
	}
	return id;
}

static int enum_copy(struct selection *s, const struct btf_type *t)
{
	const struct btf_enum *v = btf_enum(t);
	int id = btf__add_enum(s->to, name_in(s, t->name_off), t->size);

	for (int i = 0; id > 0 && i < btf_vlen(t); i++, v++) {
		int rc = btf__add_enum_value(s->to, name_in(s, v->name_off), v->val);

		if (rc)
			return rc;
	}
	return id;
}

static int enum64_copy(struct selection *s, const struct btf_type *t)
{
	const struct btf_enum64 *v = btf_enum64(t);
	int id = btf__add_enum64(s->to, name_in(s, t->name_off), t->size, btf_kflag(t));

	for (int i = 0; id > 0 && i < btf_vlen(t); i++, v++) {
		int rc = btf__add_enum64_value(s->to, name_in(s, v->name_off), btf_enum64_value(v));

		if (rc)
			return rc;
	}
	return id;
}

static int array_copy(struct selection *s, const struct btf_array *a)
{
	return btf__add_array(s->to, (int)s->ids[a->index_type], (int)s->ids[a->type], a->nelems);
}

static int type_copy(struct selection *s, const struct btf_type *t)
{
	const char *name = name_in(s, t->name_off);
	int to = btf_is_mod(t) || btf_is_typedef(t) ? (int)s->ids[t->type] : 0;

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return btf__add_int(s->to, name, t->size, btf_int_encoding(t));
	case BTF_KIND_FLOAT:
		return btf__add_float(s->to, name, t->size);
	case BTF_KIND_ARRAY:
		return array_copy(s, btf_array(t));
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return composite_copy(s, t);
	case BTF_KIND_ENUM:
		return enum_copy(s, t);
	case BTF_KIND_ENUM64:
		return enum64_copy(s, t);
	case BTF_KIND_FWD:
		return btf__add_fwd(s->to, name, btf_kflag(t) ? BTF_FWD_UNION : BTF_FWD_STRUCT);
	case BTF_KIND_TYPEDEF:
		return btf__add_typedef(s->to, name, to);
	case BTF_KIND_CONST:
		return btf__add_const(s->to, to);
	case BTF_KIND_VOLATILE:
		return btf__add_volatile(s->to, to);
	case BTF_KIND_RESTRICT:
		return btf__add_restrict(s->to, to);
	case BTF_KIND_TYPE_TAG:
		return btf__add_type_tag(s->to, name, to);
	default: /* a pointer, whose size is that of all */
		return btf__add_ptr(s->to, 0);
	}
}

static int selection_copy(struct selection *s)
{
	__u32 n = btf__type_cnt(s->from);

	for (__u32 id = 1; id < n; id++) {
		int rc = s->ids[id] ? type_copy(s, btf__type_by_id(s->from, id)) : 0;

		if (rc < 0)
			return rc;
	}
	return btf__set_pointer_size(s->to, btf__pointer_size(s->from));
}

struct btf *kerneltypes_select(const struct btf *kernel, const struct btf *program)
{
	struct selection s = {.from = kernel};
	struct names names = {0};
	int rc = names_of(&names, program);

	s.ids = calloc(btf__type_cnt(kernel), sizeof(*s.ids));
	s.to = btf__new_empty();
	if (!rc && (!s.ids || !s.to))
		rc = -ENOMEM;
	if (!rc) {
		names_take(&s, &names);
		rc = selection_copy(&s);
	}
	free(names.all);
	free(s.ids);
	if (!rc)
		return s.to;
	btf__free(s.to);
	errno = -rc;
	return NULL;
}

/* ---- the file ---- */

static struct btf *select_for_skeleton(uint32_t *task)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *out = NULL;
	struct gnomon *skel = kernel ? gnomon__open() : NULL;

	*task = 0;
	if (skel) {
		__s32 id = btf__find_by_name_kind(kernel, "task_struct", BTF_KIND_STRUCT);

		*task = id > 0 ? (uint32_t)id : 0;
		out = kerneltypes_select(kernel, bpf_object__btf(skel->obj));
	}
	gnomon__destroy(skel);
	btf__free(kernel);
	return out;
}

static int file_make(const struct btf *b)
{
	__u32 size;
	const void *raw = btf__raw_data(b, &size);
	int fd = raw ? memfd_create("gnomon-types", MFD_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, raw, size) == (ssize_t)size)
		return fd;
	if (fd >= 0)
		close(fd);
	return -EIO;
}

int kerneltypes_open(char path[KERNELTYPES_PATH], uint32_t *task)
{
	struct btf *b = select_for_skeleton(task);
	int fd = b ? file_make(b) : -errno;

	btf__free(b);
	if (fd >= 0)
		snprintf(path, KERNELTYPES_PATH, "/proc/self/fd/%d", fd);
	return fd;
}
