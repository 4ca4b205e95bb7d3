# A guest that spends 70 % of its time in one function and 30 % in another, to test profiles.
check-build: $(BUILD)/sampleguest.elf

$(BUILD)/sampleguest.elf: tests/live/sampleguest.S tests/live/pvh.inc
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -c -o $@.o $<
	$(Q)ld -m elf_x86_64 -nostdlib --build-id=none -z noexecstack -z max-page-size=4096 -Ttext 0x100000 \
		-e guest_entry -o $@ $@.o
