// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace stuck`: the findings, the table of requests, vCPUs and threads as text, all of it as JSON. What a finding
 * is, and how it is found, is in analyzers/stuck/stuck.h.
 */
#include <inttypes.h>

#include "base/array.h"
#include "base/units.h"
#include "event/virtio_ids.h"
#include "output/report.h"
#include "output/stuck_report.h"

enum { SCSI_REQUEST_CDB = 19, SECTOR_BYTES = 512 };

static const char *const stages[] = {
	[VIRTQ_OFFERED] = "offered", [VIRTQ_POPPED] = "popped", [VIRTQ_OUTSIDE] = "outside"};

static const char *kind_of(const struct stuck_report *r, const struct stuck_queue *q)
{
	return r->now->dev[q->dev].name;
}

/* ---- requests ---- */

struct operation {
	const char *name; /* NULL: unknown */
	bool sector_known;
	uint64_t sector, bytes;
};

/* virtio 1.2, 5.2.6. The data of a read is all that the device writes but the status. */
static struct operation block_operation(const struct virtq_request *q)
{
	static const char *const names[] = {
		[0] = "read",	       [1] = "write",	      [4] = "flush",
		[8] = "get-id",	       [10] = "get-lifetime", [11] = "discard",
		[13] = "write-zeroes", [14] = "secure-erase"};
	bool header = !q->block && q->header_bytes >= 16;
	struct operation o = {.sector = q->note.sector};
	uint32_t type = q->note.type;

	if (!q->block && !header)
		return o;
	if (header) {
		type = (uint32_t)memory_le(q->header, 4);
		o.sector = memory_le(q->header + 8, 8);
	}
	o.name = type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
	o.name = o.name ? o.name : "other";
	o.sector_known = type <= 1;
	o.bytes = type == 0	      ? q->in_bytes - (q->in_bytes > 0)
		  : q->out_bytes > 16 ? q->out_bytes - 16
				      : 0;
	return o;
}

static uint64_t be(const uint8_t *p, size_t size)
{
	uint64_t v = 0;

	while (size--)
		v = v << 8 | *p++;
	return v;
}

/* virtio 1.2, 5.6.6.1: lun, id, three bytes, then the command. Block numbers are the disk's, mostly of 512 bytes. */
static struct operation scsi_operation(const struct virtq_request *q)
{
	const uint8_t *cdb = q->header + SCSI_REQUEST_CDB;
	struct operation o = {0};

	if (q->header_bytes < SCSI_REQUEST_CDB + 16)
		return o;
	switch (cdb[0]) {
	case 0x28:
	case 0x2a:
		o = (struct operation){.sector_known = true, .sector = be(cdb + 2, 4)};
		break;
	case 0x88:
	case 0x8a:
		o = (struct operation){.sector_known = true, .sector = be(cdb + 2, 8)};
		break;
	}
	o.name = cdb[0] == 0x28 || cdb[0] == 0x88	? "read"
		 : cdb[0] == 0x2a || cdb[0] == 0x8a	? "write"
		 : cdb[0] == 0x35 || cdb[0] == 0x91	? "flush"
		 : cdb[0] == 0x42			? "discard"
		 : cdb[0] == 0x41 || cdb[0] == 0x93	? "write-zeroes"
							: "other";
	return o;
}

static struct operation operation_of(const struct stuck_report *r, const struct stuck_request *s)
{
	const char *name = kind_of(r, s->queue);

	if (s->request->block || strstr(name, "blk"))
		return block_operation(s->request);
	return strstr(name, "scsi") && s->queue->state.index >= 2 ? scsi_operation(s->request)
								  : (struct operation){0};
}

struct stuck_row {
	const struct stuck_request *s;
	const struct virtq_request *q;
	struct operation o;
};

#define ROW const struct stuck_row *r

GET_CELL(get_device, ROW, device_cell(t, r->s->queue->device.path, kind_of(t->report, r->s->queue)))
GET_QUEUE(ROW, kind_of(t->report, r->s->queue), r->s->queue->state.index, VIRTIO_DATA_UNKNOWN)
GET_NUMBER(get_head, ROW, r->q->head)
GET_TEXT(get_stage, ROW, stages[r->q->stage])

