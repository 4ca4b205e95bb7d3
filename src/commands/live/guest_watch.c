// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child gives up its privileges before it reads what the guest wrote. It remains, to look whether this is still the
 * kernel that runs: the memory of one that was rebooted, or left by kexec, may remain as it was, with a current task. A
 * kernel that runs counts jiffies. As long as they stand still, and after a reset of the VM (which the programs
 * notice), tasks are unknown.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/order.h"
#include "collector/kvm_look.h"
#include "commands/live/guest_watch.h"
#include "confine/confine.h"
#include "vm/linux/guest.h"
#include "vm/linux/modules.h"

enum {
	CHILD_FD = 3, /* a socket: reports go to the parent; when it is closed there, the child ends */
	CHILD_NICE = 10,
	LOOK_MS = 10,	     /* until the kernel has been seen to run */
	WATCH_MS = 100,	     /* afterwards */
	STILL_MS = 3000,     /* jiffies that stand still for so long are of a kernel that does not run */
	LOST_MS = 10000,     /* after so long another kernel is looked for */
	FIND_MS = 10000,     /* for one search of the memory */
	FIND_AGAIN_MS = 1000,
};

/* ---- the child ---- */

struct watched {
	struct linux_guest guest;
	struct guest_kernel *kernel;
	uint64_t jiffies; /* address */
	uint64_t seen, seen_ns; /* their newest value, and when they were seen to change to it */
	uint32_t epochs;
	bool found, failed;
};

static uint32_t task_bytes(const struct linux_current *c)
{
	const int at[] = {c->tid_at, c->pid_at, c->comm_at, c->cpu_at};
	int last = 0;

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		last = at[i] > last ? at[i] : last;
	return (uint32_t)last + GUEST_COMM_MAX;
}

static int by_size(const void *va, const void *vb)
{
	const struct guest_slot *a = va, *b = vb;

	return order_u64(b->size, a->size) ?: order_u64(a->guest, b->guest);
}

/* The largest ones, should there be too many: small ones are below 1 MiB, or not RAM. */
static void ranges_fill(struct guest_kernel *k, const struct guest_ram *ram)
{
	const uint64_t gib4 = UINT64_C(1) << 32, low = ram->low < ram->size ? ram->low : ram->size;
	struct guest_slot split[] = {{0, ram->base, low}, {gib4, ram->base + low, ram->size - low}};
	size_t nr = ram->nr_slots ? ram->nr_slots : sizeof(split) / sizeof(*split);
	_cleanup_free_ struct guest_slot *slot = calloc(nr, sizeof(*slot));

	memset(k->range, 0, sizeof(k->range));
	if (!slot)
		return;
	memcpy(slot, ram->nr_slots ? ram->slot : split, nr * sizeof(*slot));
	qsort(slot, nr, sizeof(*slot), by_size);
	for (size_t i = 0; i < nr && i < GUEST_RANGES_MAX; i++)
		k->range[i] = (struct guest_range){.guest = slot[i].guest,
						   .process = slot[i].process,
						   .bytes = slot[i].size};
}

static void kernel_fill(struct guest_kernel *k, const struct linux_guest *g,
			const struct linux_current *c)
{
	k->tid_at = (uint32_t)c->tid_at;
	k->pid_at = (uint32_t)c->pid_at;
	k->comm_at = (uint32_t)c->comm_at;
	k->cpu_at = c->cpu_at;
	k->task_bytes = task_bytes(c);
	k->direct = c->direct;
	k->image = LINUX_IMAGE_MAP;
	k->delta = g->delta;
	ranges_fill(k, &g->ram.at);
	memset(k->slot, 0, sizeof(k->slot));
	for (size_t i = 0; i < c->nr; i++) {
		const struct linux_cpu *cpu = &c->cpu[i];

		if (cpu->apic_id < GUEST_CPUS_MAX)
			k->slot[cpu->apic_id] =
				(struct guest_task_slot){.at = cpu->slot, .cpu = cpu->cpu};
	}
}

/* The places, which are new if a CPU was started; epoch is 0. */
static int places_find(struct watched *w)
{
	struct btf_types types = {0};
	struct linux_current current = {0};
	int err = linux_types_read(&w->guest, &types);

	if (!err)
		err = linux_current_find(&w->guest, &types, &current);
	if (!err)
		kernel_fill(w->kernel, &w->guest, &current);
	linux_current_deinit(&current);
	btf_types_deinit(&types);
	return err;
}

static int kernel_find(struct watched *w)
{
	int err;

	kallsyms_deinit(&w->guest.symbols);
	err = linux_guest_find(&w->guest, monotonic_ns() + FIND_MS * NS_PER_MS);
	w->jiffies = err ? 0 : linux_symbol(&w->guest, "jiffies_64");
	if (!err && !w->jiffies)
		err = fail(-ENOENT, "the guest's kernel has no symbol jiffies_64");
	return err ? err : places_find(w);
}

