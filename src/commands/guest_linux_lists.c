// SPDX-License-Identifier: GPL-2.0-or-later
/* guest ps, modules and dmesg: lists of a Linux guest's kernel, read from its memory by the guest's own BTF. */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"
#include "commands/guest_linux.h"
#include "event/event.h"
#include "vm/linux/lists.h"
#include "vm/linux/modules.h"

int guest_linux_list(const char *action, int argc, char **argv, int (*print)(struct linux_list *l))
{
	struct linux_guest g = {.ram.pagemap = -1};
	struct btf_types types = {0};
	struct linux_list l = {.action = action, .g = &g, .types = &types};
	struct output out;
	int err;

	if (argc)
		return command_usage("unexpected argument '%s'", argv[0]);
	err = guest_linux_open(action, &g);
	if (!err)
		err = linux_guest_find(&g, monotonic_ns() + GUEST_LINUX_FIND_NS);
	if (!err)
		err = linux_types_read(&g, &types);
	err = linux_guest_check(&g, err);
	if (!err)
		err = output_open("text json", &out);
	if (!err) {
		output_unwrap(&out);
		l.out = out.file;
		l.rows = output_is("json") ? json_array() : NULL;
		err = linux_guest_check(&g, print(&l));
		if (l.rows && err != -ESRCH)
			guest_json_write(out.file, action, "rows", l.rows, NULL);
		else
			json_decref(l.rows);
		if (err == -ESRCH)
			output_cancel(&out);
		else
			err = output_close(&out) ? -EIO : err;
	}
	if (g.torn)
		command_note("%" PRIu64 " structures changed while they were read", g.torn);
	btf_types_deinit(&types);
	linux_guest_close(&g);
	return err ? command_failed() : EXIT_FINE;
}

/* ---- ps ---- */

enum { FRAME_TEXT_MAX = KALLSYM_NAME_MAX + MODULE_NAME_MAX + 32 };

static json_t *stack_json(const struct linux_unwinder *u, const struct linux_stack *s)
{
	json_t *frames = json_array();
	char text[FRAME_TEXT_MAX];

	for (unsigned int i = 0; i < s->nr; i++)
		json_array_append_new(frames, json_string(linux_frame_print(u, s->frame[i], text,
									    sizeof(text))));
	return json_pack("{s:s,s:o}", "state", linux_stack_state_name(s->state), "frames", frames);
}

static void stack_text(FILE *out, const struct linux_unwinder *u, const struct linux_stack *s)
{
	char text[FRAME_TEXT_MAX];

	for (unsigned int i = 0; i < s->nr; i++)
		fprintf(out, "            %s\n",
			linux_frame_print(u, s->frame[i], text, sizeof(text)));
	if (s->state != LINUX_STACK_COMPLETE)
		fprintf(out, "            (stack %s)\n", linux_stack_state_name(s->state));
}

static void task_print(const struct linux_list *l, const struct linux_task *t)
{
	if (l->rows) {
		json_array_append_new(l->rows, json_pack("{s:i,s:i,s:i,s:s#,s:i,s:b,s:s}", "tid",
							 t->tid, "pid", t->pid, "ppid", t->ppid,
							 "state", &t->state, 1, "cpu", (int)t->cpu,
							 "kernel", t->kernel, "comm", t->comm));
		return;
	}
	fprintf(l->out, "%7d %7d %7d %c %3u %s%s%s\n", t->tid, t->pid, t->ppid, t->state, t->cpu,
		t->kernel ? "[" : "", t->comm, t->kernel ? "]" : "");
}

/* Behind the task's line, or into its row. */
static void task_stack_print(const struct linux_list *l, struct linux_unwinder *u,
			     const struct linux_task *t)
{
	struct linux_stack stack;

	linux_stack_read(u, t->address, &stack);
	if (!l->rows)
		stack_text(l->out, u, &stack);
	else
		json_object_set_new(json_array_get(l->rows, json_array_size(l->rows) - 1), "stack",
				    stack_json(u, &stack));
}

/* Names of functions include those of modules, where these can be read. */
static int unwinder_open(const struct linux_list *l, struct linux_unwinder **ret)
{
	if (!guest_given.stacks)
		return 0;
	if (linux_modules_symbols(l->g, l->types))
		command_note("%s", error_text());
	return linux_unwinder_open(l->g, l->types, ret);
}