static struct cell get_age(struct table *t, const void *at)
{
	const struct stuck_request *s = ((const struct stuck_row *)at)->s;
	char age[16];

	if (!s->stands && !s->age_exact)
		return (struct cell){0, "new"};
	return table_print(t, "%s%s", s->age_exact ? "" : ">",
			   duration_print(s->age_ns, age, sizeof(age)));
}

GET_NUMBER(get_age_ns, ROW, r->s->age_ns)
GET_TEXT(get_age_exact, ROW, r->s->age_exact ? "yes" : "no")
GET_TEXT(get_stands, ROW, r->s->stands ? "yes" : "no")
GET_TEXT(get_op, ROW, r->o.name)
GET_NUMBER_IF(get_sector, ROW, r->o.sector_known, r->o.sector)
GET_NUMBER_IF(get_bytes, ROW, r->q->descs,
	      r->o.name && r->o.bytes ? r->o.bytes : r->q->out_bytes + (uint64_t)r->q->in_bytes)
GET_NUMBER_IF(get_descs, ROW, r->q->descs, r->q->descs)
GET_TEXT(get_indirect, ROW, r->q->indirect ? "yes" : "no")
GET_TEXT(get_broken, ROW, r->q->broken ? "yes" : "no")
GET_TEXT(get_certain, ROW, r->q->certain ? "yes" : "no")
GET_TEXT(get_element, ROW, r->q->element ? "yes" : "no")

static const struct column_def request_columns[] = {
	{"device", "device", COL_PATH, .get = get_device, .doc = "its QOM path, in text its name"},
	COLUMNS_QUEUE(0),
	{"head", "head", COL_COUNT, .get = get_head,
	 .doc = "index of the first descriptor; of a packed ring, the buffer id"},
	{"stage", "stage", COL_TEXT, .get = get_stage,
	 .doc = "offered by the guest and not popped, popped by QEMU and not returned, or at a "
		"device outside QEMU"},
	{NULL, "age", COL_TEXT, .get = get_age, .doc = "\">\": at least; new: not there at first"},
	{"age_ns", NULL, COL_NS, .get = get_age_ns, .doc = "how long it has been there"},
	{"age_exact", NULL, COL_TEXT, .get = get_age_exact,
	 .doc = "yes: since QEMU began its I/O; no: the age is a lower bound"},
	{"stands", NULL, COL_TEXT, .get = get_stands, .doc = "yes: it was there at the first look"},
	{"op", "op", COL_TEXT, .get = get_op, .nullable = true,
	 .doc = "of virtio-blk and virtio-scsi: read, write, flush, discard, ...; null: unknown"},
	{"sector", "sector", COL_COUNT, .get = get_sector, .nullable = true,
	 .doc = "of a read or write; null: unknown"},
	{"bytes", "bytes", COL_COUNT, .get = get_bytes, .nullable = true,
	 .doc = "of data; of other devices, of all buffers"},
	{"descs", "descs", COL_COUNT, .get = get_descs, 3, true, .doc = "number of descriptors"},
	{"indirect", NULL, COL_TEXT, .get = get_indirect, .doc = "yes: descriptors are indirect"},
	{"broken", NULL, COL_TEXT, .get = get_broken, .doc = "yes: descriptors are not valid"},
	{"certain", "certain", COL_TEXT, .get = get_certain,
	 .doc = "no: rings and QEMU's memory leave more than one reading of which were popped"},
	{"element", NULL, COL_TEXT, .get = get_element, .doc = "yes: QEMU's heap has it"},
	COLUMNS_QUEUE_NAMES,
	{0},
};

const struct table_def stuck_requests_table = {
	"stuck", "", "a request that the guest has offered and that was not returned",
	{request_columns}};

int stuck_table(const struct stuck_report *r, struct table *t)
{
	int err = 0;

	table_open(t, &stuck_requests_table, r, NULL);
	for (unsigned int i = 0; i < r->nr_requests && !err; i++) {
		const struct stuck_request *s = &r->request[i];

		err = table_add(t, &(struct stuck_row){s, s->request, operation_of(r, s)});
	}
	return err;
}

