// SPDX-License-Identifier: GPL-2.0-or-later
/* guest threads, virtio, leaks: what an OSv guest's own memory tells of it, through QEMU's gdb stub. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"
#include "fetch/osv_guest.h"
#include "output/samples/samples_output.h"

/* Names are found when the guest runs again; without DWARF there are none. */
static struct osv_names *names_open(const struct osv_guest_options *opt,
				    const struct osv_modules *modules)
{
	struct osv_names *names = NULL;
	const struct osv_files files = osv_files_of(opt);

	return osv_names_open(&files, modules, &names) ? NULL : names;
}

static json_t *lost_json(const struct osv_pause *p)
{
	json_t *caveats = json_array();

	guest_lost_caveats(p, caveats);
	return caveats;
}

json_t *guest_address_json(uint64_t address)
{
	return json_sprintf("0x%" PRIx64, address);
}

int guest_pause_print(const struct osv_pause *p)
{
	json_auto_t *lost = lost_json(p);
	char text[160];

	for (size_t i = 0; i < json_array_size(lost); i++)
		command_note("%s", json_string_value(json_array_get(lost, i)));

	if (p->dump)
		return EXIT_FINE;
	if (p->live)
		snprintf(text, sizeof(text),
			 "the guest kept running: the data is not a consistent snapshot");
	else
		guest_pause_text(p, text, sizeof(text));
	command_note("%s", text);
	return EXIT_FINE;
}

static bool no_words(int argc, char **argv)
{
	if (argc)
		command_usage("unexpected argument '%s'", argv[0]);
	return !argc;
}

/* ---- threads ---- */

/* Every thread that waits has just called the scheduler: its caller is of interest. */
static bool is_scheduler(const struct frame *f)
{
	static const char *const files[] = {"arch-switch.hh", "sched.cc", "sched.hh",
					    "sched.S",	      "mutex.hh", "mutex.cc",
					    "mutex.c",	      "mutex.h",  "psci.cc"};
	const char *base = f->file ? strrchr(f->file, '/') : NULL;

	base = base ? base + 1 : f->file;
	if (!strcmp(f->name, "sched::thread::join()"))
		return false;
	for (size_t i = 0; base && i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(base, files[i]))
			return true;
	return false;
}

/* "??" where nothing is known of it, or of a frame before the first one that counts. */
static void location_text(struct osv_names *names, const struct osv_thread *t, char *ret,
			  size_t size)
{
	struct frame f;

	snprintf(ret, size, "??");
	for (unsigned int i = 0; names && i < t->nr_frames; i++) {
		if (!osv_names_find(names, t->frame[i], OSV_NAME_FRAME, &f))
			return;
		if (f.file)
			snprintf(ret, size, "%s at %s:%d", f.name, f.file, f.line);
		else
			snprintf(ret, size, "%s", f.name);
		if (!is_scheduler(&f))
			return;
	}
}

static json_t *stack_json(struct osv_names *names, const struct osv_thread *t)
{
	json_t *frames = json_array();
	struct frame f[FRAME_INLINES_MAX];

	for (unsigned int i = 0; i < t->nr_frames; i++) {
		unsigned int nr = names ? osv_names_frames(names, t->frame[i], f) : 0;

		if (!nr)
			f[nr++] = (struct frame){0};
		for (unsigned int j = 0; j < nr; j++) {
			json_t *o = json_pack("{s:o,s:s?,s:s?,s:b}", "address",
					      guest_address_json(t->frame[i]), "name", f[j].name,
					      "file", f[j].file, "inlined", j + 1 < nr);

			json_object_set_new(o, "line",
					    f[j].line ? json_integer(f[j].line) : json_null());
			json_array_append_new(frames, o);
		}
	}
	return json_pack("{s:s,s:o}", "state", osv_stack_state_name(t->stack), "frames", frames);
}

static json_t *timers_json(const struct osv_thread *t)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < t->nr_timers; i++)
		json_array_append_new(list, json_pack("{s:I,s:b}", "time_ns",
						      (json_int_t)t->timer[i].time_ns, "expired",
						      t->timer[i].expired));
	return list;
}

