// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "event/vm_names.h"
#include "output/info_vms.h"

struct vcpu_thread {
	uint64_t id; /* pid << 32 | tid */
	uint16_t vcpu;
};

struct info_vms {
	struct hash_table threads;
};

struct info_vms *info_vms_new(void)
{
	struct info_vms *v = calloc(1, sizeof(*v));

	if (v)
		v->threads = HASH_TABLE(struct vcpu_thread, 1, INFO_VCPUS_MAX);
	return v;
}

void info_vms_free(struct info_vms *v)
{
	if (v)
		hash_deinit(&v->threads);
	free(v);
}

void info_vms_event(struct info_vms *v, const struct event *ev)
{
	bool runs = ev->type->id == EV_kvm_entry || ev->type->id == EV_kvm_exit;
	struct vcpu_thread *t;
	bool is_new = false;

	if (!runs || ev->vcpu == RECORD_NO_VCPU || !ev->tid)
		return;
	t = hash_add_u64(&v->threads, (uint64_t)ev->pid << 32 | ev->tid, &is_new);
	if (t && is_new)
		t->vcpu = ev->vcpu;
}

/* ---- from the metadata ---- */

static void meta_add(json_t *list, const json_t *meta)
{
	json_t *vm;
	size_t i;

	json_array_foreach (json_object_get(meta, "vms"), i, vm) {
		json_t *copy = json_copy(vm), *vcpus = json_object_get(vm, "vcpus");

		if (!copy)
			continue;
		json_object_set_new(copy, "vcpus",
				    json_integer((json_int_t)json_array_size(vcpus)));
		if (vcpus)
			json_object_set(copy, "vcpu_threads", vcpus);
		json_array_append_new(list, copy);
	}
}

/* ---- from events ---- */

static int by_vcpu(const void *a, const void *b)
{
	const struct vcpu_thread *x = *(struct vcpu_thread *const *)a,
				 *y = *(struct vcpu_thread *const *)b;

	if (x->id >> 32 != y->id >> 32)
		return x->id >> 32 < y->id >> 32 ? -1 : 1;
	if (x->vcpu != y->vcpu)
		return x->vcpu < y->vcpu ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static json_t *vm_new(const struct input_set *in, uint32_t pid)
{
	char name[VM_NAME_BYTES];
	json_t *vm = json_pack("{s:I, s:i, s:[]}", "pid", (json_int_t)pid, "vcpus", 0,
			       "vcpu_threads");

	if (pid)
		json_object_set_new(vm, "name", json_string(vm_name(in->vms, pid, name,
								     sizeof(name))));
	return vm;
}

static void events_add(const struct info_vms *v, const struct input_set *in, json_t *list)
{
	_cleanup_free_ struct vcpu_thread **sorted =
		calloc(v->threads.nr + 1u, sizeof(struct vcpu_thread *));
	struct vcpu_thread *t;
	uint32_t nr = 0;
	json_t *vm = NULL;

	for (uint32_t at = 0; sorted && (t = hash_next(&v->threads, &at));)
		sorted[nr++] = t;
	if (sorted)
		qsort(sorted, nr, sizeof(struct vcpu_thread *), by_vcpu);
	for (uint32_t i = 0; i < nr; i++) {
		json_t *threads;

		if (!i || sorted[i]->id >> 32 != sorted[i - 1]->id >> 32) {
			vm = vm_new(in, (uint32_t)(sorted[i]->id >> 32));
			json_array_append_new(list, vm);
		}
		threads = json_object_get(vm, "vcpu_threads");
		json_array_append_new(threads,
				      json_pack("{s:i, s:I}", "index", (int)sorted[i]->vcpu, "tid",
						(json_int_t)(uint32_t)sorted[i]->id));
		json_object_set_new(vm, "vcpus",
				    json_integer((json_int_t)json_array_size(threads)));
	}
}

json_t *info_vms_json(const struct info_vms *v, const struct input_set *in)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < in->nr_hosts; i++)
		meta_add(list, in->input[i].reader->info.meta);
	if (!json_array_size(list))
		events_add(v, in, list);
	return list;
}
