// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Capabilities. Loading our programs requires CAP_BPF and CAP_PERFMON (Linux 5.8); reading tracefs and
 * another user's QEMU requires CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE. Where KVM is a module its type
 * information can only be listed with CAP_SYS_ADMIN (bpf(BPF_BTF_GET_NEXT_ID)), which contains the
 * first two.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/collector.h"
#include "confine/confine.h"
#include "event/exit_reason.h"

/* What recording needs from the host: the kernel, the capabilities and KVM. `doctor` prints it. */

struct need {
	unsigned int cap, instead; /* instead: another one that contains it */
	const char *name;
	const char *what;
};

static const struct need needs[] = {
	{CAP_BPF, CAP_SYS_ADMIN, "cap_bpf", "loading BPF programs"},
	{CAP_PERFMON, CAP_SYS_ADMIN, "cap_perfmon", "attaching BPF programs"},
	{CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "cap_dac_read_search", "reading tracefs"},
	{CAP_SYS_PTRACE, CAP_SYS_PTRACE, "cap_sys_ptrace", "reading another user's QEMU"},
};
enum { NR_NEEDS = sizeof(needs) / sizeof(needs[0]) };

static uint64_t caps_effective(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &head, data))
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

static void caps_effective_set(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &head, data))
		return;
	data[0].effective = (uint32_t)caps;
	data[1].effective = (uint32_t)(caps >> 32);
	syscall(SYS_capset, &head, data);
}

static bool caps_has(uint64_t caps, unsigned int cap)
{
	return caps >> cap & 1;
}

/* Is KVM's BTF in a module, so that only CAP_SYS_ADMIN can find it? */
static bool kvm_is_module(void)
{
	return access("/sys/kernel/btf/kvm", F_OK) == 0;
}

static const char *own_path(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	if (n < 0)
		return "hostrace";
	buf[n] = '\0';
	return buf;
}

int privileges_check(void)
{
	uint64_t caps = caps_effective();
	bool admin = kvm_is_module();
	char missing[256] = "", path[512];
	size_t len = 0;

	for (unsigned int i = 0; i < NR_NEEDS; i++)
		if (!caps_has(caps, needs[i].cap) && !caps_has(caps, needs[i].instead))
			len += snprintf(missing + len, sizeof(missing) - len, "%s%s (%s)",
					len ? ", " : "", needs[i].name, needs[i].what);
	if (admin && !caps_has(caps, CAP_SYS_ADMIN))
		len += snprintf(missing + len, sizeof(missing) - len, "%scap_sys_admin (%s)",
				len ? ", " : "", "type information of the kvm module");
	if (!len)
		return 0;
	return fail(-EPERM,
		    "missing capability: %s; run it as root, or grant them once: sudo setcap "
		    "cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace%s=ep %s",
		    missing, admin ? ",cap_sys_admin" : "", own_path(path, sizeof(path)));
}

uint64_t collector_attach_caps(void)
{
	const uint64_t admin = UINT64_C(1) << CAP_SYS_ADMIN,
		       caps = UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON;
	uint64_t before = caps_effective();
	bool sufficient;

	caps_effective_set(before & ~admin);
	sufficient = feature_uprobes();
	caps_effective_set(before);
	return sufficient ? caps : caps | admin;
}

/* The host's requirements for recording. Most are read from files; BPF is tested only with sufficient privileges. */

