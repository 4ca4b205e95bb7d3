// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace boot`: the phases of each boot and their sum; phases of several boots with their spread; or the points of
 * time that were seen. Phases and causes are those of analyzers/boot/boot.h.
 */
#include "output/boot_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/order.h"
#include "base/units.h"
#include "event/event.h"
#include "output/report.h"

#define NOT_SEEN UINT64_MAX

enum { SHARE_WHOLE = 100000, CAUSES_SHOWN = 4, CAUSE_MIN_PERCENT = 1 };

/* A phase, or (`name` "total") all of them. */
struct phase_row {
	uint32_t pid;
	const char *name;
	uint64_t time_ns, begin_ns, duration_ns, share; /* NOT_SEEN */
	uint64_t causes[BOOT_CAUSES];
};

const char *boot_phase_name(const struct boot_report *r, unsigned int phase)
{
	return phase < BOOT_MARKER ? boot_phase_names[phase] : r->marker[phase - BOOT_MARKER].text;
}

/* Of two that begin at once, the one with the lower number has no time. */
static bool phase_follows(const struct boot_vm *vm, unsigned int phase, unsigned int next)
{
	return vm->at[next] > vm->at[phase] || (vm->at[next] == vm->at[phase] && next > phase);
}

uint64_t boot_phase_end(const struct boot_vm *vm, unsigned int phase)
{
	uint64_t end = vm->end_ns;

	for (unsigned int next = 0; next < BOOT_PHASES; next++)
		if (vm->at[next] && vm->at[next] < end && phase_follows(vm, phase, next))
			end = vm->at[next];
	return end;
}

struct phase_place {
	uint64_t ns;
	unsigned int phase;
};

static int by_place(const void *a, const void *b)
{
	const struct phase_place *x = a, *y = b;

	return order_u64(x->ns, y->ns) ?: order_u64(x->phase, y->phase);
}

/* In order of time; one that was not seen follows the one before it. Returns their number. */
static unsigned int phases_order(const struct boot_report *r, const struct boot_vm *vm,
				 struct phase_place place[BOOT_PHASES])
{
	unsigned int nr = BOOT_MARKER + r->nr_markers;
	uint64_t ns = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (i >= BOOT_MARKER)
			ns = UINT64_MAX;
		ns = vm->at[i] ?: ns;
		place[i] = (struct phase_place){ns, i};
	}
	qsort(place, nr, sizeof(*place), by_place);
	return nr;
}

static uint64_t share_of(const struct boot_vm *vm, uint64_t ns)
{
	uint64_t whole = vm->end_ns - vm->begin_ns;

	return whole ? (uint64_t)((double)ns * SHARE_WHOLE / (double)whole + .5) : NOT_SEEN;
}

static void phase_row_set(const struct boot_report *r, const struct boot_vm *vm, unsigned int phase,
			  struct phase_row *ret)
{
	bool seen = vm->at[phase];

	ret->pid = vm->pid;
	ret->name = boot_phase_name(r, phase);
	ret->time_ns = seen ? vm->at[phase] : NOT_SEEN;
	ret->begin_ns = seen ? vm->at[phase] - vm->begin_ns : NOT_SEEN;
	ret->duration_ns = seen ? boot_phase_end(vm, phase) - vm->at[phase] : NOT_SEEN;
	ret->share = seen ? share_of(vm, ret->duration_ns) : NOT_SEEN;
	for (unsigned int i = 0; i < BOOT_CAUSES; i++)
		ret->causes[i] = seen ? vm->causes[phase][i] : NOT_SEEN;
}

static void total_row_set(const struct boot_vm *vm, struct phase_row *ret)
{
	*ret = (struct phase_row){.pid = vm->pid,
				  .name = "total",
				  .time_ns = vm->begin_ns,
				  .duration_ns = vm->end_ns - vm->begin_ns,
				  .share = SHARE_WHOLE};
	for (unsigned int phase = 0; phase < BOOT_PHASES; phase++)
		for (unsigned int i = 0; i < BOOT_CAUSES; i++)
			ret->causes[i] += vm->causes[phase][i];
}

/* ---- columns ---- */

