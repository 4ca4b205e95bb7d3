// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the lists of a Linux guest have in common: they are read from its memory without an agent or a file of the
 * guest. The process gives up its privileges when the memory is open, and reads it afterwards.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collector/kvm_look.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "commands/guest_linux.h"
#include "vm/linux/modules.h"

int guest_linux_open(const char *action, struct linux_guest *ret)
{
	struct kvm_state state = {0};
	struct vm vm;
	int err;

	if (!guest_given.vm)
		return fail_usage(-EINVAL, "'guest %s' requires --vm PID or name", action);
	if (guest_given.remote || guest_given.exe)
		return fail_usage(-EINVAL,
				  "'guest %s' reads the memory of --vm; --remote and --exe are for "
				  "OSv guests",
				  action);
	err = vm_find_given(guest_given.vm, &vm);
	if (err)
		return err;
	if (vm.has_kvm && kvm_look(&state)) /* the RAM is searched then */
		debug("vm", "%s", error_text());
	err = linux_guest_open(&vm, kvm_state_of(&state, vm.pid, NULL), guest_given.qmp,
			       guest_given.http.timeout_ns, ret);
	kvm_state_free(&state);
	vm_free(&vm);
	return err ? err : command_confine(output_file());
}

static json_t *list_head(const struct linux_list *l, int err)
{
	char command[64];
	json_t *caveats = json_array();

	snprintf(command, sizeof(command), "guest %s", l->action);
	if (err)
		json_array_append_new(caveats, json_string(error_text()));
	return json_pack("{s:{s:s,s:s},s:[],s:{},s:o}", "hostrace", "version", HOSTRACE_VERSION,
			 "command", command, "inputs", "clock", "caveats", caveats);
}

static int rows_print(struct linux_list *l, int (*print)(struct linux_list *l))
{
	int err = linux_rows_begin(l);

	if (!err)
		err = linux_guest_check(l->g, print(l));
	linux_rows_end(l, l->json ? list_head(l, err) : NULL);
	return err;
}

static int result_print(struct linux_list *l, int (*print)(struct linux_list *l))
{
	int err = linux_guest_check(l->g, print(l));

	if (!err && l->json)
		guest_json_write(l->file, l->action, "result", json_incref(l->result), NULL);
	return err;
}

static int list_print(struct linux_list *l, bool rows, int (*print)(struct linux_list *l))
{
	struct output out;
	int err = output_open("text json", &out);

	if (err)
		return err;
	output_unwrap(&out);
	l->file = out.file;
	l->json = output_is("json");
	err = rows ? rows_print(l, print) : result_print(l, print);
	if (err == -ESRCH || (err && !rows))
		output_cancel(&out);
	else
		err = output_close(&out) ? -EIO : err;
	return err;
}

static int linux_run(const char *action, int argc, char **argv, bool by_types, bool rows,
		     int (*print)(struct linux_list *l))
{
	struct linux_guest g = {.ram.pagemap = -1};
	struct btf_types types = {0};
	struct linux_list l = {.action = action, .g = &g, .types = by_types ? &types : NULL};
	int err;

	if (argc)
		return command_usage("unexpected argument '%s'", argv[0]);
	err = guest_linux_open(action, &g);
	if (!err)
		err = linux_guest_find(&g, monotonic_ns() + GUEST_LINUX_FIND_NS);
	if (!err && by_types)
		err = linux_types_read(&g, &types);
	err = linux_guest_check(&g, err);
	if (!err)
		err = list_print(&l, rows, print);
	if (g.torn)
		command_note("%" PRIu64 " structures changed while they were read", g.torn);
	json_decref(l.result);
	btf_types_deinit(&types);
	linux_guest_close(&g);
	return err ? command_failed() : l.found ? EXIT_FOUND : EXIT_FINE;
}

int guest_linux_list(const char *action, int argc, char **argv, bool by_types,
		     int (*print)(struct linux_list *l))
{
	return linux_run(action, argc, argv, by_types, true, print);
}

int guest_linux_answer(const char *action, int argc, char **argv,
		       int (*print)(struct linux_list *l))
{
	return linux_run(action, argc, argv, true, false, print);
}