/* ---- text ---- */

void stuck_findings_print(const struct stuck_report *r, FILE *f)
{
	char span[16];

	fprintf(f, "%s (pid %d), two looks %s apart: ", r->vm->name, (int)r->vm->pid,
		duration_print(r->now->time_ns - r->before->time_ns, span, sizeof(span)));
	fprintf(f, r->nr_findings ? "%u findings\n" : "nothing is stuck\n",
		r->nr_findings + r->nr_dropped);
	for (unsigned int i = 0; i < r->nr_findings; i++) {
		const struct stuck_finding *s = &r->finding[i];
		char name[VIRTQ_PATH_MAX], age[16], queue[32];

		fprintf(f, "  ");
		if (s->queue)
			fprintf(f, "%s queue %s: ",
				virtio_device_name(*s->queue->device.path ? s->queue->device.path
									  : "unknown",
						   kind_of(r, s->queue), name, sizeof(name)),
				virtio_queue_label(kind_of(r, s->queue), s->queue->state.index,
						   VIRTIO_DATA_UNKNOWN, queue, sizeof(queue)));
		fprintf(f, "%s, for at least %s\n", s->text,
			duration_print(s->age_ns, age, sizeof(age)));
	}
}

/* How long ago the thread last ran; "-": unknown, or it runs. */
static const char *idle_print(const struct stuck_report *r, const struct thread_state *t, char *buf,
			      size_t size)
{
	if (t->since_ns && t->since_ns <= r->now->time_ns)
		return duration_print(r->now->time_ns - t->since_ns, buf, size);
	return "-";
}

static void thread_print(const struct stuck_report *r, const struct thread_state *t, FILE *f)
{
	char role[32], age[16];
	const char *call = t->in_syscall ? syscall_name(t->syscall) : NULL;

	stuck_thread_role(r, t, role, sizeof(role));
	fprintf(f, "%7d %-15s %-7s %-8s %6s %-9s %s\n", (int)t->tid, t->comm, *role ? role : "-",
		thread_state_name(t->state), idle_print(r, t, age, sizeof(age)), call ? call : "-",
		t->wchan[0] ? t->wchan : "-");
}

static bool has_finding(const struct stuck_report *r, pid_t tid)
{
	return array_any(r->nr_findings, i, r->finding[i].tid == tid);
}

/* With spaces, at which lines can be broken. */
static void stack_print(const char *kind, pid_t tid, const char *stack, FILE *f)
{
	if (!*stack)
		return;
	fprintf(f, "%s stack of %d: ", kind, (int)tid);
	for (; *stack; stack++)
		if (*stack == ';')
			fputs(" < ", f);
		else
			fputc(*stack, f);
	fputc('\n', f);
}

/* Of threads that a finding names, innermost first. */
static void stacks_print(const struct stuck_report *r, FILE *f)
{
	for (unsigned int i = 0; i < r->now->nr_threads; i++) {
		const struct thread_state *t = &r->now->thread[i];

		if (!has_finding(r, t->tid))
			continue;
		stack_print("kernel", t->tid, t->stack, f);
		stack_print("user", t->tid, t->user_stack, f);
	}
}

static bool rip_known(const struct stuck_vcpu *v)
{
	return v->kvm && v->kvm->state & KVM_VCPU_RIP;
}

/* "0x100a31 spin" */
static const char *rip_print(const struct stuck_report *r, const struct stuck_vcpu *v, char *buf,
			     size_t size)
{
	const char *name = r->symbols && rip_known(v) ? addresses_name(r->symbols, v->kvm->rip)
						      : NULL;

	if (!rip_known(v))
		return "-";
	snprintf(buf, size, "0x%" PRIx64 "%s%s", v->kvm->rip, name ? " " : "", name ? name : "");
	return buf;
}

