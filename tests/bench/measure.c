// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * measure FILE COMMAND...   runs the command, its output to FILE, and prints its wall time and CPU time in ms and its
 * largest resident set in KiB, as one line of JSON; main_ns is the time of its first thread alone. The CPU time is also
 * that of processes that it leaves behind, as the supervisor of files, for which measure waits. fault_ms is what its
 * page faults cost, each as much as one of this program. Its exit status is the command's.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

/* Of a process that has ended and is not yet waited for: what its first thread spent on a CPU. */
static unsigned long long main_ns(pid_t pid)
{
	unsigned long long ns = 0;
	siginfo_t info;
	char path[64];
	FILE *f;

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu", &ns) != 1)
			ns = 0;
		fclose(f);
	}
	return ns;
}

/* From 0.0002 on a plain machine to 0.02 in some VMs. */
static double ms_per_fault(void)
{
	enum { BYTES = 8 << 20, PAGE = 4096 };
	volatile char *p =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double start = now_ms();

	if (p == MAP_FAILED)
		return 0;
	for (int i = 0; i < BYTES; i += PAGE)
		p[i] = 1;
	return (now_ms() - start) * PAGE / BYTES;
}

int main(int argc, char **argv)
{
	double start = now_ms(), end;
	struct rusage use;
	int status;

	if (argc < 3)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t pid = fork();

	if (!pid) {
		int out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
			_exit(126);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	unsigned long long first = pid > 0 ? main_ns(pid) : 0;

	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 126;
	end = now_ms();
	while (wait(NULL) > 0)
		;
	getrusage(RUSAGE_CHILDREN, &use);
	printf("{\"wall_ms\":%.1f,\"cpu_ms\":%.1f,\"fault_ms\":%.1f,\"rss_kib\":%ld,\"main_ns\":%"
	       "llu}\n",
	       end - start, ms(use.ru_utime) + ms(use.ru_stime),
	       ms_per_fault() * (double)use.ru_minflt, use.ru_maxrss, first);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