static json_t *thread_json(struct osv_names *names, const struct osv_thread *t)
{
	char location[512];
	json_t *row, *frames = json_array();

	for (unsigned int i = 0; i < t->nr_frames; i++)
		json_array_append_new(frames, guest_address_json(t->frame[i]));
	row = json_pack("{s:i,s:o,s:o,s:s,s:o,s:I}", "id", (int)t->id, "address",
			guest_address_json(t->address), "name", text_json(t->name), "status",
			t->status, "vruntime",
			isfinite(t->vruntime) ? json_real((double)t->vruntime) : json_null(),
			"total_cpu_time_ns", (json_int_t)t->cpu_time_ns);
	json_object_set_new(row, "cpu", t->cpu < 0 ? json_null() : json_integer(t->acpi_id));
	json_object_set_new(row, "cpu_id", t->cpu < 0 ? json_null() : json_integer(t->cpu));
	json_object_set_new(row, "vcpu", t->vcpu < 0 ? json_null() : json_integer(t->vcpu));
	if (guest_given.timers)
		json_object_set_new(row, "timers", timers_json(t));
	if (t->more_timers)
		json_object_set_new(row, "timers_omitted", json_integer(t->more_timers));
	if (guest_given.no_location) {
		json_decref(frames);
		return row;
	}
	location_text(names, t, location, sizeof(location));
	json_object_set_new(row, "location", json_string(location));
	json_object_set_new(row, "frames", frames);
	if (guest_given.stacks)
		json_object_set_new(row, "stack", stack_json(names, t));
	return row;
}

static void stack_frame_text(const struct frame *f, uint64_t address, bool inlined)
{
	if (!f)
		printf("     0x%" PRIx64 "\n", address);
	else if (f->file)
		printf("     %s%s at %s:%d\n", f->name, inlined ? " (inlined)" : "", f->file,
		       f->line);
	else
		printf("     %s%s\n", f->name, inlined ? " (inlined)" : "");
}

static void stack_text(struct osv_names *names, const struct osv_thread *t)
{
	struct frame f[FRAME_INLINES_MAX];

	for (unsigned int i = 0; i < t->nr_frames; i++) {
		unsigned int nr = names ? osv_names_frames(names, t->frame[i], f) : 0;

		if (!nr)
			stack_frame_text(NULL, t->frame[i], false);
		for (unsigned int j = 0; j < nr; j++)
			stack_frame_text(&f[j], t->frame[i], j + 1 < nr);
	}
	if (t->stack != OSV_STACK_COMPLETE)
		printf("     (stack %s)\n", osv_stack_state_name(t->stack));
}

/* As OSv's own command; an expired one has an asterisk. */
static void timers_text(const struct osv_thread *t)
{
	if (!t->nr_timers)
		return;
	printf("    timers:");
	for (unsigned int i = 0; i < t->nr_timers; i++)
		printf(" %11.9f%s", (double)t->timer[i].time_ns / 1e9,
		       t->timer[i].expired ? "*" : "");
	if (t->more_timers)
		printf(" and %u more", t->more_timers);
	putchar('\n');
}

