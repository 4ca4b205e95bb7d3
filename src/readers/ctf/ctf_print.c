// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An event of a CTF trace as a line of text, as trace-cmd report -R prints it: the reader of texts knows what the names
 * mean, over all kernels.
 *
 *	CPU 0/KVM-77 (     76) [001] 46931.123456789: kvm_exit: exit_reason=0x30 guest_rip=0xffff8102 isa=0x1
 *
 * Its thread is what the contexts say (lttng add-context -k -t tid -t pid -t procname), or the fields of a sample that
 * perf data convert writes before those of the tracepoint. LTTng calls the scheduler's numbers of threads tid.
 */
#include <inttypes.h>

#include "readers/ctf/ctf_print.h"

enum { ARRAY_BYTES_MAX = 64 };

static void array_print(struct source_line *l, const struct ctf_value *v)
{
	source_line_word(l, "ARRAY[");
	for (uint32_t i = 0; i < v->len && i < ARRAY_BYTES_MAX; i++)
		source_line_print(l, "%s%02x", i ? ", " : "", v->bytes[i]);
	source_line_word(l, "]");
}

static void float_print(struct source_line *l, const struct ctf_value *v)
{
	uint32_t bits = (uint32_t)v->number;
	double d;
	float f;

	memcpy(&d, &v->number, sizeof(d));
	memcpy(&f, &bits, sizeof(f));
	source_line_print(l, "%g", v->type->bits == 32 ? (double)f : d);
}

static void ctf_value_print(struct source_line *l, const struct ctf_event_class *e,
			    const struct ctf_value *v)
{
	size_t len = strlen(v->name);
	bool is_tid = e->is_sched && len >= 3 && !strcmp(v->name + len - 3, "tid");

	if (is_tid)
		source_line_print(l, " %.*spid=", (int)(len - 3), v->name);
	else
		source_line_print(l, " %s=", v->name);
	if (v->type->kind == CTF_FLOAT)
		float_print(l, v);
	else if (!v->bytes)
		source_line_number(l, v->number, v->type->is_signed, e->is_ours || v->type->is_hex);
	else if (v->type->kind == CTF_STRING || v->type->is_text)
		source_line_text(l, v->bytes, v->len, SIZE_MAX);
	else
		array_print(l, v);
}

static const struct ctf_value *context(const struct ctf_stream *s, const char *name,
				       const char *other, const char *third)
{
	const struct ctf_value *v = ctf_value_find(s, s->nr_head, name);

	v = v ? v : ctf_value_find(s, s->nr_head, other);
	return v ? v : ctf_value_find(s, s->nr_head, third);
}

static bool is_of_sample(const struct ctf_stream *s, const struct ctf_value *v)
{
	return s->event->is_perf &&
	       (!strncmp(v->name, "perf_", 5) || !strncmp(v->name, "common_", 7));
}

/* perf_tid is -1 once the thread has exited, and a number in the namespace of perf: the tracepoint's own is neither. */
static void thread_print(struct source_line *l, const struct ctf_stream *s)
{
	bool perf = s->event->is_perf;
	const struct ctf_value *tid = perf ? ctf_value_find(s, s->nr, "common_pid")
					   : context(s, "tid", "vtid", "tid"),
			       *pid = perf ? ctf_value_find(s, s->nr, "perf_pid")
					   : context(s, "pid", "vpid", "pid"),
			       *comm = context(s, "procname", "comm", "comm");

	if (comm && comm->bytes && comm->len && *comm->bytes)
		source_line_text(l, comm->bytes, comm->len, 15);
	else if (tid)
		source_line_word(l, "<...>");
	if (tid)
		source_line_print(l, "-%u", (uint32_t)tid->number);
	if (tid && pid && (int32_t)pid->number > 0)
		source_line_print(l, " (%7u)", (uint32_t)pid->number);
}

/* What text_is_sampled() needs. */
static void sample_print(struct source_line *l, const struct ctf_stream *s)
{
	const struct ctf_value *v =
		s->event->is_perf ? ctf_value_find(s, s->nr, "perf_period") : NULL;

	if (v && v->number != 1)
		source_line_print(l, " perf_period=%" PRIu64, v->number);
}

void ctf_event_print(struct source_line *l, const struct ctf_stream *s)
{
	const struct ctf_value *value = context(s, "cpu_id", "cpu", "cpu");
	uint32_t cpu = value ? (uint32_t)value->number % 100000 : s->cpu;

	thread_print(l, s);
	if (cpu != RECORD_CPU_UNKNOWN)
		source_line_print(l, " [%03u]", cpu);
	source_line_print(l, " %" PRIu64 ".%09" PRIu64 ": %s%s%s:", s->time_ns / 1000000000,
			  s->time_ns % 1000000000, s->event->system, *s->event->system ? ":" : "",
			  s->event->name);
	for (unsigned int i = s->nr_head; i < s->nr; i++)
		if (!is_of_sample(s, &s->value[i]))
			ctf_value_print(l, s->event, &s->value[i]);
	sample_print(l, s);
	source_line_end(l);
}

void ctf_lost_print(struct source_line *l, const struct ctf_stream *s, uint64_t until_ns)
{
	if (s->lost)
		source_line_lost(l, s->cpu, s->lost, s->lost_from_ns, until_ns);
	if (s->lost_packets)
		source_line_lost(l, s->cpu, 0, s->lost_from_ns, until_ns);
}
