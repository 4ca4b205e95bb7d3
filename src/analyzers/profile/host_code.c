// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames of the host's code, in profiles whose other frames are a guest's. */
#include "analyzers/profile/host_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- samples of perf's counters, each an event and the one of its call chain ---- */

bool counter_note(struct counter_seen *seen, const struct event *ev)
{
	if (ev->type->id || !call_chain_is_counter(ev->type))
		return false;
	*seen = (struct counter_seen){
		.time_ns = ev->time_ns, .tid = ev->tid, .cpu = ev->cpu, .any = true};
	return true;
}

bool counter_follows(struct counter_seen *seen, const struct event *ev)
{
	bool follows = seen->any && !ev->type->id && call_chain_is(ev->type) &&
		       ev->time_ns == seen->time_ns && ev->tid == seen->tid && ev->cpu == seen->cpu;

	seen->any &= !follows;
	return follows;
}

/*
 * The guest's symbols (--symbols) must not name the host's code: frames that the maps do not name later become names
 * here. "[kvm]" is the file of "vcpu_enter_guest [kvm]".
 */
static uint64_t kernel_frame(struct backtraces *stacks, struct code_maps *maps,
			     const struct sample_resolve *how, uint64_t address, bool mark)
{
	struct frame frame[FRAME_INLINES_MAX];
	const char *module = NULL, *dso = NULL;
	char text[320];

	if (maps && code_maps_resolve(maps, address - 1, how, frame)) {
		module = strrchr(frame[0].name, '[');
		dso = mark ? module ? module : "[kernel]" : frame[0].dso;
		snprintf(text, sizeof(text), "%s%s", frame[0].name, mark ? " [host]" : "");
	} else {
		snprintf(text, sizeof(text), "0x%" PRIx64 "%s", address - 1, mark ? " [host]" : "");
		dso = "[kernel]";
	}
	return backtrace_address_in(stacks, text, dso) + 1;
}

/* A place of code_maps_place() is in no process's addresses. */
static bool is_user_address(uint64_t address)
{
	return address < 1ull << 57;
}

static uint64_t user_frame(struct backtraces *stacks, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address - 1);
	return backtrace_address_in(stacks, text, "[unknown]") + 1;
}

unsigned int host_code_frames(const struct event *ev, struct backtraces *stacks,
			      struct code_maps *maps, const struct sample_resolve *how,
			      uint64_t address[CALL_CHAINS_FRAMES_MAX])
{
	unsigned int nr = call_chain_frames(ev, stacks, maps, address);
	bool mark = ev->type->id == EV_host_stack;

	for (unsigned int i = 0; i < nr; i++) {
		if (address[i] >> 63)
			address[i] = kernel_frame(stacks, maps, how, address[i], mark);
		else if (mark && is_user_address(address[i]))
			address[i] = user_frame(stacks, address[i]);
	}
	return nr;
}
