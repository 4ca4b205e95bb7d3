// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `cat /sys/kernel/tracing/trace` prints: the way out of a guest that has nothing but a shell.
 *
 *            TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
 *    qemu-system-x86-143  [000] d..1.  19693194614: kvm_entry: vcpu 0, rip 0xfff0
 *
 * A timestamp without a point is in TSC ticks (trace_clock x86-tsc), else it is in seconds. Of a host, the three events
 * that the clock and the exits need become ours; all others have only their name and their text.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/exit_reason.h"
#include "readers/ftrace/ftracetext.h"
#include "readers/ftrace/vm_threads.h"

enum {
	LINE_BYTES = 8192,
	TEXT_BYTES = 256, /* of an event's text; the rest is cut off */
	STACK_BYTES = 2048, /* of a backtrace, as names */
	NAMES_MAX = 4096,
	THREADS_NAMED_MAX = 1 << 16,
	RECORD_BYTES = sizeof(struct record_hdr) + STACK_BYTES,
	REASONS = 0x500, /* exit reasons are looked for up to here */
};

struct line {
	unsigned int tid, cpu;
	unsigned int tgid; /* 0: not printed */
	uint64_t stamp;
	bool ticks;
	const char *name;
	char *text;
	char *comm; /* "": unknown */
};

struct ftracetext {
	struct reader reader;
	FILE *file;
	bool guest;
	uint64_t strange; /* lines that are none of the form above */
	const struct event_type *type[NAMES_MAX];
	unsigned int nr_types;
	uint8_t *records;
	char line[LINE_BYTES], stack[STACK_BYTES];
	bool ahead; /* the next line is there already */
	struct vm_threads *vms; /* NULL: of a guest */
};

static bool text_probe(const uint8_t *head, size_t len)
{
	static const char begin[] = "# tracer: ";

	return len >= sizeof(begin) - 1 && !memcmp(head, begin, sizeof(begin) - 1);
}

/* "123456" or "12.345678" */
static bool stamp_parse(const char *s, struct line *l)
{
	char *end;

	l->stamp = strtoull(s, &end, 10);
	l->ticks = *end == ':';
	if (l->ticks)
		return true;
	if (*end != '.')
		return false;
	uint64_t unit = 1000000000;

	l->stamp *= unit;
	for (end++; isdigit((unsigned char)*end) && unit; end++)
		l->stamp += (uint64_t)(*end - '0') * (unit /= 10);
	return *end == ':';
}

/* The CPU is in brackets after a task's name, which may contain brackets itself. */
static char *cpu_find(char *s, struct line *l)
{
	for (char *p = strchr(s, '['); p; p = strchr(p + 1, '[')) {
		size_t digits = strspn(p + 1, "0123456789");

		if (digits >= 3 && digits < 6 && p[1 + digits] == ']' && p > s) {
			l->cpu = (unsigned int)strtoul(p + 1, NULL, 10);
			return p;
		}
	}
	return NULL;
}

/* "   cat-123  ", or with the option record-tgid "   cat-123  (    120) ", where the group may be dashes. */
static void task_parse(char *s, struct line *l)
{
	size_t len = strlen(s);
	char *dash;

	while (len && s[len - 1] == ' ')
		s[--len] = '\0';
	l->tgid = 0;
	if (len && s[len - 1] == ')' && strrchr(s, '(')) {
		l->tgid = (unsigned int)strtoul(strrchr(s, '(') + 1, NULL, 10);
		*strrchr(s, '(') = '\0';
	}
	dash = strrchr(s, '-');
	l->tid = dash ? (unsigned int)strtoul(dash + 1, NULL, 10) : 0;
	if (dash)
		*dash = '\0';
	l->comm = dash ? s + strspn(s, " ") : s + strlen(s);
	if (!strcmp(l->comm, "<...>"))
		l->comm += 5; /* the kernel has forgotten it */
}

static bool line_parse(char *s, struct line *l)
{
	char *cpu = cpu_find(s, l), *p;

	if (!cpu)
		return false;
	p = strchr(cpu, ']') + 1;
	*cpu = '\0';
	task_parse(s, l);
	p += strspn(p, " ");
	p += strcspn(p, " "); /* the flags */
	p += strspn(p, " ");
	if (!isdigit((unsigned char)*p) || !stamp_parse(p, l))
		return false;
	p = strchr(p, ':') + 1;
	p += strspn(p, " ");
	l->name = p;
	if (!strncmp(p, "<stack trace>", 13)) {
		p[6] = '\0';
		return true;
	}
	p = strchr(p, ':');
	if (!p)
		return false;
	*p++ = '\0';
	l->text = p + strspn(p, " ");
	l->text[strcspn(l->text, "\n")] = '\0';
	for (const char *c = l->name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	return *l->name && strlen(l->name) < 64;
}

/* ---- events ---- */

static const struct event_type *type_get(struct ftracetext *t, const char *name)
{
	char full[EVENT_NAME_MAX];
	bool stack = !strcmp(name, "kernel_stack");
	const struct field text = {.name = "text", .fmt = "text", .doc = "", .kind = FIELD_TEXT,
				   .offset = sizeof(struct record_hdr),
				   .size = stack ? STACK_BYTES : TEXT_BYTES};

	snprintf(full, sizeof(full), "%s:%s", t->guest ? "guest" : "ftrace", name);
	for (unsigned int i = 0; i < t->nr_types; i++)
		if (!strcmp(t->type[i]->name, full))
			return t->type[i];
	const struct event_type type = {.name = full,
					.doc = "a line of the text of tracefs",
					.fields = &text,
					.nr_fields = 1,
					.size = (uint16_t)(text.offset + text.size)};

	if (t->nr_types == NAMES_MAX || event_type_register(&type, &t->type[t->nr_types]))
		return NULL;
	return t->type[t->nr_types++];
}

/* The number after a key; `fallback` if the key is missing. */
static uint64_t number_of(const char *text, const char *key, uint64_t fallback)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 0) : fallback;
}

