// SPDX-License-Identifier: GPL-2.0-or-later
/* The forms in which traces have system calls: fields, or text as tracefs and perf print it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/syscalls/internal.h"
#include "event/syscall_table.h"

enum { KVM_RUN_REQUEST = 0xae80, DECIMAL_MAX = 4096 };

/* ---- types ---- */

static const char *after(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) && name[len] ? name + len : NULL;
}

static bool is_raw(const char *name, bool enters)
{
	return !strcmp(name, enters ? "sys_enter" : "sys_exit") ||
	       !strcmp(name, enters ? "syscall_enter" : "syscall_exit");
}

static bool is_ftrace(const char *type)
{
	return !strncmp(type, "ftrace:", 7);
}

/* Of an event's name; `call`: of the system call, NULL: it is not in the name. */
static int what_of(const char *type, const char **call)
{
	const char *colon = strrchr(type, ':'), *name = colon ? colon + 1 : type;

	*call = NULL;
	if (!strncmp(type, "guest:", 6))
		return SYSCALL_NONE;
	if (is_ftrace(type) && !strcmp(name, "sys_exit_group")) { /* not the end of a call "group" */
		*call = "exit_group";
		return SYSCALL_EITHER;
	}
	if (is_raw(name, true))
		return SYSCALL_ENTER;
	if (is_raw(name, false))
		return SYSCALL_EXIT;
	if ((*call = after(name, "sys_enter_")) || (*call = after(name, "syscall_entry_")))
		return SYSCALL_ENTER;
	if ((*call = after(name, "sys_exit_")) || (*call = after(name, "syscall_exit_")))
		return SYSCALL_EXIT;
	if (is_ftrace(type) && (*call = after(name, "sys_")))
		return SYSCALL_EITHER;
	return SYSCALL_NONE;
}

bool syscalls_is_one(const char *event)
{
	const char *call;

	return what_of(event, &call) != SYSCALL_NONE;
}

static const struct field *field_of(const struct event_type *type, const char *a, const char *b)
{
	return event_field(type, a) ?: event_field(type, b);
}

static bool is_number(const struct field *f)
{
	return f->kind == FIELD_UINT || f->kind == FIELD_SINT;
}

/* Those of sys_enter; of an event for one call all but its number. */
static void args_find(const struct event_type *type, struct syscall_kind *k)
{
	char ours[8], theirs[8];

	for (unsigned int i = 0; !k->name && i < SYSCALL_ARGS; i++) {
		snprintf(ours, sizeof(ours), "arg%u", i);
		snprintf(theirs, sizeof(theirs), "args%u", i);
		k->arg[i] = field_of(type, ours, theirs);
		k->nr_args += k->arg[i] && k->nr_args == i;
	}
	for (unsigned int i = 0; k->name && i < type->nr_fields && k->nr_args < SYSCALL_ARGS; i++) {
		const struct field *f = &type->fields[i];

		if (is_number(f) && strcmp(f->name, "__syscall_nr") && strcmp(f->name, "nr") &&
		    strcmp(f->name, "ret") && strncmp(f->name, "common_", 7) != 0)
			k->arg[k->nr_args++] = f;
	}
}

void syscall_kind_of(const struct event_type *type, struct syscall_kind *ret)
{
	*ret = (struct syscall_kind){0};
	ret->what = what_of(type->name, &ret->name);
	if (ret->what == SYSCALL_NONE)
		return;
	ret->text = event_field(type, "text");
	ret->ret = event_field(type, "ret");
	if (!ret->name)
		ret->id = field_of(type, "id", "nr");
	if (ret->what == SYSCALL_ENTER)
		args_find(type, ret);
}

/* ---- events ---- */

static void arg_print(char *buf, size_t size, const char *name, uint64_t value)
{
	size_t len = strlen(buf);
	const int32_t word = (int32_t)value; /* an int argument of -1 or AT_FDCWD */
	int64_t small = !(value >> 32) && word < 0 && word > -DECIMAL_MAX ? word : (int64_t)value;

	len += (size_t)snprintf(buf + len, size - len, "%s", len ? ", " : "");
	if (len < size && name)
		len += (size_t)snprintf(buf + len, size - len, "%s: ", name);
	if (len < size && small > -DECIMAL_MAX && small < DECIMAL_MAX)
		snprintf(buf + len, size - len, "%" PRId64, small);
	else if (len < size)
		snprintf(buf + len, size - len, "0x%" PRIx64, value);
}

/* By the names that the call's arguments are known to have; all of them if it is not known. */
static void args_print(struct syscall_seen *s, const uint64_t *arg, unsigned int nr)
{
	const char *names = syscall_args(s->name);
	char name[32];

	for (unsigned int i = 0; i < nr; i++) {
		size_t len = names ? strcspn(names, ",") : 0;

		if (names && !len)
			return;
		snprintf(name, sizeof(name), "%.*s", (int)len, names ? names : "");
		arg_print(s->args, sizeof(s->args), names ? name : NULL, arg[i]);
		if (names)
			names += len + (names[len] == ',');
	}
}

