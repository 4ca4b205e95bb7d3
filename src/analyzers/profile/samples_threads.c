// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of each thread while samples are created: its name, why it does not run, where its guest is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/samples_internal.h"
#include "base/error.h"
#include "base/hash.h"

struct sample_threads {
	struct hash_table threads;
};

int sample_threads_open(struct sample_threads **ret)
{
	struct sample_threads *t = calloc(1, sizeof(*t));

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->threads = HASH_TABLE(struct sample_thread, 1, SAMPLES_THREADS_MAX);
	*ret = t;
	return 0;
}

void sample_threads_close(struct sample_threads *t)
{
	if (t)
		hash_deinit(&t->threads);
	free(t);
}

struct sample_thread *sample_thread_of(struct sample_threads *t, uint32_t source, uint32_t tid)
{
	uint64_t id = (uint64_t)source << 32 | tid;
	struct sample_thread *s = hash_find_u64(&t->threads, id);

	return s ? s : hash_add_u64(&t->threads, id, NULL);
}

uint64_t sample_threads_overflow(const struct sample_threads *t)
{
	return t->threads.refused;
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
