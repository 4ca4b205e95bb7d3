// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first address and the first of the user space's are instruction pointers, all others are return addresses, as
 * backtraces have them: to the former 1 is added.
 */
#include "analyzers/profile/call_chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/call_chain.h"
#include "event/records.h"

static bool is_named(const struct event_type *type, const char *name)
{
	const char *colon = strchr(type->name, ':');

	return colon && !strcmp(colon + 1, name);
}

bool call_chain_is(const struct event_type *type)
{
	return type->id == EV_host_stack || is_named(type, "call_chain");
}

bool call_chain_is_counter(const struct event_type *type)
{
	return !strncmp(type->name, "perf:", 5) && !call_chain_is(type);
}

/* ---- text: "schedule ([kernel]);statx (libc.so.6);0x7ffca679a360;" ---- */

/* "0xffffffff82265ec8": 0 if it is a name. */
static uint64_t frame_address(const char *name)
{
	size_t len = strspn(name, "0123456789abcdefx");

	return len > 2 && !name[len] && !strncmp(name, "0x", 2) ? strtoull(name, NULL, 16) : 0;
}

/* Cuts " (DSO)" off; NULL: there is none. */
static char *dso_cut(char *name)
{
	size_t len = strlen(name);
	char *dso = len && name[len - 1] == ')' ? strstr(name, " (") : NULL;

	if (!dso)
		return NULL;
	name[len - 1] = '\0';
	*dso = '\0';
	return dso + 2;
}

static unsigned int text_frames(const char *text, struct backtraces *stacks,
				uint64_t address[CALL_CHAINS_FRAMES_MAX])
{
	unsigned int nr = 0;
	char name[1024];

	for (const char *p = text; *p && nr < CALL_CHAINS_FRAMES_MAX; p += strspn(p, ";")) {
		size_t n = strcspn(p, ";");
		const char *dso;

		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		text_sanitize(name);
		dso = dso_cut(name);
		address[nr] = frame_address(name);
		if (address[nr] && (!dso || address[nr] >> 63))
			address[nr] += !nr;
		else
			address[nr] = backtrace_address_in(stacks, name, dso) + 1;
		nr += address[nr] > 1;
		p += n;
	}
	return nr;
}

/* ---- addresses ---- */

static unsigned int words_read(const struct event *ev, uint64_t address[CALL_CHAINS_FRAMES_MAX])
{
	uint64_t nr = event_u64(ev, &ev->type->fields[0]);
	unsigned int i = 0;

	for (size_t at = ev->type->fields[1].offset;
	     i < nr && i < CALL_CHAINS_FRAMES_MAX && at + 8 <= ev->size; at += 8)
		memcpy(&address[i++], ev->data + at, 8);
	return i;
}

/* frame0, frame1, ... are an array; 0 is no frame. */
static unsigned int sample_read(const struct event *ev, uint64_t address[CALL_CHAINS_FRAMES_MAX])
{
	enum { FRAMES = 56 };
	RECORD(host_stack, r, ev);
	uint64_t max = (uint64_t)r->nr_kernel + r->nr_user;
	unsigned int nr = 0;

	_Static_assert(offsetof(struct rec_host_stack, nr_kernel) ==
			       offsetof(struct rec_host_stack, frame0) + 8 * FRAMES,
		       "frames");
	memcpy(address, (const uint8_t *)r + offsetof(struct rec_host_stack, frame0), 8 * FRAMES);
	while (nr < FRAMES && nr < max && address[nr])
		nr++;
	return nr;
}

static void words_settle(const struct event *ev, struct code_maps *maps, uint64_t *address,
			 unsigned int nr)
{
	bool was_user = false;

	for (unsigned int i = 0; i < nr; i++) {
		bool user = !(address[i] >> 63), returns = i && user == was_user;

		was_user = user;
		address[i] -= returns;
		if (user && maps)
			address[i] = code_maps_place(maps, ev->pid, ev->time_ns, address[i]);
		address[i]++;
	}
}

unsigned int call_chain_frames(const struct event *ev, struct backtraces *stacks,
			       struct code_maps *maps, uint64_t address[CALL_CHAINS_FRAMES_MAX])
{
	char text[CALL_CHAIN_TEXT_MAX + 1];
	unsigned int nr;

	if (ev->type->id == EV_host_stack) {
		nr = sample_read(ev, address);
		words_settle(ev, maps, address, nr);
		return nr;
	}
	if (!ev->type->nr_fields)
		return 0;
	if (ev->type->fields[0].kind == FIELD_TEXT || ev->type->fields[0].kind == FIELD_DYNTEXT)
		return text_frames(event_text(ev, &ev->type->fields[0], text, sizeof(text)),
				   stacks, address);
	if (ev->type->nr_fields < 2)
		return 0;
	nr = words_read(ev, address);
	words_settle(ev, maps, address, nr);
	return nr;
}
