# A guest that leaves requests at virtio devices: tests/live/stuck-matrix.sh. With parts of the demo guest.
VIRTIO_GUEST_OBJS = $(BUILD)/virtioguest.o $(patsubst %,$(BUILD)/$(DEMO_DIR)/%.o,start platform virtio)

check-build: $(BUILD)/virtioguest.elf

$(BUILD)/virtioguest.elf: $(VIRTIO_GUEST_OBJS) $(DEMO_DIR)/guest.lds
	$(call say,LD,$@)
	$(Q)ld -m elf_i386 -nostdlib --build-id=none -z noexecstack -T $(DEMO_DIR)/guest.lds -o $@ $(VIRTIO_GUEST_OBJS)

$(BUILD)/virtioguest.o: tests/live/virtioguest.c
	$(call say,GUEST,$<)
	$(Q)$(DEMO_CC) -Isrc -c -o $@ $<

-include $(BUILD)/virtioguest.d
