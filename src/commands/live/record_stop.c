// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals that end a recording. SIGINT, SIGTERM and SIGHUP mean "finish now", the first as well as the second, also
 * while the file is already being finished; the third one ends the program at once.
 *
 * A thread counts them: this process may be waiting for a file system that does not answer, where it runs no handler
 * and reads no signalfd. A signal that is fatal ends such a wait, but only by its default action, which must not happen
 * before the third one. Confinement is a thread's: the thread is ended before, and started again afterwards.
 *
 * The set-up waits in places that ask stop_pending() (base/process.h), for which the signal must be pending: until it
 * is over, the thread hands the first signal on to the one that sets up.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/live/record.h"

enum {
	SIGNALS_TO_END = 3,
	PATIENCE_MS = 3000, /* from a signal until it is said what is waited for */
};

struct record_stop {
	pthread_t thread;
	bool runs;
	int signals;	   /* the thread's signalfd */
	int wake, stopped; /* eventfds: the thread is to end; a signal has come */
	unsigned int nr; /* signals so far */
	bool late;	 /* it was said what is waited for */
	bool complete;	 /* under the lock: the file is */
	const char *output;
	pthread_t recorder;
	pthread_mutex_t lock;
	bool ready;		     /* under the lock: the set-up is over */
	int handed_on;		     /* under the lock: the signal that interrupts the set-up, or 0 */
	struct collector *collector; /* under the lock; NULL: it is being closed */
};

static void signals_block(const int *nrs, unsigned int nr, sigset_t *set)
{
	sigemptyset(set);
	for (unsigned int i = 0; i < nr; i++)
		sigaddset(set, nrs[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
}

int record_signals_open(void)
{
	static const int nrs[] = {SIGUSR1, SIGUSR2, SIGCHLD};
	sigset_t set;

	signals_block(nrs, 3, &set);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int record_stop_open(struct recording *r)
{
	struct record_stop *s = calloc(1, sizeof(*s));
	static const int nrs[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	pthread_mutex_init(&s->lock, NULL);
	r->stopping = s;
	s->recorder = pthread_self();
	s->output = record_opt.output;
	s->collector = r->collector;
	signals_block(nrs, 3, &set);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->stopped = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->signals < 0 || s->wake < 0 || s->stopped < 0
		       ? fail(-errno, "cannot wait for signals: %s", strerror(errno))
		       : record_stop_watch(r);
}

int record_stop_fd(const struct recording *r)
{
	return r->stopping->stopped;
}

static bool is_complete(struct record_stop *s)
{
	pthread_mutex_lock(&s->lock);

	bool complete = s->complete;

	pthread_mutex_unlock(&s->lock);
	return complete;
}

/*
 * By the signal's default action, which needs no help of the thread that writes. The probes are detached first: a file
 * system that does not answer delays the end of the process, at which the kernel would do it. (FUSE is the worst case:
 * once its server has read a request, not even SIGKILL ends the wait for the answer.)
 */
static void end_at_once(struct record_stop *s, int nr)
{
	bool complete = is_complete(s), ring = record_opt.ring_bytes && !complete;
	sigset_t set;

	command_note("third signal: removing the probes and ending; %s%s%s",
		     ring ? "events that were only in memory are lost" : s->output,
		     complete ? " is complete"
		     : ring   ? ""
			      : " can be read as far as it was written, but may have no index",
		     s->late && !complete
			     ? "; a process that waits for a file system cannot end before that "
			       "answers: if this one stays, end the file system's server or use "
			       "'umount -f'"
			     : "");
	pthread_mutex_lock(&s->lock);
	if (s->collector)
		collector_detach(s->collector);
	sigemptyset(&set);
	sigaddset(&set, nr);
	signal(nr, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(nr);
}

static void set_up_interrupt(struct record_stop *s, int nr)
{
	pthread_mutex_lock(&s->lock);
	if (!s->ready && !s->handed_on && !pthread_kill(s->recorder, nr))
		s->handed_on = nr;
	pthread_mutex_unlock(&s->lock);
}

static void *signals_count(void *arg)
{
	static const uint64_t one = 1;
	struct record_stop *s = arg;
	struct pollfd p[] = {{.fd = s->signals, .events = POLLIN},
			     {.fd = s->wake, .events = POLLIN}};

	for (;;) {
		struct signalfd_siginfo si;
		int n = poll(p, 2, s->nr && !s->late ? PATIENCE_MS : -1);

		if (n > 0 && p[1].revents)
			return NULL;
		if (!n) {
			s->late = true;
			command_note("%s is %s: the recorder waits for %s or a child process; a "
				     "third ^C removes the probes and ends it",
				     s->output, is_complete(s) ? "complete" : "not complete yet",
				     is_complete(s) ? "its probes" : "its file system");
		}
		if (n <= 0 || read(s->signals, &si, sizeof(si)) != sizeof(si))
			continue;
		if (++s->nr >= SIGNALS_TO_END)
			end_at_once(s, (int)si.ssi_signo);
		set_up_interrupt(s, (int)si.ssi_signo);
		if (write(s->stopped, &one, sizeof(one)) < 0)
			continue; /* it is set already */
	}
}

int record_stop_watch(struct recording *r)
{
	struct record_stop *s = r->stopping;
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&s->thread, NULL, signals_count, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->runs = !err;
	return err ? fail(-err, "cannot start a thread: %s", strerror(err)) : 0;
}

void record_stop_ready(struct recording *r)
{
	struct record_stop *s = r->stopping;
	const struct timespec now = {0};
	sigset_t set;
	int nr;

	pthread_mutex_lock(&s->lock);
	s->ready = true;
	nr = s->handed_on;
	pthread_mutex_unlock(&s->lock);
	if (!nr)
		return;
	sigemptyset(&set);
	sigaddset(&set, nr);
	sigtimedwait(&set, NULL, &now); /* the thread's own one before the process's */
}

void record_stop_pause(struct recording *r)
{
	struct record_stop *s = r->stopping;
	uint64_t count = 1;

	if (!s->runs || write(s->wake, &count, sizeof(count)) != sizeof(count))
		return;
	pthread_join(s->thread, NULL);
	s->runs = read(s->wake, &count, sizeof(count)) < 0;
}

void record_stop_complete(struct recording *r)
{
	pthread_mutex_lock(&r->stopping->lock);
	r->stopping->complete = true;
	pthread_mutex_unlock(&r->stopping->lock);
}

void record_stop_detached(struct recording *r)
{
	if (!r->stopping)
		return;
	pthread_mutex_lock(&r->stopping->lock);
	r->stopping->collector = NULL;
	pthread_mutex_unlock(&r->stopping->lock);
}

void record_stop_close(struct recording *r)
{
	struct record_stop *s = r->stopping;

	if (!s)
		return;
	record_stop_pause(r);
	close(s->signals);
	close(s->wake);
	close(s->stopped);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