static int longest_cause(const struct phase_row *row, unsigned int shown)
{
	int best = -1;

	for (int i = 0; i < BOOT_CAUSES; i++)
		if (!(shown & 1u << i) && row->causes[i] &&
		    (best < 0 || row->causes[i] > row->causes[best]))
			best = i;
	return best;
}

/* "guest 61%, cpu 22%": of 1 % and more. */
static struct cell causes_cell(struct table *t, const struct phase_row *row)
{
	char text[160] = "";
	size_t len = 0;
	unsigned int shown = 0;

	if (row->duration_ns == NOT_SEEN)
		return (struct cell){0, "not recorded"};
	for (unsigned int n = 0; n < CAUSES_SHOWN && len < sizeof(text); n++) {
		int i = longest_cause(row, shown);
		double percent = i < 0 ? 0
				       : (double)row->causes[i] * 100 / (double)row->duration_ns;

		if (percent < CAUSE_MIN_PERCENT)
			break;
		shown |= 1u << i;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %.0f%%",
					len ? ", " : "", boot_cause_names[i], percent);
	}
	return table_print(t, "%s", text);
}

GET_NUMBER_IF(get_known, const uint64_t *n, *n != NOT_SEEN, *n)
GET_CELL(get_causes, const struct phase_row *row, causes_cell(t, row))

#define KNOWN_IN(type, member) \
	.offset = offsetof(type, member), .get = get_known, .nullable = true
#define KNOWN(member) KNOWN_IN(struct phase_row, member)
#define CAUSE(cause, key, text) {key, NULL, COL_NS, KNOWN(causes[cause]), .doc = text}

static const struct column_def phase_columns[] = {
	{"pid", NULL, COL_COUNT, MEMBER(struct phase_row, pid), .doc = "process id of the VM"},
	COLUMN_VM(struct phase_row, pid),
	{"phase", "phase", COL_TEXT, MEMBER(struct phase_row, name),
	 .doc = "vmm, vm, vcpus, devices, firmware, kernel, init, the markers, or total: all of "
		"them"},
	{"time_ns", NULL, COL_COUNT, KNOWN(time_ns), .doc = "when it begins; null: not recorded"},
	{"begin_ns", "begin", COL_NS, KNOWN(begin_ns), .doc = "the same, since the boot began"},
	{"duration_ns", "duration", COL_NS, KNOWN(duration_ns),
	 .doc = "until the next phase that was recorded"},
	{"share", "share", COL_PERCENT, KNOWN(share), .doc = "of the boot, in percent"},
	CAUSE(BOOT_GUEST, "guest_ns", "in guest mode; without kvm_exit, in KVM_RUN"),
	CAUSE(BOOT_KVM, "kvm_ns", "KVM handles an exit, or another ioctl of the VMM's"),
	CAUSE(BOOT_VMM_RUN, "vmm_ns", "the VMM's own code runs"),
	CAUSE(BOOT_SYSCALL, "syscall_ns", "in a system call that is none of the others"),
	CAUSE(BOOT_HALTED, "halted_ns", "all vCPUs are halted"),
	CAUSE(BOOT_DISK, "disk_ns", "an uninterruptible sleep in a system call: the host's disk"),
	CAUSE(BOOT_FAULT, "fault_ns", "an uninterruptible sleep in a page fault or in KVM"),
	CAUSE(BOOT_CPU, "cpu_ns", "it could run, and waits for a CPU"),
	CAUSE(BOOT_BQL, "bql_ns", "waits for QEMU's global mutex"),
	CAUSE(BOOT_LOCK, "lock_ns", "waits for another futex: for another thread of the VMM"),
	CAUSE(BOOT_POLL, "poll_ns", "the VMM's event loop waits"),
	CAUSE(BOOT_STOPPED, "stopped_ns", "stopped by a signal or a tracer"),
	CAUSE(BOOT_UNKNOWN, "unknown_ns", "what the thread did is not recorded"),
	{NULL, "time went into", COL_TEXT, .get = get_causes, .nullable = true,
	 .doc = "the largest four of the causes, from 1 %"},
	{0},
};

const struct table_def boot_table = {"boot", "", "a phase of a boot", {phase_columns}};

/* A phase of several boots. */
struct spread_row {
	const char *name;
	uint64_t boots, min_ns, median_ns, max_ns;
};

#define SPREAD(member) KNOWN_IN(struct spread_row, member)

