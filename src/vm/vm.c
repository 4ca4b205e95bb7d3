// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finding VMs. A process is a VM if it holds a KVM VM descriptor, whatever its name. A QEMU without one emulates (TCG),
 * but any user can give a program this name: it is only listed where the user says so.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/order.h"
#include "base/process.h"
#include "base/units.h"
#include "event/event.h"
#include "event/exit_reason.h"
#include "vm/cmdline.h"
#include "vm/proc.h"

enum { TEXT_CUT = 256 }; /* bytes of a name in a row that is cut */

static bool name_is_qemu(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strncmp(base, "qemu-system-", 12) || !strncmp(base, "qemu-kvm", 8);
}

/* Compares QEMU's -accel with its descriptors: "kvm:tcg" means the first that worked. */
static const char *accel_of(const struct vm *vm, bool seen, const struct vm_cmdline *c)
{
	size_t len = strcspn(c->accel, ":");

	if (vm->has_kvm)
		return "kvm";
	if (seen && len == 3 && !strncmp(c->accel, "kvm", 3) && c->accel[len])
		return c->accel + len + 1;
	return *c->accel ? c->accel : seen ? "tcg" : "unknown";
}

/* Where vCPUs were plugged in, QEMU's numbers have gaps; the array has none. How many have a thread. */
static unsigned int vcpus_named(struct vm_vcpu *vcpus, unsigned int nr)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (vcpus[i].tid)
			vcpus[kept++] = vcpus[i];
	return kept;
}

static int vcpus_fill(struct vm *vm, unsigned int nr_fds, unsigned int nr_cmdline)
{
	struct vm_vcpu *vcpus = calloc(VM_VCPUS_MAX, sizeof(*vcpus)), *fitting;
	unsigned int named;

	if (!vcpus)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < VM_VCPUS_MAX; i++)
		vcpus[i].index = i;
	named = proc_vcpu_threads(vm->pid, vcpus, VM_VCPUS_MAX);
	if (nr_fds && nr_fds < named)
		named = vcpus_named(vcpus, named);
	vm->nr_vcpus = nr_fds > named ? nr_fds : named;
	if (nr_cmdline > vm->nr_vcpus) /* a QEMU that is starting has not created all of them */
		vm->nr_vcpus = nr_cmdline > VM_VCPUS_MAX ? VM_VCPUS_MAX : nr_cmdline;
	fitting = realloc(vcpus, (vm->nr_vcpus + 1) * sizeof(*vcpus));
	vm->vcpus = fitting ? fitting : vcpus;
	return 0;
}

/* Any user may start large programs with QEMU's name: only their own and those that use KVM are searched. */
static bool may_be_searched(const struct vm *vm, const char *exe)
{
	struct stat st;

	return vm->has_kvm || (!stat(exe, &st) && (!st.st_uid || st.st_uid == geteuid()));
}

static void exe_fill(struct vm *vm, const char *path)
{
	struct vm_exe exe = {0};
	char own[64];

	snprintf(own, sizeof(own), "/proc/%d/exe", vm->pid);
	if (*path)
		vm_exe_read(own, may_be_searched(vm, own), &exe);
	vm->exe = strdup(path);
	vm->exe_open = strdup(own);
	vm->version = strdup(exe.version);
	vm->build_id = strdup(exe.build_id);
	if (vm->exe)
		text_sanitize(vm->exe);
}

/* As much as is shown, and what tells that it is more: any user may have many processes with words of megabytes. */
static char *cmdline_keep(char *const *words, unsigned int nr)
{
	char *text = vm_cmdline_quote(words, nr), *kept;

	if (!text || strlen(text) <= VM_CMDLINE_SHOWN)
		return text;
	text[VM_CMDLINE_SHOWN + 1] = '\0';
	kept = realloc(text, VM_CMDLINE_SHOWN + 2);
	return kept ? kept : text;
}

