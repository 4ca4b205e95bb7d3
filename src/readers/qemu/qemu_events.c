// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU's trace events (its trace-events files; -trace, -d trace:) and what they are here. Those with a counterpart in
 * bpf/events.def become it; the others become "qemu:NAME".
 *
 * QEMU names a queue by its address only; virtio_queue_notify and virtio_notify also name the device. Until one of them
 * was seen, the device and the number of a queue are not recorded. Nor are an element's descriptor head, which its
 * address stands for while it is in flight, whether a notification came through an eventfd, and what the log's author
 * has masked ("vq <redacted>", "0xXXXX", "cpu_index xx").
 */

#include <ctype.h>
#include <linux/kvm.h>

#include "base/array.h"
#include "readers/qemu/qemu_events.h"
#include "readers/text/lines.h"

enum {
	ARGS_MAX = 6,
	TEXT_BYTES = 256,
	WORDS = 6, /* of an unknown event's arguments */
};

enum arg_kind {
	NONE,
	NUMBER,
	WIDTH, /* 'b', 'w' or 'l': 1, 2 or 4 bytes; in the log "(b)" */
	VCPU,
	STRING,
};

struct arg {
	const char *name, *log; /* as the argument is called; as the log calls it, NULL: the same */
	enum arg_kind kind;
	uint16_t offset, size; /* size 0: not ours */
	uint64_t bit;	       /* RECORD_BIT() */
};

struct qemu_event {
	const char *name;
	uint16_t id;
	struct arg arg[ARGS_MAX];
	uint16_t one_offset, one_size; /* a field that is 1 for this event */
	uint64_t has; /* what it has by its name, RECORD_BIT() */
	enum qemu_special special;
};

/* clang-format off */
#define AT(event, field) offsetof(struct rec_##event, field), sizeof(((struct rec_##event *)0)->field)
#define TO(event, field) AT(event, field), RECORD_BIT(event, field)
#define N(arg, event, field) {arg, NULL, NUMBER, TO(event, field)}
#define HAS(event, field) RECORD_BIT(event, field)

/* QEMU 4.2 to 10.2: hw/virtio, hw/block, hw/scsi, accel/kvm, softmmu/trace-events. */
static const struct qemu_event known_events[] = {
	{"virtqueue_pop", EV_virtqueue_pop,
	 {N("vq", virtqueue_pop, vq), N("elem", virtqueue_pop, elem), N("in_num", virtqueue_pop, in_num),
	  N("out_num", virtqueue_pop, out_num)}, 0, 0},
	{"virtqueue_fill", EV_virtqueue_fill,
	 {N("vq", virtqueue_fill, vq), N("elem", virtqueue_fill, elem), N("len", virtqueue_fill, len),
	  N("idx", virtqueue_fill, idx)}, 0, 0},
	{"virtqueue_flush", EV_virtqueue_flush,
	 {N("vq", virtqueue_flush, vq), N("count", virtqueue_flush, count)}, 0, 0},
	{"virtio_queue_notify", EV_virtio_queue_notify,
	 {N("vdev", virtio_queue_notify, vdev), N("n", virtio_queue_notify, queue),
	  N("vq", virtio_queue_notify, vq)}, 0, 0},
	{"virtio_notify", EV_virtio_notify,
	 {N("vdev", virtio_notify, vdev), N("vq", virtio_notify, vq)}, 0, 0, HAS(virtio_notify, irqfd)},
	{"virtio_notify_irqfd", EV_virtio_notify,
	 {N("vdev", virtio_notify, vdev), N("vq", virtio_notify, vq)}, AT(virtio_notify, irqfd), HAS(virtio_notify, irqfd)},
	{"virtio_set_status", EV_virtio_set_status,
	 {N("vdev", virtio_set_status, vdev), N("val", virtio_set_status, status)}, 0, 0},
	{"kvm_run_exit", EV_kvm_userspace_exit,
	 {{"cpu_index", NULL, VCPU, 0, 0}, N("reason", kvm_userspace_exit, reason)}, 0, 0},
	{"cpu_in", EV_qemu_pio,
	 {N("addr", qemu_pio, port), {"size", "(", WIDTH, TO(qemu_pio, size)},
	  {"val", "value", NUMBER, TO(qemu_pio, val)}}, 0, 0, HAS(qemu_pio, write)},
	{"cpu_out", EV_qemu_pio,
	 {N("addr", qemu_pio, port), {"size", "(", WIDTH, TO(qemu_pio, size)},
	  {"val", "value", NUMBER, TO(qemu_pio, val)}}, AT(qemu_pio, write), HAS(qemu_pio, write)},
	{"virtio_blk_handle_read", EV_vblk_request,
	 {N("vdev", vblk_request, vdev), N("req", vblk_request, req), N("sector", vblk_request, sector),
	  N("nsectors", vblk_request, nsectors)}, 0, 0, HAS(vblk_request, write)},
	{"virtio_blk_handle_write", EV_vblk_request,
	 {N("vdev", vblk_request, vdev), N("req", vblk_request, req), N("sector", vblk_request, sector),
	  N("nsectors", vblk_request, nsectors)}, AT(vblk_request, write), HAS(vblk_request, write)},
	{"virtio_blk_req_complete", EV_vblk_done,
	 {N("vdev", vblk_done, vdev), N("req", vblk_done, req), N("status", vblk_done, status)}, 0, 0},
	{"virtio_scsi_cmd_req", EV_vscsi_request,
	 {N("lun", vscsi_request, lun), N("tag", vscsi_request, tag), N("cmd", vscsi_request, cmd)}, 0, 0},
	{"virtio_scsi_cmd_resp", EV_vscsi_response,
	 {N("lun", vscsi_response, lun), N("tag", vscsi_response, tag), N("response", vscsi_response, response),
	  N("status", vscsi_response, status)}, 0, 0},
	{"vm_state_notify", EV_vm_state,
	 {N("running", vm_state, running), N("reason", vm_state, state)}, 0, 0},
};

