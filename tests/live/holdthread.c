// SPDX-License-Identifier: GPL-2.0-or-later
/* Stops one thread of another process, as a debugger does, until it is killed: holdthread TID. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t tid = argc == 2 ? atoi(argv[1]) : 0;
	int status;

	if (!tid || ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, &status, __WALL) != tid) {
		perror("holdthread");
		return 1;
	}
	printf("held\n");
	fflush(stdout);
	for (;;)
		pause();
}