static int cmdline_fill(struct vm *vm, bool is_qemu, bool fds_seen, unsigned int nr_fds)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char **words = NULL;
	struct vm_cmdline c = {0};
	unsigned int nr = 0;
	int err = proc_cmdline(vm->pid, &text, &words, &nr);

	if (err == -ENOENT || err == -ESRCH)
		return fail(-ESRCH, "process %d has exited", vm->pid);
	if (err == -ENOMEM)
		return fail(err, "out of memory");
	if (err)
		return fail(err, "process %d: cannot read its command line: %s", vm->pid,
			    strerror(-err));
	err = vm_cmdline_parse(words, is_qemu ? nr : 0, &c);
	if (err)
		return err;
	vm->is_qemu = is_qemu;
	vm->cmdline = cmdline_keep(words, nr);
	vm->accel = strdup(is_qemu ? accel_of(vm, fds_seen, &c) : "kvm");
	vm->name = take_ptr(c.name);
	vm->uuid = take_ptr(c.uuid);
	vm->machine = take_ptr(c.machine);
	vm->devices = take_ptr(c.devices);
	vm->nr_devices = c.nr_devices;
	vm->memory_bytes = is_qemu ? c.memory_bytes : 0;
	c.nr_devices = 0;
	err = vcpus_fill(vm, nr_fds, is_qemu ? c.cpus : 0);
	vm_cmdline_free(&c);
	return err;
}

static int name_default(struct vm *vm, const char *path, const char *comm)
{
	const char *base = strrchr(path, '/');

	if (vm->name && *vm->name)
		return 0;
	free(vm->name);
	vm->name = strdup(base ? base + 1 : *path ? path : comm);
	if (vm->name)
		text_sanitize(vm->name);
	return vm->name ? 0 : -ENOMEM;
}

/* Its number, where the name is unknown or cannot be looked up any more. */
static char *user_name(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	char *name = NULL;

	if (user)
		name = strdup(user->pw_name);
	else if (asprintf(&name, "%u", uid) < 0)
		name = NULL;
	if (name)
		text_sanitize(name);
	return name;
}

static int gone(pid_t pid)
{
	return fail(-ESTALE, "process %d has ended, and its pid is another process's now", pid);
}

/* Also from root, if the process has capabilities that root has not: in containers. */
static int files_hidden(pid_t pid, const char *comm)
{
	if (geteuid())
		return fail(-EACCES, "process %d (%s) belongs to another user; try: sudo", pid,
			    comm);
	return fail(-EACCES,
		    "process %d (%s) has capabilities that this one has not: its open files, which "
		    "show whether it is a VM, cannot be read",
		    pid, comm);
}

/* 1: it is a VM and *ret describes it; 0: it is none; -errno with the error message set. */
static int vm_look(pid_t pid, struct vm *ret)
{
	char path[PATH_MAX] = "", comm[64];
	struct vm vm = {.pid = pid, .start = proc_start(pid)};
	unsigned int nr_fds = 0;
	int exe_err = proc_exe(pid, path, sizeof(path)), fd_err, err;
	bool is_qemu;

	vm.clock_err = clock_offset(pid, &vm.clock_ahead_ns);
	proc_comm(pid, comm, sizeof(comm));
	text_sanitize(comm);
	is_qemu = name_is_qemu(exe_err ? comm : path);
	if (exe_err == -ENOENT)
		return 0; /* a kernel thread, a zombie */
	fd_err = proc_kvm(pid, &vm.has_kvm, &nr_fds);
	if (!is_qemu && !vm.has_kvm)
		return fd_err == -EACCES ? files_hidden(pid, comm) : 0;
	vm.kvm_hidden = !vm.has_kvm && (fd_err == -EACCES || fd_err == -EPERM);
	exe_fill(&vm, path);
	if (!proc_owner(pid, &vm.uid))
		vm.uid = VM_USER_UNKNOWN;
	vm.user = user_name(vm.uid);
	err = cmdline_fill(&vm, is_qemu, !fd_err, nr_fds);
	if (!err)
		err = name_default(&vm, path, comm);
	if (!err && (!vm.user || !vm.uuid || !vm.exe || !vm.exe_open || !vm.version ||
		     !vm.build_id || !vm.cmdline || !vm.accel))
		err = fail(-ENOMEM, "out of memory");
	if (!err && proc_start(pid) != vm.start)
		err = gone(pid);
	if (err) {
		vm_free(&vm);
		return err;
	}
	*ret = vm;
	return 1;
}

int vm_pidfd(const struct vm *vm)
{
	int fd = (int)syscall(SYS_pidfd_open, vm->pid, 0);

	if (fd < 0)
		return fail(-errno, "pidfd_open %d: %s", vm->pid, strerror(errno));
	if (vm->start && proc_start(vm->pid) != vm->start) {
		close(fd);
		return gone(vm->pid);
	}
	return fd;
}

bool vm_is_of_user(const struct vm *vm, const struct vm_scope *scope)
{
	const char *sudo = file_owner() ? NULL : secure_getenv("SUDO_UID");
	uint64_t caller;

	if (!vm->uid || vm->uid == file_owner())
		return true;
	if (sudo && !parse_u64(sudo, &caller) && vm->uid == caller)
		return true;
	return array_any(scope->nr_users, i, scope->user[i] == vm->uid);
}

