/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For analyzers/virtqueue/queues*.c only. */
#ifndef HOSTRACE_QUEUES_PRIVATE_H
#define HOSTRACE_QUEUES_PRIVATE_H

#include "analyzers/virtqueue/queues.h"
#include "base/hash.h"
#include "event/virtio_ids.h"
#include "model/loss_state.h"
#include "model/threads.h"

enum {
	DEVICES_MAX = 16384,
	COMPLETED_MAX = 1 << 16, /* elements completed and not yet pushed */
	NOTIFYING_MAX = 1 << 16, /* threads that are about to raise an interrupt */
	RAISED_MAX = 256,	 /* messages not yet injected */
	SLOW_TIMES_MAX = 1024,
	STOPS_VMS_MAX = 1 << 14,
	STOPS_MAX = 1 << 18, /* of a VM; of further ones the time counts as if it ran */
	STOP_MIN_NS = QUEUES_NORMAL_NS / 50,
	FIRST_COLUMN_NS = 1 << 20,
};

struct slow_time {
	uint64_t start_ns, end_ns;
};

struct queue {
	struct queue_figures f;
	uint64_t vdev, since_ns;
	uint64_t index; /* virtio_queue_index() */
	struct queue *next, *prev; /* of those at this address */
	bool is_first;		   /* one of the list's first: kicked, or with pushed_ns[], since a reset */
	uint64_t forgets;	   /* struct queues' when pushed_ns[] was last used */
	bool kicked;
	struct loss_mark kick;
	unsigned int at; /* newest column */
	uint64_t *pushed_ns;
	unsigned int nr_pushed, max_pushed;
	struct slow_time *slow; /* array.h: disjoint, ascending: the newest parts of f.slow_ns */
	unsigned int nr_slow, max_slow;
	uint64_t slow_dropped_ns; /* end of the newest that is no longer in slow[] */
};

struct named {
	uint64_t key[2]; /* pid, vdev */
	char path[QUEUES_DEVICE_MAX];
};

/* The queues of the device that is at this address now; those with is_first come before the others. */
struct place {
	uint64_t key[2]; /* pid, vdev */
	struct queue *queues;
};

struct completed {
	uint64_t key[2]; /* pid, address of the element, which is its own until it is freed after the push */
	uint64_t ns;
};

struct notifying {
	uint64_t tid;
	uint64_t ns;
	struct queue *queue;
};

struct queues {
	struct elements *elements;
	struct element_watch watch;
	struct element_totals totals;
	queue_value_fn *watcher; /* NULL: none */
	void *watcher_arg;
	struct model threads;	  /* queues_stops.c: which wait for a CPU */
	struct loss_state losses; /* that matter to kicks and interrupts; the elements have their own */
	uint64_t unknown;     /* values of stages that are not counted, as events may be missing */
	struct hash_table devices, places, completed, notifying, stops;
	struct queue *queue[QUEUES_MAX];
	struct hash_index by_name; /* of queue[] */
	uint64_t forgets; /* how often what was pushed without an interrupt was forgotten */
	struct queue_figures *list[QUEUES_MAX];
	struct queue *newest; /* events of a queue come in rows */
	unsigned int nr;
	uint64_t start_ns, column_ns, overflow;
	bool saw[QUEUE_STAGES];
	int err;
	struct {
		uint32_t pid, vector, destination;
		uint64_t ns;
		struct queue *queue;
		bool logical;
	} raised[RAISED_MAX];
	unsigned int nr_raised;
	uint64_t nr_raised_refused;
};

/* The queue, added if it is new; ids: vdev, vq, queue. NULL: there are too many, or out of memory (q->err). */
struct queue *queues_get(struct queues *q, uint32_t pid, const struct virtio_ids *ids);
struct queue *queues_of_element(struct queues *q, const struct element *el);

/* Accounts for what is in flight until then. */
void queues_flight_until(struct queues *q, struct queue *n, uint64_t ns);

/* ---- queues_stops.c ---- */

void queues_stops_init(struct queues *q);
void queues_stops_free(struct queues *q);
void queues_stops_event(struct queues *q, const struct event *ev);

/* The time without those for which the VM was stopped before it; not to be compared with other times. */
uint64_t queues_ran_ns(const struct queues *q, uint32_t pid, uint64_t ns);

/* A request was with the device for that time. To be called in the order of ends. */
void queues_slow_add(struct queues *q, struct queue *n, uint64_t popped_ns, uint64_t ns);

#endif
