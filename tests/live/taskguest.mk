# A guest with the tables of a Linux kernel, and tasks.
check-build: $(BUILD)/taskguest.elf

$(BUILD)/taskguest.elf: tests/live/taskguest.S tests/live/taskimage.c tests/live/pvh.inc tests/unit/linux_image.h
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -Isrc -Ibpf -o $@.image $(filter %.c,$^)
	$(Q)$@.image $@.bin >$@.options
	$(Q)$(CC) $$(cat $@.options) -DIMAGE_FILE='"$@.bin"' -c -o $@.o $<
	$(Q)ld --no-warn-rwx-segments -m elf_x86_64 -nostdlib --build-id=none -z noexecstack -N -Ttext 0x800000 \
		--section-start=.image=0x100000 -e guest_entry -o $@ $@.o
