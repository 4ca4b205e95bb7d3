// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of the ring buffer's layout (kernel: include/linux/ring_buffer.h), filled per CPU, go to a temporary file in
 * the order in which they become full; the file's head, which needs the event types, is written at the end and the
 * pages after it, CPU by CPU.
 *
 * How many events are missing is said at the end of the page that follows them, so that each place where events were
 * lost, or where the time goes back, ends a page before it is full. Beyond a number of such pages, in proportion to the
 * events, a loss is an event `lost` of the system "hostrace" instead, as where no event of its CPU is directly before
 * or after it; and an event gets the time of the one before it.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/records.h"
#include "output/event_formats.h"
#include "tracefile/tracefile.h"

enum {
	CPUS_MAX = 4096,
	PAGE_BYTES = 1 << 16,
	PAGE_HEAD = 16, /* the time of its first event, and "commit" */
	COUNT_BYTES = 8, /* at its end: how many events are missing before it */
	PAGE_FIRST = 1 << 10, /* bytes that a page has at first */
	OPEN_BYTES = 16 << 20, /* of all open pages: with more than 256 CPUs a page is written before it is full, */
	PAGE_SHORTEST = 4 << 10, /* ... at this length or later */
	FREE_BYTES = 4 << 20, /* of pages, however few their events */
	FREE_SHARE = 2, /* pages may have so many times the bytes of the events */
	EVENT_HEAD = 8,
	EXTEND_BYTES = 8,
	DELTA_BITS = 27,
	TYPE_TIME_EXTEND = 30,
	TYPE_LENGTH_MAX = 28, /* words */
	OPTION_TRACECLOCK = 4,
};

#define COMMIT_MISSED (UINT64_C(1) << 31)
#define COMMIT_COUNT  (UINT64_C(1) << 30)

struct cpu {
	uint8_t *page;
	size_t room; /* bytes that the page has now: with thousands of CPUs, most pages stay short */
	size_t len; /* with PAGE_HEAD; 0: no page is open */
	uint64_t time;		     /* of the newest event */
	uint64_t missed, page_missed; /* events: since the last page; before the open page */
	struct rec_lost lost;	      /* the first of `missed` */
	uint64_t lost_time;
	bool ends_in_loss; /* the newest event of the page is one: the time between them tells nothing */
	uint64_t pages;
};

struct comm {
	uint64_t tid;
	char text[32];
};

struct event_tracedat {
	bool ticks;
	FILE *spool;
	struct cpu *cpu[CPUS_MAX];
	unsigned int nr_cpus; /* the highest number, and 1 */
	unsigned int nr_used; /* CPUs that have had an event */
	uint16_t *page_cpu;   /* of each page of the spool */
	size_t nr_pages;
	uint64_t bytes; /* of the events in them */
	struct hash_table comms;
	uint64_t dropped, moved, unplaced;
	bool used[EVENT_TYPES_MAX];
};

struct event_tracedat *event_tracedat_new(bool ticks)
{
	struct event_tracedat *t = calloc(1, sizeof(*t));

	if (!t) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	t->ticks = ticks;
	t->comms = HASH_TABLE(struct comm, 1, NAMED_THREADS_MAX);
	t->spool = tmpfile();
	if (t->spool)
		return t;
	fail(-errno, "cannot create a temporary file: %s", strerror(errno));
	event_tracedat_close(t);
	return NULL;
}

void event_tracedat_close(struct event_tracedat *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < CPUS_MAX; i++) {
		if (t->cpu[i])
			free(t->cpu[i]->page);
		free(t->cpu[i]);
	}
	free(t->page_cpu);
	hash_deinit(&t->comms);
	if (t->spool)
		fclose(t->spool);
	free(t);
}

uint64_t event_tracedat_dropped(const struct event_tracedat *t)
{
	return t->dropped;
}

uint64_t event_tracedat_moved(const struct event_tracedat *t)
{
	return t->moved;
}

