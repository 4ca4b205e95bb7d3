// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What tracing tools print, as users paste it: tracefs's trace and trace_pipe, trace-cmd report, perf script (the forms
 * of a line: text_line.h). Of a host, the events of KVM and of the scheduler become ours (text_kvm.h); all others have
 * their name and their text. Lines of no known form are counted, and the first of them is reported.
 *
 * A time without a point is in ticks of some clock (trace_clock x86-tsc, counter), others are in seconds.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "event/losses.h"
#include "readers/text/babeltrace.h"
#include "readers/text/paste_clean.h"
#include "readers/text/tracetext.h"

enum {
	ARENA = 1 << 20, /* bytes of records in one batch */
	TEXT_BYTES = 256, /* of an event's text; the rest is cut off */
	STEPS_MIN = 4, /* times that go back that often are not taken for differences by chance */
	RECORD_BYTES = CALL_CHAIN_RECORD_MIN + CALL_CHAIN_TEXT_MAX,
};

static bool tracetext_probe(const uint8_t *head, size_t len)
{
	static const char begin[] = "# tracer: ";

	if (len >= sizeof(begin) - 1 && !memcmp(head, begin, sizeof(begin) - 1))
		return true;
	return !text_is_counted((const char *)head, len) &&
	       (text_has_event((const char *)head, len, len < READER_PROBE_BYTES) ||
		paste_has_event((const char *)head, len, &text_paste_grammar));
}

/* ---- lines ---- */

static void skip_count(struct tracetext *t, struct text_skipped *s)
{
	if (t->scanned)
		return;
	t->is_pasted |= s == &t->unknown || s == &t->other_unit;
	if (!s->nr++)
		s->first_line = t->lines.number;
}

/* Of a report of several files, the first is the host's trace, the second a guest's. */
static bool is_other_part(const struct tracetext *t)
{
	return text_parts_are_files(&t->parts) && t->parts.now != t->guest;
}

static bool slice_begins(struct text_slice s, const char *with)
{
	return s.len >= strlen(with) && !memcmp(s.at, with, strlen(with));
}

/* The vCPU that a line without a thread and a CPU is of: as its text says, or as there is only one. */
static uint16_t vcpu_guess(struct tracetext *t)
{
	const struct kernel_event *kind = text_kind_of(t->line.system, t->line.name);
	struct text_vcpus *v = &t->vcpus;
	uint16_t vcpu = RECORD_NO_VCPU;

	if (kind && text_kind_own_vcpu(kind, t->line.text, &vcpu) && vcpu != RECORD_NO_VCPU) {
		v->several |= v->any && v->first != vcpu;
		v->first = v->any ? v->first : vcpu;
		v->any = true;
		return vcpu;
	}
	v->unknown += !t->scanned && kind && kind->id == EV_kvm_exit;
	return t->scanned && v->any && !v->several ? v->first : RECORD_NO_VCPU;
}

/*
 * An event of KVM without the number of its thread. QEMU's name of a vCPU's thread stands for it. Else, a vCPU begins
 * and ends its exits on one CPU but for those in which it moves, so that each CPU counts as a thread.
 */
static void thread_guess(struct tracetext *t)
{
	static const char unknown[] = "(unknown)";
	struct text_line *l = &t->line;
	uint16_t vcpu;

	if (t->guest || l->tid || !slice_begins(l->name, "kvm_") ||
	    (l->comm.len && (strchr("<:", *l->comm.at) || slice_begins(l->comm, "swapper"))))
		return;
	vcpu = vm_threads_vcpu_of_name(l->comm.at, l->comm.len);
	if (vcpu == RECORD_NO_VCPU && !l->have_cpu)
		vcpu = vcpu_guess(t);
	if (vcpu == RECORD_NO_VCPU && !l->have_cpu)
		return;
	l->tid = vcpu == RECORD_NO_VCPU ? TRACETEXT_CPU_TID + l->cpu
					: TRACETEXT_VCPU_TID + (uint32_t)vcpu;
	if (!l->comm.len)
		l->comm = (struct text_slice){.at = unknown, .len = sizeof(unknown) - 1};
}