static void epoch_set(struct watched *w, uint32_t epoch)
{
	__atomic_store_n(&w->kernel->epoch, epoch, __ATOMIC_SEQ_CST);
}

static bool was_reset(const struct watched *w)
{
	uint32_t epoch = w->kernel->epoch;

	return epoch && __atomic_load_n(&w->kernel->reset_epoch, __ATOMIC_SEQ_CST) == epoch;
}

/* Its jiffies have advanced: it runs. */
static void kernel_runs(struct watched *w)
{
	if (w->kernel->epoch || places_find(w))
		return;
	epoch_set(w, ++w->epochs);
	if (w->epochs == 1)
		dprintf(CHILD_FD, "%s", w->guest.banner);
}

static void kernel_look(struct watched *w, uint64_t now)
{
	uint64_t jiffies = 0;
	bool read = !linux_read_u64(&w->guest, w->jiffies, &jiffies);

	if (was_reset(w)) {
		epoch_set(w, 0);
		w->seen = jiffies;
		w->seen_ns = now;
	} else if (read && jiffies != w->seen) {
		if (w->seen)
			kernel_runs(w);
		w->seen = jiffies;
		w->seen_ns = now;
	} else if (now - w->seen_ns > STILL_MS * NS_PER_MS) {
		epoch_set(w, 0);
		w->found = now - w->seen_ns < LOST_MS * NS_PER_MS; /* else it may be another one */
	}
}

/* False: the parent has ended. */
static bool child_pause(int ms)
{
	struct pollfd p = {.fd = CHILD_FD, .events = POLLIN};

	return poll(&p, 1, ms) <= 0;
}

static void child_loop(struct watched *w)
{
	int pause = 0;

	while (child_pause(pause)) {
		uint64_t now = monotonic_ns();

		if (!w->found) {
			w->found = !kernel_find(w);
			w->seen = 0;
			w->seen_ns = now;
			if (!w->found && !w->failed)
				dprintf(CHILD_FD, "!%s", error_text());
			w->failed |= !w->found;
		} else {
			kernel_look(w, now);
		}
		pause = !w->found ? FIND_AGAIN_MS : w->kernel->epoch ? WATCH_MS : LOOK_MS;
	}
}

static void guest_watch_child(const struct vm *vm, struct guest_kernel *kernel, int fd)
{
	struct confinement c = {.phase = CONFINE_READ};
	struct watched w = {.kernel = kernel};
	struct kvm_state state = {0};
	int err;

	if (fd != CHILD_FD)
		dup2(fd, CHILD_FD);
	close_range(CHILD_FD + 1, ~0u, 0);
	signal(SIGINT, SIG_IGN); /* the terminal's ^C is for the parent */
	/* SIGIO ends it when the parent closes the socket, also in a search */
	if (fcntl(CHILD_FD, F_SETOWN, getpid()) || fcntl(CHILD_FD, F_SETFL, O_ASYNC))
		_exit(1);
	if (nice(CHILD_NICE) == -1)
		errno = 0;
	if (vm->has_kvm && kvm_look(&state)) /* the RAM is searched then */
		debug("vm", "%s", error_text());
	err = linux_guest_open(vm, kvm_state_of(&state, vm->pid, NULL), NULL, 0, &w.guest);
	kvm_state_free(&state);
	if (!err)
		err = confine(&c);
	if (err)
		dprintf(CHILD_FD, "!%s", error_text());
	else
		child_loop(&w);
	linux_guest_close(&w.guest);
	_exit(0);
}

/* ---- the parent ---- */

int guest_watch_start(struct guest_watch *w, const struct vm *vm, struct guest_kernel *kernel)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return fail(-errno, "socketpair: %s", strerror(errno));
	w->pid = fork();
	if (!w->pid)
		guest_watch_child(vm, kernel, fds[1]);
	close(fds[1]);
	w->fd = fds[0];
	return w->pid < 0 ? fail(-errno, "fork: %s", strerror(errno)) : 0;
}

bool guest_watch_read(struct guest_watch *w)
{
	char text[sizeof(w->text) + 1];
	ssize_t n = recv(w->fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n <= 0)
		return false;
	text[n] = '\0';
	w->known = text[0] != '!';
	snprintf(w->text, sizeof(w->text), "%s", text + !w->known);
	return true;
}

bool guest_watch_wait(struct guest_watch *w, uint64_t until_ns)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	uint64_t now = monotonic_ns();

	return now < until_ns && poll(&p, 1, (int)((until_ns - now) / NS_PER_MS)) > 0 &&
	       guest_watch_read(w);
}

void guest_watch_stop(struct guest_watch *w)
{
	if (w->pid <= 0)
		return;
	shutdown(w->fd, SHUT_RDWR); /* the supervisor may have it, too */
	close(w->fd);
	waitpid(w->pid, NULL, 0);
	w->pid = 0;
}

const char *guest_watch_why(const struct guest_watch *w)
{
	return *w->text ? w->text : "its kernel was not seen to run";
}