/* Ours only with some arguments; all others are "qemu:NAME". */
static const struct qemu_event special_events[] = {
	{"kvm_vcpu_ioctl", 0,
	 {{"cpu_index", NULL, VCPU, 0, 0}, {"type", NULL, NUMBER, 0, sizeof(uint64_t)}}, 0, 0, 0, QEMU_IOCTL},
	{"vmstate_downtime_checkpoint", 0, {{NULL}}, 0, 0, 0, QEMU_CHECKPOINT},
	{"vmstate_downtime_save", 0,
	 {{"type", NULL, STRING, 0, 0}, {"idstr", NULL, STRING, 0, 0}, {"instance_id", NULL, NUMBER, 0, 0},
	  {"downtime", NULL, NUMBER, 0, 0}}, 0, 0, 0, QEMU_SAVED},
	{"vmstate_downtime_load", 0,
	 {{"type", NULL, STRING, 0, 0}, {"idstr", NULL, STRING, 0, 0}, {"instance_id", NULL, NUMBER, 0, 0},
	  {"downtime", NULL, NUMBER, 0, 0}}, 0, 0, 0, QEMU_LOADED},
};
/* clang-format on */

enum { RUN_STATE_FINISH_MIGRATE = 7, RUN_STATE_RUNNING = 9 };

/*
 * "vmstate_downtime_checkpoint NAME": of the source and of the destination of a migration (QEMU 8.2 and newer,
 * migration/migration.c). step 0: the VM stopped or started.
 */
static const struct downtime_point {
	const char *name;
	uint64_t step; /* of migrate_step */
	uint32_t running, state;
} downtime_points[] = {
	{"src-downtime-start", 5, 0, 0},
	{"src-vm-stopped", 0, 0, RUN_STATE_FINISH_MIGRATE},
	{"src-downtime-end", 6, 0, 0},
	{"dst-precopy-loadvm-completed", 4, 0, 0},
	{"dst-precopy-bh-vm-started", 0, 1, RUN_STATE_RUNNING},
	{"dst-postcopy-bh-vm-started", 0, 1, RUN_STATE_RUNNING},
};

struct rec_words {
	struct record_hdr hdr;
	uint64_t arg[WORDS];
};

struct rec_text {
	struct record_hdr hdr;
	char text[TEXT_BYTES];
};

/* What a queue's address stands for, from the events that name both. */
struct queue {
	uint64_t vq, vdev;
	uint32_t queue;
	bool has_queue;
};

/* The first vCPU of a number in a log. */
struct tid_vcpu {
	uint64_t tid;
	uint16_t vcpu;
};