static void reason_take(const char *text, struct rec_kvm_exit *rec)
{
	const char *p = strstr(text, "reason ");
	char name[64] = "";

	if (p)
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p + 7, " "), p + 7);
	rec->isa = 0;
	rec->reason = UINT32_MAX;
	for (uint32_t isa = EXIT_ISA_VMX; isa <= EXIT_ISA_SVM; isa++)
		for (uint32_t r = 0; r < REASONS; r++) {
			const char *known = exit_reason_name(r, isa);

			if (known && !strcmp(known, name)) {
				rec->isa = isa;
				rec->reason = r;
				return;
			}
		}
}

/* Ours: their type, else NULL. */
static const struct event_type *ours_make(const struct line *l, void *record, uint16_t *vcpu)
{
	*vcpu = (uint16_t)number_of(l->text, "vcpu ", RECORD_NO_VCPU);
	if (!strcmp(l->name, "kvm_entry")) {
		((struct rec_kvm_entry *)record)->rip = number_of(l->text, "rip ", 0);
		return event_type_ours(EV_kvm_entry);
	}
	if (!strcmp(l->name, "kvm_exit")) {
		((struct rec_kvm_exit *)record)->rip = number_of(l->text, "rip ", 0);
		reason_take(l->text, record);
		return event_type_ours(EV_kvm_exit);
	}
	if (!strcmp(l->name, "kvm_write_tsc_offset")) {
		struct rec_kvm_write_tsc_offset *rec = record;

		rec->target = (uint32_t)number_of(l->text, "vcpu=", RECORD_NO_VCPU);
		rec->old = (int64_t)number_of(l->text, "prev=", 0);
		rec->new = (int64_t)number_of(l->text, "next=", 0);
		return event_type_ours(EV_kvm_write_tsc_offset);
	}
	return NULL;
}

static bool event_make(struct ftracetext *t, const struct line *l, uint8_t *data, struct event *ev)
{
	struct record_hdr hdr = {.time = l->stamp, .tid = l->tid, .cpu = (uint16_t)l->cpu};
	const struct event_type *type;

	memset(data, 0, RECORD_BYTES);
	type = t->guest ? NULL : ours_make(l, data, &hdr.vcpu);
	if (!type) {
		hdr.vcpu = t->guest ? hdr.cpu : RECORD_NO_VCPU;
		type = type_get(t, l->name);
		if (type)
			snprintf((char *)data + sizeof(hdr), type->size - sizeof(hdr), "%s",
				 l->text);
	}
	if (!type)
		return false;
	hdr.size = type->size;
	memcpy(data, &hdr, sizeof(hdr));
	*ev = (struct event){.time_ns = l->stamp, .type = type, .data = data, .tid = hdr.tid,
			     .size = hdr.size, .cpu = hdr.cpu, .vcpu = hdr.vcpu};
	if (t->vms)
		vm_threads_set(t->vms, data, ev);
	return true;
}

/*
 * A backtrace is an event "<stack trace>" and a line " => FUNCTION" for each frame. It becomes "kernel_stack" with the
 * functions in one text, each ended by ';'. What does not fit is skipped at the outer end.
 */
static void stack_take(struct ftracetext *t, struct line *l)
{
	static const char name[] = "kernel_stack";
	char *to = t->stack, *end = t->stack + STACK_BYTES - 2;

	if (strcmp(l->name, "<stack"))
		return;
	l->name = name;
	l->text = t->stack;
	while ((t->ahead = fgets(t->line, sizeof(t->line), t->file) != NULL) &&
	       !strncmp(t->line, " => ", 4)) {
		size_t len = strcspn(t->line + 4, " \n;");

		if (to + len < end && len) {
			to = mempcpy(to, t->line + 4, len);
			*to++ = ';';
		}
	}
	*to = '\0';
}

/* 1 and the next event line, or 0. */
static int line_next(struct ftracetext *t, struct line *l)
{
	while (t->ahead || fgets(t->line, sizeof(t->line), t->file)) {
		t->ahead = false;

		char *lost = strstr(t->line, "[LOST ");

		if (lost && !strncmp(t->line, "CPU:", 4))
			t->reader.info.lost += strtoull(lost + 6, NULL, 10);
		else if (t->line[0] == '#' || t->line[0] == '\n')
			continue;
		else if (line_parse(t->line, l))
			return stack_take(t, l), 1;
		else
			t->strange++;
	}
	return 0;
}

