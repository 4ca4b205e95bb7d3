// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a fuzz target over given files without libFuzzer: `make check` feeds it the corpus and tests/broken/.
 *
 *   fuzz-NAME FILE|DIRECTORY...      one TAP line for each file
 *
 * Each file is run in a child, so that one crash or endless loop names its file and the others still run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	INPUT_BYTES_MAX = 64 << 20,
	INPUT_SECONDS_MAX = 30,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int nr_run, nr_failed;

/* The file in memory of exactly its size, so that ASan sees the first byte read past the end. */
static uint8_t *load(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	struct stat st;

	if (f && !fstat(fileno(f), &st) && st.st_size <= INPUT_BYTES_MAX)
		data = malloc((size_t)st.st_size + !st.st_size);
	*ret_size = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
	if (f)
		fclose(f);
	return data;
}

static void run_in_child(const char *path)
{
	size_t size;
	uint8_t *data = load(path, &size);

	if (!data)
		_exit(2);
	alarm(INPUT_SECONDS_MAX);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	exit(0);
}

static void run_file(const char *path)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_in_child(path);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	nr_run++;
	if (status == 0) {
		printf("ok %u - %s\n", nr_run, path);
		return;
	}
	nr_failed++;
	printf("not ok %u - %s (%s %d)\n", nr_run, path, WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void run_path(const char *path)
{
	struct stat st;
	struct dirent **list;

	if (stat(path, &st)) {
		printf("not ok %u - %s: %s\n", ++nr_run, path, strerror(errno));
		nr_failed++;
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	int nr = scandir(path, &list, NULL, alphasort);
	for (int i = 0; i < nr; i++) {
		char child[4096];

		snprintf(child, sizeof(child), "%s/%s", path, list[i]->d_name);
		if (list[i]->d_name[0] != '.')
			run_path(child);
		free(list[i]);
	}
	if (nr >= 0)
		free(list);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("1..%u\n", nr_run);
	return nr_failed > 0;
}
