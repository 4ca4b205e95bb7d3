# An OSv guest's REST server for tests: one request a process, behind socat.
check-build: $(BUILD)/osvrest

$(BUILD)/osvrest: tests/live/osvrest.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ $<
