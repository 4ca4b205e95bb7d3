// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For LD_PRELOAD: makes allocations fail, and system calls do less than was requested. Only in the process that was
 * started, not in those that it forks or starts.
 *
 *   FAULT_ALLOC=N      the N-th allocation fails (1, 2, ...); N+: all from the N-th on
 *   FAULT_COUNT=FILE   the number of allocations, 8 bytes; mapped, as the process may not open files at its end
 *   FAULT_SHORT=BYTES  read(), pread(), write() and writev() transfer no more than this
 *   FAULT_EINTR=N      every N-th of these is interrupted by a signal
 *   FAULT_PROC=BITS    opendir("/proc") fails once the process is confined: bit 0 for the first time, ...
 *   FAULT_MARK=1       access(FAULT_MARK_PATH) marks the begin of main() for strace
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAULT_MARK_PATH "/fault-mark"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static atomic_ulong nr_unread, nr_calls;
static atomic_ulong *nr_allocs; /* NULL: not counted */
static unsigned long alloc_at, short_bytes, eintr_every, proc_fails;
static bool alloc_after;

static unsigned long number(const char *name, char **end)
{
	const char *text = getenv(name);
	unsigned long ret = text ? strtoul(text, end, 10) : 0;

	unsetenv(name);
	return ret;
}

static atomic_ulong *counter_map(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd < 0 || ftruncate(fd, sizeof(atomic_ulong)))
		abort();
	p = mmap(NULL, sizeof(atomic_ulong), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		abort();
	close(fd);
	return p;
}

static void forked(void)
{
	nr_allocs = NULL;
	short_bytes = eintr_every = proc_fails = 0;
}

__attribute__((constructor)) static void begin(void)
{
	char *end = NULL;
	const char *count = getenv("FAULT_COUNT");

	/* Nothing fails in the programs that this one starts; as another user they might not find this file. */
	unsetenv("LD_PRELOAD");
	alloc_at = number("FAULT_ALLOC", &end);
	alloc_after = end && *end == '+';
	short_bytes = number("FAULT_SHORT", NULL);
	eintr_every = number("FAULT_EINTR", NULL);
	proc_fails = number("FAULT_PROC", NULL);
	pthread_atfork(NULL, NULL, forked);
	if (number("FAULT_MARK", NULL))
		access(FAULT_MARK_PATH, F_OK);
	/* Those of the dynamic linker, and of this function, are not the program's. */
	nr_allocs = count ? counter_map(count) : alloc_at ? &nr_unread : NULL;
}

/* ---- allocations ---- */

/*
 * These do not survive a failing allocation: libtraceevent crashes or drops the event that it describes, libseccomp
 * crashes or loads a filter that lacks rules. Nothing that hostrace could do about it.
 */
static bool is_spared(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname &&
	       (strstr(info.dli_fname, "libtraceevent") || strstr(info.dli_fname, "libseccomp"));
}

/* Set while the C library allocates for a caller that is spared. */
static bool *spared_now(void)
{
	static _Thread_local bool spared;

	return &spared;
}

static bool alloc_fails(const void *caller)
{
	unsigned long nr;

	if (!nr_allocs || *spared_now() || is_spared(caller))
		return false;
	nr = atomic_fetch_add(nr_allocs, 1) + 1;
	if (!alloc_at || nr < alloc_at || (nr > alloc_at && !alloc_after))
		return false;
	errno = ENOMEM;
	return true;
}

char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = alloc_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

/* As libtraceevent is compiled; others' come from the C library. */
int asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int len;

	*spared_now() = is_spared(__builtin_return_address(0));
	va_start(ap, fmt);
	len = vasprintf(ret, fmt, ap);
	va_end(ap);
	*spared_now() = false;
	return len;
}

void *malloc(size_t size)
{
	return alloc_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return alloc_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return alloc_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t align, size_t size); /* in <malloc.h>, with attributes */
void *memalign(size_t align, size_t size)
{
	return alloc_fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **ret, size_t align, size_t size)
{
	void *p = memalign(align, size);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

/* ---- system calls ---- */

static bool interrupted(void)
{
	if (!eintr_every || (atomic_fetch_add(&nr_calls, 1) + 1) % eintr_every)
		return false;
	errno = EINTR;
	return true;
}

static size_t at_most(size_t len)
{
	return short_bytes && len > short_bytes ? short_bytes : len;
}

/* The C library's function of this name and type. */
#define LIBC(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *to, size_t len)
{
	return interrupted() ? -1 : LIBC(read)(fd, to, at_most(len));
}

ssize_t pread(int fd, void *to, size_t len, off_t at)
{
	return interrupted() ? -1 : LIBC(pread)(fd, to, at_most(len), at);
}

ssize_t pread64(int fd, void *to, size_t len, off64_t at)
{
	return pread(fd, to, len, at);
}

ssize_t write(int fd, const void *from, size_t len)
{
	return interrupted() ? -1 : LIBC(write)(fd, from, at_most(len));
}

ssize_t writev(int fd, const struct iovec *iov, int nr)
{
	if (!short_bytes)
		return interrupted() ? -1 : LIBC(writev)(fd, iov, nr);
	for (; nr > 1 && !iov->iov_len; nr--)
		iov++;
	return nr ? write(fd, iov->iov_base, iov->iov_len) : 0;
}

/* ---- directories ---- */

DIR *opendir(const char *path)
{
	DIR *(*next)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
	bool fails;

	if (strcmp(path, "/proc") || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return next(path);
	fails = proc_fails & 1;
	proc_fails >>= 1;
	if (!fails)
		return next(path);
	errno = EMFILE;
	return NULL;
}