static struct check *check_add(struct host_checks *c, const char *name, bool needed,
			       enum check_state state, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static struct check *check_add(struct host_checks *c, const char *name, bool needed,
			       enum check_state state, const char *fmt, ...)
{
	struct check *one = &c->check[c->nr];
	va_list ap;

	if (c->nr == CHECKS_MAX)
		return NULL;
	c->nr++;
	*one = (struct check){.name = name, .needed = needed, .state = state};
	va_start(ap, fmt);
	vsnprintf(one->text, sizeof(one->text), fmt, ap);
	va_end(ap);
	return one;
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

static void btf_check(struct host_checks *c)
{
	if (is_there("/sys/kernel/btf/vmlinux"))
		check_add(c, "kernel BTF", true, CHECK_OK, "/sys/kernel/btf/vmlinux");
	else
		check_add(c, "kernel BTF", true, CHECK_MISSING,
			  "needs a kernel with CONFIG_DEBUG_INFO_BTF=y (Debian 11, Fedora 31, RHEL "
			  "8.2, or newer)");
	if (!is_there("/sys/module/kvm"))
		check_add(c, "KVM BTF", false, CHECK_MISSING,
			  "KVM is not loaded; try: modprobe kvm_intel, or modprobe kvm_amd");
	else if (is_there("/sys/kernel/btf/kvm"))
		check_add(c, "KVM BTF", false, CHECK_OK, "/sys/kernel/btf/kvm");
	else if (is_there("/sys/module/kvm/initstate"))
		check_add(c, "KVM BTF", false, CHECK_MISSING,
			  "the kvm module has no BTF: needs CONFIG_DEBUG_INFO_BTF_MODULES=y");
	else
		check_add(c, "KVM BTF", false, CHECK_OK, "KVM is built into the kernel");
}

static void tracefs_check(struct host_checks *c)
{
	static const char exits[] = "/sys/kernel/tracing/events/kvm/kvm_exit/id";
	static const char older[] = "/sys/kernel/debug/tracing/events/kvm/kvm_exit/id";

	if (!access(exits, R_OK) || !access(older, R_OK))
		check_add(c, "tracefs", false, CHECK_OK, "kvm_exit is available");
	else if (geteuid() && is_there("/sys/kernel/tracing"))
		check_add(c, "tracefs", false, CHECK_UNKNOWN, "readable by root only");
	else if (is_there("/sys/kernel/tracing/events"))
		check_add(c, "tracefs", false, CHECK_MISSING, "no kvm_exit; is KVM loaded?");
	else
		check_add(c, "tracefs", false, CHECK_MISSING,
			  "tracefs is not mounted; try as root: mount -t tracefs nodev "
			  "/sys/kernel/tracing");
}

static void uprobes_check(struct host_checks *c)
{
	if (is_there("/sys/bus/event_source/devices/uprobe/type") && !feature_uprobes())
		check_add(c, "user probes", false, CHECK_MISSING,
			  "QEMU cannot be probed: this kernel needs CAP_SYS_ADMIN for it; run "
			  "hostrace as root");
	else if (is_there("/sys/bus/event_source/devices/uprobe/type"))
		check_add(c, "user probes", false, CHECK_OK,
			  "functions and USDT probes of QEMU can be probed");
	else
		check_add(c, "user probes", false, CHECK_MISSING,
			  "QEMU cannot be probed: needs CONFIG_UPROBE_EVENTS=y");
}

/* CONFIG_SECURITY_LOCKDOWN_LSM: at "confidentiality" BPF may not read kernel memory. */
static void lockdown_check(struct host_checks *c)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128];

	if (f && fgets(line, sizeof(line), f) && strstr(line, "[confidentiality]"))
		check_add(c, "lockdown", true, CHECK_MISSING,
			  "kernel lockdown is 'confidentiality': BPF cannot read kernel memory; "
			  "boot with lockdown=integrity");
}

static void bpf_check(struct host_checks *c)
{
	if (feature_tracing())
		check_add(c, "BPF tracing", true, CHECK_OK, "typed tracepoints (tp_btf)");
	else
		check_add(c, "BPF tracing", true, CHECK_MISSING,
			  "needs Linux 5.5 with CONFIG_BPF_SYSCALL=y");
	if (feature_task_storage())
		check_add(c, "BPF task storage", true, CHECK_OK,
			  "per-thread state in BPF");
	else
		check_add(c, "BPF task storage", true, CHECK_MISSING, "needs Linux 5.11");
}