void qemu_events_init(struct qemu_events *e, bool binary)
{
	e->nr_names = 0;
	e->binary = binary;
	e->by_name = HASH_INDEX(QEMU_NAMES_MAX);
	e->queues = HASH_TABLE(struct queue, 1, QEMU_QUEUES_MAX);
	e->tids = HASH_TABLE(struct tid_vcpu, 1, QEMU_TIDS_MAX);
}

void qemu_events_deinit(struct qemu_events *e)
{
	for (uint32_t i = 0; i < e->nr_names; i++)
		free(e->name[i].name);
	hash_index_deinit(&e->by_name);
	hash_deinit(&e->queues);
	hash_deinit(&e->tids);
}

static bool slice_is(struct text_slice text, const char *what)
{
	return strlen(what) == text.len && !memcmp(what, text.at, text.len);
}

static const struct qemu_event *known_find(struct text_slice name)
{
	return array_find(known_events, sizeof(known_events) / sizeof(known_events[0]), i,
			  slice_is(name, known_events[i].name));
}

static const struct qemu_event *special_find(struct text_slice name)
{
	return array_find(special_events, sizeof(special_events) / sizeof(special_events[0]), i,
			  slice_is(name, special_events[i].name));
}

bool qemu_event_is_known(struct text_slice name)
{
	return known_find(name);
}

bool qemu_event_is_read(struct text_slice name)
{
	return known_find(name) || special_find(name);
}

static bool is_part(struct text_slice name, const char *known, bool end)
{
	size_t len = strlen(known);

	return len > name.len && !memcmp(known + (end ? len - name.len : 0), name.at, name.len);
}

bool qemu_event_is_part(struct text_slice name, bool end)
{
	if (qemu_event_is_read(name))
		return false;
	return array_any(sizeof(known_events) / sizeof(known_events[0]), i,
			 is_part(name, known_events[i].name, end)) ||
	       array_any(sizeof(special_events) / sizeof(special_events[0]), i,
			 is_part(name, special_events[i].name, end));
}

/* ---- names ---- */

static bool word_is(struct text_slice text, const char *word)
{
	size_t len = strlen(word);

	return text.len >= len && !memcmp(text.at, word, len) &&
	       (text.len == len || text.at[len] == ' ');
}

static const struct event_type *type_make(const struct qemu_events *e, struct text_slice name)
{
	static const char *const arg[WORDS] = {"arg0", "arg1", "arg2", "arg3", "arg4", "arg5"};
	struct field words[WORDS];
	const struct field text = {.name = "text", .fmt = "text", .doc = "", .kind = FIELD_TEXT,
				   .offset = offsetof(struct rec_text, text), .size = TEXT_BYTES};
	char full[EVENT_NAME_MAX];
	const struct event_type type = {.name = full,
					.doc = "a trace event of QEMU",
					.fields = e->binary ? words : &text,
					.nr_fields = e->binary ? WORDS : 1,
					.size = e->binary ? sizeof(struct rec_words)
							  : sizeof(struct rec_text)},
				*made;

	for (uint16_t i = 0; i < WORDS; i++)
		words[i] = (struct field){
			.name = arg[i],
			.fmt = "hex",
			.doc = "",
			.kind = FIELD_UINT,
			.offset = (uint16_t)(offsetof(struct rec_words, arg) + 8 * i),
			.size = 8};
	snprintf(full, sizeof(full), "qemu:%.*s", (int)(name.len < 100 ? name.len : 100), name.at);
	text_sanitize(full);
	return event_type_register(&type, &made) ? NULL : made;
}

struct qemu_name *qemu_event_name(struct qemu_events *e, struct text_slice name,
				  const struct read_hint *hint)
{
	uint64_t hash = hash_keyed_bytes(name.at, name.len);
	struct qemu_name *n = &e->name[e->nr_names];
	uint32_t i;

	for (uint64_t probe = 0; (i = hash_index_next(&e->by_name, hash, &probe)) != HASH_NONE;)
		if (e->name[i].len == name.len && !memcmp(e->name[i].name, name.at, name.len))
			return &e->name[i];
	if (e->nr_names == QEMU_NAMES_MAX)
		return NULL;
	*n = (struct qemu_name){.name = malloc(name.len + 1u), .len = name.len, .wanted = true};
	if (!n->name)
		return NULL;
	memcpy(n->name, name.at, name.len);
	n->known = known_find(name);
	n->special = special_find(name);
	n->type = n->known ? event_type_ours(n->known->id) : type_make(e, name);
	if (n->type && hint && hint->wants && !n->special)
		n->wanted = hint->wants(n->type->name, hint->arg);
	if (!n->type || !hash_index_add(&e->by_name, hash, e->nr_names)) {
		free(n->name);
		return NULL;
	}
	e->nr_names++;
	return n;
}