static bool is_listed(const struct vm *vm, const struct vm_scope *scope)
{
	return (vm->has_kvm || scope->tcg) && (!scope->nr_users || vm_is_of_user(vm, scope));
}

/* nr: those of others, without and with KVM. */
static bool has_place(const struct vm *vm, const struct vm_scope *scope, unsigned int nr[2],
		      unsigned int *left)
{
	unsigned int max = scope->max_others ? scope->max_others : VM_OTHERS_MAX;
	bool place = vm_is_of_user(vm, scope) || nr[vm->has_kvm]++ < max;

	*left += !place;
	return place;
}

int vm_list(const struct vm_scope *scope, struct vm **ret, unsigned int *ret_nr,
	    unsigned int *ret_left)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct vm *vms = NULL, one;
	unsigned int nr = 0, others[2] = {0}, left = 0;
	struct dirent *d;

	if (!dir)
		return fail(-errno, "cannot read /proc: %s", strerror(errno));
	while ((d = readdir(dir))) {
		int pid = isdigit((unsigned char)*d->d_name) ? atoi(d->d_name) : 0;

		if (!pid || pid == getpid() || vm_look(pid, &one) != 1)
			continue;
		if (!is_listed(&one, scope) || !has_place(&one, scope, others, &left)) {
			vm_free(&one);
			continue;
		}
		if (array_room(vms, nr)) {
			vm_free(&one);
			vm_list_free(vms, nr);
			return -ENOMEM;
		}
		vms[nr++] = one;
	}
	*ret = vms;
	*ret_nr = nr;
	if (ret_left)
		*ret_left = left;
	return 0;
}

void vm_list_free(struct vm *vms, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		vm_free(&vms[i]);
	free(vms);
}

int vm_by_pid(pid_t pid, struct vm *ret)
{
	char comm[64];
	pid_t leader;
	int err;

	if (!proc_exists(pid, &leader))
		return leader ? fail(-EINVAL, "%d is a thread of process %d; try: --vm %d", pid,
				     leader, leader)
			      : fail(-ESRCH, "no process %d; 'hostrace ps' lists the VMs", pid);
	err = vm_look(pid, ret);
	if (err)
		return err < 0 ? err : 0;
	proc_comm(pid, comm, sizeof(comm));
	text_sanitize(comm);
	return fail(-EINVAL,
		    "process %d (%s) is not a virtual machine: it neither uses KVM nor runs QEMU; "
		    "'hostrace ps' lists the VMs",
		    pid, comm);
}

int vm_kvm_hidden(const struct vm *vm)
{
	return fail(-EACCES,
		    "whether %.60s (pid %d, user %.32s) uses KVM cannot be seen without root or "
		    "CAP_SYS_PTRACE; try: sudo",
		    vm->name, vm->pid, vm->user);
}

void vm_free(struct vm *vm)
{
	for (unsigned int i = 0; i < vm->nr_devices; i++)
		free(vm->devices[i]);
	free(vm->devices);
	free(vm->vcpus);
	free(vm->name);
	free(vm->user);
	free(vm->uuid);
	free(vm->exe);
	free(vm->exe_open);
	free(vm->cmdline);
	free(vm->machine);
	free(vm->accel);
	free(vm->version);
	free(vm->build_id);
	json_decref(vm->disk_servers);
	*vm = (struct vm){0};
}

json_t *vm_json(const struct vm *vm)
{
	json_t *vcpus = json_array(), *devices = json_array(),
	       *servers = json_array_size(vm->disk_servers) ? vm->disk_servers : NULL;

	for (unsigned int i = 0; i < vm->nr_vcpus; i++)
		json_array_append_new(vcpus,
				      json_pack("{s:i,s:i}", "index", (int)vm->vcpus[i].index,
						"tid", (int)vm->vcpus[i].tid));
	for (unsigned int i = 0; i < vm->nr_devices; i++)
		json_array_append_new(devices, json_string(vm->devices[i]));
	return json_pack("{s:i,s:s,s:o*,s:s*,s:s*,s:s,s:s,s:s,s:s,s:s,s:I,s:i,s:s,s:o,s:o,s:s*,s:o*"
			 ",s:o*,s:o*,s:O*}",
			 "pid", (int)vm->pid, "name", vm->name, "uid",
			 vm->user ? json_integer((json_int_t)vm->uid) : NULL, "user", vm->user,
			 "uuid", vm->uuid && *vm->uuid ? vm->uuid : NULL, "exe", vm->exe,
			 "build_id", vm->build_id, "version", vm->version, "accel", vm->accel,
			 "machine", vm->machine, "memory_bytes", (json_int_t)vm->memory_bytes,
			 "isa", (int)vm_host_isa(), "cmdline", vm->cmdline, "vcpus", vcpus,
			 "devices", devices, "encryption", vm->encryption, "hypervisor",
			 vm->hypervisor ? json_true() : NULL, "dirty_log",
			 vm->dirty_log ? json_true() : NULL, "clock_ahead_ns",
			 vm->clock_ahead_ns ? json_integer(vm->clock_ahead_ns) : NULL,
			 "disk_servers", servers);
}

