// SPDX-License-Identifier: GPL-2.0-or-later
/* guest extract: an OSv guest's rings through QEMU's gdb stub, into a tracefile. */
#include <inttypes.h>

#include "base/json_text.h"
#include "output/samples/samples_output.h"
#include "base/error.h"
#include "collector/kvm_look.h"
#include "base/new_file.h"
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"
#include "commands/common/vm_options.h"
#include "fetch/osv_guest.h"
#include "readers/osv/osv.h"
#include "vm/vm.h"

enum { MODULES_NAMED = 4 };

/* Without a monitor, KVM knows the page tables; else only the guest's own variable. */
static void kvm_find(const struct vm *vm, struct osv_live_vm *ret)
{
	int err = vm->has_kvm ? kvm_look(&guest_given.kvm)
			      : fail(-EINVAL, "process %d does not use KVM", vm->pid);

	ret->kvm = err ? NULL : kvm_state_of(&guest_given.kvm, vm->pid, NULL);
	if (ret->kvm && ret->kvm->state & KVM_STATE_CHANGED)
		ret->kvm = NULL;
	if (ret->kvm || ret->qmp)
		return;
	if (!err)
		fail(-EINVAL, "KVM's state of process %d is unknown", vm->pid);
	snprintf(ret->unknown, sizeof(ret->unknown), "%s", error_text());
}

int guest_memory_options(struct osv_guest_options *ret)
{
	struct vm vm;
	int err;

	*ret = (struct osv_guest_options){.elf = guest_given.exe,
					  .remote = guest_given.remote,
					  .debug = guest_given.debug,
					  .no_location = guest_given.no_location,
					  .timeout_ns = guest_given.http.timeout_ns,
					  .qmp = guest_given.qmp,
					  .timers = guest_given.timers,
					  .modules = &guest_given.modules,
					  .dump = guest_given.dump};
	if (guest_given.dump && (guest_given.vm || guest_given.remote || guest_given.qmp))
		return fail_usage(-EINVAL, "--dump excludes --vm, --remote and --qmp");
	if (!guest_given.vm)
		return 0;
	if (guest_given.remote)
		return fail_usage(-EINVAL, "--vm excludes --remote");
	err = vm_find_given(guest_given.vm, &vm);
	if (err)
		return err;
	ret->vm = (struct osv_live_vm){.pid = vm.pid,
				       .start = vm.start,
				       .ram_bytes = vm.memory_bytes,
				       .qmp = guest_given.qmp};
	if (!vm.has_kvm && vm.kvm_hidden) /* nor can its memory be read */
		err = vm_kvm_hidden(&vm);
	else
		kvm_find(&vm, &ret->vm);
	vm_free(&vm);
	return err;
}

/* "6.3 ms"; where the bounds differ, as if this process was stopped meanwhile, both. */
static void stopped_print(const struct gdb_stopped *s, char *ret, size_t size)
{
	double min = (double)s->min_ns / 1e6, max = (double)s->max_ns / 1e6;

	if (s->max_ns == UINT64_MAX)
		snprintf(ret, size, "at least %.1f ms; the end is unknown", min);
	else if (max - min < 1 + max / 10)
		snprintf(ret, size, "%.1f ms", max);
	else
		snprintf(ret, size, "%.1f to %.1f ms", min, max);
}

void guest_pause_text(const struct osv_pause *p, char *ret, size_t size)
{
	char stopped[80];

	stopped_print(&p->stopped, stopped, sizeof(stopped));
	if (p->before == GDB_PAUSED_BEFORE)
		snprintf(ret, size, "the VM was paused before, and stays paused");
	else
		snprintf(ret, size, "the guest was stopped for %s%s", stopped,
			 p->before == GDB_RAN_BEFORE ? ""
						     : "; it runs now, also if it was paused "
						       "before (--qmp of 'hostrace guest' keeps it "
						       "paused)");
}