static const struct column_def spread_columns[] = {
	{"phase", "phase", COL_TEXT, MEMBER(struct spread_row, name), .doc = "as without --by"},
	{"boots", "boots", COL_COUNT, MEMBER(struct spread_row, boots),
	 .doc = "boots in which it was recorded"},
	{"min_ns", "min", COL_NS, SPREAD(min_ns), .doc = "its shortest duration; null: none"},
	{"median_ns", "median", COL_NS, SPREAD(median_ns),
	 .doc = "median; of an even number, the lower of the two in the middle"},
	{"max_ns", "max", COL_NS, SPREAD(max_ns), .doc = "longest"},
	{0},
};

const struct table_def boot_phases_table = {
	"boot", "--by phase", "a phase of all boots", {spread_columns}};

struct point_row {
	uint32_t pid;
	uint16_t vcpu;
	uint64_t begin_ns, guest_ns, number;
	const struct boot_point *point;
};

static const struct {
	const char *name;
	bool has_number;
} point_kinds[BOOT_POINT_KINDS] = {
	[BOOT_AT_EXEC] = {"exec", false},	 [BOOT_AT_THREAD] = {"thread", true},
	[BOOT_AT_VM] = {"create-vm", false},	 [BOOT_AT_SLOT] = {"memory-slot", false},
	[BOOT_AT_VCPU] = {"create-vcpu", false}, [BOOT_AT_RUN] = {"first-run", false},
	[BOOT_AT_PORT] = {"first-port", true},	 [BOOT_AT_POST] = {"post-code", true},
	[BOOT_AT_DEBUG] = {"firmware-debug", false}, [BOOT_AT_CONSOLE] = {"console", false},
	[BOOT_AT_DRIVER] = {"driver", false},	 [BOOT_AT_REQUEST] = {"first-request", false},
	[BOOT_AT_MARKER] = {"marker", false},
};

static struct cell what_cell(struct table *t, const struct point_row *row)
{
	const struct boot_point *p = row->point;

	if (p->text)
		return (struct cell){0, p->text};
	if (!point_kinds[p->kind].has_number)
		return (struct cell){0};
	return table_print(t, p->kind == BOOT_AT_THREAD ? "%" PRIu64 : "0x%" PRIx64, p->number);
}

GET_NUMBER(get_point_time, const struct point_row *row, row->point->ns)
GET_TEXT(get_point, const struct point_row *row, point_kinds[row->point->kind].name)
GET_CELL(get_what, const struct point_row *row, what_cell(t, row))

static const struct column_def point_columns[] = {
	{"time_ns", NULL, COL_COUNT, .get = get_point_time, .doc = "when"},
	{"begin_ns", "seconds", COL_SECONDS, MEMBER(struct point_row, begin_ns),
	 .doc = "since the boot began"},
	{"pid", NULL, COL_COUNT, MEMBER(struct point_row, pid), .doc = "process id of the VM"},
	COLUMN_VM(struct point_row, pid),
	COLUMN_VCPU(struct point_row, vcpu),
	{"point", "point", COL_TEXT, .get = get_point,
	 .doc = "exec; thread, create-vm, memory-slot, create-vcpu: by the VMM; first-run: of a "
		"vCPU; first-port; post-code; firmware-debug: the first byte to port 0x402; "
		"console: a line; driver: has found a virtio device; first-request: of a virtio "
		"device; marker"},
	{"what", "what", COL_TEXT, .get = get_what, .nullable = true,
	 .doc = "the line, the device's type, the marker; the thread's id, the port, the code"},
	{"guest_ns", "guest time", COL_NS, KNOWN_IN(struct point_row, guest_ns),
	 .doc = "of a line that begins with \"[seconds]\": the guest's time in it"},
	{0},
};

const struct table_def boot_points_table = {
	"boot", "--by point", "a point of time of a boot", {point_columns}};

/* ---- rows ---- */

static int phases_add(const struct boot_report *r, struct table *t)
{
	struct phase_place place[BOOT_PHASES];
	struct phase_row row;
	int err = 0;

	for (size_t i = 0; i < r->nr && !err; i++) {
		unsigned int nr = phases_order(r, r->boot[i], place);

		for (unsigned int j = 0; j < nr && !err; j++) {
			phase_row_set(r, r->boot[i], place[j].phase, &row);
			err = table_add(t, &row);
		}
		total_row_set(r->boot[i], &row);
		err = err ?: table_add(t, &row);
	}
	return err;
}

