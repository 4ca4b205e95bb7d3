// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --guest-symbols: the symbols of a Linux guest's kernel, read from its memory (vm/linux/guest.h) into a file
 * next to the recording, vm.hrt and vm.guest.kallsyms, which reports use where no --symbols is given.
 *
 * A child process does it, which gives up its privileges before it reads what the guest wrote, and has a second; the
 * recording goes on meanwhile.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/temporary.h"
#include "base/user_rights.h"
#include "collector/kvm_look.h"
#include "commands/common/command.h"
#include "commands/live/record.h"
#include "vm/linux/modules.h"

enum {
	CHILD_FD = 3,	   /* where the child reports what it did */
	CHILD_SECONDS = 5, /* with the modules, and to write the file */
	CHILD_NICE = 10,
};

static bool wanted, unwanted;

/* clang-format off */
const struct option_row record_symbols_options[] = {
	{0, "guest-symbols",    OPT_FLAG, &wanted,   NULL, "warn if a Linux guest's symbols cannot be saved (saved by default if found within 1s)"},
	{0, "no-guest-symbols", OPT_FLAG, &unwanted, NULL, "do not read the guest kernel's symbols"},
	{0},
};
/* clang-format on */

static char *path_make(void)
{
	char *path = NULL;

	return asprintf(&path, "%.*s.guest.kallsyms", record_output_stem(), record_opt.output) < 0
		       ? NULL
		       : path;
}

/* ---- the child ---- */

static int symbols_write(struct linux_guest *g, const char *path)
{
	struct new_file f;
	int err = new_file_open(&f, path, false);

	if (err)
		return err;
	kallsyms_write(&g->symbols, f.file);
	return new_file_close(&f, 0);
}

static int child_confine(const char *path)
{
	_cleanup_confine_paths_ struct confine_paths *p = confine_paths_new();
	struct confinement c = {.phase = CONFINE_READ, .paths = p};
	int err = p ? confine_paths_write(p, path, false) : -ENOMEM;

	return err ? err : confine(&c);
}

static int child_run(const struct vm *vm, const char *path)
{
	struct kvm_state state = {0};
	struct linux_guest g;
	int err;

	if (vm->has_kvm && kvm_look(&state)) /* the RAM is searched then */
		debug("vm", "%s", error_text());
	err = linux_guest_open(vm, kvm_state_of(&state, vm->pid, NULL), NULL, 0, &g);
	kvm_state_free(&state);
	if (!err)
		err = child_confine(path);
	if (!err)
		err = linux_guest_check(&g, linux_guest_find(&g, monotonic_ns() + NS_PER_S));
	if (err)
		return err;
	err = linux_guest_check(&g, linux_modules_add(&g));
	if (err == -ESRCH)
		return err;
	err = err == -ENOMEM ? err : symbols_write(&g, path);
	if (!err)
		dprintf(CHILD_FD, "%zu symbols, %.60s", g.symbols.nr, g.banner);
	return err;
}

static void too_late(int nr)
{
	(void)nr;
	temporary_delete_all();
	_exit(0);
}

static void record_symbols_child(const struct vm *vm, const char *path, int report)
{
	if (report != CHILD_FD)
		dup2(report, CHILD_FD);
	close_range(CHILD_FD + 1, ~0u, 0);
	signal(SIGINT, SIG_IGN); /* the terminal's ^C is for the recorder */
	signal(SIGALRM, too_late);
	alarm(CHILD_SECONDS);
	if (nice(CHILD_NICE) == -1)
		errno = 0;
	if (child_run(vm, path))
		dprintf(CHILD_FD, "!%s", error_text());
	_exit(0);
}

/* ---- the recorder ---- */

static int record_symbols_choose(struct collector_options *c)
{
	unwanted |= c->wants[EV_host_fault] && !wanted; /* reading guest memory makes faults */
	return wanted && unwanted ? fail_usage(-EINVAL, "--guest-symbols contradicts "
							"--no-guest-symbols")
				  : 0;
}

/* A file of an earlier recording under this name would be wrong; one that was killed may have left part of another. */
static void old_remove(const char *path)
{
	uint64_t begun = user_rights_begin();

	unlink(path);
	user_rights_end(begun);
	new_file_remove_left(path);
}

static int record_symbols_start(struct recording *r)
{
	struct recorded_symbols *s = &r->symbols;
	int fds[2];

	if (record_opt.stream) /* there is no file beside it */
		return 0;
	s->path = path_make();
	if (!s->path)
		return fail(-ENOMEM, "out of memory");
	old_remove(s->path);
	if (unwanted || r->argv || r->nr_vms != 1 || pipe2(fds, O_CLOEXEC))
		return 0;
	s->pid = fork();
	if (!s->pid)
		record_symbols_child(&r->vms[0], s->path, fds[1]);
	close(fds[1]);
	s->report = fds[0];
	return 0;
}

static int record_symbols_stop(struct recording *r)
{
	struct recorded_symbols *s = &r->symbols;
	ssize_t n;

	if (s->pid <= 0)
		return 0;
	while ((n = read(s->report, s->text + s->len, sizeof(s->text) - 1 - s->len)) > 0)
		s->len += (size_t)n;
	close(s->report);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
	return 0;
}

static void record_symbols_summary(struct recording *r)
{
	const struct recorded_symbols *s = &r->symbols;

	if (s->len && s->text[0] != '!')
		command_note("guest symbols: %s, in %s", s->text, s->path);
	else if (wanted)
		command_note("warning: no guest symbols: %s",
			     s->len ? s->text + 1
			     : r->nr_vms != 1 || r->argv
				     ? "they are saved of one VM that already runs"
				     : "the guest's memory could not be read in time");
}

static void close_all(struct recording *r)
{
	record_symbols_stop(r);
	free(r->symbols.path);
}

const struct record_part record_symbols_part = {
	.choose = record_symbols_choose,
	.start = record_symbols_start,
	.stop = record_symbols_stop,
	.summary = record_symbols_summary,
	.close = close_all,
};