/* A text of babeltrace2 may begin after many other lines. */
static enum text_line_kind line_parse(struct tracetext *t, char *s, char *end)
{
	enum text_line_kind kind = text_line_parse(&t->line, s, end);

	if (kind != TEXT_UNKNOWN || t->lines.babeltrace || t->lines.paste ||
	    !babeltrace_probe(s, (size_t)(end - s)))
		return kind;
	t->lines.babeltrace = true;
	return text_line_parse(&t->line, s, babeltrace_line(s, end));
}

/* Is the line part of a record of babeltrace whose end is in a later line? It is dropped. */
static bool is_wrapped(struct tracetext *t, char *s, char *end)
{
	bool within = t->in_wrapped;

	if (t->lines.babeltrace && babeltrace_is_wrapped(s, end)) {
		skip_count(t, &t->wrapped);
		within = true;
	}
	t->in_wrapped = within && (s == end || end[-1] != '}');
	return within;
}

enum text_line_kind tracetext_line(struct tracetext *t)
{
	char *s, *end;

	if (t->ahead) {
		t->ahead = false;
		return t->kind;
	}
	while ((s = text_line_next(&t->lines, &end))) {
		s = text_parts_skip(&t->parts, s, end);
		if (is_other_part(t)) {
			skip_count(t, &t->other_part);
			continue;
		}
		if (t->scanned && !tracetext_is_kept(t, t->lines.record))
			continue;
		if (t->head.skip && t->lines.number == 1)
			continue;
		t->is_odd = !t->scanned && !t->lines.paste &&
			    (paste_is_odd(s, end) || paste_may_be_cut(s, end));
		t->kind = !t->lines.signature	     ? line_parse(t, s, end)
			  : text_skip_quote(s) < end ? TEXT_UNKNOWN
						     : TEXT_EMPTY;
		if (t->kind == TEXT_EVENT) {
			t->chain_may_follow = t->stack_kept = false;
			tracetext_time(t);
			tracetext_head_learn(t, s);
			thread_guess(t);
		}
		t->in_wrapped &= t->kind == TEXT_UNKNOWN;
		if (t->kind == TEXT_UNKNOWN && !t->unknown.nr)
			snprintf(t->unknown_line, sizeof(t->unknown_line), "%.*s", (int)(end - s),
				 s);
		if (!t->scanned)
			tracetext_seam(t, s, end);
		if (t->kind != TEXT_UNKNOWN && t->kind != TEXT_EMPTY)
			return t->kind;
		if (t->kind == TEXT_UNKNOWN && !is_wrapped(t, s, end))
			skip_count(t, &t->unknown);
	}
	return TEXT_EMPTY;
}

bool tracetext_other_unit(struct tracetext *t)
{
	if (t->line.ticks == t->ticks && t->line.timeless == t->timeless &&
	    t->is_log_time == t->log_times)
		return false;
	if (!t->other.known)
		t->other = (struct text_unit){true, t->line.ticks, t->line.timeless, t->log_times};
	skip_count(t, &t->other_unit);
	return true;
}

/* ---- names ---- */

/* Is "cycles:u" an event with modifiers (perf-list(1)), and not SYSTEM:NAME? */
static bool has_modifiers(struct text_slice name)
{
	return !array_any(name.len, i, !memchr("ukhIGHpPSDWeb", name.at[i], 13));
}

static struct text_slice name_key(const struct text_line *l)
{
	const char *begin = l->system.len ? l->system.at : l->name.at;

	return (struct text_slice){begin, (uint32_t)(l->name.at + l->name.len - begin)};
}

