# A guest with a known number of interrupts.
check-build: $(BUILD)/irqguest.elf

$(BUILD)/irqguest.elf: tests/live/irqguest.S tests/live/pvh.inc
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m32 -c -o $@.o $<
	$(Q)ld -m elf_i386 -nostdlib --build-id=none -z noexecstack -z max-page-size=4096 -Ttext 0x100000 \
		-e guest_entry -o $@ $@.o
