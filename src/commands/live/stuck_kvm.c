// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "commands/live/stuck_kvm.h"

static void failed(struct stuck_kvm *k)
{
	free(k->error);
	k->error = strdup(error_text());
	k->facts = NULL;
	kvm_state_free(&k->state);
}

void stuck_kvm_open(struct stuck_kvm *k, const struct vm *vm, const struct stuck_facts *f)
{
	*k = (struct stuck_kvm){.facts = f};
	if (!vm->has_kvm)
		k->facts = NULL;
	else if (stuck_facts_kvm(f, &k->state))
		failed(k);
}

void stuck_kvm_close(struct stuck_kvm *k)
{
	kvm_state_free(&k->state);
	free(k->error);
}

const struct kvm_vm *stuck_kvm_state(const struct stuck_kvm *k)
{
	return k->state.nr ? k->state.vm : NULL;
}

void stuck_kvm_look(struct stuck_kvm *k)
{
	const struct kvm_vm *before = stuck_kvm_state(k);
	struct kvm_state state;

	if (!k->facts)
		return;
	if (stuck_facts_kvm(k->facts, &state)) {
		failed(k);
		return;
	}
	if (before && state.nr && state.vm->id == before->id)
		kvm_still_pending(state.vm, before);
	kvm_state_free(&k->state);
	k->state = state;
}