void guest_lost_caveats(const struct osv_pause *p, json_t *caveats)
{
	char text[400];

	if (output_is("json") && !p->live && p->before != GDB_RAN_BEFORE) {
		guest_pause_text(p, text, sizeof(text));
		json_array_append_new(caveats, json_string(text));
	}
	if (p->cut_bytes)
		json_array_append_new(caveats, json_sprintf("the dump is truncated: %" PRIu64
							    " bytes are missing",
							    p->cut_bytes));
	for (unsigned int i = 0; i < p->lost.nr; i++) {
		osv_lost_text(&p->lost, i, text, sizeof(text));
		json_array_append_new(caveats, json_string(text));
	}
	if (p->lost.end[0])
		json_array_append_new(caveats, json_string(p->lost.end));
}

/* NAMESUFFIX, readable by its owner only. */
static int file_open(struct new_file *f, const char *name, const char *suffix)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s%s", name, suffix) < 0)
		return fail(-ENOMEM, "out of memory");
	return new_file_open(f, path, false);
}

static int tracefile_write(struct sample_trace *t, const char *name)
{
	struct new_file f;
	int err = file_open(&f, name, "");

	if (!err) {
		sample_rewind(t);
		err = osv_convert(t, f.file);
	}
	return new_file_close(&f, err);
}

static int symbols_write(const struct osv_extracted *x, const char *name,
			 const struct osv_files *files, uint64_t *ret_nr)
{
	struct new_file f;
	int err = file_open(&f, name, ".symbols");

	if (!err)
		err = osv_symbols_write(x, files, f.file, ret_nr);
	return new_file_close(&f, err);
}

/* ---- --raw: what readers/osv/raw_files.c reads ---- */

static json_t *tracepoints_json(const struct sample_trace *t)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < t->nr_types; i++) {
		const struct sample_type *tp = &t->types[i];

		json_array_append_new(
			list, json_pack("{s:I,s:o,s:o,s:o}", "key", (json_int_t)tp->key, "name",
					text_json(tp->name), "sig", text_json(tp->signature),
					"format", text_json(tp->format)));
	}
	return list;
}

static int ring_write(const struct osv_ring *ring, const char *name, unsigned int nr)
{
	char suffix[32];
	struct new_file f;

	snprintf(suffix, sizeof(suffix), ".ring%u.bin", nr);
	int err = file_open(&f, name, suffix);

	if (!err)
		fwrite(ring->mem, 1, ring->size, f.file);
	return new_file_close(&f, err);
}

/* The description is the last to be written: with it the whole is there. */
static int raw_write(const struct osv_extracted *x, const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	json_t *cpus = json_array(), *all;
	struct new_file f;
	int err = 0;

	for (unsigned int i = 0; i < x->nr_rings && !err; i++) {
		err = ring_write(&x->ring[i], name, i);
		json_array_append_new(cpus, json_pack("{s:o,s:I,s:I}", "file",
						      json_sprintf("%s.ring%u.bin", base, i),
						      "size", (json_int_t)x->ring[i].size, "last",
						      (json_int_t)x->ring[i].last));
	}
	all = json_pack("{s:i,s:i,s:o,s:o}", "page_size", OSV_RING_PAGE, "backtrace_len", 10,
			"cpus", cpus, "tracepoints", tracepoints_json(x->trace));
	if (err) {
		json_decref(all);
		return err;
	}
	err = file_open(&f, name, "");
	if (!err)
		json_text_put(all, f.file, JSON_INDENT(1));
	json_decref(all);
	return new_file_close(&f, err);
}

/* ---- */

/* "2 of 15 modules cannot be read, their code has no names: elf::object at 0x6000..., ..." */
static void modules_note(const struct osv_extracted *x, json_t *caveats)
{
	char text[80 + MODULES_NAMED * 32];
	int len =
		snprintf(text, sizeof(text),
			 "%u of %u modules cannot be read, their code has no names: elf::object at",
			 x->modules.nr_lost, x->modules.nr);
	unsigned int named = 0;

	if (*x->modules.error)
		json_array_append_new(caveats, json_sprintf("the module list cannot be read: %s",
							    x->modules.error));
	if (!x->modules.nr_lost)
		return;
	for (unsigned int i = 0; i < x->modules.nr && named < MODULES_NAMED; i++)
		if (x->modules.module[i].lost)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s 0x%" PRIx64,
					named++ ? "," : "", x->modules.module[i].object);
	if (named < x->modules.nr_lost)
		snprintf(text + len, sizeof(text) - (size_t)len, ", ...");
	json_array_append_new(caveats, json_string(text));
}

