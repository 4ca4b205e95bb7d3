// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "event/event.h"
#include "fetch/osv_guest.h"
#include "vm/run_qmp.h"

enum { TEXT_PIECE = 64, MEMBERS_PIECE = 512 };

int osv_guest_open(const struct osv_guest_options *opt, struct osv_guest *ret)
{
	*ret = (struct osv_guest){0};
	ret->elf = opt->elf	? opt->elf
		   : opt->debug ? "build/debug/loader.elf"
				: "build/release/loader.elf";
	return layout_open(ret->elf, &ret->layout);
}

int osv_guest_stop(const struct osv_guest_options *opt, struct osv_guest *g)
{
	enum gdb_before before = GDB_BEFORE_UNKNOWN;
	bool runs = false;
	int err = 0;

	if (opt->vm.pid)
		return osv_live_open(&opt->vm, opt->timeout_ns, g->layout, &g->live);
	if (opt->qmp) {
		err = qmp_running(opt->qmp, opt->timeout_ns, &runs);
		before = runs ? GDB_RAN_BEFORE : GDB_PAUSED_BEFORE;
	}
	return err ? err
		   : gdb_open(opt->remote ? opt->remote : GDB_DEFAULT, opt->timeout_ns, before,
			      &g->gdb);
}

static void guest_close(struct osv_guest *g)
{
	gdb_close(g->gdb);
	g->gdb = NULL;
	osv_live_close(&g->live);
}

/* Of a VM that ran before. What the monitor reports counts, not what the stub has confirmed. */
static int running_check(const struct osv_guest_options *opt, int err)
{
	bool runs = false;

	if (!opt->qmp || qmp_running(opt->qmp, opt->timeout_ns, &runs))
		return err;
	if (runs || !qmp_continue(opt->qmp, opt->timeout_ns))
		return 0;
	return fail(-EIO, "the VM is still paused: its gdb stub did not continue it, and %s",
		    error_text());
}

/* ret: as if the stub was not used. */
static int guest_detach(const struct osv_guest_options *opt, struct gdb *g, struct osv_pause *ret)
{
	uint64_t stopped_ns = gdb_stopped_ns(g);
	int err = gdb_detach(g);

	ret->before = gdb_before(g);
	if (ret->before == GDB_PAUSED_BEFORE)
		return err;
	ret->stopped_ns = stopped_ns;
	return running_check(opt, err);
}

int osv_guest_resume(const struct osv_guest_options *opt, struct osv_guest *g, int err,
		     struct osv_pause *ret)
{
	_cleanup_free_ char *text = err ? strdup(error_text()) : NULL;
	int detach_err;

	*ret = (struct osv_pause){.live = opt->vm.pid, .lost = g->lost};
	detach_err = g->gdb ? guest_detach(opt, g->gdb, ret) : 0;
	guest_close(g);
	if (!err)
		return detach_err;
	return fail(err, "%s%s%s", text ? text : "out of memory", detach_err ? "; " : "",
		    detach_err ? error_text() : "");
}

void osv_guest_close(struct osv_guest *g)
{
	guest_close(g);
	layout_close(g->layout);
	g->layout = NULL;
}

int osv_guest_visit(const struct osv_guest_options *opt, struct osv_guest *g,
		    int (*find)(void *walk), int (*read)(void *walk), void *walk,
		    struct osv_pause *ret_pause)
{
	int err = osv_guest_open(opt, g);

	if (!err)
		err = find(walk);
	if (!err)
		err = osv_guest_stop(opt, g);
	if (!err)
		err = read(walk);
	return osv_guest_resume(opt, g, err, ret_pause);
}