uint64_t event_tracedat_unplaced(const struct event_tracedat *t)
{
	return t->unplaced;
}

/* ---- pages ---- */

static int cpu_of(struct event_tracedat *t, unsigned int nr, struct cpu **ret)
{
	if (nr >= CPUS_MAX)
		return fail(-E2BIG, "CPU %u: a trace.dat is written for at most %d CPUs", nr,
			    CPUS_MAX);
	if (!t->cpu[nr]) {
		t->cpu[nr] = calloc(1, sizeof(*t->cpu[nr]));
		t->nr_used++;
	}
	if (!t->cpu[nr])
		return fail(-ENOMEM, "out of memory");
	t->nr_cpus = nr < t->nr_cpus ? t->nr_cpus : nr + 1;
	*ret = t->cpu[nr];
	return 0;
}

/* At which length a page is written. */
static size_t page_limit(const struct event_tracedat *t)
{
	size_t limit = OPEN_BYTES / t->nr_used;

	return limit > PAGE_BYTES      ? PAGE_BYTES
	       : limit > PAGE_SHORTEST ? limit
				       : PAGE_SHORTEST;
}

/* Makes the open page at least so long; its new bytes are 0. */
static int page_grow(struct cpu *c, size_t need)
{
	size_t room = c->room ? c->room : PAGE_FIRST;

	if (need <= c->room)
		return 0;
	while (room < need)
		room *= 2;
	uint8_t *page = realloc(c->page, room);

	if (!page)
		return fail(-ENOMEM, "out of memory");
	memset(page + c->room, 0, room - c->room);
	c->page = page;
	c->room = room;
	return 0;
}

static int page_begin(struct cpu *c, uint64_t time)
{
	int err = page_grow(c, PAGE_FIRST);

	if (err)
		return err;
	memset(c->page, 0, c->room);
	memcpy(c->page, &time, sizeof(time));
	c->len = PAGE_HEAD;
	c->time = time;
	c->page_missed = c->missed;
	c->missed = 0;
	return 0;
}

/* In the file each page has PAGE_BYTES. */
static int page_write(struct event_tracedat *t, struct cpu *c)
{
	static const uint8_t zeros[PAGE_BYTES];
	bool written = fwrite(c->page, c->room, 1, t->spool) == 1 &&
		       (c->room == PAGE_BYTES ||
			fwrite(zeros, PAGE_BYTES - c->room, 1, t->spool) == 1);

	if (c->room > page_limit(t)) {
		free(c->page);
		c->page = NULL;
		c->room = 0;
	}
	c->len = 0;
	return written ? 0 : fail(-EIO, "temporary file: %s", strerror(errno));
}

static int page_end(struct event_tracedat *t, unsigned int nr)
{
	struct cpu *c = t->cpu[nr];
	uint64_t commit = c->len - PAGE_HEAD;
	int err = array_room(t->page_cpu, t->nr_pages);

	if (!err && c->page_missed)
		err = page_grow(c, c->len + COUNT_BYTES);
	if (err)
		return err;
	if (c->page_missed) {
		memcpy(c->page + c->len, &c->page_missed, sizeof(c->page_missed));
		commit |= COMMIT_MISSED | COMMIT_COUNT;
	}
	memcpy(c->page + 8, &commit, sizeof(commit));
	c->pages++;
	t->bytes += c->len;
	t->page_cpu[t->nr_pages++] = (uint16_t)nr;
	return page_write(t, c);
}

static void put_word(struct cpu *c, uint32_t word)
{
	memcpy(c->page + c->len, &word, sizeof(word));
	c->len += sizeof(word);
}

