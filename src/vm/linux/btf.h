/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel's type information (Documentation/bpf/btf.rst), as far as offsets of members need it. */
#ifndef HOSTRACE_LINUX_BTF_H
#define HOSTRACE_LINUX_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BTF_BYTES_MAX = 64 << 20,
	BTF_TYPES_MAX = 1 << 20, /* 150,000 are usual */
	BTF_DEPTH_MAX = 16, /* of modifiers, and of structs without a name */
};

struct btf_types {
	const struct btf_types *base; /* of a module: the kernel's, whose ids come first; borrowed */
	uint8_t *data; /* owned */
	size_t size;
	uint32_t *type; /* offset of each type in data; 0 is void, 1 the first one of its own */
	size_t nr;
	size_t strings, strings_end;
};

/*
 * Takes ownership of the data, also on failure. Without a base, which may be set afterwards. -EBADMSG (no error
 * message), -ENOMEM.
 */
int btf_types_parse(uint8_t *data, size_t size, struct btf_types *ret);
void btf_types_deinit(struct btf_types *b);

/*
 * Names of structs and unions may be those of typedefs.
 *
 * The offset in bytes of a member of a struct or union, "signal" or "signal.thread_head", also one that is in a member
 * without a name. -ENOENT (no error message): there is none.
 */
int btf_offset(const struct btf_types *b, const char *type, const char *member);

/* Offset and size in bits of a bitfield that is a member of the struct itself; -ENOENT. */
int btf_bitfield(const struct btf_types *b, const char *type, const char *member, int *ret_bits);

/* Size in bytes of a struct or union; -ENOENT. */
int btf_size(const struct btf_types *b, const char *type);

/* The value of an enum's enumerator; -ENOENT: there is none, or it is below 0. */
int btf_enum_value(const struct btf_types *b, const char *type, const char *name);

/* Size in bytes of a variable of an integer type; -ENOENT. */
int btf_variable_size(const struct btf_types *b, const char *name);

#endif
