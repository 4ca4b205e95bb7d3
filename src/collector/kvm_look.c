// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads the iterator alone, reads what it writes, and reads again while memory slots change meanwhile. */

#include "base/array.h"
#include "collector/internal.h"
#include "collector/kvm_look.h"
#include "event/exit_reason.h"

#include "hostrace.skel.h" /* knows record.h's types */

enum {
	TRIES = 4, /* of slots that change while they are read */
	BYTES_MAX = 64 << 20,
	BYTES_AT_ONCE = 64 << 10,
};

static int program_load(struct hostrace **ret)
{
	struct hostrace *skel;
	int err = object_open(false, &skel);

	if (err)
		return err;
	bpf_program__set_autoload(skel->progs.kvm_state, true);
	skel->rodata->kvm_state_svm = vm_host_isa() == EXIT_ISA_SVM;
	err = object_load(skel, ret);
	if (err == -EPERM || err == -EACCES)
		return fail(err, "reading KVM's memory slots requires CAP_BPF and CAP_PERFMON");
	if (err)
		return fail(err, "KVM's memory slots are unknown: the kernel rejected the BPF "
				 "iterator: %s",
			    object_error(err));
	return 0;
}

/* All that the iterator writes. */
static int records_read(int iter, char **ret, size_t *ret_size)
{
	size_t size = 0, capacity = 0;
	ssize_t n;

	do {
		if (capacity - size < BYTES_AT_ONCE) {
			char *more = realloc(*ret, capacity + 2 * BYTES_AT_ONCE);

			if (!more)
				return fail(-ENOMEM, "out of memory");
			*ret = more;
			capacity += 2 * BYTES_AT_ONCE;
		}
		n = read(iter, *ret + size, capacity - size);
		size += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && size < BYTES_MAX) || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	*ret_size = size;
	return n < 0 ? fail(-errno, "cannot read KVM's state: %s", strerror(errno)) : 0;
}

static int state_read(struct bpf_link *link, struct kvm_state *ret)
{
	_cleanup_close_ int iter = bpf_iter_create(bpf_link__fd(link));
	_cleanup_free_ char *records = NULL;
	size_t size = 0;
	int err;

	if (iter < 0)
		return fail(iter, "cannot read KVM's state: %s", strerror(-iter));
	err = records_read(iter, &records, &size);
	return err ? err : kvm_state_parse(records, size, ret);
}

static bool state_changed(const struct kvm_state *s)
{
	return array_any(s->nr, i, s->vm[i].state & KVM_STATE_CHANGED);
}

struct kvm_looker {
	struct hostrace *skel;
	struct bpf_link *link;
};

int kvm_looker_look(struct kvm_looker *l, struct kvm_state *ret)
{
	int err = 0;

	*ret = (struct kvm_state){0};
	for (int i = 0; i < TRIES && !err; i++) {
		kvm_state_free(ret);
		err = state_read(l->link, ret);
		if (!err && !state_changed(ret))
			break;
	}
	return err;
}

void kvm_looker_close(struct kvm_looker *l)
{
	if (!l)
		return;
	bpf_link__destroy(l->link);
	hostrace__destroy(l->skel);
	free(l);
}

int kvm_looker_open(struct kvm_looker **ret)
{
	struct kvm_looker *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return fail(-ENOMEM, "out of memory");
	object_messages_keep();
	err = program_load(&l->skel);
	if (!err) {
		l->link = bpf_program__attach_iter(l->skel->progs.kvm_state, NULL);
		err = l->link ? 0 : fail(-errno, "cannot read KVM's state: %s", strerror(errno));
	}
	if (err)
		kvm_looker_close(l);
	else
		*ret = l;
	return err;
}

int kvm_look(struct kvm_state *ret)
{
	struct kvm_looker *l;
	int err = kvm_looker_open(&l);

	*ret = (struct kvm_state){0};
	if (err)
		return err;
	err = kvm_looker_look(l, ret);
	kvm_looker_close(l);
	return err;
}
