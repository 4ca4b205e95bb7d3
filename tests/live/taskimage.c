// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of a made-up Linux kernel (tests/unit/linux_image.h) for a guest that puts them into its RAM: writes those
 * from 1 MiB on to the file that is named, and prints where the guest finds its variables, as options of the assembler.
 */
#define IMAGE_SYMBOLS 20000 /* so many that no other data of the guest looks like their table */
#include "../unit/linux_image.h"

enum { IMAGE_START = 1 << 20, IMAGE_CURRENT = IMAGE_CPUS + 0x308 }; /* of CPU 0 */

int main(int argc, char **argv)
{
	uint8_t *image = image_make(IMAGE_6_1);
	FILE *f = argc == 2 ? fopen(argv[1], "wb") : NULL;

	image_put(image + IMAGE_CPUS, 1, 4);	     /* one CPU ... */
	image_put(image + IMAGE_CPUS + 0x300, 0, 2); /* ... whose APIC id is 0 */
	if (!f || fwrite(image + IMAGE_START, IMAGE_BYTES - IMAGE_START, 1, f) != 1 || fclose(f)) {
		perror("taskimage");
		return 1;
	}
	printf("-DIMAGE_CURRENT=%d -DIMAGE_JIFFIES=%d -DIMAGE_START=%d\n", IMAGE_CURRENT,
	       IMAGE_JIFFIES, IMAGE_START);
	free(image);
	return 0;
}
