# Guests of one kind of exit each, to test what delays it.
BLAME_GUESTS = $(patsubst %,$(BUILD)/blameguest%.elf,-slow -bar -write -pages -touch -idle -ata) $(BUILD)/blameguest.elf

check-build: $(BLAME_GUESTS)

$(BUILD)/blameguest-slow.elf: BLAME_GUEST = -DSLOW
$(BUILD)/blameguest-bar.elf: BLAME_GUEST = -DBAR
$(BUILD)/blameguest-write.elf: BLAME_GUEST = -DWRITE
$(BUILD)/blameguest-pages.elf: BLAME_GUEST = -DPAGES
$(BUILD)/blameguest-touch.elf: BLAME_GUEST = -DTOUCH
$(BUILD)/blameguest-idle.elf: BLAME_GUEST = -DIDLE
$(BUILD)/blameguest-ata.elf: BLAME_GUEST = -DATA

$(BLAME_GUESTS): tests/live/blameguest.S tests/live/pvh.inc
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m32 $(BLAME_GUEST) -c -o $@.o $<
	$(Q)ld -m elf_i386 -nostdlib --build-id=none -z noexecstack -z max-page-size=4096 -Ttext 0x100000 \
		-e guest_entry -o $@ $@.o