/* "48,236" */
static const char *vectors_print(const struct stuck_vcpu *v, char *buf, size_t size)
{
	size_t len = 0;

	if (!v->kvm || !(v->kvm->state & KVM_VCPU_APIC))
		return "-";
	snprintf(buf, size, "none");
	for (unsigned int i = 0; i < 32 * KVM_APIC_WORDS && len < size; i++)
		if (v->kvm->irr[i / 32] >> i % 32 & 1)
			len += (size_t)snprintf(buf + len, size - len, "%s%u", len ? "," : "", i);
	return buf;
}

static void vcpu_print(const struct stuck_report *r, const struct stuck_vcpu *v, FILE *f)
{
	uint64_t span_ns = r->now->time_ns - r->before->time_ns;
	char role[32], idle[16], pending[64], at[160];

	fprintf(f, "%7d %-7s %-9s %6s %5" PRIu64 "%% %6" PRIu64 "%% %-8s %s\n",
		(int)v->thread->tid, stuck_thread_role(r, v->thread, role, sizeof(role)), v->where,
		idle_print(r, v->thread, idle, sizeof(idle)), v->busy_ns * 100 / span_ns,
		v->guest_ns * 100 / span_ns, vectors_print(v, pending, sizeof(pending)),
		rip_print(r, v, at, sizeof(at)));
}

static void lines_print(const char *name, uint32_t bits, FILE *f)
{
	if (!bits)
		return;
	fprintf(f, "%s", name);
	for (unsigned int i = 0; i < 32; i++)
		if (bits >> i & 1)
			fprintf(f, " %u", i);
	fputc('\n', f);
}

/* Lines of the interrupt controllers that are asserted and masked. */
static void controllers_print(const struct kvm_vm *kvm, FILE *f)
{
	if (!kvm)
		return;
	lines_print("I/O APIC: asserted and masked:", kvm->ioapic_irr & kvm->ioapic_masked, f);
	lines_print("PICs: asserted and masked:", kvm->pic_irr & kvm->pic_masked, f);
}

void stuck_threads_print(const struct stuck_report *r, FILE *f)
{
	if (r->nr_vcpus)
		fprintf(f, "%7s %-7s %-9s %6s %6s %7s %-8s %s\n", "tid", "vcpu", "is in", "since",
			"CPU", "guest", "pending", "at");
	for (unsigned int i = 0; i < r->nr_vcpus; i++)
		vcpu_print(r, &r->vcpu[i], f);
	controllers_print(r->now->kvm, f);
	fprintf(f, "%7s %-15s %-7s %-8s %6s %-9s %s\n", "tid", "thread", "role", "state", "since",
		"syscall", "waits in");
	for (unsigned int i = 0; i < r->now->nr_threads; i++)
		thread_print(r, &r->now->thread[i], f);
	stacks_print(r, f);
}

/* ---- JSON ---- */

static json_t *finding_json(const struct stuck_finding *s)
{
	return json_pack("{s:s, s:o, s:s*, s:o, s:o, s:I}", "kind", s->kind, "text",
			 json_text(s->text), "device", s->queue ? s->queue->device.path : NULL,
			 "queue", s->queue ? json_integer(s->queue->state.index) : json_null(),
			 "tid", s->tid ? json_integer(s->tid) : json_null(), "age_ns",
			 (json_int_t)s->age_ns);
}

static json_t *count_json(int64_t count)
{
	return count < 0 ? json_null() : json_integer(count);
}

/* Requests come and go: those of the look that found more. */
static uint32_t throttled(const struct stuck_report *r, const struct stuck_queue *q)
{
	const struct stuck_queue *before = stuck_queue_before(r, q);
	uint32_t then = before ? stuck_backend(r->before, before)->throttled : 0,
		 now = stuck_backend(r->now, q)->throttled;

	return then > now ? then : now;
}

/* NULL: not a disk. */
static json_t *backend_json(const struct stuck_report *r, const struct stuck_queue *q)
{
	const struct block_backend *b = stuck_backend(r->now, q);
	json_t *nodes;

	if (!b->nr)
		return NULL;
	nodes = json_array();
	for (unsigned int i = 0; i < b->nr; i++)
		json_array_append_new(nodes, json_pack("{s:o, s:o}", "driver",
						       json_text(b->node[i].driver), "file",
						       json_text(b->node[i].file)));
	return json_pack("{s:o*, s:I, s:I, s:o}", "disk", *b->disk ? json_text(b->disk) : NULL,
			 "throttled", (json_int_t)throttled(r, q), "suspended",
			 (json_int_t)b->suspended, "nodes", nodes);
}

