// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest symbols, ps, modules and dmesg: lists of a Linux guest's kernel, read from its memory, but for symbols by the
 * guest's own BTF.
 */
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

/* ---- symbols ---- */

static json_t *symbol_json(const struct kallsyms *k, const struct kallsym *s)
{
	const char *name = kallsym_name(k, s), *tab = strchr(name, '\t');
	char address[24], type[2] = {s->type};
	json_t *row;

	snprintf(address, sizeof(address), "0x%" PRIx64, s->address);
	row = json_pack("{s:s,s:s,s:s%}", "address", address, "type", type, "name", name,
			tab ? (size_t)(tab - name) : strlen(name));
	json_object_set_new(row, "module",
			    tab ? json_stringn(tab + 2, strlen(tab) - 3) : json_null());
	return row;
}

/* without: why symbols of modules are missing, or NULL. */
static void found_note(const struct linux_guest *g, const char *without)
{
	if (without)
		command_note("no symbols of modules: %s", without);
	command_note("%.70s", g->banner[0] ? g->banner : "a Linux kernel without a banner");
	command_note("%zu symbols, %zu of them of modules; found by %s", g->symbols.nr,
		     g->symbols.nr - g->nr_core, linux_way_name(g->way));
}

static int symbols_print(struct linux_list *l)
{
	const struct kallsyms *k = &l->g->symbols;
	_cleanup_free_ char *without = linux_modules_add(l->g) ? strdup(error_text()) : NULL;
	int err = linux_guest_check(l->g, 0);

	if (err)
		return err;
	if (!l->json)
		kallsyms_write(k, l->file); /* at most KALLSYMS_NAMES_MAX bytes of names */
	for (size_t i = 0; i < k->nr && l->json && !err; i++)
		err = linux_row_end(l, symbol_json(k, &k->symbol[i]));
	found_note(l->g, without);
	return err;
}

int guest_symbols(int argc, char **argv)
{
	return guest_linux_list("symbols", argc, argv, false, symbols_print);
}

/* ---- ps ---- */

enum { FRAME_TEXT_MAX = KALLSYM_NAME_MAX + MODULE_NAME_MAX + 32 };

static json_t *stack_json(const struct linux_unwinder *u, const struct linux_stack *s)
{
	json_t *frames = json_array();
	char text[FRAME_TEXT_MAX];

	for (unsigned int i = 0; i < s->nr; i++)
		json_array_append_new(
			frames, json_string(linux_frame_print(u, s->frame[i], text, sizeof(text))));
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

static json_t *task_json(const struct linux_task *t)
{
	return json_pack("{s:i,s:i,s:i,s:s#,s:i,s:b,s:s}", "tid", t->tid, "pid", t->pid, "ppid",
			 t->ppid, "state", &t->state, 1, "cpu", (int)t->cpu, "kernel", t->kernel,
			 "comm", t->comm);
}

static void task_text(FILE *out, const struct linux_task *t)
{
	fprintf(out, "%7d %7d %7d %c %3u %s%s%s\n", t->tid, t->pid, t->ppid, t->state, t->cpu,
		t->kernel ? "[" : "", t->comm, t->kernel ? "]" : "");
}

/* The stack is behind the task's line, or in its row. u: NULL without --stacks. */
static int task_print(struct linux_list *l, struct linux_unwinder *u, const struct linux_task *t)
{
	json_t *row = l->json ? task_json(t) : NULL;
	struct linux_stack stack;

	if (!l->json)
		task_text(l->out, t);
	if (u)
		linux_stack_read(u, t->address, &stack);
	if (u && l->json)
		json_object_set_new(row, "stack", stack_json(u, &stack));
	else if (u)
		stack_text(l->out, u, &stack);
	return linux_row_end(l, row);
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
	int err = unwinder_open(l, &unwinder), printed = 0;

	if (!err)
		err = linux_tasks_read(l->g, l->types, &task, &nr);
	if (!l->json)
		fprintf(l->file, "    TID     PID    PPID S CPU COMMAND\n");
	for (size_t i = 0; i < nr && !printed; i++)
		printed = task_print(l, unwinder, &task[i]);
	err = printed ? printed : err;
	if (!err && unwinder)
		err = linux_reads_end(l->g, 0);
	linux_unwinder_close(unwinder);
	free(task);
	return err;
}

int guest_ps(int argc, char **argv)
{
	return guest_linux_list("ps", argc, argv, true, tasks_print);
}

/* ---- modules ---- */

static int module_print(struct linux_list *l, const struct linux_module *m)
{
	char address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, m->address);
	if (l->json)
		return linux_row_end(l, json_pack("{s:s,s:I,s:i,s:s,s:s}", "name", m->name, "size",
						  (json_int_t)m->bytes, "used", m->used, "state",
						  m->state, "address", address));
	fprintf(l->out, "%-24s %8" PRIu64 " %4d %-9s %s\n", m->name, m->bytes, m->used, m->state,
		address);
	return linux_row_end(l, NULL);
}

static int modules_print(struct linux_list *l)
{
	struct linux_module *module = NULL;
	size_t nr = 0;
	int err = linux_modules_read(l->g, l->types, &module, &nr), printed = 0;

	if (!l->json)
		fprintf(l->file, "MODULE                       SIZE USED STATE     ADDRESS\n");
	for (size_t i = 0; i < nr && !printed; i++)
		printed = module_print(l, &module[i]);
	free(module);
	return printed ? printed : err;
}

int guest_modules(int argc, char **argv)
{
	return guest_linux_list("modules", argc, argv, true, modules_print);
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

static int record_print(struct linux_list *l, const struct linux_log_record *r, char *text)
{
	char *save = NULL;

	if (l->json) {
		text_sanitize(text);
		return linux_row_end(l, json_pack("{s:I,s:i,s:i,s:s}", "time_ns",
						  (json_int_t)r->time_ns, "level", (int)r->level,
						  "facility", (int)r->facility, "text", text));
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
	return linux_row_end(l, NULL);
}

static int log_print(struct linux_list *l)
{
	struct linux_log log;
	int err = linux_log_read(l->g, l->types, &log), printed = 0;

	for (size_t i = 0; i < log.nr && !printed; i++)
		printed = record_print(l, &log.record[i], log.text + log.record[i].text);
	linux_log_deinit(&log);
	return printed ? printed : err;
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
	return guest_linux_list("dmesg", argc, argv, true, log_print);
}