int osv_guest_lose(struct osv_guest *g, const char *what, uint64_t address, int err)
{
	struct osv_lost *l = &g->lost;
	unsigned int i = 0;

	if (err != -EFAULT && err != -EBADMSG)
		return err;
	while (i < l->nr && strcmp(l->kind[i].what, what) != 0)
		i++;
	if (i == OSV_LOST_KINDS_MAX)
		return err;
	if (i == l->nr) {
		l->kind[l->nr++].what = what;
		snprintf(l->kind[i].why, sizeof(l->kind[i].why), "%s", error_text());
	}
	if (l->kind[i].nr < OSV_LOST_NAMED)
		l->kind[i].address[l->kind[i].nr] = address;
	l->kind[i].nr++;
	return 0;
}

void osv_lost_text(const struct osv_lost *lost, unsigned int kind, char *ret, size_t size)
{
	uint64_t nr = lost->kind[kind].nr;
	size_t len = (size_t)snprintf(ret, size, "%" PRIu64 " %s%s cannot be read:", nr,
				      lost->kind[kind].what, nr == 1 ? "" : "s");

	for (unsigned int i = 0; i < nr && i < OSV_LOST_NAMED && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s 0x%" PRIx64, i ? "," : "",
					lost->kind[kind].address[i]);
	if (len < size)
		snprintf(ret + len, size - len, "%s (%s)", nr > OSV_LOST_NAMED ? ", ..." : "",
			 lost->kind[kind].why);
}

int osv_guest_read(struct osv_guest *g, uint64_t address, void *ret, size_t len)
{
	return g->gdb ? gdb_read(g->gdb, address, ret, len)
		      : osv_live_read(&g->live, address, ret, len);
}

int osv_guest_u64(struct osv_guest *g, uint64_t address, uint64_t *ret)
{
	return osv_guest_read(g, address, ret, sizeof(*ret));
}

int osv_guest_u16(struct osv_guest *g, uint64_t address, uint16_t *ret)
{
	return osv_guest_read(g, address, ret, sizeof(*ret));
}

/* In pieces that end with their page: what follows may not be mapped. */
int osv_guest_text(struct osv_guest *g, uint64_t address, char *ret, size_t size)
{
	size_t len = 0;

	while (len + 1 < size) {
		size_t piece = TEXT_PIECE - (address + len) % TEXT_PIECE;
		int err;

		piece = piece < size - 1 - len ? piece : size - 1 - len;
		err = osv_guest_read(g, address + len, ret + len, piece);
		if (err)
			return err;
		size_t end = strnlen(ret + len, piece);

		len += end;
		if (end < piece)
			break;
	}
	ret[len] = 0;
	text_sanitize(ret);
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct osv_member *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int osv_guest_members(struct osv_guest *g, uint64_t object, struct osv_member *m, size_t nr)
{
	uint8_t piece[MEMBERS_PIECE];
	int err = 0;

	qsort(m, nr, sizeof(*m), by_offset);
	for (size_t i = 0, end; i < nr && !err; i = end) {
		uint64_t from = m[i].offset;

		for (end = i + 1;
		     end < nr && m[end].offset + (uint64_t)m[end].len - from <= MEMBERS_PIECE;)
			end++;
		err = osv_guest_read(g, object + from, piece,
				     m[end - 1].offset + m[end - 1].len - from);
		for (; i < end && !err; i++)
			memcpy(m[i].to, piece + (m[i].offset - from), m[i].len);
	}
	return err;
}

int osv_guest_vector(struct osv_guest *g, uint64_t address, unsigned int max, uint64_t **ret,
		     unsigned int *ret_nr)
{
	uint64_t ends[2], nr;
	int err = osv_guest_read(g, address, ends, sizeof(ends));

	if (err)
		return err;
	nr = (ends[1] - ends[0]) / 8;
	if (ends[1] < ends[0] || nr > max)
		return fail(
			-EBADMSG,
			"no valid std::vector in guest memory at 0x%llx (at most %u elements)",
			(unsigned long long)address, max);
	*ret = calloc(nr + 1, sizeof(**ret));
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	err = osv_guest_read(g, ends[0], *ret, nr * 8);
	if (err) {
		free(*ret);
		*ret = NULL;
		return err;
	}
	*ret_nr = (unsigned int)nr;
	return 0;
}
