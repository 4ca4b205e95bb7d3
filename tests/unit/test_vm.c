// SPDX-License-Identifier: GPL-2.0-or-later
/* QEMU's command lines as people and libvirt write them, hostile ones, and processes that are
 * not VMs. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h" /* before cmocka, which makes fail() a macro */
#include "vm/cmdline.h"
#include "vm/proc.h"
#include "vm/select.h"
#include "vm/vm.h"

#include <cmocka.h>

#define WORDS(...) ((char *[]){"qemu-system-x86_64", __VA_ARGS__})
#define PARSE(c, ...)                                                                              \
	assert_int_equal(0, vm_cmdline_parse(WORDS(__VA_ARGS__),                                   \
					     sizeof(WORDS(__VA_ARGS__)) / sizeof(char *), (c)))

static void defaults(void **state)
{
	char *alone[] = {"qemu-system-x86_64"};
	struct vm_cmdline c;

	(void)state;
	assert_int_equal(0, vm_cmdline_parse(alone, 1, &c));
	assert_string_equal("", c.name);
	assert_string_equal("", c.machine);
	assert_string_equal("", c.accel);
	assert_int_equal(128 << 20, c.memory_bytes);
	assert_int_equal(1, c.cpus);
	assert_int_equal(0, c.nr_devices);
	vm_cmdline_free(&c);
	assert_int_equal(0, vm_cmdline_parse(alone, 0, &c));
	vm_cmdline_free(&c);
}

static void plain(void **state)
{
	struct vm_cmdline c;

	(void)state;
	PARSE(&c, "-name", "web,debug-threads=on", "-uuid", "d2f6a3a0-0b54-4dd0-9c6f-6a2b1d0c0e01",
	      "-enable-kvm", "-m", "1G", "-smp", "4,maxcpus=8", "-M", "q35", "-device",
	      "virtio-blk-pci,drive=d0", "-drive", "if=none,id=d0,file=a", "-drive",
	      "file=b,,c,if=virtio", "-nic", "user,model=virtio-net-pci", "-netdev",
	      "tap,id=n0,vhost=on", "-append", "-name", "-kernel", "-m");
	assert_string_equal("web", c.name);
	assert_string_equal("d2f6a3a0-0b54-4dd0-9c6f-6a2b1d0c0e01", c.uuid);
	assert_string_equal("q35", c.machine);
	assert_string_equal("kvm", c.accel);
	assert_int_equal(1 << 30, c.memory_bytes);
	assert_int_equal(4, c.cpus);
	assert_int_equal(4, c.nr_devices);
	assert_string_equal("virtio-blk-pci,drive=d0", c.devices[0]);
	assert_string_equal("virtio-blk,file=b,c", c.devices[1]);
	assert_string_equal("virtio-net-pci,type=user", c.devices[2]);
	assert_string_equal("netdev,type=tap,id=n0,vhost=on", c.devices[3]);
	vm_cmdline_free(&c);
}

static void libvirt(void **state)
{
	struct vm_cmdline c;

	(void)state;
	PARSE(&c, "-name", "guest=db,debug-threads=on", "-object",
	      "memory-backend-ram,id=pc.ram,size=2147483648", "-machine",
	      "pc-q35-7.2,usb=off,memory-backend=pc.ram", "-accel", "kvm", "-device",
	      "{\"driver\":\"virtio-blk-pci\",\"bus\":\"pci.4\",\"drive\":\"d\",\"bootindex\":1}",
	      "-smp", "sockets=2,cores=3,threads=2");
	assert_string_equal("db", c.name);
	assert_string_equal("pc-q35-7.2", c.machine);
	assert_int_equal(UINT64_C(2) << 30, c.memory_bytes);
	assert_int_equal(12, c.cpus);
	assert_string_equal("virtio-blk-pci,bus=pci.4,drive=d,bootindex=1", c.devices[0]);
	vm_cmdline_free(&c);
}

static void memory(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{"64", 64 << 20},	  {"size=512M,slots=2,maxmem=4G", 512 << 20},
		{"1.5G", 3 << 29},	  {"4096k", 4 << 20},
		{"8192b", 8192},	  {"0x40", 64 << 20},
		{"-1", 128 << 20},	  {"99999999999T", 128 << 20},
		{"nan", 128 << 20},	  {"", 128 << 20},
		{"maxmem=4G", 128 << 20},
	};
	struct vm_cmdline c;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		PARSE(&c, "-m", (char *)rows[i].text);
		assert_int_equal(rows[i].bytes, c.memory_bytes);
		vm_cmdline_free(&c);
	}
	PARSE(&c, "-m", "64", "-m", "maxmem=4G");
	assert_int_equal(64 << 20, c.memory_bytes);
	vm_cmdline_free(&c);
}