/* ---- arguments ---- */

/* Returns the bit of the argument. */
static uint64_t arg_put(const struct arg *a, uint64_t value, uint8_t *record, uint16_t *vcpu)
{
	if (a->kind == WIDTH)
		value = value == 'w' ? 2 : value == 'l' ? 4 : 1;
	if (a->kind == VCPU && value < RECORD_NO_VCPU)
		*vcpu = (uint16_t)value;
	if (a->size)
		memcpy(record + a->offset, &value, a->size);
	return a->bit;
}

/* The value after a word, "vq 0x1", "vq=0x1", "cpu_index 0,", "(b)"; NULL: there is no such word. */
static const char *value_find(struct text_slice text, const char *word)
{
	size_t len = strlen(word);
	const char *p = text.at, *end = p + text.len;

	for (; (p = memmem(p, (size_t)(end - p), word, len)); p++)
		if (*word == '(')
			return p + 1;
		else if ((p == text.at || p[-1] == ' ') && (p[len] == ' ' || p[len] == '='))
			return p + len + 1;
	return NULL;
}

/* The value of an argument in a text, which is not cut; NULL: it has none. */
static const char *arg_find(const struct arg *a, struct text_slice text)
{
	const char *p = value_find(text, a->name), *end = text.at + text.len;

	if (!p && a->log)
		p = value_find(text, a->log);
	if (!p || p >= end || *p == ' ')
		return NULL;
	return end - p == 2 && (!memcmp(p, "0x", 2) || !memcmp(p, "0X", 2)) ? NULL : p;
}

static bool is_masked(const struct arg *a, const char *p, const char *end)
{
	if (a->kind == WIDTH && !text_is_digit(*p))
		return *p != 'b' && *p != 'w' && *p != 'l';
	return text_number_is_masked(p, end);
}

void qemu_tid_learn(struct qemu_events *e, uint32_t tid, struct text_slice args)
{
	const char *p = tid ? value_find(args, "cpu_index") : NULL;
	bool is_new = false, known = p && !text_number_is_masked(p, args.at + args.len);
	struct tid_vcpu *t = known ? hash_add_u64(&e->tids, tid, &is_new) : NULL;
	uint16_t vcpu = known ? (uint16_t)text_number(&p) : 0;

	if (t && is_new)
		t->vcpu = vcpu;
	e->tids_are_pids |= t && t->vcpu != vcpu;
}

struct qemu_args qemu_args_of(struct text_slice name, struct text_slice text)
{
	const struct qemu_event *known = known_find(name);
	struct qemu_args args = {0};

	known = known ? known : special_find(name);
	for (; known && args.all < ARGS_MAX && known->arg[args.all].kind; args.all++) {
		const char *value = arg_find(&known->arg[args.all], text),
			   *end = text.at + text.len;

		args.has_last = value;
		args.last_is_open = value && !memchr(value, ' ', (size_t)(end - value)) &&
				    isalnum((unsigned char)end[-1]); /* "type 0xae80," is whole */
		args.found += args.has_last;
	}
	return args;
}

static uint64_t args_of_text(const struct qemu_event *known, struct text_slice text,
			     uint8_t *record, uint16_t *vcpu)
{
	uint64_t present = 0;

	for (int i = 0; i < ARGS_MAX && known->arg[i].kind; i++) {
		const struct arg *a = &known->arg[i];
		const char *p = arg_find(a, text);

		if (!p || is_masked(a, p, text.at + text.len))
			continue;
		if (a->kind == WIDTH && !text_is_digit(*p))
			present |= arg_put(a, (unsigned char)*p, record, vcpu);
		else
			present |= arg_put(a, text_number(&p), record, vcpu);
	}
	return present;
}

/* Each argument is 8 bytes, or a length of 4 bytes and that many bytes of text. */
static uint64_t args_of_bytes(const struct qemu_event *known, struct text_slice bytes,
			      uint8_t *record, uint16_t *vcpu)
{
	const char *p = bytes.at, *end = p + bytes.len;
	uint64_t value, present = 0;
	uint32_t len;

	for (int i = 0; i < ARGS_MAX && known->arg[i].kind; i++) {
		if (known->arg[i].kind == STRING) {
			if (end - p < 4)
				return present;
			memcpy(&len, p, 4);
			if (len > (size_t)(end - p) - 4)
				return present;
			p += 4 + len;
			continue;
		}
		if (end - p < 8)
			return present;
		memcpy(&value, p, 8);
		p += 8;
		present |= arg_put(&known->arg[i], value, record, vcpu);
	}
	return present;
}