/* The record is copied after the event's head; it fits. */
static void put_event(struct cpu *c, uint64_t time, const uint8_t *record, size_t len)
{
	uint64_t delta = time - c->time;

	if (delta >> DELTA_BITS) {
		put_word(c, (uint32_t)(delta & ((1u << DELTA_BITS) - 1)) << 5 | TYPE_TIME_EXTEND);
		put_word(c, (uint32_t)(delta >> DELTA_BITS));
		delta = 0;
	}
	c->time = time;
	if (len <= 4 * TYPE_LENGTH_MAX) {
		put_word(c, (uint32_t)delta << 5 | (uint32_t)(len / 4));
	} else {
		put_word(c, (uint32_t)delta << 5);
		put_word(c, (uint32_t)len + 4);
	}
	memcpy(c->page + c->len, record, len);
	c->len += len;
}

/* The next page follows it. */
static void loss_begin(struct cpu *c, struct rec_lost lost, uint64_t time)
{
	if (!c->missed) {
		c->lost = lost;
		c->lost_time = time;
	}
	c->missed += lost.count;
}

/* May a page end before it is full? */
static bool page_may_be_short(const struct event_tracedat *t)
{
	return t->nr_pages * PAGE_BYTES < FREE_BYTES + FREE_SHARE * t->bytes;
}

static void comm_keep(struct event_tracedat *t, const struct event_row *row)
{
	struct comm *c = row->ev->tid && *row->comm ? hash_add_u64(&t->comms, row->ev->tid, NULL)
						    : NULL;

	if (!c)
		return;
	snprintf(c->text, sizeof(c->text), "%s", row->comm);
	c->text[strcspn(c->text, "\n")] = '\0';
}

enum { RECORD_MAX = PAGE_BYTES - PAGE_HEAD - COUNT_BYTES - EVENT_HEAD - EXTEND_BYTES };

/* Can the open page not take a record of this length? */
static bool page_is_full(const struct event_tracedat *t, const struct cpu *c, size_t len)
{
	return c->len - PAGE_HEAD + len > page_limit(t) - (PAGE_BYTES - RECORD_MAX);
}

static int row_put(struct event_tracedat *t, const struct event_row *row)
{
	const struct event *ev = row->ev;
	uint64_t time = ev->time_ns;
	uint8_t record[RECORD_MAX];
	unsigned int nr = ev->cpu == RECORD_CPU_UNKNOWN ? 0 : ev->cpu;
	struct cpu *c;
	size_t len;
	int err = cpu_of(t, nr, &c);

	if (err)
		return err;
	t->unplaced += ev->cpu == RECORD_CPU_UNKNOWN;
	len = tracedat_record(row, record, sizeof(record));
	if (!len) {
		t->dropped++;
		loss_begin(c, (struct rec_lost){.count = 1, .lost_cpu = nr}, time);
	}
	if (c->len && time < c->time && !page_may_be_short(t)) {
		time = c->time;
		t->moved++;
	}
	if (c->len && (!len || page_is_full(t, c, len) || time < c->time))
		err = page_end(t, nr);
	if (err || !len)
		return err;
	if (!c->len)
		err = page_begin(c, time);
	if (!err)
		err = page_grow(c, c->len + len + EVENT_HEAD + EXTEND_BYTES);
	if (err)
		return err;
	t->used[ev->type->index] = true;
	c->ends_in_loss = ev->type->id == EV_lost;
	put_event(c, time, record, len);
	return 0;
}

/* As an event. */
static int loss_put(struct event_tracedat *t, unsigned int nr, struct rec_lost lost, uint64_t time)
{
	const struct event ev = {.type = event_type_ours(EV_lost), .data = (const uint8_t *)&lost,
				 .time_ns = time, .size = sizeof(lost), .cpu = (uint16_t)nr,
				 .vcpu = RECORD_NO_VCPU};

	return row_put(t, &(struct event_row){.ev = &ev, .comm = "", .vcpu = RECORD_NO_VCPU});
}

