# A guest that counts its accesses to a port.
check-build: $(BUILD)/countguest.bin

$(BUILD)/countguest.bin: tests/live/countguest.S
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m32 -c -o $@.o $<
	$(Q)ld -m elf_i386 --oformat binary -Ttext 0 -o $@ $@.o
