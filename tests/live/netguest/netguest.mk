# A guest that sends and receives a known number of packets, on the platform of the demo's guest.
NET_GUEST = $(BUILD)/net-guest.elf
NET_GUEST_OBJS = $(patsubst %,$(BUILD)/$(DEMO_DIR)/%.o,start platform virtio) $(BUILD)/tests/live/netguest/main.o

check-build: $(NET_GUEST)

$(NET_GUEST): $(NET_GUEST_OBJS) $(DEMO_DIR)/guest.lds
	$(call say,LD,$@)
	$(Q)ld -m elf_i386 -nostdlib --build-id=none -z noexecstack -T $(DEMO_DIR)/guest.lds -o $@ $(NET_GUEST_OBJS)

$(BUILD)/tests/live/netguest/main.o: tests/live/netguest/main.c
	$(call say,GUEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(DEMO_CC) -Isrc -c -o $@ $<

-include $(BUILD)/tests/live/netguest/main.d