static int by_duration(const void *a, const void *b)
{
	return order_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* phase: BOOT_PHASES: all. A boot that did not come to its last marker has no total. */
static int spread_add(const struct boot_report *r, struct table *t, unsigned int phase,
		      uint64_t *list)
{
	bool total = phase == BOOT_PHASES;
	struct spread_row row = {.name = total ? "total" : boot_phase_name(r, phase)};

	for (size_t i = 0; i < r->nr; i++) {
		const struct boot_vm *vm = r->boot[i];

		if (total && (!r->nr_markers || vm->has_end))
			list[row.boots++] = vm->end_ns - vm->begin_ns;
		else if (!total && vm->at[phase])
			list[row.boots++] = boot_phase_end(vm, phase) - vm->at[phase];
	}
	qsort(list, row.boots, sizeof(*list), by_duration);
	row.min_ns = row.boots ? list[0] : NOT_SEEN;
	row.median_ns = row.boots ? list[(row.boots - 1) / 2] : NOT_SEEN;
	row.max_ns = row.boots ? list[row.boots - 1] : NOT_SEEN;
	return table_add(t, &row);
}

static int spreads_add(const struct boot_report *r, struct table *t)
{
	_cleanup_free_ uint64_t *list = calloc(r->nr + 1, sizeof(*list));
	int err = list ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int phase = 0; phase < BOOT_MARKER + r->nr_markers && !err && r->nr; phase++)
		err = spread_add(r, t, phase, list);
	return err || !r->nr ? err : spread_add(r, t, BOOT_PHASES, list);
}

static int points_add(const struct boot_report *r, struct table *t)
{
	int err = 0;

	for (size_t i = 0; i < r->nr; i++) {
		const struct boot_vm *vm = r->boot[i];

		for (size_t j = 0; j < vm->nr_points && !err; j++) {
			const struct boot_point *p = &vm->point[j];

			err = table_add(t, &(struct point_row){
						   .pid = vm->pid,
						   .vcpu = p->vcpu,
						   .begin_ns = p->ns - vm->begin_ns,
						   .guest_ns = p->has_guest_ns ? p->guest_ns
									       : NOT_SEEN,
						   .point = p});
		}
	}
	return err;
}

int boot_report_rows(const struct boot_report *r, enum boot_by by, struct table *t)
{
	static const struct table_def *const defs[] = {
		[BOOT_BY_VM] = &boot_table,
		[BOOT_BY_PHASE] = &boot_phases_table,
		[BOOT_BY_POINT] = &boot_points_table,
	};

	table_open(t, defs[by], r, r->vms);
	if (by == BOOT_BY_POINT)
		return points_add(r, t);
	return by == BOOT_BY_PHASE ? spreads_add(r, t) : phases_add(r, t);
}

json_t *boot_report_caveats(const struct boot_report *r)
{
	uint64_t no_exec = 0, no_marker = 0, guest_ns = 0;
	json_t *list = json_array();

	for (size_t i = 0; i < r->nr; i++) {
		no_exec += !r->boot[i]->at[BOOT_VMM];
		no_marker += r->nr_markers && !r->boot[i]->has_end;
		for (unsigned int phase = 0; phase < BOOT_PHASES; phase++)
			guest_ns += r->boot[i]->causes[phase][BOOT_GUEST];
	}
	caveat_count(list, "boots that began before the recording: their first phases are missing",
		     no_exec);
	caveat_count(list,
		     "boots that did not come to the last marker: they last until the end of the "
		     "recording",
		     no_marker);
	if (guest_ns && !r->notes.exits)
		caveat_add(list, "the recording has no kvm_exit: exits that KVM handles are part "
				 "of guest");
	if (r->notes.strings)
		caveat_add(list, "the guest wrote to the serial console by string instructions, of "
				 "which only the first byte is recorded");
	if (r->nr && r->notes.losses)
		caveat_add(list, "events were lost: phases and points may be missing");
	caveat_count(list, "events and points not shown, as there are too many", r->notes.refused);
	return list;
}