static int extract_answer(const struct osv_extracted *x, const char *file,
			  const struct osv_pause *pause, uint64_t nr_symbols)
{
	json_t *caveats = json_array();
	char paused[160], text[160];

	guest_pause_text(pause, paused, sizeof(paused));
	if (guest_given.terse && !output_is("json") && pause->before != GDB_RAN_BEFORE)
		json_array_append_new(caveats, json_string(paused));

	if (x->counts.unfinished) {
		snprintf(text, sizeof(text),
			 "vCPUs that were writing a sample: %" PRIu64
			 "; the data after it was skipped",
			 x->counts.unfinished);
		json_array_append_new(caveats, json_string(text));
	}
	if (x->counts.bad) {
		snprintf(text, sizeof(text), "%" PRIu64 " pages end in an invalid sample",
			 x->counts.bad);
		json_array_append_new(caveats, json_string(text));
	}
	guest_lost_caveats(pause, caveats);
	modules_note(x, caveats);
	if (guest_given.vm)
		json_array_append_new(
			caveats,
			json_string("the guest kept running: what it wrote meanwhile is missing"));
	if (output_is("json"))
		return guest_json_print(
			"extract", "result",
			json_pack("{s:s,s:I,s:I,s:i,s:i,s:i,s:i,s:I,s:I,s:o}", "file", file,
				  "samples", (json_int_t)x->counts.records, "bytes",
				  (json_int_t)x->bytes, "vcpus", (int)x->nr_cpus,
				  "vcpus_without_ring", (int)x->nr_empty, "modules",
				  (int)x->modules.nr, "modules_unreadable", (int)x->modules.nr_lost,
				  "symbols", (json_int_t)nr_symbols, "stopped_min_ns",
				  (json_int_t)pause->stopped.min_ns, "stopped_ns",
				  pause->stopped.max_ns == UINT64_MAX
					  ? json_null()
					  : json_u64(pause->stopped.max_ns)),
			caveats);
	if (!guest_given.terse)
		printf("%s: %" PRIu64 " samples of %u vCPUs", file, x->counts.records, x->nr_rings);
	if (!guest_given.terse && !pause->live)
		printf("; %s", paused);
	if (!guest_given.terse)
		putchar('\n');
	for (size_t i = 0; i < json_array_size(caveats); i++)
		command_note("%s", json_string_value(json_array_get(caveats, i)));
	json_decref(caveats);
	return EXIT_FINE;
}

static int files_write(const struct osv_guest_options *opt, const struct osv_extracted *x,
		       const char *file, uint64_t *ret_nr_symbols)
{
	const struct osv_files files = osv_files_of(opt);
	int err = guest_given.raw ? raw_write(x, file) : tracefile_write(x->trace, file);

	if (err || !guest_given.symbols)
		return err;
	return symbols_write(x, file, &files, ret_nr_symbols);
}

int guest_extract(int argc, char **argv)
{
	const char *file = output_file();
	struct osv_guest_options opt;
	struct osv_pause pause;
	uint64_t nr_symbols = 0;
	struct osv_extracted x;
	int err, status;

	if (argc > 1 || (argc && file))
		return command_usage("unexpected argument '%s'", argv[argc - 1]);
	file = file ? file : argc ? argv[0] : "tracefile";
	if (guest_memory_options(&opt))
		return command_failed();
	err = osv_extract(&opt, &x, &pause);
	if (!err && (err = files_write(&opt, &x, file, &nr_symbols)))
		osv_pause_fail(&pause, err);
	status = err ? command_failed() : extract_answer(&x, file, &pause, nr_symbols);
	osv_extracted_deinit(&x);
	return status;
}