/* ---- queues ---- */

static void queue_learn(struct qemu_events *e, uint64_t vq, uint64_t vdev, const uint32_t *queue)
{
	struct queue *q = vq ? hash_add_u64(&e->queues, vq, NULL) : NULL;

	if (q)
		q->vdev = vdev;
	if (!q || !queue)
		return;
	q->queue = *queue;
	q->has_queue = true;
}

static struct queue queue_of(const struct qemu_events *e, uint64_t vq)
{
	const struct queue *q = hash_find_u64(&e->queues, vq);

	return q ? *q : (struct queue){.vq = vq};
}

#define QUEUE_OF_VQ(record, event)                                                                 \
	(q = queue_of(e, (record)->vq), (record)->vdev = q.vdev, (record)->queue = q.queue,        \
	 (q.vdev ? HAS(event, vdev) : 0) | (q.has_queue ? HAS(event, queue) : 0))

/* What QEMU leaves out, as far as it is known from what it has. Returns which fields that are, both RECORD_BIT(). */
static uint64_t record_complete(struct qemu_events *e, const struct qemu_event *known,
				uint8_t *record, uint64_t has)
{
	const uint64_t nums = HAS(virtqueue_pop, in_num) | HAS(virtqueue_pop, out_num);
	struct rec_virtqueue_pop *pop = (void *)record;
	struct rec_virtqueue_fill *fill = (void *)record;
	struct rec_virtqueue_flush *flush = (void *)record;
	struct rec_virtio_queue_notify *kick = (void *)record;
	struct rec_virtio_notify *notify = (void *)record;
	struct rec_qemu_pio *pio = (void *)record;
	struct queue q;

	switch (known->id) {
	case EV_virtio_queue_notify:
		queue_learn(e, kick->vq, kick->vdev,
			    has & HAS(virtio_queue_notify, queue) ? &kick->queue : NULL);
		return 0;
	case EV_virtio_notify:
		queue_learn(e, notify->vq, notify->vdev, NULL);
		q = queue_of(e, notify->vq);
		notify->queue = q.queue;
		return q.has_queue ? HAS(virtio_notify, queue) : 0;
	case EV_virtqueue_pop:
		pop->ndescs = pop->in_num + pop->out_num;
		return QUEUE_OF_VQ(pop, virtqueue_pop) |
		       ((has & nums) == nums ? HAS(virtqueue_pop, ndescs) : 0);
	case EV_virtqueue_fill:
		return QUEUE_OF_VQ(fill, virtqueue_fill);
	case EV_virtqueue_flush:
		return QUEUE_OF_VQ(flush, virtqueue_flush);
	case EV_qemu_pio:
		pio->count = 1;
		return HAS(qemu_pio, count);
	default:
		return 0;
	}
}

/* ---- events that are ours only with some arguments ---- */

static bool is_special(const struct qemu_name *n, enum qemu_special what)
{
	return n->special && n->special->special == what;
}

/* "cpu_index 2, type 0xae80, arg (nil)" of kvm_vcpu_ioctl: KVM_RUN, which pairs with its return by the thread. */
static bool is_kvm_run(const struct qemu_events *e, const struct qemu_name *n,
		       struct text_slice args, uint16_t *vcpu)
{
	uint64_t type = 0;

	if (!is_special(n, QEMU_IOCTL))
		return false;
	if (e->binary)
		args_of_bytes(n->special, args, (uint8_t *)&type, vcpu);
	else
		args_of_text(n->special, args, (uint8_t *)&type, vcpu);
	return type == KVM_RUN;
}

/* The event of ours that this one is with its arguments; 0: it is none. */
static uint16_t special_make(const struct qemu_events *e, const struct qemu_name *n,
			     struct text_slice args, uint8_t *to, uint16_t *vcpu)
{
	struct rec_migrate_step *step = (void *)to;
	struct rec_vm_state *state = (void *)to;

