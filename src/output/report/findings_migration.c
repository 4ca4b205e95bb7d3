// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A migration, or a snapshot, that goes on: QEMU has a thread for it while it lasts (migration/migration.c), and KVM
 * logs which pages the guest writes. Each of them is enough: QEMU names its threads only with debug-threads=on, as
 * libvirt has it, and a migration that receives pages logs none.
 *
 * It costs the guest time in three ways: the first write to a page after each round exits; pages that are not there yet
 * are waited for (postcopy); and QEMU makes vCPUs sleep that write faster than it sends (auto-converge).
 */
#include "output/report/findings.h"

#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "output/report.h"

/* As of QEMU 9.1, and before. Names of threads have 15 characters. */
static const char *const sending[] = {"mig/src/", "mig/snapshot", "live_migration", "multifdsend_",
				      "bg_snapshot"};
static const char *const receiving[] = {"mig/dst/", "multifdrecv_", "postcopy/"};

static bool begins_with_one(const char *name, const char *const *list, size_t nr)
{
	return array_any(nr, i, !strncmp(name, list[i], strlen(list[i])));
}

/* vm: NULL: of any */
static const json_t *migration_thread(const struct found *f, const char *vm,
				      const char *const *names, size_t nr)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "sched"), i, row)
		if (strcmp(text_of(row, "kind"), "vcpu") != 0 &&
		    (!vm || !strcmp(text_of(row, "vm"), vm)) &&
		    begins_with_one(text_of(row, "thread"), names, nr))
			return row;
	return NULL;
}

static const json_t *sending_thread(const struct found *f, const char *vm)
{
	return migration_thread(f, vm, sending, sizeof(sending) / sizeof(*sending));
}

static const json_t *receiving_thread(const struct found *f, const char *vm)
{
	return migration_thread(f, vm, receiving, sizeof(receiving) / sizeof(*receiving));
}

static bool logs_pages(const struct found *f, const char *vm)
{
	return json_is_true(json_object_get(vm_meta(f, vm), "dirty_log"));
}

bool migration_print(const struct found *f, const char *vm, enum migration_cost cost, char *buf,
		     size_t size)
{
	const json_t *thread =
		cost == MIGRATION_FETCHES ? receiving_thread(f, vm) : sending_thread(f, vm);

	*buf = '\0';
	if (thread)
		snprintf(buf, size, "; QEMU migrates it, or saves a snapshot (thread %.32s)%s",
			 text_of(thread, "thread"),
			 cost == MIGRATION_THROTTLES ? ", and may slow it for that" : "");
	else if (cost == MIGRATION_LOGS && logs_pages(f, vm))
		snprintf(buf, size, "; KVM logs which pages it writes, as for a migration");
	return *buf;
}

/* "web" */
static const char *subject(const char *vm)
{
	return *vm ? vm : "the VM";
}

/* It has no share of the time that can be measured as a whole: a note, not a cause. */
static void migration_note(struct found *f, const char *section, json_t *sentence)
{
	if (json_array_size(f->list) < CANDIDATES_MAX)
		json_array_append_new(f->list,
				      json_pack("{s:s,s:s,s:s,s:f,s:o,s:b}", "kind", "migration",
						"cause", "migration", "section", section, "share",
						0.0, "text", json_sanitized(sentence), "note", 1));
	else
		json_decref(sentence);
}

/* One that was in QEMU's states: its last part, for which the VM was stopped. */
static const json_t *stop_of_migration(const struct found *f, const char *vm)
{
	static const char *const states[] = {"finish-migrate", "inmigrate", "save-vm",
					     "restore-vm"};
	const json_t *row;
	size_t i;

	json_array_foreach (rows_of(f, "downtime"), i, row)
		if ((!*vm || !strcmp(text_of(row, "vm"), vm)) &&
		    array_any(sizeof(states) / sizeof(*states), k,
			      !strcmp(text_of(row, "state"), states[k])))
			return row;
	return NULL;
}

static void stop_note(struct found *f, const json_t *stop)
{
	char time[16];

	migration_note(
		f, "downtime",
		json_sprintf("QEMU migrated the VM, or saved or loaded a snapshot of it, and "
			     "stopped it for %s for that (%s).",
			     duration_print(number(stop, "window_ns"), time, sizeof(time)),
			     text_of(stop, "state")));
}

/* rows: there are some of any VM */
static void migration_add(struct found *f, const char *vm, bool rows)
{
	const json_t *out = rows ? sending_thread(f, vm) : NULL,
		     *thread = out || !rows ? out : receiving_thread(f, vm),
		     *stop = thread || !rows ? NULL : stop_of_migration(f, vm);
	char share[SHARE_BYTES];

	if (thread)
		migration_note(f, "sched",
			       json_sprintf("QEMU %s: its thread %s was on a CPU for %s.",
					    out ? "migrates the VM, or saves a snapshot of it"
						: "receives the VM by a migration",
					    text_of(thread, "thread"),
					    share_print(f, number(thread, "run_ns"), share,
							sizeof(share))));
	else if (stop && !finding_is_there(f, "vm-stopped"))
		stop_note(f, stop);
	else if (logs_pages(f, vm))
		migration_note(f, "info",
			       json_sprintf("KVM logged which pages %s wrote when the recording "
					    "started: it is migrated, or an earlier migration or "
					    "snapshot has left the log on.",
					    subject(vm)));
}

/* Neither thread nor state of any VM: there may be thousands. */
static bool nothing_migrates(const struct found *f)
{
	return !sending_thread(f, NULL) && !receiving_thread(f, NULL) && !stop_of_migration(f, "");
}

/* With --vm, or of one: then the threads of sched have no VM. */
static bool one_is_selected(const struct found *f, const json_t *vms)
{
	const json_t *row = json_array_get(rows_of(f, "sched"), 0);

	return json_array_size(vms) < 2 || (row && !*text_of(row, "vm"));
}

void findings_migration(struct found *f)
{
	const json_t *vms = json_object_get(json_object_get(data_of(f->sections, "info"), "result"),
					    "vms"),
		     *vm;
	size_t i;

	if (finding_is_there(f, "migration"))
		return;
	if (one_is_selected(f, vms)) {
		migration_add(f, "", true);
		return;
	}

	bool rows = !nothing_migrates(f);

	json_array_foreach (vms, i, vm)
		migration_add(f, text_of(vm, "name"), rows);
}