static int row_lost(struct event_tracedat *t, const struct event *ev)
{
	RECORD(lost, lost, ev);
	unsigned int nr = lost->lost_cpu < CPUS_MAX		? lost->lost_cpu
			  : ev->cpu == RECORD_CPU_UNKNOWN	? 0
								: ev->cpu;
	struct rec_lost copy = *lost;
	struct cpu *c;
	int err = cpu_of(t, nr, &c);

	copy.until = t->ticks ? 0 : copy.until; /* a reader converts the time only */
	if (err || !c->len || c->ends_in_loss || !page_may_be_short(t))
		return err ? err : loss_put(t, nr, copy, ev->time_ns);
	loss_begin(c, copy, ev->time_ns);
	return page_end(t, nr);
}

int event_tracedat_row(struct event_tracedat *t, const struct event_row *row)
{
	if (lost_record_count(row->ev))
		return row_lost(t, row->ev);
	comm_keep(t, row);
	return row_put(t, row);
}

/* ---- the head of the file ---- */

static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:65520;\tsigned:1;\n";

static const char header_event[] = "# compressed entry header\n"
				   "\ttype_len    :    5 bits\n"
				   "\ttime_delta  :   27 bits\n"
				   "\tarray       :   32 bits\n\n"
				   "\tpadding     : type == 29\n"
				   "\ttime_extend : type == 30\n"
				   "\ttime_stamp : type == 31\n"
				   "\tdata max type_len  == 28\n";

static void put_u16(uint16_t v, FILE *out)
{
	fwrite(&v, sizeof(v), 1, out);
}

static void put_u32(uint32_t v, FILE *out)
{
	fwrite(&v, sizeof(v), 1, out);
}

static void put_u64(uint64_t v, FILE *out)
{
	fwrite(&v, sizeof(v), 1, out);
}

/* With its NUL. */
static void put_name(const char *text, FILE *out)
{
	fwrite(text, 1, strlen(text) + 1, out);
}

static void put_sized(const char *text, size_t len, FILE *out)
{
	put_u64(len, out);
	fwrite(text, 1, len, out);
}

static int put_format(const struct event_type *type, FILE *out)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	tracedat_format(type, f);
	if (fclose(f))
		return fail(-ENOMEM, "out of memory");
	put_sized(text, len, out);
	return 0;
}

/* Each event is a system's only one: a system may be named several times. */
static int put_formats(const struct event_tracedat *t, FILE *out)
{
	char system[EVENT_NAME_MAX];
	uint32_t nr = 0;
	int err = 0;

	for (unsigned int i = 0; i < EVENT_TYPES_MAX; i++)
		nr += t->used[i];
	put_u32(nr, out);
	for (unsigned int i = 0; i < EVENT_TYPES_MAX && !err; i++) {
		if (!t->used[i])
			continue;
		tracedat_system(event_type_at(i), system);
		put_name(system, out);
		put_u32(1, out);
		err = put_format(event_type_at(i), out);
	}
	return err;
}

static int put_comms(const struct event_tracedat *t, FILE *out)
{
	size_t nr;
	_cleanup_free_ const struct comm **comm = hash_sorted(&t->comms, NULL, &nr);
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = comm ? open_memstream(&text, &len) : NULL;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "%" PRIu64 " %s\n", comm[i]->tid, comm[i]->text);
	if (fclose(f))
		return fail(-ENOMEM, "out of memory");
	put_sized(text, len, out);
	return 0;
}

static const char *clock_text(const struct event_tracedat *t)
{
	return t->ticks ? "local [x86-tsc]" : "local [mono]";
}

