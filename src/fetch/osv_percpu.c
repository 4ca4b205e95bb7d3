// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Variables that each vCPU of an OSv guest has of its own: the section .percpu exists once for each, and a vCPU's
 * percpu_base leads from the address in the ELF file to its copy, modulo 2^64. A dynamic_percpu<T> contains an offset
 * that takes the place of that address.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "fetch/osv_state.h"

struct percpu_walk {
	struct osv_guest g;
	struct layout_variable variable;
	const char *name, *field;
	uint64_t cpus, offset; /* offset: from a vCPU's base to the value */
	uint32_t base, cpu_id, acpi_id;
	struct osv_percpu *row;
	size_t nr;
};

static int percpu_find(void *walk)
{
	struct percpu_walk *w = walk;
	struct layout *l = w->g.layout;
	const struct layout_member members[] = {{"sched::cpu", "percpu_base", &w->base, NULL},
						{"sched::cpu", "id", &w->cpu_id, NULL}};
	const struct layout_member acpi = {"sched::cpu", "arch.acpi_id", &w->acpi_id, NULL};
	int err = layout_symbol(l, "_ZN5sched4cpusE", &w->cpus);

	if (!err)
		err = layout_members(l, members, sizeof(members) / sizeof(*members));
	if (!err && layout_members(l, &acpi, 1))
		w->acpi_id = w->cpu_id;
	return err ? err : layout_percpu(l, w->name, w->field, &w->variable);
}

static int value_read(struct percpu_walk *w, uint64_t cpu)
{
	const struct layout_variable *v = &w->variable;
	struct osv_percpu row = {0};
	uint64_t base;
	struct osv_member members[] = {
		{w->base, 8, &base}, {w->cpu_id, 4, &row.cpu}, {w->acpi_id, 4, &row.acpi_id}};
	_cleanup_free_ uint8_t *bytes = malloc(v->bytes);
	int err =
		bytes ? osv_guest_members(&w->g, cpu, members, 3) : fail(-ENOMEM, "out of memory");

	row.address = base + w->offset;
	if (!err)
		err = osv_guest_read(&w->g, row.address, bytes, v->bytes);
	if (err)
		return osv_guest_lose(&w->g, "vCPU", cpu, err);
	if (array_room(w->row, w->nr))
		return -ENOMEM;
	row.value = layout_value(v, bytes);
	w->row[w->nr++] = row;
	return 0;
}

static int percpu_walk(void *walk)
{
	struct percpu_walk *w = walk;
	uint64_t *cpu = NULL;
	unsigned int nr = 0;
	int err = osv_guest_vector(&w->g, w->cpus, OSV_CPUS_MAX, &cpu, &nr);

	w->offset = w->variable.address;
	if (!err && w->variable.is_dynamic)
		err = osv_guest_u64(&w->g, w->variable.offset_at, &w->offset);
	w->offset += w->variable.offset;
	for (unsigned int i = 0; i < nr && !err; i++)
		err = value_read(w, cpu[i]);
	free(cpu);
	return err;
}

int osv_percpu(const struct osv_guest_options *opt, const char *variable, const char *field,
	       struct osv_percpu **ret, size_t *ret_nr, struct osv_pause *ret_pause)
{
	struct percpu_walk w = {.name = variable, .field = field};
	int err = osv_guest_visit(opt, &w.g, percpu_find, percpu_walk, &w, ret_pause);

	layout_variable_deinit(&w.variable);
	osv_guest_close(&w.g);
	*ret = w.row;
	*ret_nr = w.nr;
	return err;
}

void osv_percpu_free(struct osv_percpu *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		json_decref(p[i].value);
	free(p);
}
