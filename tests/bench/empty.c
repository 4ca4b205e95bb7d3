// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * empty OBJECT empty|clock EVENT...   attaches these programs of empty.bpf.c and waits for SIGTERM.
 * Prints "ready" once all are attached.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, ap) : 0;
}

static int wanted(const char *program, int argc, char **argv)
{
	size_t len = strlen(argv[2]);

	for (int i = 3; i < argc; i++)
		if (!strncmp(program, argv[2], len) && !strcmp(program + len + 1, argv[i]))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_program *p;

	libbpf_set_print(quiet);
	struct bpf_object *obj = argc > 3 ? bpf_object__open(argv[1]) : NULL;

	if (!obj)
		return 2;
	bpf_object__for_each_program(p, obj)
		bpf_program__set_autoload(p, wanted(bpf_program__name(p), argc, argv));
	if (bpf_object__load(obj))
		return 1;
	bpf_object__for_each_program(p, obj)
		if (bpf_program__autoload(p) && !bpf_program__attach(p))
			return 1;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