static bool text_shorten(json_t *row, const char *key, size_t len)
{
	const char *text = json_string_value(json_object_get(row, key));
	char shown[VM_CMDLINE_SHOWN + sizeof("...")];

	if (!text || strlen(text) <= len)
		return false;
	while (len && ((unsigned char)text[len] & 0xc0) == 0x80) /* not within a character */
		len--;
	snprintf(shown, sizeof(shown), "%.*s...", (int)len, text);
	json_object_set_new(row, key, json_string(shown));
	return true;
}

static size_t row_size(const json_t *row)
{
	return json_dumpb(row, NULL, 0, JSON_ENSURE_ASCII);
}

static void row_cut(json_t *row)
{
	static const char *const lists[] = {"cmdline", "devices", "disk_servers", "vcpu_threads"};
	static const char *const texts[] = {"name",	   "uuid",    "machine", "accel",
					    "accelerator", "version", "exe"};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		json_object_del(row, lists[i]);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		text_shorten(row, texts[i], TEXT_CUT);

	json_t *vcpus = json_object_get(row, "vcpus");

	for (size_t nr; (nr = json_array_size(vcpus)) && row_size(row) > VM_ROW_CUT;)
		while (json_array_size(vcpus) > nr / 2)
			json_array_remove(vcpus, json_array_size(vcpus) - 1);
}

void vm_rows_fit(struct vm_rows *rows, const struct vm *vm, json_t *row)
{
	static const struct vm_scope nobody;
	size_t *used = &rows->used[vm->has_kvm][vm_is_of_user(vm, &nobody)], size;

	bool shortened = text_shorten(row, "cmdline", VM_CMDLINE_SHOWN);

	size = row_size(row);
	if (*used + size > VM_ROWS_WHOLE) {
		row_cut(row);
		rows->cut++;
		return;
	}
	*used += size;
	rows->shortened += shortened;
}

static int by_turn(const void *a, const void *b)
{
	const struct vm *x = a, *y = b;

	return x->turn != y->turn ? order_u64(x->turn, y->turn)
				  : order_u64((uint64_t)x->pid, (uint64_t)y->pid);
}

unsigned int vm_list_share(struct vm *vms, unsigned int *nr, unsigned int max)
{
	static const struct vm_scope nobody;
	unsigned int left = *nr > max ? *nr - max : 0;

	for (unsigned int i = 0; left && i < *nr; i++) {
		vms[i].turn = !vm_is_of_user(&vms[i], &nobody);
		for (unsigned int k = 0; vms[i].turn && k < i; k++)
			vms[i].turn += vms[k].uid == vms[i].uid;
	}
	if (left)
		qsort(vms, *nr, sizeof(*vms), by_turn);
	for (unsigned int i = 0; i < left; i++)
		vm_free(&vms[--*nr]);
	return left;
}

static bool cpu_has_flag(const char *flag)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/cpuinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0, len = strlen(flag);

	while (f && getline(&line, &size, f) > 0) {
		if (strncmp(line, "flags", 5))
			continue;
		for (const char *p = strstr(line, flag); p; p = strstr(p + 1, flag))
			if (p[-1] == ' ' && isspace((unsigned char)p[len]))
				return true;
		return false;
	}
	return false;
}

/* A built-in module is listed on any CPU, so the CPU is checked too. */
unsigned int vm_host_isa(void)
{
#ifdef __aarch64__
	return access("/dev/kvm", F_OK) ? 0 : EXIT_ISA_ARM64;
#endif
	if (!access("/sys/module/kvm_intel", F_OK) && cpu_has_flag("vmx"))
		return EXIT_ISA_VMX;
	if (!access("/sys/module/kvm_amd", F_OK) && cpu_has_flag("svm"))
		return EXIT_ISA_SVM;
	return 0;
}
