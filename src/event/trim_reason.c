// SPDX-License-Identifier: GPL-2.0-or-later
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "event/reader.h"
#include "event/trim_reason.h"

enum {
	SLOTS = 1 << 14, /* of threads that exited for a reason asked for, open addressing */
	THREADS_MAX = SLOTS / 4 * 3,
	IN_EXIT = 1, /* between kvm_exit and kvm_entry */
	IN_VMM = 2,  /* between kvm_userspace_exit and kvm_run */
};

struct thread {
	uint64_t key; /* 0: free */
	unsigned int in;
};

struct trim_reason {
	char *globs;
	struct thread thread[SLOTS];
	unsigned int nr_threads;
	uint64_t unfollowed;
};

struct trim_reason *trim_reason_new(const char *globs)
{
	struct trim_reason *f = calloc(1, sizeof(*f));

	if (f && !(f->globs = strdup(globs))) {
		free(f);
		f = NULL;
	}
	return f;
}

void trim_reason_free(struct trim_reason *f)
{
	if (f)
		free(f->globs);
	free(f);
}

/* The thread's slot, or the free one where it would be. */
static struct thread *thread_of(struct trim_reason *f, const struct event *ev)
{
	uint64_t key = ((uint64_t)ev->source << 32 | ev->tid) + 1;
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 40 & (SLOTS - 1);

	while (f->thread[i].key && f->thread[i].key != key)
		i = (i + 1) & (SLOTS - 1);
	return &f->thread[i];
}

static bool matches(const struct trim_reason *f, const struct event *ev)
{
	const struct field *field = event_field(ev->type, "reason");
	char reason[64];

	return field && trim_glob_matches(f->globs, field_print(ev, field, reason, sizeof(reason)),
					  FNM_CASEFOLD);
}

static void enter(struct trim_reason *f, struct thread *t, const struct event *ev, unsigned int in)
{
	if (!t->key && f->nr_threads == THREADS_MAX) {
		f->unfollowed++;
		return;
	}
	f->nr_threads += !t->key;
	t->key = ((uint64_t)ev->source << 32 | ev->tid) + 1;
	t->in |= in;
}

bool trim_reason_passes(struct trim_reason *f, const struct event *ev)
{
	unsigned int id = ev->type->id;
	struct thread *t = thread_of(f, ev);
	bool begins = id == EV_kvm_exit || id == EV_kvm_userspace_exit, passes;

	if (id == EV_kvm_exit)
		t->in = 0; /* its kvm_entry was lost */
	passes = t->in;
	if (begins && matches(f, ev)) {
		enter(f, t, ev, id == EV_kvm_exit ? IN_EXIT : IN_VMM);
		return true;
	}
	if (id == EV_kvm_entry) {
		passes = t->in & IN_EXIT;
		t->in = 0;
	} else if (id == EV_kvm_run) {
		t->in &= ~(unsigned int)IN_VMM;
	}
	return passes;
}

uint64_t trim_reason_unfollowed(const struct trim_reason *f)
{
	return f->unfollowed;
}

bool trim_reason_wants(const char *event)
{
	return !strcmp(event, "kvm_exit") || !strcmp(event, "kvm_entry") ||
	       !strcmp(event, "kvm_userspace_exit") || !strcmp(event, "kvm_run");
}
