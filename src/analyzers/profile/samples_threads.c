// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known of each thread while samples are made: its name, why it does not run, where its guest is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/samples_internal.h"
#include "base/error.h"

struct sample_threads {
	struct sample_thread *thread; /* open-addressed; id 0: free */
	uint32_t nr, mask;
};

int sample_threads_open(struct sample_threads **ret)
{
	struct sample_threads *t = calloc(1, sizeof(*t));

	if (t) {
		t->mask = 1023;
		t->thread = calloc(t->mask + 1u, sizeof(*t->thread));
	}
	if (!t || !t->thread) {
		free(t);
		return fail(-ENOMEM, "out of memory");
	}
	*ret = t;
	return 0;
}

void sample_threads_close(struct sample_threads *t)
{
	if (t)
		free(t->thread);
	free(t);
}

static struct sample_thread *slot(const struct sample_threads *t, uint64_t id)
{
	uint32_t h = (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 36);

	while (t->thread[h & t->mask].id && t->thread[h & t->mask].id != id)
		h++;
	return &t->thread[h & t->mask];
}

static bool grow(struct sample_threads *t)
{
	struct sample_threads more = {.mask = t->mask * 2 + 1};

	more.thread = calloc(more.mask + 1u, sizeof(*more.thread));
	if (!more.thread)
		return false;
	for (uint32_t i = 0; i <= t->mask; i++)
		if (t->thread[i].id)
			*slot(&more, t->thread[i].id) = t->thread[i];
	free(t->thread);
	t->thread = more.thread;
	t->mask = more.mask;
	return true;
}

struct sample_thread *sample_thread_of(struct sample_threads *t, uint32_t source, uint32_t tid)
{
	uint64_t id = (uint64_t)(source + 1) << 32 | tid;
	struct sample_thread *s = slot(t, id);

	if (s->id)
		return s;
	if (t->nr == SAMPLES_THREADS_MAX)
		return NULL;
	if (2 * t->nr > t->mask) {
		if (!grow(t))
			return NULL;
		s = slot(t, id);
	}
	t->nr++;
	s->id = id;
	return s;
}

void sample_thread_name(struct sample_thread *t, const char *comm)
{
	if (!t || !*comm)
		return;
	strncpy(t->comm, comm, sizeof(t->comm) - 1);
	text_neutralise(t->comm);
}

void sample_threads_meta(struct sample_threads *t, uint32_t source, const json_t *meta)
{
	json_t *threads = json_object_get(meta, "threads"), *comm;
	const char *tid;

	json_object_foreach (threads, tid, comm)
		if (json_is_string(comm))
			sample_thread_name(sample_thread_of(t, source,
							    (uint32_t)strtoul(tid, NULL, 10)),
					   json_string_value(comm));
}