static json_t *queue_json(const struct stuck_report *r, const struct stuck_queue *q)
{
	static const char *const roles[] = {
		[STUCK_REQUESTS] = "requests", [STUCK_BUFFERS] = "buffers", [STUCK_HELD] = "held"};
	const struct virtq_state *s = &q->state;
	const struct virtio_device *d = &r->now->dev[q->dev];
	char kicks[16], interrupts[16];

	return json_pack(
		"{s:s, s:s, s:I, s:s, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:o, s:o, s:o, "
		"s:o, s:o*}",
		"device", *q->device.path ? q->device.path : "unknown", "name", d->name, "queue",
		(json_int_t)s->index, "role", roles[q->role], "size", (json_int_t)s->size, "ring",
		s->rings ? json_string(s->packed ? "packed" : "split") : json_null(), "avail_idx",
		(json_int_t)s->ring_avail_idx, "last_avail_idx", (json_int_t)s->last_avail_idx,
		"used_idx", (json_int_t)(s->elsewhere ? s->ring_used_idx : s->used_idx), "posted",
		(json_int_t)s->posted, "inuse", (json_int_t)s->inuse, "kicks",
		virtq_notify_print(&s->kicks, kicks, sizeof(kicks)), "interrupts",
		virtq_notify_print(&s->interrupts, interrupts, sizeof(interrupts)), "kicks_pending",
		count_json(q->kicks), "interrupts_pending", count_json(q->interrupts), "isr",
		d->known ? json_integer(d->isr) : json_null(), "status",
		d->known ? json_integer(d->status) : json_null(), "backend",
		backend_json(r, q));
}

static json_t *thread_json(const struct stuck_report *r, const struct thread_state *t)
{
	char role[32];
	const char *call = t->in_syscall ? syscall_name(t->syscall) : NULL;

	stuck_thread_role(r, t, role, sizeof(role));
	return json_pack("{s:i, s:o, s:s, s:s, s:o, s:s*, s:s, s:s, s:s, s:o}", "tid", (int)t->tid,
			 "comm", json_text(t->comm), "role", role, "state",
			 thread_state_name(t->state), "idle_ns",
			 t->since_ns ? json_integer((json_int_t)(r->now->time_ns - t->since_ns))
				     : json_null(),
			 "syscall", call, "wchan", t->wchan, "kernel_stack", t->stack, "user_stack",
			 t->user_stack, "tracer",
			 t->tracer ? json_integer(t->tracer) : json_null());
}

static json_t *bits_json(const uint32_t *bits, unsigned int nr)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < nr; i++)
		if (bits[i / 32] >> i % 32 & 1)
			json_array_append_new(list, json_integer(i));
	return list;
}

/* Adds what KVM knows. */
static json_t *vcpu_kvm_json(const struct stuck_report *r, const struct stuck_vcpu *v, json_t *to)
{
	bool apic = v->kvm && v->kvm->state & KVM_VCPU_APIC;
	const char *name = r->symbols && rip_known(v) ? addresses_name(r->symbols, v->kvm->rip)
						      : NULL;
	char rip[24];

	snprintf(rip, sizeof(rip), "0x%" PRIx64, rip_known(v) ? v->kvm->rip : 0);
	json_object_set_new(to, "rip", rip_known(v) ? json_string(rip) : json_null());
	json_object_set_new(to, "function", name ? json_text(name) : json_null());
	json_object_set_new(to, "in_guest",
			    v->kvm ? json_boolean(v->kvm->state & KVM_VCPU_IN_GUEST) : json_null());
	json_object_set_new(to, "pending_vectors",
			    apic ? bits_json(v->kvm->irr, 32 * KVM_APIC_WORDS) : json_null());
	json_object_set_new(to, "serviced_vectors",
			    apic ? bits_json(v->kvm->isr, 32 * KVM_APIC_WORDS) : json_null());
	return to;
}

