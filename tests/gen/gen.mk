# Programs that generate input files of known content for cases; tests/run-cases.sh adds them to PATH.
GENERATORS = $(BUILD)/tests/gen/tracedat

check-build check-fast-run check-cases check-case: $(GENERATORS)

$(GENERATORS): $(BUILD)/tests/gen/%: tests/gen/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 $(OPT) -g -Wall -Wextra -Wshadow -o $@ $< -lz -lzstd
