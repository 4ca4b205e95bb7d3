# The demo guest: freestanding, 32 bits, general registers only (some KVM backends emulate every instruction).
DEMO_DIR   = src/guestside/demo
DEMO_GUEST = $(BUILD)/demo-guest.elf
DEMO_OBJS  = $(patsubst %,$(BUILD)/$(DEMO_DIR)/%.o,start main platform virtio blk)
DEMO_CC	   = $(CC) -m32 -march=i686 -std=gnu11 -O2 -Wall -Wextra -ffreestanding -fno-pic -fno-pie \
	     -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
	     $(NO_LIBC) -mgeneral-regs-only -MMD -MP

# It is one for x86.
ifeq ($(MACHINE),x86_64)
all: $(DEMO_GUEST)
endif

# In a new make, which sees the packages that deps.sh has just installed.
demo:
	@scripts/deps.sh build live
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(BUILD)/hostrace demo

$(DEMO_GUEST): $(DEMO_OBJS) $(DEMO_DIR)/guest.lds
	$(call say,LD,$@)
	$(Q)ld -m elf_i386 -nostdlib --build-id=none -z noexecstack \
		-T $(DEMO_DIR)/guest.lds -o $@ $(DEMO_OBJS)

$(BUILD)/$(DEMO_DIR)/%.o: $(DEMO_DIR)/%.c
	$(call say,GUEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(DEMO_CC) -c -o $@ $<

$(BUILD)/$(DEMO_DIR)/%.o: $(DEMO_DIR)/%.S
	$(call say,GUEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(DEMO_CC) -c -o $@ $<

-include $(DEMO_OBJS:.o=.d)
