// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h" /* before cmocka's macro fail */
#include "symbols/elf_size.h"
#include "symbols/symbols.h"

#include <cmocka.h>

enum { BODY_BYTES = 4096, LIMIT = (64 << 20) + 32 * BODY_BYTES };

/* An ELF file with a section of this name, whose contents begin with these bytes. */
struct file {
	Elf64_Ehdr head;
	Elf64_Shdr section[3];
	char names[64];
	uint8_t body[BODY_BYTES - sizeof(Elf64_Ehdr) - 3 * sizeof(Elf64_Shdr) - 64];
};

static const char path[] = "test_elf_size.tmp";

static void file_write(const char *name, uint64_t flags, const void *body, size_t len)
{
	struct file f = {
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_shoff = offsetof(struct file, section),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 1},
		.section = {[1] = {.sh_name = 1,
				   .sh_type = SHT_STRTAB,
				   .sh_offset = offsetof(struct file, names),
				   .sh_size = sizeof(f.names)},
			    [2] = {.sh_name = 16,
				   .sh_type = SHT_PROGBITS,
				   .sh_flags = flags,
				   .sh_offset = offsetof(struct file, body),
				   .sh_size = sizeof(f.body)}},
	};
	FILE *out = fopen(path, "w");

	assert_int_equal(sizeof(f), BODY_BYTES);
	memcpy(f.names + 1, ".shstrtab", sizeof(".shstrtab"));
	snprintf(f.names + 16, sizeof(f.names) - 16, "%s", name);
	memcpy(f.body, body, len);
	assert_int_equal(fwrite(&f, 1, sizeof(f), out), sizeof(f));
	fclose(out);
}

static int open_compressed(uint64_t size)
{
	const Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 1};

	file_write(".debug_info", SHF_COMPRESSED, &head, sizeof(head));
	return elf_path_check(path);
}

static int open_zdebug(uint64_t size)
{
	uint8_t head[12] = {'Z', 'L', 'I', 'B'};

	for (unsigned int i = 0; i < 8; i++)
		head[4 + i] = (uint8_t)(size >> (56 - 8 * i));
	file_write(".zdebug_info", 0, head, sizeof(head));
	return elf_path_check(path);
}

static void sizes_stated(void **state)
{
	struct elf_names *names = NULL;

	(void)state;
	assert_int_equal(open_compressed(LIMIT), 0);
	assert_int_equal(open_compressed(LIMIT + 1), -E2BIG);
	assert_non_null(strstr(error_text(), "eu-elfcompress -t none"));
	assert_int_equal(elf_names_open(path, &names), -E2BIG);
	assert_int_equal(open_compressed(UINT64_MAX), -E2BIG);
	assert_int_equal(open_zdebug(LIMIT), 0);
	assert_int_equal(open_zdebug(LIMIT + 1), -E2BIG);
}

static void sizes_not_stated(void **state)
{
	(void)state;
	file_write(".gnu_debugdata", 0, "", 0);
	assert_int_equal(elf_path_check(path), 0);
}

/* xz states its size at its end only, and unpacks to up to 7,000 times. */
static void much_debugdata(void **state)
{
	struct {
		struct file f;
		uint8_t more[64 << 10];
	} *large = calloc(1, sizeof(*large));
	FILE *f;

	(void)state;
	file_write(".gnu_debugdata", 0, "", 0);
	f = fopen(path, "r+");
	assert_int_equal(fread(&large->f, 1, sizeof(large->f), f), sizeof(large->f));
	large->f.section[2].sh_size = (64 << 10) + 1;
	rewind(f);
	fwrite(large, 1, sizeof(*large), f);
	fclose(f);
	free(large);
	assert_int_equal(elf_path_check(path), -E2BIG);
}

/* Also no ELF file in gzip's format, which libdw would unpack. */
static void no_elf_file(void **state)
{
	FILE *f = fopen(path, "w");
	struct elf_names *names = NULL;

	(void)state;
	fwrite("\x1f\x8b\x08\0\0\0\0\0\0\x03", 1, 10, f);
	fclose(f);
	assert_int_equal(elf_path_check(path), -EINVAL);
	assert_int_equal(elf_names_open(path, &names), -EINVAL);
	assert_int_equal(elf_path_check("/nonexistent"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_stated),
					   cmocka_unit_test(sizes_not_stated),
					   cmocka_unit_test(much_debugdata),
					   cmocka_unit_test(no_elf_file)};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	unlink(path);
	return failed;
}
