# Stands in for an OSv guest's REST server in tests: socat starts one process per request.
check-build: $(BUILD)/osvrest

$(BUILD)/osvrest: tests/live/osvrest.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ $<