static void thread_text(struct osv_names *names, const struct osv_thread *t)
{
	char cpu[16] = "?", location[512] = " ";

	if (t->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%d", t->acpi_id);
	if (guest_given.no_location)
		location[0] = '\0';
	else
		location_text(names, t, location + 1, sizeof(location) - 1);
	printf("%4u (0x%" PRIx64 ") %-15s cpu%s %-10s %12g %15" PRId64 "%s\n", t->id, t->address,
	       t->name, cpu, t->status, (double)t->vruntime, t->cpu_time_ns, location);
	if (guest_given.timers)
		timers_text(t);
	if (guest_given.stacks)
		stack_text(names, t);
}

/* Keeps the thread of --thread, by its number or the address of its object. */
static int thread_choose(struct osv_thread *t, unsigned int *nr)
{
	unsigned long long wanted;
	char *end;

	if (!guest_given.thread)
		return 0;
	wanted = strtoull(guest_given.thread, &end, 0);
	for (unsigned int i = 0; i < *nr; i++)
		if (t[i].id == wanted || t[i].address == wanted) {
			t[0] = t[i];
			*nr = 1;
			return 0;
		}
	return fail(-ENOENT, "the guest has no thread %s (%u others)", guest_given.thread, *nr);
}

/* The numbers that a thread may have. */
static bool thread_given(void)
{
	const char *text = guest_given.thread;
	char *end;

	if (!text)
		return true;
	strtoull(text, &end, 0);
	if (*text >= '0' && *text <= '9' && !*end)
		return true;
	command_usage("invalid thread '%s' (expected a number, or the address of a thread)", text);
	return false;
}

/* "abort" and "abort(char const*, ...)" */
static bool is_abort(const struct frame *f)
{
	return f->name && !strncmp(f->name, "abort", 5) && (!f->name[5] || f->name[5] == '(');
}

/* "vCPU 1 has aborted in thread 12 (name), called by f() at file.cc:12", or "" if this thread has not. */
static void abort_text(struct osv_names *names, const struct osv_thread *t, char *ret, size_t size)
{
	struct frame f;
	bool aborted = false;

	*ret = '\0';
	for (unsigned int i = 0; names && t->vcpu >= 0 && i < t->nr_frames; i++) {
		bool known = osv_names_find(names, t->frame[i], OSV_NAME_FRAME, &f);

		if (known && is_abort(&f)) {
			aborted = true;
			continue;
		}
		if (!aborted)
			continue;
		snprintf(ret, size, "vCPU %d has aborted in thread %u (%s), called by %s%s%s",
			 t->vcpu, t->id, t->name, known ? f.name : "an unknown function",
			 known && f.file ? " at " : "", known && f.file ? f.file : "");
		if (known && f.file)
			snprintf(ret + strlen(ret), size - strlen(ret), ":%d", f.line);
		return;
	}
}

static void aborts_add(struct osv_names *names, const struct osv_thread *t, unsigned int nr,
		       json_t *list)
{
	char text[600];

	for (unsigned int i = 0; i < nr; i++) {
		abort_text(names, &t[i], text, sizeof(text));
		if (*text)
			json_array_append_new(list, text_json(text));
	}
}

static int threads_print(struct osv_names *names, const struct osv_thread *t, unsigned int nr,
			 const struct osv_pause *pause)
{
	json_auto_t *aborted = json_array();
	json_t *rows, *caveats;

	aborts_add(names, t, nr, aborted);
	if (output_is("json")) {
		rows = json_array();
		caveats = lost_json(pause);
		json_array_extend(caveats, aborted);
		for (unsigned int i = 0; i < nr; i++)
			json_array_append_new(rows, thread_json(names, &t[i]));
		return guest_json_print("threads", "rows", rows, caveats);
	}
	printf("  id  address             name            cpu  status         vruntime  "
	       "total_cpu_time location\n");
	for (unsigned int i = 0; i < nr; i++)
		thread_text(names, &t[i]);
	printf("Number of threads: %u\n", nr);
	for (size_t i = 0; i < json_array_size(aborted); i++)
		printf("%s\n", json_string_value(json_array_get(aborted, i)));
	return guest_pause_print(pause);
}

int guest_threads(int argc, char **argv)
{
	struct osv_guest_options opt;
	struct osv_modules modules;
	struct osv_thread *t = NULL;
	struct osv_names *names;
	unsigned int nr = 0;
	struct osv_pause pause;
	int status;

	if (!no_words(argc, argv) || !thread_given())
		return EXIT_USAGE;
	if (guest_memory_options(&opt) || osv_threads(&opt, &t, &nr, &modules, &pause))
		return command_failed();
	names = names_open(&opt, &modules);
	status = thread_choose(t, &nr) ? osv_pause_fail(&pause, -ENOENT),
	command_failed()	       : threads_print(names, t, nr, &pause);
	osv_names_close(names);
	free(modules.module);
	free(t);
	return status;
}

/* ---- virtio ---- */

static const char virtio_caveat[] =
	"avail_event and used_event only change with VIRTIO_F_EVENT_IDX, while their side wants "
	"notifications; a receive queue's buffers normally stay at the device";

static json_t *queue_json(const struct osv_queue *q)
{
	return json_pack("{s:s,s:o,s:i,s:o,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:b}", "driver",
			 q->driver, "driver_address", guest_address_json(q->driver_address),
			 "queue", q->index, "address", guest_address_json(q->address), "size",
			 q->size, "avail_idx", q->avail, "avail_event", q->avail_event, "used_idx",
			 q->used, "used_event", q->used_event, "at_device",
			 (uint16_t)(q->avail - q->used), "not_collected",
			 (uint16_t)(q->used - q->used_seen), "free", q->free, "notifications",
			 !q->no_notify);
}

/* As OSv's own command, but guest and host are named rightly in the line of the available ring. */
static void queue_text(const struct osv_queue *q)
{
	printf("  queue %u at 0x%" PRIx64 "\n", q->index, q->address);
	printf("    avail g=0x%x h=0x%x (%u)\n", q->avail, q->avail_event,
	       (uint16_t)(q->avail - q->avail_event));
	printf("    used   h=0x%x g=0x%x (%u)\n", q->used, q->used_event,
	       (uint16_t)(q->used - q->used_event));
	printf("    used notifications: %s\n", q->no_notify ? "disabled" : "enabled");
	printf("    at the device %u, completed but not collected %u, free descriptors %u of %u\n",
	       (uint16_t)(q->avail - q->used), (uint16_t)(q->used - q->used_seen), q->free,
	       q->size);
}

int guest_virtio(int argc, char **argv)
{
	struct osv_guest_options opt;
	struct osv_queue *q = NULL;
	unsigned int nr = 0;
	struct osv_pause pause;
	json_t *rows = NULL;

	if (guest_given.vm && !guest_given.exe && !guest_given.debug)
		return guest_linux_virtio(argc, argv);
	if (!no_words(argc, argv))
		return EXIT_USAGE;
	if (options_unused_check("output", "on the virtqueues of OSv"))
		return command_failed();
	if (guest_memory_options(&opt) || osv_queues(&opt, &q, &nr, &pause))
		return command_failed();
	if (output_is("json"))
		rows = json_array();
	for (unsigned int i = 0; i < nr; i++) {
		if (rows) {
			json_array_append_new(rows, queue_json(&q[i]));
			continue;
		}
		if (!i || q[i].driver_address != q[i - 1].driver_address)
			printf("%s at 0x%" PRIx64 "\n", q[i].driver, q[i].driver_address);
		queue_text(&q[i]);
	}
	free(q);
	if (rows) {
		json_t *caveats = lost_json(&pause);

		json_array_insert_new(caveats, 0, json_string(virtio_caveat));
		return guest_json_print("virtio", "rows", rows, caveats);
	}
	if (!nr && !pause.lost.nr)
		printf("the guest has no virtio driver\n");
	return guest_pause_print(&pause);
}

/* ---- leaks ---- */

static void range_print(const char *name, uint64_t min, double avg, uint64_t max)
{
	if (min == max)
		printf("%s %" PRIu64, name, min);
	else
		printf("%s %" PRIu64 "/%.1f/%" PRIu64, name, min, avg, max);
}

static void frame_text(struct osv_names *names, uint64_t address)
{
	struct frame f;

	if (!names || !osv_names_find(names, address, OSV_NAME_SYMBOL, &f))
		printf("\t0x%" PRIx64 "\n", address);
	else if (f.file)
		printf("\t%s (%s:%d)\n", f.name, f.file, f.line);
	else
		printf("\t%s\n", f.name);
}

static void leak_text(struct osv_names *names, const struct osv_leak *l)
{
	printf("Found %" PRIu64 " bytes in %" PRIu64 " allocations [", l->bytes, l->count);
	range_print("size", l->size_min, (double)l->bytes / (double)l->count, l->size_max);
	range_print(", birth", l->birth_min, (double)l->birth_sum / (double)l->count, l->birth_max);
	printf("]\nfrom:\n");
	for (unsigned int i = 0; i < l->nr_frames; i++)
		frame_text(names, l->frame[i]);
	putchar('\n');
}

static json_t *leak_json(struct osv_names *names, const struct osv_leak *l)
{
	json_t *frames = json_array();
	struct frame f;

	for (unsigned int i = 0; i < l->nr_frames; i++) {
		json_t *j = json_pack("{s:o}", "address", guest_address_json(l->frame[i]));

		if (names && osv_names_find(names, l->frame[i], OSV_NAME_SYMBOL, &f)) {
			json_object_set_new(j, "name", json_string(f.name));
			json_object_set_new(j, "file", f.file ? json_string(f.file) : json_null());
			json_object_set_new(j, "line", json_integer(f.line));
		}
		json_array_append_new(frames, j);
	}
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "bytes", (json_int_t)l->bytes, "count",
			 (json_int_t)l->count, "size_min", (json_int_t)l->size_min, "size_max",
			 (json_int_t)l->size_max, "birth_min", (json_int_t)l->birth_min,
			 "birth_max", (json_int_t)l->birth_max, "frames", frames);
}

