// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collector/kvm_look.h"
#include "commands/live/stuck_kvm.h"

static void failed(struct stuck_kvm *k)
{
	free(k->error);
	k->error = strdup(error_text());
	kvm_looker_close(k->looker);
	k->looker = NULL;
	kvm_state_free(&k->state);
}

void stuck_kvm_open(struct stuck_kvm *k, const struct vm *vm)
{
	*k = (struct stuck_kvm){0};
	if (!vm->has_kvm)
		return;
	if (kvm_looker_open(&k->looker) || kvm_looker_look(k->looker, &k->state))
		failed(k);
}

void stuck_kvm_close(struct stuck_kvm *k)
{
	kvm_looker_close(k->looker);
	kvm_state_free(&k->state);
	free(k->error);
}

void stuck_kvm_look(struct stuck_kvm *k, pid_t pid)
{
	const struct kvm_vm *before = kvm_state_of(&k->state, pid, NULL);
	struct kvm_state state;

	if (!k->looker)
		return;
	if (kvm_looker_look(k->looker, &state)) {
		kvm_state_free(&state);
		failed(k);
		return;
	}
	for (size_t i = 0; i < state.nr; i++)
		if (before && state.vm[i].pid == pid && state.vm[i].id == before->id)
			kvm_still_pending(&state.vm[i], before);
	kvm_state_free(&k->state);
	k->state = state;
}