/* Lines of the interrupt controllers that KVM has: empty if QEMU has them. */
static json_t *controllers_json(const struct kvm_vm *kvm)
{
	json_t *to = json_object();

	if (kvm && kvm->state & KVM_STATE_IOAPIC) {
		json_object_set_new(to, "ioapic_pending", bits_json(&kvm->ioapic_irr, 24));
		json_object_set_new(to, "ioapic_masked", bits_json(&kvm->ioapic_masked, 24));
	}
	if (kvm && kvm->state & KVM_STATE_PIC) {
		json_object_set_new(to, "pic_pending", bits_json(&kvm->pic_irr, 16));
		json_object_set_new(to, "pic_masked", bits_json(&kvm->pic_masked, 16));
	}
	return to;
}

static json_t *vcpu_json(const struct stuck_report *r, const struct stuck_vcpu *v)
{
	const struct thread_state *t = v->thread;

	return json_pack("{s:o, s:i, s:s, s:o, s:I, s:I}", "vcpu",
			 v->index_known ? json_integer(v->index) : json_null(), "tid", (int)t->tid,
			 "where", v->where, "idle_ns",
			 t->since_ns ? json_integer((json_int_t)(r->now->time_ns - t->since_ns))
				     : json_null(),
			 "busy_ns", (json_int_t)v->busy_ns, "guest_ns", (json_int_t)v->guest_ns);
}

json_t *stuck_json(const struct stuck_report *r)
{
	json_t *vcpus = json_array(), *findings = json_array(), *queues = json_array(),
	       *threads = json_array();

	for (unsigned int i = 0; i < r->nr_findings; i++)
		json_array_append_new(findings, finding_json(&r->finding[i]));
	for (unsigned int i = 0; i < r->now->nr_queues; i++)
		json_array_append_new(queues, queue_json(r, &r->now->queue[i]));
	for (unsigned int i = 0; i < r->now->nr_threads; i++)
		json_array_append_new(threads, thread_json(r, &r->now->thread[i]));
	for (unsigned int i = 0; i < r->nr_vcpus; i++)
		json_array_append_new(vcpus,
				      vcpu_kvm_json(r, &r->vcpu[i], vcpu_json(r, &r->vcpu[i])));
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "findings", findings, "vcpus", vcpus,
			 "interrupt_controllers", controllers_json(r->now->kvm), "queues", queues,
			 "threads", threads);
}

void stuck_caveats(const struct stuck_report *r, json_t *caveats)
{
	unsigned int unsure = 0, inexact = 0, wild = 0;

	if (r->now->memory_error)
		caveat_add(caveats, "%s; no queue is shown", r->now->memory_error);
	else if (!r->now->nr_queues)
		caveat_add(caveats, "no virtio queue that a driver has set up was found");
	else if (!r->now->ram_known)
		caveat_add(caveats,
			   "the guest's memory was not found in QEMU's: headers and indirect "
			   "descriptors of requests are unknown");
	if (r->now->stacks_err)
		caveat_add(caveats, "kernel stacks of threads are unknown: %s; try: sudo",
			   strerror(-r->now->stacks_err));
	for (unsigned int i = 0; i < r->nr_requests; i++) {
		unsure += !r->request[i].request->certain;
		inexact += !r->request[i].age_exact;
	}
	for (unsigned int i = 0; i < r->now->nr_queues; i++)
		wild += r->now->queue[i].state.posted > r->now->queue[i].state.size;
	if (unsure)
		caveat_add(
			caveats,
			"%u requests are not certain: rings and QEMU's memory leave more than one "
			"reading; their number is right",
			unsure);
	if (inexact)
		caveat_add(caveats,
			   "ages with '>' are lower bounds: memory does not hold their begin");
	if (wild)
		caveat_add(
			caveats,
			"the guest's index of %u queues is more than a queue ahead of the device",
			wild);
	if (r->nr_dropped)
		caveat_add(caveats, "%u findings beyond the limit of %d were dropped",
			   r->nr_dropped, STUCK_FINDINGS_MAX);
}
