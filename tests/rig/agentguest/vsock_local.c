// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vsock_local PORT: a process of the guest connects to a vsock port of the same guest, as another guest process than
 * the host would, and prints how many bytes it gets until it is refused, or for five seconds.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

static int connect_local(unsigned int port)
{
	struct sockaddr_vm to = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_LOCAL, .svm_port = port};

	for (int tries = 0; tries < 100; tries++) { /* until somebody listens */
		int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

		if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)))
			return fd;
		close(fd);
		poll(NULL, 0, 100);
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct pollfd p = {.fd = argc == 2 ? connect_local((unsigned int)atoi(argv[1])) : -1,
			   .events = POLLIN};
	long got = 0, n = 1;
	char buf[4096];

	while (p.fd >= 0 && n > 0 && got < 1000 && poll(&p, 1, 5000) > 0) {
		n = read(p.fd, buf, sizeof(buf));
		got += n > 0 ? n : 0;
	}
	printf("guest: local vsock %s, bytes %ld, %s\n", p.fd < 0 ? "fails" : "connects", got,
	       n > 0 ? "open" : "closed");
	return 0;
}
