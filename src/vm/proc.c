// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts from /proc/PID (proc(5)). A process is identified by its pid and start time, since pids are reused; names are
 * hostile and are searched from the right place (the last ')' of stat). A VM is a process with a "anon_inode:kvm-vm"
 * descriptor, its vCPUs are those of "anon_inode:kvm-vcpu:N", and which thread runs which is told by the names that
 * VMMs give them. Further an executable's build id and QEMU version, read without running it.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>

#include "base/buffer.h"
#include "base/error.h"
#include "vm/cmdline.h"
#include "vm/proc.h"

/* Facts about an executable without running it: its build id and, if it is a QEMU, its version. */

enum {
	CMDLINE_BYTES_MAX = 1 << 20,
	DESCRIPTORS_MAX = 1 << 20, /* looked at per process */
	COMM_MAX = 64,
};

static DIR *proc_opendir(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return opendir(path);
}

static FILE *proc_open(pid_t pid, const char *what)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%.63s", pid, what);
	return fopen(path, "re");
}

bool proc_exists(pid_t pid, pid_t *ret_leader)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "status");
	char line[256];
	int tgid;

	*ret_leader = 0;
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			*ret_leader = tgid;
	return *ret_leader == pid;
}

char proc_state(pid_t pid)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "stat");
	char line[512], state = 0;
	const char *end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;

	return end && sscanf(end, ") %c", &state) == 1 ? state : 0;
}

/* Field 22 of "PID (NAME) STATE ..."; the name may hold anything. */
uint64_t proc_start(pid_t pid)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "stat");
	uint64_t start = 0;
	char line[1024];
	const char *at = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;

	for (unsigned int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (at)
		sscanf(at, "%" SCNu64, &start);
	return start;
}

bool proc_owner(pid_t pid, uid_t *ret)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "status");
	uid_t real, effective, saved;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %u %u %u", &real, &effective, &saved) == 3) {
			*ret = real ? real : effective ? effective : saved;
			return true;
		}
	return false;
}

static int words_split(char *text, size_t len, char ***ret_words, unsigned int *ret_nr)
{
	char **words = calloc(CMDLINE_WORDS_MAX, sizeof(*words));
	unsigned int nr = 0;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < len && nr < CMDLINE_WORDS_MAX; i += strlen(text + i) + 1)
		words[nr++] = text + i;
	*ret_words = words;
	*ret_nr = nr;
	return 0;
}

int proc_cmdline(pid_t pid, char **ret_text, char ***ret_words, unsigned int *ret_nr)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "cmdline");
	char *text;
	size_t len;
	int err;

	if (!f)
		return -errno;
	text = malloc(CMDLINE_BYTES_MAX + 1);
	if (!text)
		return -ENOMEM;
	len = fread(text, 1, CMDLINE_BYTES_MAX, f);
	text[len] = '\0';
	err = words_split(text, len, ret_words, ret_nr);
	if (err)
		free(text);
	else
		*ret_text = text;
	return err;
}

int proc_exe(pid_t pid, char *buf, size_t size)
{
	static const char deleted[] = " (deleted)";
	const size_t tail = sizeof(deleted) - 1;
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	if ((size_t)n > tail && !strcmp(buf + n - tail, deleted))
		buf[n - tail] = '\0';
	return 0;
}

void proc_comm(pid_t pid, char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "comm");

	*buf = '\0';
	if (f && fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
}

