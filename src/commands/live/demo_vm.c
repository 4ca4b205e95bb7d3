// SPDX-License-Identifier: GPL-2.0-or-later
/* QEMU for the demo. Its monitor (QMP) is its standard input and output, a socket pair. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kvm.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "commands/live/demo.h"
#include "guestside/demo/workload.h"

/*
 * The demo's machinery: child processes with a time limit, the guest's disk image, and a QEMU that
 * runs the demo guest, stopped until demo_vm_go(). What the guest does is in
 * guestside/demo/workload.h.
 */

enum { QEMU_TIMEOUT_S = 20, POLL_MS = 20 };

/* ---- children ---- */

int process_wait(pid_t pid, unsigned int timeout_s)
{
	for (unsigned int ms = 0; ms < timeout_s * 1000; ms += POLL_MS) {
		int status = 0;
		pid_t r = waitpid(pid, &status, WNOHANG);

		if (r < 0 && errno != EINTR)
			return fail(-errno, "waitpid: %s", strerror(errno));
		if (r == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000l}, NULL);
	}
	return fail(-ETIMEDOUT, "process %d did not finish within %u s", (int)pid, timeout_s);
}

/* ---- the disk ---- */

static void sector_fill(uint32_t *words, uint32_t sector, uint32_t version)
{
	for (uint32_t w = 0; w < WORK_SECTOR / 4; w++)
		words[w] = work_word(sector, w, version);
}

static FILE *image_open(const char *dir, const char *mode)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/disk.img", dir);
	FILE *f = fopen(path, mode);
	if (!f)
		fail(-errno, "%s: %s", path, strerror(errno));
	return f;
}

int demo_image_make(const char *dir)
{
	_cleanup_fclose_ FILE *f = image_open(dir, "we");
	uint32_t words[WORK_SECTOR / 4];

	if (!f)
		return -EIO;
	for (uint32_t s = 0; s < WORK_DISK_SECTORS; s++) {
		sector_fill(words, s, 0);
		fwrite(words, sizeof(words), 1, f);
	}
	if (fflush(f) || ferror(f))
		return fail(-EIO, "cannot write %s/disk.img: %s", dir, strerror(errno));
	return 0;
}

int demo_image_check(const char *dir, unsigned int writes)
{
	_cleanup_fclose_ FILE *f = image_open(dir, "re");
	uint32_t want[WORK_SECTOR / 4], have[WORK_SECTOR / 4];
	int wrong = 0;

	if (!f)
		return -EIO;
	for (uint32_t s = 0; s < WORK_DISK_SECTORS; s++) {
		sector_fill(want, s, s < writes);
		if (fread(have, sizeof(have), 1, f) != 1)
			return fail(-EIO, "%s/disk.img was truncated", dir);
		wrong += memcmp(want, have, sizeof(want)) != 0;
	}
	return wrong;
}

/* ---- QEMU ---- */

const char *kvm_missing(void)
{
	_cleanup_close_ int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (kvm < 0)
		return errno == EACCES ? "/dev/kvm: permission denied; add the user to group kvm"
				       : "/dev/kvm does not exist";
	_cleanup_close_ int vm = ioctl(kvm, KVM_CREATE_VM, 0);
	return vm < 0 ? "/dev/kvm: KVM_CREATE_VM failed" : NULL;
}

/* ret_monitor: our end of the socket pair that is QEMU's standard input and output. */
static int qemu_spawn(struct demo_vm *vm, const char *guest, int *ret_monitor)
{
	char drive[PATH_MAX + 64], console[PATH_MAX + 16], log[PATH_MAX + 16], append[64], disk[64],
		slow[64];
	int pair[2];

	snprintf(drive, sizeof(drive), "file=%s/disk.img,if=none,id=d0,format=raw", vm->dir);
	snprintf(console, sizeof(console), "file:%s/console.txt", vm->dir);
	snprintf(log, sizeof(log), "%s/qemu.log", vm->dir);
	snprintf(append, sizeof(append), "leak=%u", vm->leaks);
	snprintf(disk, sizeof(disk), "virtio-blk-pci,drive=d0,id=disk,addr=%d", WORK_DISK_SLOT);
	snprintf(slow, sizeof(slow), "virtio-blk-pci,drive=s0,id=slow,addr=%d", WORK_SLOW_SLOT);
	char *argv[] = {
		(char *)vm->qemu,
		"-name",
		"hostrace-demo",
		"-accel",
		(char *)vm->accel,
		"-machine",
		"pc",
		"-m",
		"32",
		"-nodefaults",
		"-display",
		"none",
		"-no-reboot",
		"-S",
		"-qmp",
		"stdio",
		"-serial",
		console,
		"-kernel",
		(char *)guest,
		"-append",
		append,
		"-device",
		"isa-debug-exit,iobase=0xf4,iosize=1",
		"-drive",
		drive,
		"-device",
		disk,
		/* 512 bytes a second: the second request of 64 KiB would be answered after two
		   minutes. */
		"-drive",
		"driver=null-co,if=none,id=s0,size=16777216,read-zeroes=on,throttling.bps-total="
		"512",
		"-device",
		slow,
		NULL,
	};
	_cleanup_close_ int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (log_fd < 0)
		return fail(-errno, "%s: %s", log, strerror(errno));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return fail(-errno, "socketpair: %s", strerror(errno));
	vm->pid = process_start(argv, pair[1], pair[1], log_fd, SIGKILL);
	close(pair[1]);
	*ret_monitor = pair[0];
	if (vm->pid >= 0)
		return 0;
	close(pair[0]);
	return vm->pid;
}

/* What went wrong is in QEMU's log. */
static int see_log(const struct demo_vm *vm, int err)
{
	return err ? fail_hint(err, "see %s/qemu.log", vm->dir) : 0;
}

int demo_vm_start(struct demo_vm *vm)
{
	char guest[PATH_MAX];
	int monitor = -1, err = installed_file_find("demo-guest.elf", guest, sizeof(guest));

	if (!err)
		err = qemu_spawn(vm, guest, &monitor);
	if (err)
		return err;
	return see_log(vm, qmp_open_fd(monitor, "QEMU's monitor", QEMU_TIMEOUT_S * 1000, &vm->qmp));
}

int demo_vm_go(struct demo_vm *vm)
{
	json_t *value = NULL;
	int err = qmp_execute(vm->qmp, "cont", NULL, &value);

	json_decref(value);
	return see_log(vm, err);
}

int demo_vm_wait(struct demo_vm *vm, unsigned int timeout_s)
{
	int status = process_wait(vm->pid, timeout_s);

	if (status < 0)
		return fail(status, "the guest did not finish within %u s; see %s/console.txt",
			    timeout_s, vm->dir);
	vm->pid = 0;
	debug("vm", "QEMU's exit status is %d", status);
	if (status != WORK_STATUS_PASSED)
		return fail(-EPROTO,
			    "the guest failed (QEMU's exit status is %d, expected %d); see "
			    "%s/console.txt and qemu.log",
			    status, WORK_STATUS_PASSED, vm->dir);
	return 0;
}

void demo_vm_close(struct demo_vm *vm)
{
	if (vm->pid > 0) {
		kill(vm->pid, SIGKILL);
		process_wait(vm->pid, QEMU_TIMEOUT_S);
		vm->pid = 0;
	}
	qmp_close(vm->qmp);
	vm->qmp = NULL;
}
