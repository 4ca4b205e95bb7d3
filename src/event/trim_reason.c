// SPDX-License-Identifier: GPL-2.0-or-later
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "event/exit_reason.h"
#include "event/reader.h"
#include "event/trim_reason.h"

enum {
	THREADS_MAX = 1 << 14, /* in an exit that was requested */
	IN_EXIT = 1,	       /* between kvm_exit and kvm_entry */
	IN_VMM = 2,	       /* between kvm_userspace_exit and kvm_run */
};

struct thread {
	uint64_t id; /* source and tid */
	unsigned int in;
};

struct trim_reason {
	char *globs;
	struct hash_table threads; /* that were in such an exit */
};

/* A copy of the list, each name followed by its synonyms. NULL: out of memory. */
static char *with_synonyms(const char *globs)
{
	char name[EVENT_NAME_MAX], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	for (const char *p = globs, *others; f && *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		others = exit_reason_synonyms(name);
		fprintf(f, "%s%s%s,", name, others ? "," : "", others ? others : "");
	}
	if (f && fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

struct trim_reason *trim_reason_new(const char *globs)
{
	struct trim_reason *f = calloc(1, sizeof(*f));

	if (f && !(f->globs = with_synonyms(globs))) {
		free(f);
		return NULL;
	}
	if (f)
		f->threads = HASH_TABLE(struct thread, 1, THREADS_MAX);
	return f;
}

void trim_reason_free(struct trim_reason *f)
{
	if (!f)
		return;
	hash_deinit(&f->threads);
	free(f->globs);
	free(f);
}

static bool matches(const struct trim_reason *f, const struct event *ev)
{
	const struct field *field = event_field(ev->type, "reason");
	char reason[64];

	return field && trim_glob_matches(f->globs, field_print(ev, field, reason, sizeof(reason)),
					  FNM_CASEFOLD);
}

bool trim_reason_passes(struct trim_reason *f, const struct event *ev)
{
	unsigned int id = ev->type->id;
	uint64_t thread = (uint64_t)ev->source << 32 | ev->tid;
	struct thread *t = hash_find_u64(&f->threads, thread);
	bool begins = id == EV_kvm_exit || id == EV_kvm_userspace_exit;
	unsigned int in = t ? t->in : 0, was;

	if (id == EV_kvm_exit)
		in = 0; /* its kvm_entry was lost */
	was = in;
	if (begins && matches(f, ev)) {
		t = t ? t : hash_add_u64(&f->threads, thread, NULL);
		in |= id == EV_kvm_exit ? IN_EXIT : IN_VMM;
		was = in;
	} else if (id == EV_kvm_entry) {
		was = in & IN_EXIT;
		in = 0;
	} else if (id == EV_kvm_run) {
		in &= ~(unsigned int)IN_VMM;
	}
	if (t)
		t->in = in;
	return was;
}

uint64_t trim_reason_unfollowed(const struct trim_reason *f)
{
	return f->threads.refused;
}

bool trim_reason_wants(const char *event)
{
	return !strcmp(event, "kvm_exit") || !strcmp(event, "kvm_entry") ||
	       !strcmp(event, "kvm_userspace_exit") || !strcmp(event, "kvm_run");
}