int proc_kvm(pid_t pid, bool *ret_vm, unsigned int *ret_vcpus)
{
	static const char vm[] = "anon_inode:kvm-vm", vcpu[] = "anon_inode:kvm-vcpu",
			  stats[] = "anon_inode:kvm-vcpu-stats"; /* of KVM_GET_STATS_FD */
	_cleanup_closedir_ DIR *dir = proc_opendir(pid, "fd");
	unsigned int seen = 0;
	struct dirent *d;
	int hidden = 0;

	*ret_vm = false;
	*ret_vcpus = 0;
	if (!dir)
		return -errno;
	while ((d = readdir(dir)) && seen++ < DESCRIPTORS_MAX) {
		char target[64];
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof(target) - 1);

		if (n < 0) {
			hidden = errno == EACCES || errno == EPERM ? -errno : hidden;
			continue;
		}
		target[n] = '\0';
		if (!strcmp(target, vm))
			*ret_vm = true;
		else if (!strncmp(target, vcpu, sizeof(vcpu) - 1) &&
			 strncmp(target, stats, sizeof(stats) - 1) && *ret_vcpus < VM_VCPUS_MAX)
			++*ret_vcpus; /* "anon_inode:kvm-vcpu:3" since Linux 4.17 */
	}
	*ret_vm |= *ret_vcpus > 0; /* whose own descriptor was closed */
	return *ret_vm ? 0 : hidden;
}

/* What the VMMs call their vCPU threads: QEMU (with debug-threads=on), Firecracker, crosvm, Cloud Hypervisor. */
static bool vcpu_of_comm(const char *comm, unsigned int *ret_index, bool *ret_all)
{
	static const char *const patterns[] = {"CPU %u/KVM%n", "CPU %u/TCG%n", "fc_vcpu %u%n",
					       "crosvm_vcpu%u%n", "vcpu%u%n"};

	*ret_index = 0;
	*ret_all = !strcmp(comm, "ALL CPUs/TCG");
	if (*ret_all)
		return true;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		int len = 0;

		if (sscanf(comm, patterns[i], ret_index, &len) == 1 && len && !comm[len])
			return true;
	}
	return false;
}

static pid_t tid_of(const char *name)
{
	long tid = strtol(name, NULL, 10);

	return tid > 0 && tid < INT_MAX ? (pid_t)tid : 0;
}

unsigned int proc_vcpu_threads(pid_t pid, struct vm_vcpu *ret, unsigned int max)
{
	_cleanup_closedir_ DIR *dir = proc_opendir(pid, "task");
	unsigned int highest = 0;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char comm[COMM_MAX], file[64];
		pid_t tid = tid_of(d->d_name);
		unsigned int index;
		bool all;

		if (!tid)
			continue;
		snprintf(file, sizeof(file), "task/%d/comm", tid);
		_cleanup_fclose_ FILE *f = proc_open(pid, file);
		if (!f || !fgets(comm, sizeof(comm), f))
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		if (!vcpu_of_comm(comm, &index, &all) || index >= max)
			continue;
		for (unsigned int i = index; i < (all ? max : index + 1); i++)
			ret[i].tid = tid;
		if (index + 1 > highest)
			highest = index + 1;
	}
	return highest;
}

uint64_t proc_threads_run_ns(pid_t pid)
{
	_cleanup_closedir_ DIR *dir = proc_opendir(pid, "task");
	uint64_t sum = 0, run;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		pid_t tid = tid_of(d->d_name);
		char file[64];

		if (!tid || tid == pid)
			continue;
		snprintf(file, sizeof(file), "task/%d/schedstat", tid);
		_cleanup_fclose_ FILE *f = proc_open(pid, file);
		if (f && fscanf(f, "%" SCNu64, &run) == 1)
			sum += run;
	}
	return sum;
}

unsigned int proc_threads(pid_t pid, pid_t *ret, unsigned int max)
{
	_cleanup_closedir_ DIR *dir = proc_opendir(pid, "task");
	unsigned int nr = 0;
	struct dirent *d;

	while (dir && nr < max && (d = readdir(dir)))
		if (tid_of(d->d_name))
			ret[nr++] = tid_of(d->d_name);
	return nr;
}

bool proc_thread_sched(pid_t pid, pid_t tid, uint64_t *ret_run_ns, uint64_t *ret_ready_ns)
{
	char file[64];

	snprintf(file, sizeof(file), "task/%d/schedstat", tid);
	_cleanup_fclose_ FILE *f = proc_open(pid, file);
	return f && fscanf(f, "%" SCNu64 " %" SCNu64, ret_run_ns, ret_ready_ns) == 2;
}