static const struct event_type *type_make(const struct tracetext *t, const struct text_name *n)
{
	const struct text_line *l = &t->line;
	bool sample = l->layout == TEXT_PERF && !n->is_stack &&
		      (!l->system.len || has_modifiers(l->name));
	struct text_slice name = sample ? name_key(l) : l->name;
	const char *kernel_stack = "kernel_stack";
	const struct event_type *made;
	char full[EVENT_NAME_MAX] = "", *p;
	const struct field text = {.name = "text", .fmt = "text", .doc = "", .kind = FIELD_TEXT,
				   .offset = sizeof(struct record_hdr),
				   .size = n->is_stack ? TRACETEXT_STACK_BYTES : TEXT_BYTES};
	const struct event_type type = {.name = full,
					.doc = "a line of text",
					.fields = &text,
					.nr_fields = 1,
					.size = (uint16_t)(text.offset + text.size)};

	if (n->is_stack)
		name = (struct text_slice){kernel_stack, (uint32_t)strlen(kernel_stack)};
	if (n->form)
		snprintf(full, sizeof(full), "%s", n->type->name);
	else if (!t->guest && !sample && l->system.len)
		name = name_key(l); /* SYSTEM:NAME, as of perf.data and trace.dat */
	else
		snprintf(full, sizeof(full), "%s:",
			 t->guest ? "guest"
			 : sample ? "perf"
				  : "ftrace");
	if (!n->form)
		strncat(full, name.at, name.len < 64 ? name.len : 64);
	text_sanitize(full);
	p = strchr(full, ':');
	if (!p)
		return NULL; /* the system's name is cut: it is long, or has a NUL */
	for (p++; *p; p++) /* as perf.data's: "cycles:P" */
		*p = *p == ':' || *p == ' ' || *p == ',' ? '-' : *p;
	return event_type_register(&type, &made) ? NULL : made;
}

static struct text_name *name_add(struct tracetext *t, struct text_slice key, uint64_t hash,
				  const struct read_hint *hint)
{
	struct text_name *n = &t->name[t->nr_names];

	if (t->nr_names == TRACETEXT_NAMES_MAX)
		return NULL;
	*n = (struct text_name){.key = malloc(key.len + 1u), .len = key.len, .wanted = true};
	if (!n->key)
		return NULL;
	memcpy(n->key, key.at, key.len);
	n->is_lost = slice_begins(key, "PERF_RECORD_LOST");
	n->is_stack = slice_begins(key, "<stack trace>") ||
		      slice_begins(t->line.text, "<stack trace");
	n->is_timer = slice_begins(t->line.name, "hrtimer_expire_entry");
	n->kind = t->guest ? NULL : text_kind_supported(&t->line, &t->foreign_arch);
	n->form = n->kind ? NULL : text_form_find(&t->line);
	if (n->kind)
		n->type = text_kind_type(n->kind, UINT64_MAX);
	else if (n->form)
		n->type = text_form_type(n->form, t->guest);
	if (!n->kind && !n->is_lost && (n->type || !n->form))
		n->plain = type_make(t, n);
	if (!n->form || !n->plain)
		n->type = n->kind ? n->type : n->plain;
	if (hint && hint->wants && n->type)
		n->wanted = hint->wants(n->type->name, hint->arg);
	if ((!n->type && !n->is_lost) || !hash_index_add(&t->by_name, hash, t->nr_names)) {
		free(n->key);
		return NULL;
	}
	t->nr_names++;
	return n;
}

struct text_name *tracetext_name(struct tracetext *t, const struct read_hint *hint)
{
	struct text_slice key = name_key(&t->line);
	uint64_t hash = hash_keyed_bytes(key.at, key.len);
	struct text_name *n;
	uint32_t i;

	for (uint64_t probe = 0; (i = hash_index_next(&t->by_name, hash, &probe)) != HASH_NONE;)
		if (t->name[i].len == key.len && !memcmp(t->name[i].key, key.at, key.len))
			return &t->name[i];
	n = name_add(t, key, hash, hint);
	if (!n)
		skip_count(t, &t->unknown);
	return n;
}