static int tasks_print(struct linux_list *l)
{
	struct linux_unwinder *unwinder = NULL;
	struct linux_task *task = NULL;
	size_t nr = 0;
	int err = unwinder_open(l, &unwinder);

	if (!err)
		err = linux_tasks_read(l->g, l->types, &task, &nr);
	if (!l->rows)
		fprintf(l->out, "    TID     PID    PPID S CPU COMMAND\n");
	for (size_t i = 0; i < nr; i++) {
		task_print(l, &task[i]);
		if (unwinder)
			task_stack_print(l, unwinder, &task[i]);
	}
	if (!err && unwinder)
		err = linux_reads_end(l->g, 0);
	linux_unwinder_close(unwinder);
	free(task);
	return err;
}

int guest_ps(int argc, char **argv)
{
	return guest_linux_list("ps", argc, argv, tasks_print);
}

/* ---- modules ---- */

static void module_print(const struct linux_list *l, const struct linux_module *m)
{
	char address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, m->address);
	if (l->rows)
		json_array_append_new(l->rows,
				      json_pack("{s:s,s:I,s:i,s:s,s:s}", "name", m->name, "size",
						(json_int_t)m->bytes, "used", m->used, "state",
						m->state, "address", address));
	else
		fprintf(l->out, "%-24s %8" PRIu64 " %4d %-9s %s\n", m->name, m->bytes, m->used,
			m->state, address);
}

static int modules_print(struct linux_list *l)
{
	struct linux_module *module = NULL;
	size_t nr = 0;
	int err = linux_modules_read(l->g, l->types, &module, &nr);

	if (!l->rows)
		fprintf(l->out, "MODULE                       SIZE USED STATE     ADDRESS\n");
	for (size_t i = 0; i < nr; i++)
		module_print(l, &module[i]);
	free(module);
	return err;
}

int guest_modules(int argc, char **argv)
{
	return guest_linux_list("modules", argc, argv, modules_print);
}

/* ---- dmesg ---- */

/* But for tabs, which the kernel indents with. */
static void line_sanitize(char *line)
{
	for (char *tab; (tab = strchr(line, '\t')); line = tab + 1) {
		*tab = '\0';
		text_sanitize(line);
		*tab = '\t';
	}
	text_sanitize(line);
}

static void record_print(const struct linux_list *l, const struct linux_log_record *r, char *text)
{
	char *save = NULL;

	if (l->rows) {
		text_sanitize(text);
		json_array_append_new(l->rows, json_pack("{s:I,s:i,s:i,s:s}", "time_ns",
							 (json_int_t)r->time_ns, "level",
							 (int)r->level, "facility",
							 (int)r->facility, "text", text));
		return;
	}
	/* each line has the time, as dmesg(1) prints them */
	for (char *line = strtok_r(text, "\n", &save), *first = line; line || line == first;
	     line = strtok_r(NULL, "\n", &save)) {
		if (line)
			line_sanitize(line);
		fprintf(l->out, "[%5" PRIu64 ".%06" PRIu64 "] %s\n", r->time_ns / NS_PER_S,
			r->time_ns % NS_PER_S / 1000, line ? line : "");
		if (!line)
			break;
	}
}

static int log_print(struct linux_list *l)
{
	struct linux_log log;
	int err = linux_log_read(l->g, l->types, &log);

	for (size_t i = 0; i < log.nr; i++)
		record_print(l, &log.record[i], log.text + log.record[i].text);
	linux_log_deinit(&log);
	return err;
}

int guest_dmesg(int argc, char **argv)
{
	if (guest_given.url || guest_given.http.unix_socket)
		return argc ? command_usage("unexpected argument '%s'", argv[0])
			    : guest_control_dmesg();
	if (options_unused_check(REST_OPTIONS, "without --url"))
		return command_failed();
	if (!guest_given.vm || guest_given.exe || guest_given.debug)
		return guest_osv_dmesg(argc, argv);
	if (options_unused_check("module", "on the log of Linux"))
		return command_failed();
	return guest_linux_list("dmesg", argc, argv, log_print);
}
