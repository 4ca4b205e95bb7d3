// SPDX-License-Identifier: GPL-2.0-or-later
/* The storage and rows of --vm-user and --tcg, and selecting VMs by name, UUID or pid within what they allow. */
#include <errno.h>
#include <pwd.h>

#include "base/error.h"
#include "base/process.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/common/vm_options.h"
#include "vm/select.h"

static struct text_list users;
static bool tcg;

/* clang-format off */
const struct option_row vm_user_options[] = {
	{0, "vm-user", OPT_LIST, &users, "USER", "VMs of this user, of root and of the caller (default for names: of the last two); repeatable, needs root"},
	{0},
};

const struct option_row vm_tcg_options[] = {
	{0, "tcg", OPT_FLAG, &tcg, NULL, "also QEMU processes that do not use KVM, which only their name makes a VM"},
	{0},
};
/* clang-format on */

bool vm_options_given(void)
{
	return users.nr || tcg;
}

static int user_find(const char *name, uid_t *ret)
{
	const struct passwd *user = getpwnam(name);
	uint64_t number;

	if (!user && (parse_u64(name, &number) || number >= VM_USER_UNKNOWN))
		return fail_usage(-EINVAL, "--vm-user: no user '%s'", name);
	*ret = user ? user->pw_uid : (uid_t)number;
	return 0;
}

int vm_scope_given(struct vm_scope *ret)
{
	*ret = (struct vm_scope){.tcg = tcg};
	if (users.nr && file_owner())
		return fail(-EPERM, "--vm-user requires root: other users' VMs are not yours");
	for (unsigned int i = 0; i < users.nr && ret->nr_users < VM_USERS_MAX; i++) {
		int err = user_find(users.item[i], &ret->user[ret->nr_users++]);

		if (err)
			return err;
	}
	return 0;
}

/* ---- PIDs, names ---- */

struct found {
	const struct vm *vm;
	unsigned int nr;
};

static int pid_find(void *arg, const char *item)
{
	const struct found *f = arg;

	for (unsigned int i = 0; i < f->nr; i++)
		if (vm_item_matches(item, f->vm[i].pid, NULL, NULL))
			return 0;
	return -ESRCH;
}

/* Both options are about names, and only what was found shows whether digits are one. */
static int names_check(const struct text_list *items, const struct vm *vm, unsigned int nr)
{
	struct found f = {vm, nr};

	for (unsigned int i = 0; vm_options_given() && i < items->nr; i++)
		if (vm_items_each(items->item[i], pid_find, &f))
			return 0;
	return vm_options_given() ? fail_usage(-EINVAL,
					       "%s has no effect: a PID selects its process anyway",
					       tcg ? "--tcg" : "--vm-user")
				  : 0;
}

int vm_find_given(const char *pid_or_name, struct vm *ret)
{
	const struct text_list items = {.item = {pid_or_name}, .nr = 1};
	struct vm_scope scope;
	int err = vm_scope_given(&scope);

	err = err ? err : vm_find(pid_or_name, &scope, ret);
	if (err)
		return err;
	err = names_check(&items, ret, 1);
	if (err)
		vm_free(ret);
	return err;
}

int vm_select_given(const struct text_list *items, struct vm **ret, unsigned int *ret_nr)
{
	struct vm_scope scope;
	int err = vm_scope_given(&scope);

	err = err ? err : vm_select(items, &scope, ret, ret_nr);
	if (err)
		return err;
	err = names_check(items, *ret, *ret_nr);
	if (err) {
		vm_list_free(*ret, *ret_nr);
		*ret = NULL;
		*ret_nr = 0;
	}
	return err;
}

/* ---- lists ---- */

void vm_left_note(unsigned int left)
{
	if (left)
		command_note("warning: %u more VMs of other users are left out; --vm-user USER "
			     "selects those of a user", left);
}

int vm_list_given(struct vm **ret, unsigned int *ret_nr)
{
	struct vm_scope scope;
	unsigned int left = 0;
	int err = vm_scope_given(&scope);

	if (!err)
		err = vm_list(&scope, ret, ret_nr, &left);
	if (!err)
		vm_left_note(left);
	return err;
}

static int only_others(const struct vm *vms, unsigned int nr)
{
	char list[VM_NAMES_TEXT];

	vm_list_print(vms, nr, list, sizeof(list));
	return fail(-EACCES,
		    "no VM of root or of the caller is running, but %s; select it with --vm PID, "
		    "or with --vm-user %s",
		    list, vms->user);
}

int vm_list_own_given(struct vm **ret, unsigned int *ret_nr)
{
	struct vm_scope scope;
	unsigned int kept = 0, nr;
	int err = vm_scope_given(&scope);

	if (!err)
		err = vm_list(&scope, ret, ret_nr, NULL);
	if (err)
		return err;
	nr = *ret_nr;
	for (unsigned int i = 0; i < nr; i++) {
		struct vm vm = (*ret)[i];

		if (!vm_is_of_user(&vm, &scope))
			continue;
		(*ret)[i] = (*ret)[kept];
		(*ret)[kept++] = vm;
	}
	if (nr && !kept) {
		err = only_others(*ret, nr);
		vm_list_free(*ret, nr);
		return err;
	}
	for (unsigned int i = kept; i < nr; i++)
		vm_free(&(*ret)[i]);
	*ret_nr = kept;
	return 0;
}