/* ---- events ---- */

static void text_put(const struct event_type *type, struct text_slice text, uint8_t *record)
{
	size_t room = type->size - sizeof(struct record_hdr),
	       len = text.len < room ? text.len : room - 1;

	memcpy(record + sizeof(struct record_hdr), text.at, len);
	memset(record + sizeof(struct record_hdr) + len, 0, room - len);
}

static void event_make(struct tracetext *t, struct text_name *n, struct event *ev)
{
	const struct text_line *l = &t->line;
	const struct event_type *type = n->type;
	struct record_hdr hdr = {.time = tracetext_ns(t, l->time),
				 .tid = l->tid,
				 .cpu = (uint16_t)l->cpu,
				 .vcpu = t->guest ? (uint16_t)l->cpu : RECORD_NO_VCPU,
				 .type = n->type->id};
	uint8_t *to = t->arena + t->used;
	uint64_t present;

	if (n->kind) {
		memset(to, 0, n->type->size);
		present = text_kind_fill(n->kind, &t->reasons, l->text, to, &hdr.vcpu);
		if (t->lines.open_end)
			present =
				text_certain(n->kind, &t->reasons, l->text, present, to, &hdr.vcpu);
		type = event_shape_type(&n->shapes, n->type, present);
	} else if (n->form && !t->lines.open_end &&
		   (present = text_form_fill(n->form, l->text, to)) != 0) {
		type = text_form_shape(n, t->guest, present);
	} else {
		type = n->plain;
		hdr.type = type->id;
		text_put(type,
			 n->is_stack ? text_stack_read(t) : text_sure(l->text, t->lines.open_end),
			 to);
	}
	hdr.size = type->size;
	memcpy(to, &hdr, sizeof(hdr));
	*ev = (struct event){.time_ns = hdr.time, .type = type, .data = to, .tid = hdr.tid,
			     .size = hdr.size, .cpu = hdr.cpu, .vcpu = hdr.vcpu};
	text_flags_put(&l->flags, ev->flags);
	if (t->vms)
		vm_threads_set(t->vms, to, ev);
	t->used += (hdr.size + 7u) & ~7u;
	memcpy(&t->chain_hdr, to, sizeof(hdr));
	t->chain_may_follow = l->layout == TEXT_PERF && t->chain.wanted;
}

/* The record of what is missing: a loss or a gap. */
static void hole_make(struct tracetext *t, const struct text_hole *h, struct event *ev)
{
	unsigned int id = h->is_gap ? EV_gap : EV_lost;
	struct record_hdr hdr = {.time = h->from_ns ? h->from_ns : t->reader.info.start_ns,
				 .type = (uint16_t)id,
				 .cpu = (uint16_t)h->cpu,
				 .vcpu = RECORD_NO_VCPU,
				 .size = h->is_gap ? sizeof(struct rec_gap)
						   : sizeof(struct rec_lost)};
	uint64_t until = h->until_ns > INT64_MAX ? INT64_MAX : h->until_ns;
	uint8_t *to = t->arena + t->used;
	struct rec_gap gap = {.hdr = hdr, .gap_cpu = h->cpu, .until = until};
	struct rec_lost lost = {.hdr = hdr, .count = h->count, .until = until,
				.lost_cpu = h->cpu};

	if (h->cpu == RECORD_CPU_UNKNOWN)
		lost.lost_cpu = LOSS_CPU_UNKNOWN;
	if (h->is_gap)
		memcpy(to, &gap, sizeof(gap));
	else
		memcpy(to, &lost, sizeof(lost));
	*ev = (struct event){.time_ns = hdr.time, .type = event_type_ours(id), .data = to,
			     .size = hdr.size, .cpu = hdr.cpu, .vcpu = RECORD_NO_VCPU};
	t->used += hdr.size;
}

