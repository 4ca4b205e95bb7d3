// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name is what a process says of itself. It selects a VM that uses KVM, of a user whom we trust (vm_is_of_user()):
 * any other process of that name is none, but is mentioned in the error message.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/process.h"
#include "vm/select.h"

enum { ITEM_MAX = 256 };

struct selected {
	const struct vm_scope *scope;
	struct vm *vm;
	unsigned int nr;
};

bool vm_item_is_glob(const char *item)
{
	return item[strcspn(item, "*?[")];
}

bool vm_item_matches(const char *item, int64_t pid, const char *name, const char *uuid)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, pid);
	if (!strcmp(item, text) || (uuid && *uuid && !strcasecmp(item, uuid)))
		return true;
	return name && (!strcmp(item, name) || !fnmatch(item, name, 0));
}

int vm_items_each(const char *argument, int (*fn)(void *arg, const char *item), void *arg)
{
	const char *rest = argument;
	char item[ITEM_MAX];
	int err = fn(arg, argument);

	if (!strchr(argument, ',') || !err)
		return err;
	for (err = 0; !err && *rest;) {
		size_t len = strcspn(rest, ",");

		if (len >= sizeof(item))
			return fail(-EINVAL, "--vm: '%.32s...' is too long", rest);
		memcpy(item, rest, len);
		item[len] = '\0';
		err = len ? fn(arg, item) : 0;
		rest += len + (rest[len] == ',');
	}
	return err;
}

/* ---- lists of VMs in messages ---- */

const char *vm_label(const struct vm *vm, char *buf, size_t size)
{
	char user[48] = "";

	if (vm->user && vm->uid != file_owner())
		snprintf(user, sizeof(user), ", user %.32s", vm->user);
	snprintf(buf, size, "%.60s (pid %d%s)", vm->name ? vm->name : "VM", vm->pid, user);
	return buf;
}

void vm_list_print(const struct vm *vms, unsigned int nr, char *buf, size_t size)
{
	char one[VM_LABEL_TEXT];
	size_t len = 0;

	*buf = '\0';
	for (unsigned int i = 0; i < nr; i++) {
		if (len + sizeof(one) + 2 > size) {
			snprintf(buf + len, size - len, " and more ('hostrace ps' lists all)");
			break;
		}
		len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "",
					vm_label(&vms[i], one, sizeof(one)));
	}
}

/* ---- names ---- */

/* Moves those that the item matches, and that pass, to the front; returns how many they are. */
static unsigned int matches_first(struct vm *vms, unsigned int nr, const char *item,
				  const struct vm_scope *of_users)
{
	bool glob = vm_item_is_glob(item);
	unsigned int hits = 0;

	for (unsigned int i = 0; i < nr; i++) {
		const struct vm vm = vms[i];

		if (glob ? !vm_item_matches(item, vm.pid, vm.name, vm.uuid)
			 : strcmp(item, vm.name) && (!*vm.uuid || strcasecmp(item, vm.uuid)))
			continue;
		if (of_users && !vm_is_of_user(&vm, of_users))
			continue;
		vms[i] = vms[hits];
		vms[hits++] = vm;
	}
	return hits;
}

static unsigned int kvm_first(struct vm *vms, unsigned int nr)
{
	unsigned int hits = 0;

	for (unsigned int i = 0; i < nr; i++) {
		const struct vm vm = vms[i];

		if (!vm.has_kvm)
			continue;
		vms[i] = vms[hits];
		vms[hits++] = vm;
	}
	return hits;
}

/* A process has the name, and is not selected by it. */
static int select_refused(const char *item, const struct vm *vm, const struct vm_scope *scope)
{
	char label[VM_LABEL_TEXT];

	if (vm->kvm_hidden && !scope->tcg)
		return vm_kvm_hidden(vm);
	vm_label(vm, label, sizeof(label));
	if (!vm->has_kvm && !scope->tcg)
		return fail(-EACCES,
			    "no VM of the name '%s' uses KVM, but %s has it; if QEMU emulates it "
			    "(TCG), select it by its PID, or with --tcg",
			    item, label);
	return fail(-EACCES,
		    "no VM of root or of the caller matches '%s', but %s does; select it by its "
		    "PID, or with --vm-user %s",
		    item, label, vm->user);
}

/* Of those that could be meant: one with KVM, or else one that may have it. */
static const struct vm *likeliest(const struct vm *vms, unsigned int nr)
{
	const struct vm *best = vms;

	for (unsigned int i = 1; i < nr; i++)
		if (vms[i].has_kvm + vms[i].kvm_hidden > best->has_kvm + best->kvm_hidden ||
		    vms[i].has_kvm > best->has_kvm)
			best = &vms[i];
	return best;
}