	if (is_kvm_run(e, n, args, vcpu))
		return EV_kvm_run;
	if (is_special(n, QEMU_SAVED) && word_is(args, "type=iterable idstr=ram")) {
		step->step = 2; /* what is left is written from now on */
		return EV_migrate_step;
	}
	for (size_t i = 0; is_special(n, QEMU_CHECKPOINT) &&
			   i < sizeof(downtime_points) / sizeof(*downtime_points);
	     i++) {
		const struct downtime_point *p = &downtime_points[i];

		if (!word_is(args, p->name))
			continue;
		step->step = p->step;
		if (p->step)
			return EV_migrate_step;
		state->running = p->running;
		state->state = p->state;
		return EV_vm_state;
	}
	return 0;
}

uint64_t qemu_step_begin(const struct qemu_name *n, struct text_slice args, uint64_t *ret_step)
{
	bool saved = is_special(n, QEMU_SAVED) && word_is(args, "type=iterable idstr=ram"),
	     loaded = is_special(n, QEMU_LOADED) && word_is(args, "type=non-iterable");
	const char *p = saved || loaded ? value_find(args, "downtime") : NULL;
	uint64_t us = p ? text_number(&p) : 0;

	*ret_step = saved ? 1 : 7;
	return us < UINT32_MAX ? us * 1000 : 0;
}

void qemu_step_make(struct qemu_head head, uint64_t step, uint8_t *to, struct event *ev)
{
	struct rec_migrate_step *rec = (void *)to;
	const struct event_type *type = event_type_ours(EV_migrate_step);

	*rec = (struct rec_migrate_step){
		.hdr = {.time = head.time_ns, .pid = head.pid, .tid = head.tid, .type = type->id,
			.size = type->size, .cpu = RECORD_CPU_UNKNOWN, .vcpu = RECORD_NO_VCPU},
		.step = step};
	*ev = (struct event){.time_ns = head.time_ns, .type = type, .data = to, .pid = head.pid,
			     .tid = head.tid, .size = type->size, .cpu = RECORD_CPU_UNKNOWN,
			     .vcpu = RECORD_NO_VCPU};
}

/* ---- events ---- */

static void unknown_fill(const struct qemu_events *e, struct text_slice args, uint8_t *to)
{
	size_t room = e->binary ? sizeof(uint64_t) * WORDS : TEXT_BYTES - 1,
	       len = args.len < room ? args.len : room;

	memcpy(to + sizeof(struct record_hdr), args.at, len);
}

/* Makes the record of an event that is always ours. Returns its type. */
static const struct event_type *known_make(struct qemu_events *e, struct qemu_name *n,
					   struct text_slice args, uint8_t *to, uint16_t *vcpu)
{
	const uint64_t one = 1;
	uint64_t present = n->known->has;

	if (e->binary)
		present |= args_of_bytes(n->known, args, to, vcpu);
	else
		present |= args_of_text(n->known, args, to, vcpu);
	if (n->known->one_size)
		memcpy(to + n->known->one_offset, &one, n->known->one_size);
	present |= record_complete(e, n->known, to, present);
	return event_shape_type(&n->shapes, n->type, present);
}

void qemu_event_make(struct qemu_events *e, struct qemu_name *n, struct qemu_head head,
		     struct text_slice args, uint8_t *to, struct event *ev)
{
	struct record_hdr hdr = {.time = head.time_ns, .pid = head.pid, .tid = head.tid,
				 .cpu = RECORD_CPU_UNKNOWN, .vcpu = RECORD_NO_VCPU};
	const struct event_type *type = n->type;
	uint16_t special;

	memset(to, 0, QEMU_RECORD_MAX);
	special = n->special ? special_make(e, n, args, to, &hdr.vcpu) : 0;
	if (special)
		type = event_type_ours(special);
	else if (n->known)
		type = known_make(e, n, args, to, &hdr.vcpu);
	else
		unknown_fill(e, args, to);
	hdr.type = type->id;
	hdr.size = type->size;
	if ((!head.tid || e->tids_are_pids) && !e->binary && hdr.vcpu != RECORD_NO_VCPU) {
		hdr.tid = QEMU_VCPU_TID + hdr.vcpu;
		e->has_vcpu_tids |= special == EV_kvm_run;
	}
	memcpy(to, &hdr, sizeof(hdr));
	*ev = (struct event){.time_ns = hdr.time, .type = type, .data = to, .pid = hdr.pid,
			     .tid = hdr.tid, .size = hdr.size, .cpu = hdr.cpu, .vcpu = hdr.vcpu};
}