static void accelerators(void **state)
{
	struct vm_cmdline c;

	(void)state;
	PARSE(&c, "-machine", "accel=kvm:tcg,type=pc", "-machine", "usb=off");
	assert_string_equal("kvm:tcg", c.accel);
	assert_string_equal("pc", c.machine);
	vm_cmdline_free(&c);
	PARSE(&c, "--accel", "kvm", "-accel", "tcg,thread=single");
	assert_string_equal("kvm:tcg", c.accel);
	vm_cmdline_free(&c);
}

static void gdb_stub(void **state)
{
	struct vm_cmdline c;

	(void)state;
	PARSE(&c, "-gdb", "unix:a,,b.sock,server=on,wait=off");
	assert_string_equal("a,b.sock", c.gdb);
	vm_cmdline_free(&c);
	PARSE(&c, "-chardev", "socket,path=/g.sock,server=on,id=g", "-chardev",
	      "socket,path=/m.sock,id=m", "--gdb", "chardev:g");
	assert_string_equal("/g.sock", c.gdb);
	vm_cmdline_free(&c);
	PARSE(&c, "-gdb", "tcp::1234", "-append", "-gdb unix:x");
	assert_string_equal("", c.gdb);
	vm_cmdline_free(&c);
}

static void hostile(void **state)
{
	struct vm_cmdline c;
	char big[9000];
	char *many[2 * CMDLINE_DEVICES_MAX + 21];
	unsigned int nr = 0;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	PARSE(&c, "-name", "a\033[2Jb\377", "-device", big, "-device", "{\"driver\":", "-device",
	      "{}", "-smp", "18446744073709551615,cores=4294967295,threads=4294967295", "-M", big,
	      "-device");
	assert_null(strpbrk(c.name, "\033\377"));
	assert_int_equal(1, c.nr_devices);
	assert_true(strlen(c.devices[0]) <= CMDLINE_TEXT_MAX);
	assert_true(c.cpus <= 65536);
	vm_cmdline_free(&c);

	many[nr++] = "qemu";
	while (nr + 2 <= sizeof(many) / sizeof(many[0])) {
		many[nr++] = "-device";
		many[nr++] = "edu";
	}
	assert_int_equal(0, vm_cmdline_parse(many, nr, &c));
	assert_int_equal(CMDLINE_DEVICES_MAX, c.nr_devices);
	vm_cmdline_free(&c);
}

static void quoting(void **state)
{
	char *words[] = {"qemu", "-append", "a b", "it's", "", "x\033[31m", "k=v,w"};
	char *line = vm_cmdline_quote(words, 7);

	(void)state;
	assert_non_null(line);
	assert_null(strchr(line, '\033'));
	assert_memory_equal("qemu -append 'a b' 'it'\\''s' '' ", line, 32);
	assert_string_equal(" k=v,w", line + strlen(line) - 6);
	free(line);
}