static int text_next(struct reader *r, struct batch *batch)
{
	struct ftracetext *t = (struct ftracetext *)r;
	struct line l;

	batch->nr = 0;
	while (batch->nr < BATCH_MAX && line_next(t, &l)) {
		uint8_t *to = t->records + batch->nr * RECORD_BYTES;

		if (!event_make(t, &l, to, &batch->ev[batch->nr]))
			continue;
		batch->nr++;
		r->info.nr_events++;
		r->info.late += l.stamp < r->info.end_ns;
		r->info.end_ns = l.stamp > r->info.end_ns ? l.stamp : r->info.end_ns;
	}
	if (!batch->nr && r->info.late)
		trace_info_caveat(&r->info, "%s: %" PRIu64 " events are out of order",
				  r->info.file, r->info.late);
	if (!batch->nr && t->strange)
		trace_info_caveat(&r->info, "%s: %" PRIu64 " unrecognized lines were skipped",
				  r->info.file, t->strange);
	return batch->nr > 0;
}

static void text_close(struct reader *r)
{
	struct ftracetext *t = (struct ftracetext *)r;

	if (t->file)
		fclose(t->file);
	free(t->records);
	vm_threads_free(t->vms);
	trace_info_deinit(&r->info);
	free(t);
}

/* What a thread is called in the newest of its lines. */
static void name_take(json_t *threads, const struct line *l)
{
	char tid[16], comm[64];

	if (!l->tid || !*l->comm || json_object_size(threads) >= THREADS_NAMED_MAX)
		return;
	snprintf(tid, sizeof(tid), "%u", l->tid);
	snprintf(comm, sizeof(comm), "%s", l->comm);
	text_neutralise(comm);
	if (strcmp(comm, json_string_value(json_object_get(threads, tid)) ?: ""))
		json_object_set_new(threads, tid, json_string(comm));
}

/* A line of ours that names a vCPU: its thread ran it. */
static void vcpu_take(struct ftracetext *t, const struct line *l)
{
	bool runs = t->vms && (!strcmp(l->name, "kvm_entry") || !strcmp(l->name, "kvm_exit"));

	if (runs)
		vm_threads_seen(t->vms, (uint16_t)number_of(l->text, "vcpu ", RECORD_NO_VCPU),
				l->tid, l->tgid);
}

/* The first event shows which clock it is; all events provide the threads' names, and which VM each belongs to. */
static int start_take(struct ftracetext *t)
{
	struct trace_info *info = &t->reader.info;
	struct line first = {0}, l;
	json_t *threads;

	if (!t->guest && !(t->vms = vm_threads_new()))
		return -ENOMEM;
	threads = json_object();
	while (line_next(t, &l)) {
		if (!first.name) {
			first = l;
			info->start_ns = info->end_ns = l.stamp;
		}
		name_take(threads, &l);
		vcpu_take(t, &l);
	}
	if (t->vms)
		vm_threads_settle(t->vms, info);
	json_object_set_new(info->meta, "threads", threads);
	json_object_set_new(info->meta, "clock",
			    json_string(t->guest ? first.ticks ? "guest-tsc" : "guest-ns"
				        : first.ticks ? "tsc" : "ns"));
	if (!t->guest && first.ticks) {
		json_object_set_new(info->meta, "tsc_map",
				    json_pack("{s:f, s:I}", "ns_per_tick", 1.0, "ns_offset",
					      (json_int_t)0));
		trace_info_caveat(
			info, "%s: timestamps are TSC ticks, not ns: the TSC frequency is unknown",
			info->file);
	}
	rewind(t->file);
	t->ahead = false;
	t->strange = 0;
	info->lost = 0;
	return 0;
}

static int text_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct ftracetext *t = calloc(1, sizeof(*t));
	int err = t ? trace_info_init(&t->reader.info, path, "ftrace text")
		    : fail(-ENOMEM, "%s: out of memory", path);

	if (err) {
		free(t);
		return err;
	}
	t->reader.ops = &ftracetext_reader;
	t->guest = hint && hint->guest;
	t->file = fopen(path, "re");
	t->records = calloc(BATCH_MAX, RECORD_BYTES);
	if (!t->file || !t->records) {
		err = t->file ? fail(-ENOMEM, "%s: out of memory", path)
			      : fail(-errno, "%s: %s", path, strerror(errno));
		text_close(&t->reader);
		return err;
	}
	err = start_take(t);
	if (err)
		text_close(&t->reader);
	else
		*ret = &t->reader;
	return err;
}

const struct reader_ops ftracetext_reader = {
	.name = "ftrace text",
	.summary = "the text of tracefs: cat /sys/kernel/tracing/trace",
	.probe = text_probe,
	.open = text_open,
	.next = text_next,
	.close = text_close,
};