static int none_selected(const char *item, const struct vm_scope *scope)
{
	const struct vm_scope all = {.tcg = true};
	struct vm *vms = NULL;
	unsigned int nr = 0, hits;
	char list[VM_NAMES_TEXT];
	int err = vm_list(&all, &vms, &nr, NULL);

	if (err)
		return err;
	hits = matches_first(vms, nr, item, NULL);
	if (hits) {
		err = select_refused(item, likeliest(vms, hits), scope);
	} else if (nr) {
		vm_list_print(vms, scope->tcg ? nr : kvm_first(vms, nr), list, sizeof(list));
		err = fail(-ESRCH, "no VM %s '%s'; running VMs: %s",
			   vm_item_is_glob(item) ? "matches" : "named", item,
			   *list			     ? list
			   : likeliest(vms, nr)->kvm_hidden ? "only those of other users, which "
							      "cannot be looked at without root or "
							      "CAP_SYS_PTRACE"
							    : "none that uses KVM");
	} else {
		err = fail(-ESRCH, "no VM %s '%s'; no running VM is visible to this user",
			   vm_item_is_glob(item) ? "matches" : "named", item);
	}
	vm_list_free(vms, nr);
	return err;
}

/* The VMs that the item selects come first in the list. How many, or an error with the error message set. */
static int named_list(const char *item, const struct vm_scope *scope, struct vm **ret,
		      unsigned int *ret_nr)
{
	unsigned int hits, kvm;
	int err = vm_list(scope, ret, ret_nr, NULL);

	if (err)
		return err;
	hits = matches_first(*ret, *ret_nr, item, scope);
	kvm = kvm_first(*ret, hits);
	if (kvm && !vm_item_is_glob(item))
		hits = kvm;
	if (hits)
		return (int)hits;
	vm_list_free(*ret, *ret_nr);
	return none_selected(item, scope);
}

static int find_by_name(const char *name, const struct vm_scope *scope, struct vm *ret)
{
	char list[VM_NAMES_TEXT];
	struct vm *vms = NULL;
	unsigned int nr = 0;
	int err = 0, hits = named_list(name, scope, &vms, &nr);

	if (hits < 0)
		return hits;
	if (hits > 1) {
		vm_list_print(vms, (unsigned int)hits, list, sizeof(list));
		err = fail(-EEXIST, "'%s' matches %d VMs: %s; try: --vm PID", name, hits, list);
	} else {
		*ret = vms[0];
		vms[0] = (struct vm){0};
	}
	vm_list_free(vms, nr);
	return err;
}

int vm_find(const char *pid_or_name, const struct vm_scope *scope, struct vm *ret)
{
	char *end, why[512];
	long pid;
	int err;

	if (!*pid_or_name)
		return fail(-ESRCH, "the name of a VM must not be empty");
	errno = 0;
	pid = strtol(pid_or_name, &end, 10);
	if (!isdigit((unsigned char)*pid_or_name) || *end)
		return find_by_name(pid_or_name, scope, ret);
	if (errno || pid <= 0 || pid > INT_MAX)
		return fail(-ESRCH, "no process %s", pid_or_name);
	err = vm_by_pid((pid_t)pid, ret);
	if (!err)
		return 0;
	/* A name may be all digits too; the error about the pid is then dropped. */
	snprintf(why, sizeof(why), "%s", error_text());
	return find_by_name(pid_or_name, scope, ret) == 0 ? 0 : fail(err, "%s", why);
}

/* ---- several ---- */

/* Takes *vm over, also if it is selected already. */
static int selected_add(struct selected *s, struct vm *vm)
{
	bool known = false;

	for (unsigned int i = 0; i < s->nr; i++)
		known |= s->vm[i].pid == vm->pid;
	if (known || array_room(s->vm, s->nr)) {
		vm_free(vm);
		return known ? 0 : -ENOMEM;
	}
	s->vm[s->nr++] = *vm;
	*vm = (struct vm){0};
	return 0;
}

static int glob_add(struct selected *s, const char *item)
{
	struct vm *vms = NULL;
	unsigned int nr = 0;
	int err = 0, hits = named_list(item, s->scope, &vms, &nr);

	if (hits < 0)
		return hits;
	for (int i = 0; !err && i < hits; i++)
		err = selected_add(s, &vms[i]);
	vm_list_free(vms, nr);
	return err;
}

static int item_add(void *arg, const char *item)
{
	struct selected *s = arg;
	struct vm vm = {0};
	int err;

	if (vm_item_is_glob(item))
		return glob_add(s, item);
	err = vm_find(item, s->scope, &vm);
	return err ? err : selected_add(s, &vm);
}

int vm_select(const struct text_list *items, const struct vm_scope *scope, struct vm **ret,
	      unsigned int *ret_nr)
{
	struct selected s = {.scope = scope};
	int err = 0;

	for (unsigned int i = 0; !err && i < items->nr; i++)
		err = vm_items_each(items->item[i], item_add, &s);
	if (!err && !s.nr)
		err = fail(-ESRCH, "the name of a VM must not be empty");
	if (err) {
		vm_list_free(s.vm, s.nr);
		return err;
	}
	*ret = s.vm;
	*ret_nr = s.nr;
	return 0;
}