/*
 * The next hole if it begins before this time: 1 and its event, or 0. It begins at an event, so it goes after all
 * events of that time. A guest's say nothing about the host's events.
 */
static int hole_next(struct tracetext *t, uint64_t before_ns, struct event *ev)
{
	while (t->next_hole < t->nr_holes && t->hole[t->next_hole].from_ns < before_ns) {
		const struct text_hole *h = &t->hole[t->next_hole++];

		t->reader.info.lost += h->count;
		if (t->guest)
			continue;
		hole_make(t, h, ev);
		return 1;
	}
	return 0;
}

/* The next line that becomes an event: its name, or NULL at the end. */
static struct text_name *event_next(struct tracetext *t)
{
	enum text_line_kind kind;

	while ((kind = tracetext_line(t)) != TEXT_EMPTY) {
		struct text_name *n = kind == TEXT_EVENT ? tracetext_name(t, NULL) : NULL;

		if (kind == TEXT_STACK && text_chain_next(t))
			return &t->chain;
		if (kind == TEXT_STACK) /* of an event that is not wanted, or of none */
			continue;
		if (!n || n->is_lost || tracetext_other_unit(t))
			continue;
		if (n->wanted)
			return n;
	}
	return NULL;
}

static int tracetext_next(struct reader *r, struct batch *batch)
{
	struct tracetext *t = (struct tracetext *)r;
	struct text_name *n = NULL;

	batch->nr = 0;
	t->used = 0;
	while (batch->nr < BATCH_MAX && ARENA - t->used > RECORD_BYTES && (n = event_next(t))) {
		struct event *ev = &batch->ev[batch->nr];

		if (n->is_chain) {
			text_chain_make(t, ev);
		} else if (hole_next(t, tracetext_ns(t, t->line.time), ev)) {
			t->ahead = true; /* the line's own event is next */
		} else {
			event_make(t, n, ev);
		}
		batch->nr++;
	}
	while (!n && batch->nr < BATCH_MAX && ARENA - t->used > RECORD_BYTES &&
	       hole_next(t, UINT64_MAX, &batch->ev[batch->nr]))
		batch->nr++;
	if (t->lines.err)
		return tracetext_error(t);
	if (!batch->nr)
		tracetext_report(t);
	return batch->nr > 0;
}

static int tracetext_counts(struct reader *r, uint64_t *counts)
{
	struct tracetext *t = (struct tracetext *)r;

	for (uint32_t i = 0; i < t->nr_names; i++)
		if (t->name[i].type)
			counts[t->name[i].type->index] += t->name[i].nr;
	if (t->chain.type)
		counts[t->chain.type->index] += t->chain.nr;
	for (size_t i = 0; i < t->nr_holes && !t->guest; i++)
		counts[event_type_ours(t->hole[i].is_gap ? EV_gap : EV_lost)->index]++;
	return 0;
}

/* ---- open and close ---- */

static void tracetext_close(struct reader *r)
{
	struct tracetext *t = (struct tracetext *)r;

	for (uint32_t i = 0; i < t->nr_names; i++)
		free(t->name[i].key);
	hash_index_deinit(&t->by_name);
	text_lines_close(&t->lines);
	vm_threads_free(t->vms);
	free(t->hole);
	free(t->kept);
	free(t->arena);
	trace_info_deinit(&r->info);
	free(t);
}

int tracetext_begin(struct tracetext *t, const char *path, const struct read_hint *hint,
		    bool pasted)
{
	int err = t->lines.source ? 0 : text_lines_open(&t->lines, path, hint ? hint->files : NULL);

	t->lines.open_from = t->tail.open_from;
	if (!err && pasted)
		err = paste_begin(&t->lines, hint && hint->guest ? &text_paste_guest_grammar
								 : &text_paste_grammar) ?:
		      paste_check(&t->lines, &t->reader.info);
	if (err)
		return err;
	t->guest = hint && hint->guest;
	t->by_name = HASH_INDEX(TRACETEXT_NAMES_MAX);
	t->arena = malloc(ARENA);
	if (!t->arena)
		return fail(-ENOMEM, "%s: out of memory", path);
	text_chain_begin(t, hint);
	if (!t->guest && !(t->vms = vm_threads_new()))
		return -ENOMEM;
	return tracetext_scan(t, hint);
}