static void not_found(void **state)
{
	struct vm vm;
	pid_t child;
	char pid[16];

	(void)state;
	assert_int_equal(-ESRCH, vm_find("no-such-vm-xyzzy", &(struct vm_scope){0}, &vm));
	assert_non_null(strstr(error_text(), "no-such-vm-xyzzy"));
	assert_int_equal(-ESRCH, vm_find("", &(struct vm_scope){0}, &vm));
	assert_int_equal(-ESRCH, vm_find("99999999999999999999", &(struct vm_scope){0}, &vm));
	assert_int_equal(-ESRCH, vm_find("4194999", &(struct vm_scope){0}, &vm)); /* above the kernel's limit of pids */
	child = fork();
	if (!child)
		for (;;)
			pause();
	snprintf(pid, sizeof(pid), "%d", child);
	assert_int_equal(-EINVAL, vm_find(pid, &(struct vm_scope){0}, &vm));
	assert_non_null(strstr(error_text(), "is not a virtual machine"));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void executables(void **state)
{
	struct vm_exe exe;

	(void)state;
	assert_int_equal(0, vm_exe_read("/proc/self/exe", true, &exe));
	assert_string_equal("", exe.version);
	assert_int_equal(-EINVAL, vm_exe_read("/proc/self/status", true, &exe));
	assert_int_equal(-ENOENT, vm_exe_read("/no/such/file", true, &exe));
}

static void items(void **state)
{
	static const char uuid[] = "d2f6a3a0-0b54-4dd0-9c6f-6a2b1d0c0e01";

	(void)state;
	assert_true(vm_item_matches("12", 12, "web", ""));
	assert_false(vm_item_matches("1", 12, "web", ""));
	assert_true(vm_item_matches("web", 12, "web", NULL));
	assert_false(vm_item_matches("web", 12, "web1", NULL));
	assert_true(vm_item_matches("web*", 12, "web1", NULL));
	assert_true(vm_item_matches("a[b]", 12, "a[b]", NULL)); /* a name, though it could be a glob */
	assert_true(vm_item_matches("D2F6A3A0-0b54-4dd0-9c6f-6a2b1d0c0e01", 12, "web", uuid));
	assert_false(vm_item_matches("", 12, "web", ""));
	assert_false(vm_item_matches("x", 12, NULL, NULL));
	assert_true(vm_item_is_glob("db?"));
	assert_false(vm_item_is_glob("db-1.2"));
}

/* 600 VMs with words of 100 KB each. */
static void long_words_of_many(void **state)
{
	char *word = calloc(1, 100001);
	struct vm_rows rows = {0};
	size_t size = 0, own = 0;

	(void)state;
	memset(word, 'x', 100000);
	for (unsigned int i = 0; i < 600; i++) {
		struct vm vm = {.has_kvm = true, .uid = i < 599 ? getuid() + 4711 : getuid()};
		json_t *row = json_pack("{s:s,s:s,s:[]}", "name", word, "cmdline", word, "vcpus");

		for (int v = 0; i == 598 && v < 1000; v++)
			json_array_append_new(json_object_get(row, "vcpus"),
					      json_pack("{s:i,s:i}", "index", v, "tid", v + 9));
		if (i == 599)
			json_object_set_new(row, "name", json_string("web"));
		vm_rows_fit(&rows, &vm, row);
		own = i == 599 ? strlen(json_string_value(json_object_get(row, "cmdline"))) : 0;
		size += json_dumpb(row, NULL, 0, 0);
		json_decref(row);
	}
	assert_true(size < VM_ROWS_WHOLE + 600 * VM_ROW_CUT);
	assert_int_equal(own, VM_CMDLINE_SHOWN + 3); /* not left out because of others */
	assert_int_equal(rows.cut + rows.shortened, 600);
	assert_true(rows.cut > 500);
	free(word);
}

/* User 4711 has nine VMs with low pids, 4712 two, the caller one: none has the places of the others. */
static void places_are_shared(void **state)
{
	static const int kept[] = {12, 1, 10, 2, 11};
	struct vm vms[12];
	unsigned int nr = 12;

	(void)state;
	for (int i = 0; i < 12; i++)
		vms[i] = (struct vm){.pid = i + 1,
				     .uid = getuid() + (i < 9 ? 4711 : i < 11 ? 4712 : 0)};
	assert_int_equal(vm_list_share(vms, &nr, 5), 7);
	assert_int_equal(nr, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(vms[i].pid, kept[i]);
	assert_int_equal(vm_list_share(vms, &nr, 5), 0);
}

enum { NOBODY = 65534, OTHERS = 3 };

/* How many of the children are listed: 10 for each of another user, and 1 for our own, the last one. */
static unsigned int of_children(const struct vm *vms, unsigned int nr,
				const pid_t child[OTHERS + 1])
{
	unsigned int listed = 0;

	for (unsigned int i = 0; i < nr; i++)
		for (int c = 0; c <= OTHERS; c++)
			listed += vms[i].pid == child[c] ? c == OTHERS ? 1 : 10 : 0;
	return listed;
}

/* Any user may start programs called qemu-system-x86_64, so many that no place is left for VMs, with long words. */
static void many_others(void **state)
{
	static char word[100001];
	static const struct vm_scope scope = {.tcg = true, .max_others = 1}, kvm = {0};
	char dir[] = "/tmp/hostrace-vm-XXXXXX", path[64], command[128];
	unsigned int nr = 0, left = 0, shown = 0, listed;
	struct vm *vms = NULL;
	pid_t child[OTHERS + 1];

	(void)state;
	if (geteuid())
		skip(); /* only root can be another user */
	memset(word, '0', sizeof(word) - 1);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(0, chmod(dir, 0755));
	snprintf(path, sizeof(path), "%s/qemu-system-x86_64", dir);
	snprintf(command, sizeof(command), "cp /bin/sleep %s", path);
	assert_int_equal(0, system(command));
	for (int i = 0; i <= OTHERS; i++) {
		child[i] = fork();
		if (!child[i])
			_exit((i < OTHERS && setuid(NOBODY)) ||
			      execl(path, "qemu-system-x86_64", "100", word, NULL));
	}
	for (int i = 0; i < 1000 && (left < OTHERS - 1 || of_children(vms, nr, child) % 10 != 1);
	     i++, usleep(10000)) { /* until they are executed */
		vm_list_free(vms, nr);
		vms = NULL;
		assert_int_equal(0, vm_list(&scope, &vms, &nr, &left));
	}
	listed = of_children(vms, nr, child);
	for (unsigned int i = 0; i < nr; i++)
		shown += strlen(vms[i].cmdline) <= VM_CMDLINE_SHOWN + 1;
	vm_list_free(vms, nr);
	assert_int_equal(shown, nr);
	assert_in_range(listed, 1, 11);
	assert_int_equal(listed % 10, 1);
	assert_true(left >= OTHERS - 1);
	assert_int_equal(0, vm_list(&kvm, &vms, &nr, &left)); /* none of them has KVM */
	assert_int_equal(of_children(vms, nr, child), 0);
	vm_list_free(vms, nr);
	for (int i = 0; i <= OTHERS; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	unlink(path);
	rmdir(dir);
}

/* Any user may start a program called qemu-system-x86_64, of any size. */
static void huge_executable(void **state)
{
	char version[32]; /* not as one constant: this program is no QEMU */
	char path[] = "/tmp/hostrace-test-XXXXXX";
	int fd = mkstemp(path);
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(head),
			   .e_ehsize = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2};
	Elf64_Phdr segments[] = {
		{.p_type = PT_NOTE, .p_offset = 4096, .p_filesz = 30ull << 30},
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_offset = 4096, .p_filesz = 30ull << 30}};
	const uint32_t note[] = {4, 4, NT_GNU_BUILD_ID, 0x554e47 /* "GNU" */, 0x78563412};
	struct vm_exe exe;

	(void)state;
	snprintf(version, sizeof(version), "%s emulator version 9.8.7", "QEMU");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, segments, sizeof(segments)), sizeof(segments));
	assert_int_equal(pwrite(fd, version, sizeof(version), 80 << 20), sizeof(version));
	assert_int_equal(ftruncate(fd, 4096 + (30ll << 30)), 0);
	assert_int_equal(vm_exe_read(path, true, &exe), 0);
	assert_string_equal(exe.version, ""); /* not searched so far */
	assert_int_equal(pwrite(fd, version, sizeof(version), 20 << 20), sizeof(version));
	assert_int_equal(vm_exe_read(path, true, &exe), 0);
	assert_string_equal(exe.version, "9.8.7");
	/* between notes of 12 bytes without name and content */
	assert_int_equal(pwrite(fd, note, sizeof(note), 4096 + 12 * 6000), sizeof(note));
	assert_int_equal(vm_exe_read(path, true, &exe), 0);
	assert_string_equal(exe.build_id, ""); /* not searched so far */
	assert_int_equal(pwrite(fd, note, sizeof(note), 4096 + 12 * 5000), sizeof(note));
	assert_int_equal(vm_exe_read(path, true, &exe), 0);
	assert_string_equal(exe.build_id, "12345678");
	close(fd);
	unlink(path);
}