/* All before the table of CPUs. */
static int put_head(const struct event_tracedat *t, FILE *out)
{
	char option[24] = "";
	int err;

	snprintf(option, sizeof(option), "%s", clock_text(t));

	fwrite("\x17\x08\x44tracing", 1, 10, out);
	put_name("6", out);
	fputc(0, out); /* little-endian */
	fputc(8, out); /* sizeof(long) */
	put_u32(PAGE_BYTES, out);
	put_name("header_page", out);
	put_sized(header_page, sizeof(header_page) - 1, out);
	put_name("header_event", out);
	put_sized(header_event, sizeof(header_event) - 1, out);
	put_u32(0, out); /* formats of ftrace's own events */
	err = put_formats(t, out);
	put_u32(0, out); /* kallsyms */
	put_u32(0, out); /* printk formats */
	if (!err)
		err = put_comms(t, out);
	put_u32(t->nr_cpus, out);
	put_name("options  ", out);
	put_u16(OPTION_TRACECLOCK, out);
	put_u32(sizeof(option), out); /* trace-cmd 3.1 reads beyond the end of one that is not a string */
	fwrite(option, 1, sizeof(option), out);
	put_u16(0, out);
	put_name("flyrecord", out);
	return err;
}

static void put_table(const struct event_tracedat *t, uint64_t head_bytes, FILE *out)
{
	const char *clock = clock_text(t);
	uint64_t bytes = head_bytes + 16ull * t->nr_cpus + 8 + strlen(clock);
	uint64_t at = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES, gap = at - bytes;

	for (unsigned int i = 0; i < t->nr_cpus; i++) {
		uint64_t size = t->cpu[i] ? t->cpu[i]->pages * PAGE_BYTES : 0;

		put_u64(at, out);
		put_u64(size, out);
		at += size;
	}
	put_sized(clock, strlen(clock), out);
	while (gap--)
		fputc(0, out);
}

/* The numbers of all pages, CPU by CPU, in their order. NULL: out of memory. */
static size_t *pages_by_cpu(const struct event_tracedat *t)
{
	size_t *list = malloc(t->nr_pages * sizeof(*list) + 1), at = 0, next[CPUS_MAX];

	for (unsigned int i = 0; i < t->nr_cpus; i++) {
		next[i] = at;
		at += t->cpu[i] ? t->cpu[i]->pages : 0;
	}
	for (size_t i = 0; list && i < t->nr_pages; i++)
		list[next[t->page_cpu[i]]++] = i;
	return list;
}

static int put_pages(const struct event_tracedat *t, FILE *out)
{
	_cleanup_free_ size_t *list = pages_by_cpu(t);
	uint8_t page[PAGE_BYTES];

	if (!list)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < t->nr_pages; i++) {
		if (fseeko(t->spool, (off_t)list[i] * PAGE_BYTES, SEEK_SET) ||
		    fread(page, PAGE_BYTES, 1, t->spool) != 1)
			return fail(-EIO, "temporary file: %s", strerror(errno));
		fwrite(page, PAGE_BYTES, 1, out);
	}
	return 0;
}

/* A loss that no page follows is an event: trace-cmd prints none of a page without events. */
static int last_loss_put(struct event_tracedat *t, unsigned int nr)
{
	struct cpu *c = t->cpu[nr];
	struct rec_lost lost = c->lost;

	lost.count = c->missed;
	c->missed = 0;
	return loss_put(t, nr, lost, c->lost_time);
}

/* The last pages. */
static int pages_end(struct event_tracedat *t)
{
	int err = 0;

	for (unsigned int i = 0; i < t->nr_cpus && !err; i++) {
		struct cpu *c = t->cpu[i];

		if (c && !c->len && c->missed)
			err = last_loss_put(t, i);
		if (c && !err && c->len)
			err = page_end(t, i);
	}
	return err;
}

int event_tracedat_finish(struct event_tracedat *t, FILE *out)
{
	_cleanup_free_ char *head = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&head, &len);
	int err = f ? pages_end(t) : fail(-ENOMEM, "out of memory");

	if (f && !err)
		err = put_head(t, f);
	if (f && fclose(f) && !err)
		err = fail(-ENOMEM, "out of memory");
	if (err)
		return err;
	fwrite(head, 1, len, out);
	put_table(t, len, out);
	return put_pages(t, out);
}