int tracetext_new(const char *path, struct tracetext **ret)
{
	struct tracetext *t = calloc(1, sizeof(*t));
	int err = t ? trace_info_init(&t->reader.info, path, "ftrace text")
		    : fail(-ENOMEM, "%s: out of memory", path);

	if (err) {
		free(t);
		return err;
	}
	t->reader.ops = &tracetext_reader;
	t->lines.fd = -1;
	*ret = t;
	return 0;
}

static int tracetext_try(const char *path, const struct read_hint *hint, bool pasted,
			 bool skip_first, uint64_t open_from, struct text_unit unit,
			 struct tracetext **ret)
{
	struct tracetext *t = NULL;
	int err = tracetext_new(path, &t);

	if (err)
		return err;
	t->unit = unit;
	t->head.skip = skip_first;
	t->tail.open_from = open_from;
	err = tracetext_begin(t, path, hint, pasted);
	if (err)
		tracetext_close(&t->reader);
	else
		*ret = t;
	return err;
}

/*
 * Are the times those from line to line (perf script --deltatime)? Such times go back as often as forth, and the
 * smallest is small next to the largest; those of a clock since boot that were sorted by something else go back as
 * often, but are alike. Times that count from the first event on do not go back.
 */
static bool has_differences(const struct tracetext *t)
{
	const struct text_steps *s = &t->steps;

	if (t->timeless || t->ticks || (s->first && s->nr < STEPS_MIN))
		return false;
	return s->first ? s->back * 4 > s->nr && s->min < s->max / 2 : s->back * 8 > s->nr;
}

static int tracetext_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	struct tracetext *t;
	struct text_unit unit = {0};
	uint64_t open_from = 0;
	bool skip = false;
	int err = tracetext_try(path, hint, false, skip, 0, unit, &t);
	/* babeltrace's broken lines are skipped, and counted */
	bool pasted = !err && t->is_pasted && !t->lines.babeltrace;

	if (pasted) {
		tracetext_close(&t->reader);
		err = tracetext_try(path, hint, true, skip, 0, unit, &t);
	}
	if (!err && t->head.is_cut) {
		skip = true;
		tracetext_close(&t->reader);
		err = tracetext_try(path, hint, pasted, skip, open_from, unit, &t);
	}
	if (!err && t->tail.is_cut) {
		pasted = true;
		open_from = t->tail.line;
		tracetext_close(&t->reader);
		err = tracetext_try(path, hint, pasted, skip, open_from, unit, &t);
	}
	if (!err && t->other_unit.nr > t->reader.info.nr_events) { /* the first line is the odd one */
		unit = t->other;
		tracetext_close(&t->reader);
		err = tracetext_try(path, hint, pasted, skip, open_from, unit, &t);
	}
	if (!err && has_differences(t)) {
		unit = (struct text_unit){.known = true, .timeless = true, .differences = true};
		tracetext_close(&t->reader);
		err = tracetext_try(path, hint, pasted, skip, open_from, unit, &t);
	}
	if (!err && (err = tracetext_check(t)))
		tracetext_close(&t->reader);
	if (!err)
		*ret = &t->reader;
	return err;
}

const struct reader_ops tracetext_reader = {
	.name = "trace text",
	.summary = "the text of tracefs, trace-cmd report and perf script",
	.text = true,
	.probe = tracetext_probe,
	.open = tracetext_open,
	.next = tracetext_next,
	.counts = tracetext_counts,
	.close = tracetext_close,
};