static void capabilities_check(struct host_checks *c)
{
	if (!privileges_check()) {
		check_add(c, "capabilities", true, CHECK_OK, "sufficient for recording");
		bpf_check(c);
		return;
	}
	check_add(c, "capabilities", true, CHECK_MISSING, "%s", error_text());
	check_add(c, "BPF", false, CHECK_UNKNOWN, "cannot be tested without these capabilities");
}

/* The module that runs guests: kvm_intel, kvm_amd, or another one that uses kvm. */
static void backend_name(char *buf, size_t size)
{
	static const char *const names[] = {"kvm_intel", "kvm_amd", "kvm_pvm"};
	char path[64];

	*buf = '\0';
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", names[i]);
		if (is_there(path)) {
			snprintf(buf, size, "%s", names[i]);
			return;
		}
	}
}

static void kvm_check(struct host_checks *c)
{
	unsigned int isa = vm_host_isa();

	backend_name(c->backend, sizeof(c->backend));
	if (!is_there("/dev/kvm"))
		check_add(c, "KVM", false, CHECK_MISSING,
			  "/dev/kvm does not exist: guests run under TCG, with QEMU's events only");
	else if (isa)
		check_add(c, "KVM", false, CHECK_OK, "%s%skvm_exit has %s exit reasons", c->backend,
			  *c->backend ? ": " : "",
			  isa == EXIT_ISA_ARM64 ? "arm64"
			  : isa == EXIT_ISA_VMX ? "VMX"
						: "SVM");
	else
		check_add(c, "KVM", false, CHECK_NOTE,
			  "%s: this backend may never fire the tracepoint kvm_exit; exits are then "
			  "measured as userspace-exit cycles",
			  *c->backend ? c->backend : "neither kvm_intel nor kvm_amd");
}

/* What kvm_look() reads. */
static void state_check(struct host_checks *c, const char *error)
{
	if (!is_there("/dev/kvm"))
		return;
	if (error)
		check_add(c, "KVM state", false, CHECK_NOTE,
			  "%s; threads of vCPUs are known from their names, or the first event of "
			  "each vCPU",
			  error);
	else
		check_add(c, "KVM state", false, CHECK_OK,
			  "vCPU threads and guest memory are read from KVM, for any VMM");
}

/* What a recorder and reports give up: confine/confine.h. */
static void confinement_check(struct host_checks *c)
{
	struct confine_offers o;

	confine_offers(&o);
	if (!confine_built())
		check_add(c, "confinement", false, CHECK_NOTE, "none in a build with sanitizers");
	else if (!o.seccomp || !o.supervisor)
		check_add(c, "confinement", false, CHECK_NOTE,
			  "user %s; the kernel cannot restrict system calls as needed (Linux 5.9 "
			  "with "
			  "CONFIG_SECCOMP_FILTER=y)",
			  o.user);
	else if (!o.landlock)
		check_add(c, "confinement", false, CHECK_NOTE,
			  "user %s, system calls restricted; no Landlock: files that every user "
			  "may read stay readable (needs CONFIG_SECURITY_LANDLOCK=y and landlock "
			  "in the lsm= parameter)",
			  o.user);
	else
		check_add(c, "confinement", false, CHECK_OK,
			  "user %s, system calls restricted, Landlock ABI %d", o.user, o.landlock);
}

void host_check(struct host_checks *ret, const char *state_error)
{
	*ret = (struct host_checks){0};
	capabilities_check(ret);
	btf_check(ret);
	tracefs_check(ret);
	uprobes_check(ret);
	lockdown_check(ret);
	kvm_check(ret);
	state_check(ret, state_error);
	confinement_check(ret);
}

const struct check *host_obstacle(const struct host_checks *checks)
{
	return array_find(checks->check, checks->nr, i,
			  checks->check[i].needed && checks->check[i].state == CHECK_MISSING);
}