static int leaks_print(struct osv_names *names, const struct osv_leaks *l,
		       const struct osv_pause *pause)
{
	json_t *caveats, *rows;

	if (!output_is("json")) {
		printf("Merging %" PRIu64 " allocations by identical call chain... generated %zu "
		       "records.\n\nAllocations still in memory at this time (seq=%" PRIu64
		       "):\n\n",
		       l->allocations, l->nr, l->seq);
		for (size_t i = 0; i < l->nr; i++)
			leak_text(names, &l->leak[i]);
		if (!l->enabled)
			command_note("tracking is off; enable it with 'guest leaks on', or boot "
				     "the guest with --leak");
		return guest_pause_print(pause);
	}
	rows = json_array();
	caveats = json_pack("[s]", "only allocations made while tracking was on are known");
	for (size_t i = 0; i < l->nr; i++)
		json_array_append_new(rows, leak_json(names, &l->leak[i]));
	if (!l->enabled)
		json_array_append_new(caveats, json_string("tracking is off"));
	guest_lost_caveats(pause, caveats);
	return guest_json_print("leaks", "rows", rows, caveats);
}

static int leaks_switch(const struct osv_guest_options *opt, bool on)
{
	struct osv_pause pause;

	if (osv_leaks_switch(opt, on, &pause))
		return command_failed();
	if (output_is("json"))
		return guest_json_print("leaks", "result", json_pack("{s:b}", "tracking", on),
					lost_json(&pause));
	printf("the guest %s its allocations\n", on ? "tracks" : "does not track");
	return guest_pause_print(&pause);
}

int guest_leaks(int argc, char **argv)
{
	struct osv_guest_options opt;
	const char *what = argc ? argv[0] : "show";
	struct osv_leaks leaks;
	struct osv_names *names;
	struct osv_pause pause;
	int status;

	if (argc > 1)
		return command_usage("unexpected argument '%s'", argv[1]);
	if (guest_memory_options(&opt))
		return command_failed();
	if (!strcmp(what, "on") || !strcmp(what, "off"))
		return leaks_switch(&opt, what[1] == 'n');
	if (strcmp(what, "show"))
		return command_usage("unknown action '%s' (expected show, on or off)", what);
	if (osv_leaks(&opt, &leaks, &pause))
		return command_failed();
	names = names_open(&opt, &leaks.modules);
	status = leaks_print(names, &leaks, &pause);
	osv_names_close(names);
	free(leaks.modules.module);
	free(leaks.leak);
	return status;
}
