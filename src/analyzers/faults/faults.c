// SPDX-License-Identifier: GPL-2.0-or-later
/* An event is a whole fault, so that nothing is paired: rows are its sums by cause, and by what else they are asked. */
#include "analyzers/faults/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/order.h"
#include "fault.h"

struct row_entry {
	uint64_t key[4];	/* pid; cause; vCPU, slot or name; inode */
	struct faults_row *row; /* owned */
};

struct file_name {
	char *text; /* owned */
};

struct fault_fields {
	const struct event_type *type;
	const struct field *ns, *waited_ns, *slot, *seen, *file, *inode;
};

struct faults {
	enum faults_by by;
	struct fault_fields fields;
	struct hash_table rows, files;
	struct faults_notes notes;
};

struct faults *faults_new(enum faults_by by)
{
	struct faults *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->by = by;
	f->rows = HASH_TABLE(struct row_entry, 4, FAULTS_ROWS_MAX);
	f->files = HASH_TABLE_OF_TEXTS(struct file_name, FAULTS_FILES_MAX);
	return f;
}

void faults_free(struct faults *f)
{
	const struct row_entry *r;
	const struct file_name *n;

	if (!f)
		return;
	for (uint32_t at = 0; (r = hash_next(&f->rows, &at));) {
		quantiles_free(&r->row->ns);
		free(r->row);
	}
	for (uint32_t at = 0; (n = hash_next(&f->files, &at));)
		free(n->text);
	hash_deinit(&f->rows);
	hash_deinit(&f->files);
	free(f);
}

static bool is_fault(const char *event)
{
	return !strcmp(event, "host_fault");
}

bool faults_wants(const char *event, void *arg)
{
	(void)arg;
	return is_fault(event);
}

/* An event of another recorder's file may lack any field. */
static uint64_t fault_value(const struct event *ev, const struct field *f, uint64_t absent)
{
	return f ? event_u64(ev, f) : absent;
}

/* ---- rows ---- */

/* One text for each name; NULL: too many. */
static const char *file_intern(struct faults *f, const char *name)
{
	struct file_name *known = hash_find_text(&f->files, name);
	char *copy;

	if (known)
		return known->text;
	copy = strdup(name);
	if (!copy || !hash_add_text(&f->files, copy, NULL)) {
		free(copy);
		return NULL;
	}
	return copy;
}

static const char *mapping_name(struct faults *f, const struct event *ev, uint32_t seen,
				uint64_t inode)
{
	char name[FAULT_FILE_BYTES + 1];

	if (!(seen & FAULT_VMA))
		return NULL;
	if (!inode || !f->fields.file)
		return file_intern(f, seen & FAULT_VMA_ANON ? "[anon]" : "[other]");
	event_text(ev, f->fields.file, name, sizeof(name));
	return file_intern(f, name);
}

static void row_of_event(struct faults *f, const struct event *ev, struct faults_row *ret)
{
	uint32_t seen = (uint32_t)fault_value(ev, f->fields.seen, 0);

	*ret = (struct faults_row){.pid = ev->pid, .cause = fault_cause_of(seen)};
	if (f->by == FAULTS_BY_VCPU)
		ret->vcpu = ev->vcpu;
	if (f->by == FAULTS_BY_SLOT)
		ret->slot = (uint32_t)fault_value(ev, f->fields.slot, UINT32_MAX);
	if (f->by != FAULTS_BY_VMA)
		return;
	ret->inode = fault_value(ev, f->fields.inode, 0);
	ret->file = mapping_name(f, ev, seen, ret->inode);
}

static struct faults_row *row_add(struct faults *f, const struct faults_row *like, int *err)
{
	const uint64_t key[] = {like->pid, like->cause,
				(uint64_t)(uintptr_t)like->file + like->slot + like->vcpu,
				like->inode};
	struct row_entry *entry;
	bool first;

	entry = hash_add_words(&f->rows, key, &first);
	if (!entry) {
		f->notes.refused++;
		return NULL;
	}
	if (first) {
		entry->row = malloc(sizeof(*entry->row));
		if (!entry->row) {
			hash_remove(&f->rows, entry);
			*err = fail(-ENOMEM, "out of memory");
			return NULL;
		}
		*entry->row = *like;
	}
	return entry->row;
}

static int fault_count(struct faults *f, const struct event *ev)
{
	struct faults_row like, *row;
	uint64_t seen = fault_value(ev, f->fields.seen, 0);
	int err = 0;

	row_of_event(f, ev, &like);
	f->notes.unmapped += like.cause == BACKING_NOT_RECORDED;
	row = row_add(f, &like, &err);
	if (!row)
		return err;
	row->waited_ns += fault_value(ev, f->fields.waited_ns, 0);
	row->writes += seen & FAULT_WRITE;
	if (quantiles_add(&row->ns, fault_value(ev, f->fields.ns, 0)))
		return fail(-ENOMEM, "out of memory");
	return 0;
}

static void fields_find(struct fault_fields *f, const struct event_type *type)
{
	if (f->type == type)
		return;
	f->type = type;
	f->ns = event_field(type, "ns");
	f->waited_ns = event_field(type, "waited_ns");
	f->slot = event_field(type, "slot");
	f->seen = event_field(type, "seen");
	f->file = event_field(type, "file");
	f->inode = event_field(type, "inode");
}

int faults_event(struct faults *f, const struct event *ev)
{
	fields_find(&f->fields, ev->type);
	return fault_count(f, ev);
}

/* ---- the end ---- */

static int by_time(const void *a, const void *b)
{
	const struct faults_row *x = *(struct faults_row *const *)a,
				*y = *(struct faults_row *const *)b;

	if (x->ns.sum != y->ns.sum)
		return x->ns.sum < y->ns.sum ? 1 : -1;
	return order_u64(y->ns.count, x->ns.count) ?: order_u64(x->pid, y->pid) ?:
	       order_u64(x->cause, y->cause) ?: order_u64(x->vcpu, y->vcpu) ?:
	       order_u64(x->slot, y->slot) ?: order_u64(x->inode, y->inode) ?:
	       strcmp(x->file ?: "", y->file ?: "");
}

int faults_rows(struct faults *f, struct faults_row ***ret, size_t *ret_nr)
{
	const struct row_entry *e;
	size_t nr = 0;
	int err = 0;

	*ret = calloc(f->rows.nr + 1u, sizeof(**ret));
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t at = 0; !err && (e = hash_next(&f->rows, &at));) {
		(*ret)[nr++] = e->row;
		if (quantiles_flush(&e->row->ns))
			err = fail(-ENOMEM, "out of memory");
	}
	qsort(*ret, nr, sizeof(**ret), by_time);
	*ret_nr = nr;
	return err;
}

void faults_notes(const struct faults *f, struct faults_notes *ret)
{
	*ret = f->notes;
}
