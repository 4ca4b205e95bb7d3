// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace mark: a note, a pause or its end in a recording that runs, by the recorder's socket (record_control.h). The
 * recorders are found by the names of the sockets in /proc/net/unix.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/live/record_control.h"

enum {
	RECORDERS_MAX = 64,
	ANSWER_SECONDS = 10, /* of a recorder whose file system or reader is slow */
};

static struct {
	bool pause, resume;
	uint64_t pid;
} opt;

/* clang-format off */
static const struct option_row mark_options[] = {
	{0, "pause",  OPT_FLAG, &opt.pause,  NULL,  "pause the recording: no events from now on"},
	{0, "resume", OPT_FLAG, &opt.resume, NULL,  "go on with a recording that is paused"},
	{0, "pid",    OPT_U64,  &opt.pid,    "PID", "the recorder's process (default: the only one)"},
	{0},
};
/* clang-format on */

/* The process ids of recorders in a listing of sockets; each once. */
static unsigned int recorders_find(FILE *f, pid_t ret[RECORDERS_MAX])
{
	static const char name[] = "@" CONTROL_NAME;
	char line[512];
	unsigned int nr = 0;

	while (fgets(line, sizeof(line), f) && nr < RECORDERS_MAX) {
		const char *at = strstr(line, name);
		uint64_t pid;
		bool known = false;

		line[strcspn(line, "\n")] = 0;
		if (!at || parse_u64(at + sizeof(name) - 1, &pid) || !pid || pid > INT32_MAX)
			continue;
		for (unsigned int i = 0; i < nr; i++)
			known |= ret[i] == (pid_t)pid;
		if (!known) /* a socket that is being connected is listed, too */
			ret[nr++] = (pid_t)pid;
	}
	return nr;
}

static int several(const pid_t *pids, unsigned int nr)
{
	char list[256] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < nr && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%d", i ? ", " : "",
					(int)pids[i]);
	return fail_hint(fail(-EINVAL, "%u recordings are running: %s", nr, list),
			 "select one with --pid PID");
}

static int recorder_choose(pid_t *ret)
{
	pid_t pids[RECORDERS_MAX];
	FILE *f;
	unsigned int nr;

	*ret = (pid_t)opt.pid;
	if (opt.pid)
		return 0;
	f = fopen("/proc/net/unix", "re");
	if (!f)
		return fail(-errno, "/proc/net/unix: %s", strerror(errno));
	nr = recorders_find(f, pids);
	fclose(f);
	if (!nr)
		return fail(-ESRCH, "no recording is running here: start one with 'hostrace "
				    "record'");
	*ret = pids[0];
	return nr == 1 ? 0 : several(pids, nr);
}

static int recorder_connect(pid_t pid, int *ret)
{
	const struct timeval wait = {.tv_sec = ANSWER_SECONDS};
	struct sockaddr_un address;
	socklen_t len = control_address(pid, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return fail(-errno, "socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (const struct sockaddr *)&address, len))
		err = errno == ECONNREFUSED
			      ? fail(-ESRCH, "process %d is not recording here", (int)pid)
			      : fail(-errno, "recorder %d: %s", (int)pid, strerror(errno));
	else if (!control_peer_is_trusted(fd, geteuid()))
		err = fail(-EPERM, "recorder %d belongs to another user", (int)pid);
	if (err)
		close(fd);
	else
		*ret = fd;
	return err;
}

static int talk(int fd, pid_t pid, const char *message)
{
	char answer[CONTROL_BYTES];
	ssize_t n = send(fd, message, strlen(message), MSG_NOSIGNAL);

	if (n >= 0)
		n = recv(fd, answer, sizeof(answer) - 1, 0);
	if (n < 0)
		return fail(-errno, "recorder %d does not answer: %s", (int)pid, strerror(errno));
	if (!n)
		return fail(-EPERM, "recorder %d belongs to another user, or has ended", (int)pid);
	answer[n] = 0;
	if (strncmp(answer, "ok ", 3) != 0)
		return fail(-EINVAL, "%s", strncmp(answer, "no ", 3) ? answer : answer + 3);
	command_note("%s", answer + 3);
	return 0;
}

static int mark(const char *message)
{
	pid_t pid;
	int fd = -1, err = recorder_choose(&pid);

	if (!err)
		err = recorder_connect(pid, &fd);
	if (err)
		return err;
	err = talk(fd, pid, message);
	close(fd);
	return err;
}

static int cmd_mark(int argc, char **argv)
{
	char message[CONTROL_BYTES];

	if (argc + opt.pause + opt.resume != 1)
		return command_usage(argc > 1 ? "the note must be one word; quote it"
					      : "expected one of TEXT, --pause and --resume");
	if (argc && (!*argv[0] || strlen(argv[0]) > MARK_BYTES))
		return command_usage("a note has from 1 to %d bytes", MARK_BYTES);
	if (opt.pid > INT32_MAX)
		return command_usage("--pid: no such process");
	snprintf(message, sizeof(message), "%s%s",
		 argc ? "mark " : opt.pause ? "pause" : "resume", argc ? argv[0] : "");
	return mark(message) ? command_failed() : EXIT_FINE;
}

extern const struct command mark_command;

const struct command mark_command = {
	.name = "mark",
	.args = "TEXT",
	.summary = "Put a note into a running recording, or pause it.",
	.group = "Live (needs privileges)",
	.details = "The recording must be of this user or, for root, of anyone. SIGUSR2 to the\n"
		   "recorder pauses and resumes it as well.",
	.examples = "  hostrace mark 'the benchmark begins'\n"
		    "  hostrace mark --pause\n"
		    "  hostrace mark --resume --pid 4711",
	.options = (const struct option_row *const[]){mark_options, NULL},
	.run = cmd_mark,
};
