// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Per thread, whether it is in an exit of a requested reason; returns to the VMM need a first pass, which looks ahead.
 */
#include <fnmatch.h>

#include "base/hash.h"
#include "base/memory.h"
#include "event/exit_reason.h"
#include "event/reader.h"
#include "event/trim_reason.h"

enum {
	THREADS_MAX = 1 << 14, /* in an exit that was requested */
	LED_MAX = 1 << 22,     /* exits that led to a return to the VMM */
	IN_EXIT = 1,	       /* between kvm_exit and kvm_entry */
	IN_VMM = 2,	       /* between kvm_userspace_exit and kvm_run */
};

struct thread {
	uint64_t id; /* source and tid */
	unsigned int in;
};

/* An exit that a return to the VMM follows for one of the reasons. */
struct led {
	uint64_t thread, time_ns;
};

/* The exit that a thread is in, while looking ahead. */
struct current {
	uint64_t thread, exit_ns;
	bool open;
};

struct trim_reason {
	char *globs, *ahead; /* ahead: those of returns to the VMM alone, "" if none */
	struct hash_table threads; /* that were in such an exit */
	struct hash_table led, current;
};

/*
 * A copy of the list, each name followed by its synonyms; reports print reasons of KVM_EXIT_* also without the prefix.
 * NULL: out of memory.
 */
static char *with_synonyms(const char *globs)
{
	char name[EVENT_NAME_MAX], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	for (const char *p = globs, *others; f && *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		others = exit_reason_synonyms(name);
		fprintf(f, "%s,KVM_EXIT_%s%s%s,", name, name, others ? "," : "",
			others ? others : "");
	}
	memstream_close(f, &text);
	return text;
}

/* Is it a name of returns to the VMM, and of nothing else? */
static bool is_of_vmm(const char *name)
{
	const char *known;
	bool prefix = !strncasecmp(name, "KVM_EXIT_", 9);

	if (exit_reason_synonyms(name) || exit_reason_synonyms(prefix ? name + 9 : name))
		return false;
	for (uint32_t i = 0; (known = userspace_reason_name(i)); i++)
		if (!fnmatch(name, prefix ? known : known + 9, FNM_CASEFOLD))
			return prefix || !exit_reason_known(name);
	return false;
}

/* "KVM_EXIT_MMIO,KVM_EXIT_NAME,...": the names of the list that is_of_vmm(). NULL: out of memory. */
static char *names_of_vmm(const char *globs)
{
	char name[EVENT_NAME_MAX], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	for (const char *p = globs; f && *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if (is_of_vmm(name))
			fprintf(f, "%s%s,", strncasecmp(name, "KVM_EXIT_", 9) ? "KVM_EXIT_" : "",
				name);
	}
	memstream_close(f, &text);
	return text;
}

struct trim_reason *trim_reason_new(const char *globs)
{
	struct trim_reason *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->globs = with_synonyms(globs);
	f->ahead = names_of_vmm(globs);
	f->threads = HASH_TABLE(struct thread, 1, THREADS_MAX);
	f->current = HASH_TABLE(struct current, 1, THREADS_MAX);
	f->led = HASH_TABLE(struct led, 2, LED_MAX);
	if (f->globs && f->ahead)
		return f;
	trim_reason_free(f);
	return NULL;
}

void trim_reason_free(struct trim_reason *f)
{
	if (!f)
		return;
	hash_deinit(&f->threads);
	hash_deinit(&f->current);
	hash_deinit(&f->led);
	free(f->globs);
	free(f->ahead);
	free(f);
}

bool trim_glob_matches(const char *globs, const char *text, int flags)
{
	char glob[EVENT_NAME_MAX];

	for (const char *p = globs; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");

		if (len && len < sizeof(glob)) {
			memcpy(glob, p, len);
			glob[len] = 0;
			if (!fnmatch(glob, text, flags))
				return true;
		}
		p += len;
	}
	return false;
}

static bool reason_matches(const char *globs, const struct event *ev)
{
	const struct field *field = event_field(ev->type, "reason");
	char reason[64];

	return field && trim_glob_matches(globs, field_print(ev, field, reason, sizeof(reason)),
					  FNM_CASEFOLD);
}

static uint64_t thread_of(uint16_t source, const struct event *ev)
{
	return (uint64_t)source << 32 | ev->tid;
}

static bool matches(const struct trim_reason *f, const struct event *ev)
{
	uint64_t key[] = {thread_of(ev->source, ev), ev->time_ns};

	return reason_matches(f->globs, ev) ||
	       (ev->type->id == EV_kvm_exit && f->led.nr && hash_find_words(&f->led, key));
}

/* ---- looking ahead ---- */

bool trim_reason_looks_ahead(const struct trim_reason *f)
{
	return *f->ahead;
}

void trim_reason_look(struct trim_reason *f, uint16_t source, const struct event *ev)
{
	uint64_t thread = thread_of(source, ev);
	struct current *c;
	bool is_new;

	if (ev->type->id == EV_kvm_exit) {
		c = hash_add_u64(&f->current, thread, NULL);
		if (c)
			*c = (struct current){thread, ev->time_ns, true};
		return;
	}
	c = hash_find_u64(&f->current, thread);
	if (!c || !c->open)
		return;
	if (ev->type->id == EV_kvm_entry)
		c->open = false;
	else if (ev->type->id == EV_kvm_userspace_exit && reason_matches(f->ahead, ev))
		hash_add_words(&f->led, (uint64_t[]){thread, c->exit_ns}, &is_new);
}

/* ---- filtering ---- */

bool trim_reason_passes(struct trim_reason *f, const struct event *ev)
{
	unsigned int id = ev->type->id;
	uint64_t thread = thread_of(ev->source, ev);
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
	return f->threads.refused + f->led.refused;
}

bool trim_reason_wants(const char *event)
{
	return !strcmp(event, "kvm_exit") || !strcmp(event, "kvm_entry") ||
	       !strcmp(event, "kvm_userspace_exit") || !strcmp(event, "kvm_run");
}
