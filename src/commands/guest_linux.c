// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest symbols: the symbols of a Linux guest's kernel, read from its memory without an agent or a file of the guest.
 * The process gives up its privileges when the memory is open, and reads it afterwards.
 */
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

/* ---- symbols ---- */

static json_t *symbols_json(const struct linux_guest *g)
{
	const struct kallsyms *k = &g->symbols;
	json_t *rows = json_array();

	for (size_t i = 0; i < k->nr; i++) {
		const char *name = kallsym_name(k, &k->symbol[i]), *tab = strchr(name, '\t');
		char address[24], type[2] = {k->symbol[i].type};
		json_t *row;

		snprintf(address, sizeof(address), "0x%" PRIx64, k->symbol[i].address);
		row = json_pack("{s:s,s:s,s:s%}", "address", address, "type", type, "name", name,
				tab ? (size_t)(tab - name) : strlen(name));
		json_object_set_new(row, "module",
				    tab ? json_stringn(tab + 2, strlen(tab) - 3) : json_null());
		json_array_append_new(rows, row);
	}
	return rows;
}

/* without: why symbols of modules are missing, or NULL. */
static void found_note(const struct linux_guest *g, const char *without)
{
	if (without)
		command_note("no symbols of modules: %s", without);
	if (g->torn)
		command_note("%" PRIu64 " structures changed while they were read", g->torn);
	command_note("%.70s", g->banner[0] ? g->banner : "a Linux kernel without a banner");
	command_note("%zu symbols, %zu of them of modules; found by %s", g->symbols.nr,
		     g->symbols.nr - g->nr_core, linux_way_name(g->way));
}

static int symbols_print(const struct linux_guest *g)
{
	struct output out;
	int err = output_open("text json", &out);

	if (err)
		return err;
	output_unwrap(&out);
	if (output_is("json"))
		guest_json_write(out.file, "symbols", "rows", symbols_json(g), NULL);
	else
		kallsyms_write(&g->symbols, out.file);
	return output_close(&out);
}

int guest_symbols(int argc, char **argv)
{
	struct linux_guest g = {.ram.pagemap = -1};
	_cleanup_free_ char *without = NULL;
	int err;

	if (argc)
		return command_usage("unexpected argument '%s'", argv[0]);
	err = guest_linux_open("symbols", &g);
	if (!err)
		err = linux_guest_find(&g, monotonic_ns() + GUEST_LINUX_FIND_NS);
	if (!err && linux_modules_add(&g))
		without = strdup(error_text());
	err = linux_guest_check(&g, err);
	if (!err)
		err = symbols_print(&g);
	if (!err)
		found_note(&g, without);
	linux_guest_close(&g);
	return err ? command_failed() : EXIT_FINE;
}
