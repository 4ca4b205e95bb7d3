/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives up, for good, what this process does not need any more, before it reads what a guest, a VMM or a file says. A
 * bug in a parser is then a bug of a process that may do next to nothing:
 *
 *	user		started as root: the system user `hostrace` if /etc/passwd has one, else `nobody`; no
 *			supplementary groups. With `paths` it takes CAP_SYS_PTRACE, which most containers lack: the
 *			supervisor reads this process's memory
 *	capabilities	none in any set, the bounding set included, except those of `keep`
 *	execve()	no_new_privs: no program that it executes has more rights
 *	system calls	a list per phase (seccomp). What is not on it fails with EPERM; what only an attacker calls
 *			(execve, ptrace, bpf, mount, ...) kills the process.
 *	files		opened by name: a few system files (Landlock, Linux 5.13), and those of `paths`
 *	memory		CONFINE_READ and CONFINE_SERVE: RLIMIT_DATA, half of what is available, at least 1 GiB
 *
 * Descriptors that are open remain usable. The files of `paths` are opened, renamed and deleted by a supervisor, a
 * child process that keeps the user and the rights to files: the kernel hands it each such system call and returns its
 * answer (seccomp_unotify(2), Linux 5.9). Nothing else changes in a confined program: open() of an input works as
 * before, in libraries, too. The supervisor ends with the process.
 *
 * Where a supervisor is not possible (an old kernel, a container whose manager has one already), Landlock is not used,
 * and of a process that has it, the capability that reads, or reads and writes, all files is kept. Without Landlock,
 * files that every user may read can be read. confine_offers() says what this kernel has.
 *
 * Builds with sanitizers (SAN=1) are not confined: LeakSanitizer attaches to the process with ptrace when it ends.
 * confine_built() is false there.
 */
#ifndef HOSTRACE_CONFINE_H
#define HOSTRACE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* ---- paths ---- */

struct confine_paths;

/* NULL: out of memory, error message set. */
struct confine_paths *confine_paths_new(void);
void confine_paths_free(struct confine_paths *p);

DEFINE_CLEANUP(confine_paths, struct confine_paths *, confine_paths_free);
#define _cleanup_confine_paths_ _cleanup_(confine_paths_cleanup_)

/*
 * May be read: this file; next to it, files whose names begin with its name less the last ".EXTENSION", followed by '.'
 * or '-', and "*.guest*" and "*.bin", which a recording may name; of a directory all that is in it. A path in a missing
 * directory is ignored. 0 or -errno with the error message set.
 */
int confine_paths_read(struct confine_paths *p, const char *path);

/*
 * May be created (O_EXCL), and read, renamed and deleted: this file, and "PATH.PID.tmp" with our process id
 * (base/new_file.h, base/growing_file.h); of a link, also what it names. `numbered`: also NAME-1.EXTENSION,
 * NAME-2.EXTENSION, ... Its directory may be opened, for fsync().
 */
int confine_paths_write(struct confine_paths *p, const char *path, bool numbered);

/* May be removed (rmdir(2)), and read: a directory that this process made for its files. */
int confine_paths_made(struct confine_paths *p, const char *directory);

/*
 * As confine_paths_write() for PREFIX-NAME.hrt and PREFIX-NAME.txt, where NAME is of letters, digits, '-' and '.',
 * and for "PATH.PID.tmp" of any process: those that a child of a confined process with `forks`
 * makes.
 */
int confine_paths_dumps(struct confine_paths *p, const char *prefix);

/* Temporary files without a name, or as tmpfile(3) makes them. */
int confine_paths_temporary(struct confine_paths *p);

/* May be opened to read and write, but not created, truncated, renamed or deleted. */
int confine_paths_update(struct confine_paths *p, const char *path);

/* ---- confinement ---- */

enum confine_phase {
	CONFINE_FOLLOW, /* a recorder that still attaches to VMs: reads /proc and programs, calls bpf() */
	CONFINE_WATCH,	/* attaches nothing more, but looks for VMs in /proc and changes maps of BPF */
	CONFINE_DRAIN,	/* a recorder whose probes are attached */
	CONFINE_READ,	/* a report */
	CONFINE_SERVE,	/* a server whose socket is bound: accepts connections; opens nothing */
	CONFINE_EXECUTE, /* a report that starts a program: all system calls, no Landlock */
};

struct confinement {
	enum confine_phase phase;
	uint64_t keep; /* capabilities, a bit per CAP_*; CONFINE_FOLLOW and CONFINE_WATCH only */
	bool connects; /* may still connect sockets; CONFINE_FOLLOW only */
	bool answers; /* may accept connections of a socket that is bound; CONFINE_FOLLOW and CONFINE_DRAIN only */
	bool sends; /* may send on connected sockets; CONFINE_WATCH and CONFINE_READ only */
	bool terminal; /* may change the modes of its terminal */
	bool forks; /* may fork, and limit the size of files that it writes: children write dumps */
	const struct confine_paths *paths; /* borrowed; NULL: none */
	bool alone; /* set by confine(): there is no supervisor */
	uint64_t instead; /* the capabilities kept because of that */
};

/*
 * Confines the calling process, which must have one thread only. What was given up is read back and tried; if anything
 * remains, it is an error: -errno with the error message set, after which the process should end.
 */
int confine(struct confinement *c);

/* From CONFINE_FOLLOW to CONFINE_DRAIN: no capabilities any more, its system calls. Paths remain. */
int confine_more(const struct confinement *c);

bool confine_built(void);

/* What this kernel offers. */
struct confine_offers {
	bool seccomp, supervisor;
	int landlock; /* the ABI's version; 0: not there */
	unsigned int uid; /* that root becomes */
	const char *user; /* its name */
};

void confine_offers(struct confine_offers *ret);

#endif