/* "1a, ae80, 0)": hexadecimal without 0x. Returns their number. */
static unsigned int text_args(const char *p, uint64_t arg[SYSCALL_ARGS])
{
	unsigned int nr = 0;
	char *end;

	for (; nr < SYSCALL_ARGS && *p && *p != ')'; p = end + strspn(end, ", ")) {
		arg[nr] = strtoull(p, &end, 16);
		if (end == p)
			break;
		nr++;
	}
	return nr;
}

static void name_set(struct syscall_seen *s, const char *name, uint64_t number)
{
	if (!name)
		name = syscall_of_number(number);
	if (name)
		snprintf(s->name, sizeof(s->name), "%s", name);
	else
		snprintf(s->name, sizeof(s->name), "syscall %" PRId64, (int64_t)number);
	text_sanitize(s->name);
}

/* KVM_RUN, of which the time is mostly the guest's. */
static void request_name(struct syscall_seen *s, uint64_t request)
{
	if (!strcmp(s->name, "ioctl") && (uint32_t)request == KVM_RUN_REQUEST)
		snprintf(s->name, sizeof(s->name), "ioctl(KVM_RUN)");
}

/* "NR 16 (1a, ae80, 0, 7f0, 0, 0)", "NR 16 = -11" */
static bool raw_text_read(const char *text, struct syscall_seen *s)
{
	uint64_t arg[SYSCALL_ARGS], number;
	unsigned int nr;
	char *end;

	if (strncmp(text, "NR ", 3) != 0)
		return false;
	number = strtoull(text + 3, &end, 10);
	if (end == text + 3)
		return false;
	s->any = number == UINT64_MAX;
	name_set(s, NULL, number);
	end += strspn(end, " ");
	if (s->enters && *end == '(') {
		nr = text_args(end + 1, arg);
		args_print(s, arg, nr);
		if (nr > 1)
			request_name(s, arg[1]);
	} else if (!s->enters && *end == '=') {
		s->ret = (int64_t)strtoll(end + 1, NULL, 0);
	}
	return true;
}

/* "fd: 0x3, buf: 0x7ffe" and "(fd: 3, buf: 7ffe)"; "0x340", "-> 0x340" */
static bool named_text_read(const char *text, struct syscall_seen *s)
{
	const char *cmd;
	size_t len;

	if (!s->enters) {
		text += strspn(text, "-> ");
		s->ret = (int64_t)strtoull(text, NULL, 0);
		return true;
	}
	text += *text == '(';
	len = strlen(text);
	len -= len && text[len - 1] == ')';
	snprintf(s->args, sizeof(s->args), "%.*s", (int)len, text);
	text_sanitize(s->args);
	cmd = strstr(text, "cmd: ");
	if (cmd)
		request_name(s, strtoull(cmd + 5, NULL, 16));
	return true;
}

static bool fields_read(const struct syscall_kind *k, const struct event *ev,
			struct syscall_seen *s)
{
	uint64_t arg[SYSCALL_ARGS];

	if (!k->name && !k->id)
		return false;
	if (k->id) {
		uint64_t number = event_u64(ev, k->id);

		s->any = (uint32_t)number == UINT32_MAX;
		name_set(s, NULL, number);
	}
	if (!s->enters)
		s->ret = k->ret ? (int64_t)event_u64(ev, k->ret) : 0;
	for (unsigned int i = 0; s->enters && i < k->nr_args; i++) {
		arg[i] = event_u64(ev, k->arg[i]);
		if (k->name)
			arg_print(s->args, sizeof(s->args), k->arg[i]->name, arg[i]);
	}
	if (s->enters && !k->name)
		args_print(s, arg, k->nr_args);
	if (s->enters && k->nr_args > 1)
		request_name(s, arg[1]);
	return true;
}

bool syscall_read(const struct syscall_kind *k, const struct event *ev, struct syscall_seen *ret)
{
	char buf[512];
	const char *text = k->text ? event_text(ev, k->text, buf, sizeof(buf)) : NULL;

	*ret = (struct syscall_seen){
		.enters = k->what == SYSCALL_ENTER ||
			  (k->what == SYSCALL_EITHER && text && *text == '('),
		.is_raw = !k->name,
	};
	if (k->name)
		name_set(ret, k->name, 0);
	if (!text)
		return fields_read(k, ev, ret);
	if (k->what == SYSCALL_EXIT && !k->name && *text == '(') { /* the call: each has an event */
		ret->enters = true;
		name_set(ret, "exit", 0);
		return named_text_read(text, ret);
	}
	return k->name ? named_text_read(text, ret) : raw_text_read(text, ret);
}
