# A 64-bit guest with paging that writes a guest ring; freestanding, as in a kernel.
RING_GUEST = $(BUILD)/ring-guest.elf
RING_GUEST_DIR = tests/live/ringguest
RING_GUEST_CC = $(CC) -m64 -std=gnu11 -O2 -Wall -Wextra -Isrc -ffreestanding -fno-pic -fno-pie -mno-red-zone \
	-mcmodel=large -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
	$(NO_LIBC) -mgeneral-regs-only

check-build: $(RING_GUEST)

$(RING_GUEST): $(wildcard $(RING_GUEST_DIR)/*) tests/live/pvh.inc src/guestside/ring/ring.c src/guestside/ring/ring.h
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(RING_GUEST_CC) -nostdlib -static -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,max-page-size=4096 \
		-Wl,-T,$(RING_GUEST_DIR)/guest.lds -o $@ $(RING_GUEST_DIR)/start.S $(RING_GUEST_DIR)/main.c \
		src/guestside/ring/ring.c