/* A child that waits until it is killed; pid 0: any. */
static pid_t child_start(pid_t pid)
{
	pid_t set[1] = {pid};
	struct clone_args args = {.exit_signal = SIGCHLD,
				  .set_tid = pid ? (uintptr_t)set : 0,
				  .set_tid_size = pid ? 1 : 0};
	pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (!child)
		for (;;)
			pause();
	return child;
}

static void child_end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Another process gets the pid of one that was looked up: it must not be taken for it. */
static void reused_pid(void **state)
{
	struct vm vm = {.pid = child_start(0)};
	pid_t again;
	int fd;

	(void)state;
	assert_true(vm.pid > 0);
	vm.start = proc_start(vm.pid);
	assert_true(vm.start > 0);
	fd = vm_pidfd(&vm);
	assert_true(fd >= 0);
	close(fd);
	usleep(50000); /* the start time is in ticks of 10 ms */
	child_end(vm.pid);
	assert_int_equal(vm_pidfd(&vm), -ESRCH);
	again = child_start(vm.pid); /* CAP_CHECKPOINT_RESTORE */
	if (again < 0 && errno == EPERM)
		skip();
	assert_int_equal(again, vm.pid);
	fd = vm_pidfd(&vm);
	child_end(again);
	assert_int_equal(fd, -ESTALE);
	assert_non_null(strstr(error_text(), "another process"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),	cmocka_unit_test(plain),
		cmocka_unit_test(libvirt),	cmocka_unit_test(memory),
		cmocka_unit_test(accelerators),
		cmocka_unit_test(gdb_stub), cmocka_unit_test(hostile),
		cmocka_unit_test(quoting),	cmocka_unit_test(not_found),
		cmocka_unit_test(executables),	cmocka_unit_test(items),
		cmocka_unit_test(many_others), cmocka_unit_test(long_words_of_many),
		cmocka_unit_test(places_are_shared),
		cmocka_unit_test(huge_executable), cmocka_unit_test(reused_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
