// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block device's link in sysfs leads to the directory of its hardware, whose path has what it is connected by:
 *
 *	iSCSI	.../session1/target3:0:0/3:0:0:0/block/sdb	class/iscsi_session, class/iscsi_connection
 *	NVMe	.../nvme-fabrics/ctl/nvme0/nvme0n1		class/nvme: transport, address
 *	NBD	/devices/virtual/block/nbd0
 *	RBD	/devices/rbd/0/block/rbd0
 *
 * Documentation/ABI/stable/sysfs-transport-*, drivers/scsi/scsi_transport_iscsi.c, drivers/nvme/host/sysfs.c.
 */
#include "vm/block_server.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { STACK_DEPTH = 4, TEXT_BYTES = 256 };

struct server_text {
	char *driver, *address;
	size_t driver_size, address_size;
};

/* The file's first line; "" if it cannot be read. */
static const char *attribute_read(const char *sys, const char *directory, const char *name,
				  char *buf, size_t size)
{
	char path[PATH_MAX];
	FILE *f = NULL;

	*buf = '\0';
	if (snprintf(path, sizeof(path), "%s/%s/%s", sys, directory, name) < (int)sizeof(path))
		f = fopen(path, "re");
	if (f && fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	if (f)
		fclose(f);
	return buf;
}

static bool from_iscsi(const char *sys, const char *target, const struct server_text *ret)
{
	const char *at = strstr(target, "/session");
	char directory[96], host[TEXT_BYTES], port[32], name[TEXT_BYTES];
	unsigned int session;

	if (!at || sscanf(at, "/session%u/", &session) != 1)
		return false;
	snprintf(directory, sizeof(directory), "class/iscsi_connection/connection%u:0", session);
	attribute_read(sys, directory, "persistent_address", host, sizeof(host));
	attribute_read(sys, directory, "persistent_port", port, sizeof(port));
	snprintf(directory, sizeof(directory), "class/iscsi_session/session%u", session);
	attribute_read(sys, directory, "targetname", name, sizeof(name));
	snprintf(ret->driver, ret->driver_size, "iscsi");
	snprintf(ret->address, ret->address_size, "%s%s%s%s%s", host, *port ? ":" : "", port,
		 *name ? " " : "", name);
	return true;
}

/* "traddr=10.0.0.1,trsvcid=4420,src_addr=..." */
static void nvme_address(const char *text, const struct server_text *ret)
{
	const char *host = strstr(text, "traddr="), *port = strstr(text, "trsvcid=");

	host = host ? host + strlen("traddr=") : "";
	port = port ? port + strlen("trsvcid=") : "";
	snprintf(ret->address, ret->address_size, "%.*s%s%.*s", (int)strcspn(host, ","), host,
		 *port ? ":" : "", (int)strcspn(port, ","), port);
}

static bool from_nvme(const char *sys, const char *target, const struct server_text *ret)
{
	const char *at = strstr(target, "/nvme-fabrics/ctl/");
	char directory[96], name[32], text[TEXT_BYTES];

	if (!at || sscanf(at, "/nvme-fabrics/ctl/%31[a-z0-9]", name) != 1)
		return false;
	snprintf(directory, sizeof(directory), "class/nvme/%s", name);
	attribute_read(sys, directory, "transport", text, sizeof(text));
	snprintf(ret->driver, ret->driver_size, "nvme%s%s", *text ? "-" : "", text);
	nvme_address(attribute_read(sys, directory, "address", text, sizeof(text)), ret);
	return true;
}

/* The kernel's own clients: of RBD and NBD only the name is known. */
static bool from_name(const char *target, const struct server_text *ret)
{
	const char *name = strrchr(target, '/');
	unsigned int number;

	if (!name || (sscanf(name, "/nbd%u", &number) != 1 && sscanf(name, "/rbd%u", &number) != 1))
		return false;
	snprintf(ret->driver, ret->driver_size, "%.3s", name + 1);
	snprintf(ret->address, ret->address_size, "/dev%s", name);
	return true;
}

static bool device_find(const char *sys, const char *directory, unsigned int depth,
			const struct server_text *ret);

/* Those that it is made of. */
static bool parts_find(const char *sys, const char *directory, unsigned int depth,
		       const struct server_text *ret)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;
	DIR *d = NULL;

	if (snprintf(path, sizeof(path), "%s/%s/slaves", sys, directory) < (int)sizeof(path))
		d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		if (*e->d_name != '.' &&
		    snprintf(path, sizeof(path), "class/block/%s", e->d_name) < (int)sizeof(path))
			found = device_find(sys, path, depth - 1, ret);
	}
	if (d)
		closedir(d);
	return found;
}

static bool device_find(const char *sys, const char *directory, unsigned int depth,
			const struct server_text *ret)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n = -1;

	if (snprintf(path, sizeof(path), "%s/%s", sys, directory) < (int)sizeof(path))
		n = readlink(path, target, sizeof(target) - 1);
	if (n < 0 || !depth)
		return false;
	target[n] = '\0';
	return from_iscsi(sys, target, ret) || from_nvme(sys, target, ret) ||
	       from_name(target, ret) || parts_find(sys, directory, depth, ret);
}

bool block_server_find(const char *sys, const char *name, char *driver, size_t driver_size,
		       char *address, size_t address_size)
{
	const struct server_text ret = {driver, address, driver_size, address_size};
	char directory[PATH_MAX];

	*driver = *address = '\0';
	if (!*name || *name == '.' || strchr(name, '/') ||
	    snprintf(directory, sizeof(directory), "%s/%s",
		     strchr(name, ':') ? "dev/block" : "class/block", name) >=
		    (int)sizeof(directory))
		return false;
	return device_find(sys, directory, STACK_DEPTH, &ret);
}