/* A line is "ID:CONTROLLERS:PATH"; version 2's comes last and has the ID 0. */
void proc_cgroup(pid_t pid, char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "cgroup");
	char line[PATH_MAX + 256];
	bool found = false;

	*buf = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path || (found && strncmp(line, "0:", 2)))
			continue;
		snprintf(buf, size, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
		found = true;
	}
}

uint64_t proc_resident_bytes(pid_t pid)
{
	_cleanup_fclose_ FILE *f = proc_open(pid, "statm");
	uint64_t size, resident;

	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64, &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Facts from an ELF file. QEMU's version is found by the text that `qemu --version` prints, which
 * is one constant because its version is concatenated by the compiler; QEMU itself is
 * never run.
 */

enum {
	SEGMENTS_MAX = 256,
	BUILD_ID_MAX = 32, /* bytes; GNU ld writes 20 */
	/* Any user may run a program of this name: it must not keep root's `ps` busy. */
	NOTES_BYTES_MAX = 64 << 10,
	SEARCH_BYTES_MAX = 64 << 20, /* for the version, over all segments; QEMU 10 has 20 MiB */
};

static const char version_text[] = "QEMU emulator version ";

/* ELF notes: three words, then name and data, each padded to 4 bytes (System V gABI, chapter 5). */
static void build_id_take(const uint8_t *data, size_t len, struct vm_exe *ret)
{
	struct buffer b = buffer_of(data, len, "", 0);

	while (buffer_left(&b) >= 12) {
		uint32_t name_len = buffer_u32(&b), data_len = buffer_u32(&b),
			 type = buffer_u32(&b);
		const uint8_t *name = buffer_bytes(&b, ((size_t)name_len + 3) & ~(size_t)3);
		const uint8_t *id = buffer_bytes(&b, ((size_t)data_len + 3) & ~(size_t)3);

		if (!name || !id)
			return;
		if (type != NT_GNU_BUILD_ID || name_len != 4 || memcmp(name, "GNU", 4) ||
		    data_len > BUILD_ID_MAX)
			continue;
		for (uint32_t i = 0; i < data_len; i++)
			snprintf(ret->build_id + 2 * i, 3, "%02x", id[i]);
		return;
	}
}

static void version_take(const uint8_t *data, size_t len, struct vm_exe *ret)
{
	const uint8_t *hit = memmem(data, len, version_text, sizeof(version_text) - 1);
	size_t n = 0;

	if (!hit)
		return;
	hit += sizeof(version_text) - 1;
	while (hit + n < data + len && n < sizeof(ret->version) - 1 &&
	       ((hit[n] >= '0' && hit[n] <= '9') || hit[n] == '.'))
		n++;
	memcpy(ret->version, hit, n);
	ret->version[n] = '\0';
}

static size_t spend(size_t *budget, size_t wanted)
{
	size_t n = wanted < *budget ? wanted : *budget;

	*budget -= n;
	return n;
}

static void segments_read(Elf *elf, const uint8_t *file, size_t size, size_t search,
			  struct vm_exe *ret)
{
	size_t nr = 0, notes = NOTES_BYTES_MAX;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr && i < SEGMENTS_MAX; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_offset > size ||
		    ph.p_filesz > size - ph.p_offset)
			continue;
		if (ph.p_type == PT_NOTE && !*ret->build_id)
			build_id_take(file + ph.p_offset, spend(&notes, ph.p_filesz), ret);
		if (ph.p_type == PT_LOAD && !(ph.p_flags & PF_W) && !*ret->version)
			version_take(file + ph.p_offset, spend(&search, ph.p_filesz), ret);
	}
}

static void elf_cleanup(Elf **elf)
{
	elf_end(*elf);
}

int vm_exe_read(const char *path, bool version, struct vm_exe *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_cleanup) Elf *elf = NULL;
	size_t size = 0;
	char *file;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0)
		return fail(-errno, "cannot open %s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return fail(-EINVAL, "%s is not an ELF file", path);
	file = elf_rawfile(elf, &size);
	if (file)
		segments_read(elf, (const uint8_t *)file, size, version ? SEARCH_BYTES_MAX : 0,
			      ret);
	return 0;
}
