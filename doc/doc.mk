# The manual: doc/man/*.scd converted by scdoc, with the options from the program's own --help. `hostrace help COMMAND`
# finds the pages next to the program (build/man) or, once installed, in PREFIX/share/man.

MAN_PAGES = $(patsubst doc/man/%.scd,$(BUILD)/man/%,$(wildcard doc/man/*.scd))

docs:
	@scripts/deps.sh build docs
	$(Q)scripts/events-page.sh > doc/events.new && mv doc/events.new doc/events.md
	$(Q)scripts/catalogue-page.sh > doc/catalogue.new && mv doc/catalogue.new doc/catalogue.md
	$(Q)stap/inside.sh
	$(Q)$(MAKE) --no-print-directory man

.PHONY: man

man: $(MAN_PAGES) $(BUILD)/hostrace.bash

$(BUILD)/man/%: doc/man/%.scd doc/options.sh $(BUILD)/hostrace
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)doc/options.sh $(BUILD)/hostrace $< > $@.scd
	$(Q)scdoc < $@.scd > $@
	$(Q)rm $@.scd

# Bash completion is generated from the program's --help.
$(BUILD)/hostrace.bash: doc/completion.sh $(BUILD)/hostrace
	$(Q)doc/completion.sh $(BUILD)/hostrace > $@

ifneq ($(SAN),1)
check-build: man
endif
