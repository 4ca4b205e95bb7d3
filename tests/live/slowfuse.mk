# A slow disk for tests: a FUSE server whose reads take a known time.
check-build: $(BUILD)/slowfuse

$(BUILD)/slowfuse: tests/live/slowfuse.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ $<
