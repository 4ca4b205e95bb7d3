// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace ps: the VMs of this host, as /proc shows them. No privilege is needed for one's own. */
#include <inttypes.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/order.h"
#include "collector/kvm_look.h"
#include "commands/common/command.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "output/report.h"
#include "vm/vm.h"

enum { NAME_COLUMN = 16, USER_COLUMN = 8, MACHINE_COLUMN = 12 };

/* 1073741824 is 1G; a size that is not a whole number of a unit is printed in the next smaller one. */
static const char *memory_text(uint64_t bytes, char *buf, size_t size)
{
	static const char units[] = "BKMGTP";
	unsigned int u = 0;

	while (bytes && bytes % 1024 == 0 && units[u + 1]) {
		bytes /= 1024;
		u++;
	}
	if (bytes)
		snprintf(buf, size, "%" PRIu64 "%c", bytes, units[u]);
	else
		snprintf(buf, size, "-");
	return buf;
}

/* Copies the value of KEY of "KIND,KEY=VALUE,..."; false: it has none. */
static bool device_value(const char *device, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key);

	for (const char *p = strchr(device, ','); p; p = strchr(p + 1, ',')) {
		if (p[1] == ',') {
			p++; /* a comma within a value */
		} else if (!strncmp(p + 1, key, len) && p[len + 1] == '=') {
			snprintf(buf, size, "%.*s", (int)strcspn(p + len + 2, ","), p + len + 2);
			return true;
		}
	}
	return false;
}

/* "virtio-blk-pci:disk0": kind and id; without an id the address on its bus, as far as the command line has it. */
static const char *device_print(const char *device, char *buf, size_t size)
{
	char id[64], bus[64] = "", name[160] = "";

	device_value(device, "bus", bus, sizeof(bus));
	if (device_value(device, "id", id, sizeof(id)))
		snprintf(name, sizeof(name), ":%s", id);
	else if (device_value(device, "addr", id, sizeof(id)))
		snprintf(name, sizeof(name), "@%s%s%s", bus, *bus ? ":" : "", id);
	snprintf(buf, size, "%.*s%s", (int)strcspn(device, ","), device, name);
	return buf;
}

/* What does not fit is counted, unless the output is wide. A netdev is no device of the guest. */
static void devices_print(const struct vm *vm, const struct output *out, int width)
{
	unsigned int left = 0, printed = 0;
	int used = 0;

	for (unsigned int i = 0; i < vm->nr_devices; i++)
		left += strncmp(vm->devices[i], "netdev,", 7) != 0;
	for (unsigned int i = 0; i < vm->nr_devices; i++) {
		char text[256];

		if (!strncmp(vm->devices[i], "netdev,", 7))
			continue;
		device_print(vm->devices[i], text, sizeof(text));
		if (!out->wide && used + (int)strlen(text) + (left > 1 ? 6 : 1) > width)
			break;
		used += fprintf(out->file, " %s", text);
		printed++;
		left--;
	}
	if (left)
		fprintf(out->file, printed ? " +%u" : " %u (--wide)", left);
}

static void text_print(const struct vm *vms, unsigned int nr, const struct output *out)
{
	fprintf(out->file, "%7s %-*s %-*s %5s %6s %-5s %-*s DEVICES\n", "PID", NAME_COLUMN, "NAME",
		USER_COLUMN, "USER", "VCPUS", "MEMORY", "ACCEL", MACHINE_COLUMN, "MACHINE");
	for (unsigned int i = 0; i < nr; i++) {
		const struct vm *vm = &vms[i];
		char memory[32];
		int used = fprintf(out->file, "%7d %-*.40s %-*.32s %5u %6s %-5s %-*.24s", vm->pid,
				   NAME_COLUMN, vm->name, USER_COLUMN, vm->user, vm->nr_vcpus,
				   memory_text(vm->memory_bytes, memory, sizeof(memory)), vm->accel,
				   MACHINE_COLUMN, *vm->machine ? vm->machine : "-");

		devices_print(vm, out, out->width - used);
		fputc('\n', out->file);
	}
}

/* ---- what is missing in the list ---- */

/* For people now, and in JSON. */
static void missing_note(json_t *caveats, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	command_note("%s", text);
	caveat_add(caveats, "%s", text);
}

/* ---- order ---- */

static int by_column(const void *a, const void *b, void *column)
{
	const struct vm *x = a, *y = b;
	const char *name = column;
	int order = 0;

	if (!strcmp(name, "name"))
		order = strcmp(x->name, y->name);
	else if (!strcmp(name, "vcpus"))
		order = order_u64(y->nr_vcpus, x->nr_vcpus);
	else if (!strcmp(name, "memory"))
		order = order_u64(y->memory_bytes, x->memory_bytes);
	return order ? order : order_u64((uint64_t)x->pid, (uint64_t)y->pid);
}

static int vms_sort(struct vm *vms, unsigned int nr, const char *column)
{
	static const char *const columns[] = {"pid", "name", "vcpus", "memory"};

	for (size_t i = 0; column && i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(column, columns[i])) {
			qsort_r(vms, nr, sizeof(*vms), by_column, (void *)columns[i]);
			return 0;
		}
	return column ? fail(-EINVAL, "invalid --sort '%s' (expected pid, name, vcpus or memory)",
			     column)
		      : 0;
}

