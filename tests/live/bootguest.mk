# A guest that spends known times between the points of its boot, to test the report of them.
check-build: $(BUILD)/bootguest.elf

$(BUILD)/bootguest.elf: tests/live/bootguest.S tests/live/pvh.inc
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m32 -DSPIN=50000000 -c -o $@.o $<
	$(Q)ld -m elf_i386 -nostdlib --build-id=none -z noexecstack -z max-page-size=4096 -Ttext 0x100000 \
		-e guest_entry -o $@ $@.o