/* ---- JSON ---- */

static json_t *row_make(const struct vm *vm)
{
	json_t *row = vm_json(vm);

	json_object_set_new(row, "vcpu_threads", json_incref(json_object_get(row, "vcpus")));
	json_object_set_new(row, "vcpus", json_integer(vm->nr_vcpus));
	json_object_set_new(row, "accelerator", json_string(vm->accel));
	json_object_del(row, "accel");
	return row;
}

static const char *plural(unsigned int n)
{
	return n == 1 ? "" : "s";
}

static void json_print(const struct vm *vms, unsigned int nr, json_t *caveats,
		       const struct output *out)
{
	json_t *rows = json_array(), *all;
	struct vm_rows fit = {0};

	for (unsigned int i = 0; i < nr; i++) {
		json_t *row = row_make(&vms[i]);

		vm_rows_fit(&fit, &vms[i], row);
		json_array_append_new(rows, row);
	}
	if (fit.cut)
		missing_note(caveats,
			     "without command line, devices and threads, as those of all exceed "
			     "%d MiB: %u VM%s",
			     VM_ROWS_WHOLE >> 20, fit.cut, plural(fit.cut));
	if (fit.shortened)
		missing_note(caveats, "shortened to %d KiB: %u command line%s",
			     VM_CMDLINE_SHOWN >> 10, fit.shortened, plural(fit.shortened));
	all = json_pack("{s:{s:s,s:s},s:[],s:{},s:O,s:o}", "hostrace", "version", HOSTRACE_VERSION,
			"command", "ps", "inputs", "clock", "caveats", caveats, "rows", rows);
	json_text_put(all, out->file, JSON_INDENT(1));
	fputc('\n', out->file);
	json_decref(all);
}

/* Those that use KVM come first, and alone without --tcg; the others are counted. Frees those that are not listed. */
static void emulated_note(struct vm *vms, unsigned int *nr, const struct vm_scope *scope,
			  json_t *caveats)
{
	unsigned int kept = 0, hidden = 0;

	for (unsigned int i = 0; i < *nr; i++) {
		hidden += vms[i].kvm_hidden;
		if (vms[i].has_kvm || scope->tcg)
			vms[kept++] = vms[i];
		else
			vm_free(&vms[i]);
	}
	if (*nr - kept > hidden)
		missing_note(caveats,
			     "processes with QEMU's name that do not use KVM: %u; --tcg lists them",
			     *nr - kept - hidden);
	if (hidden)
		missing_note(caveats,
			     "processes with QEMU's name of which only root or CAP_SYS_PTRACE can "
			     "see whether they use KVM: %u%s",
			     hidden, scope->tcg ? "" : "; try: sudo; --tcg lists them");
	*nr = kept;
}

static int vms_read(struct vm **ret, unsigned int *ret_nr, json_t *caveats)
{
	struct vm_scope scope, all;
	unsigned int left = 0;
	int err = vm_scope_given(&scope);

	all = scope;
	all.tcg = true;
	if (!err)
		err = vm_list(&all, ret, ret_nr, &left);
	if (!err && left)
		missing_note(caveats,
			     "VMs of other users that are left out: %u; --vm-user USER selects "
			     "those of a user",
			     left);
	if (!err)
		emulated_note(*ret, ret_nr, &scope, caveats);
	return err;
}

static int cmd_ps(int argc, char **argv)
{
	struct output out;
	struct vm *vms;
	unsigned int nr, shown;
	json_auto_t *caveats = json_array();

	if (argc)
		return command_usage("unexpected argument '%s'", argv[0]);
	if (output_open("text json", &out))
		return command_failed();
	if (vms_read(&vms, &nr, caveats)) {
		output_cancel(&out);
		return command_failed();
	}
	kvm_look_complete(vms, nr);
	if (vms_sort(vms, nr, out.sort)) {
		vm_list_free(vms, nr);
		output_cancel(&out);
		return command_usage("%s", error_text());
	}
	shown = out.limit && out.limit < nr ? (unsigned int)out.limit : nr;
	if (shown < nr)
		missing_note(caveats, "VMs beyond --limit: %u", nr - shown);
	if (!strcmp(out.format, "json"))
		json_print(vms, shown, caveats, &out);
	else if (nr)
		text_print(vms, shown, &out);
	else
		fprintf(out.file, "no running VM is visible to this user\n");
	vm_list_free(vms, nr);
	return output_end(0, &out, false);
}

extern const struct command ps_command;

const struct command ps_command = {
	.name = "ps",
	.args = "",
	.summary = "List the virtual machines of this host.",
	.group = "Live (needs privileges)",
	.details =
		"A VM is a process that uses KVM; with --tcg also one that only has QEMU's name.\n"
		"Listing other users' VMs needs root.",
	.examples = "  hostrace ps\n"
		    "  sudo hostrace ps -f json",
	.options = (const struct option_row *const[]){vm_user_options, vm_tcg_options,
						      output_options, NULL},
	.run = cmd_ps,
};
