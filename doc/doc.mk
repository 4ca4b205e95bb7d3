# The manual: doc/man/*.scd converted by scdoc, with the options from the program's own --help. `hostrace help COMMAND`
# finds the pages next to the program (build/man) or, once installed, in PREFIX/share/man.

MAN_PAGES = $(patsubst doc/man/%.scd,$(BUILD)/man/%,$(wildcard doc/man/*.scd))
COMPLETIONS = $(addprefix $(BUILD)/hostrace.,bash zsh fish)

docs:
	@scripts/deps.sh build docs
	$(Q)scripts/events-page.sh > doc/events.new && mv doc/events.new doc/events.md
	$(Q)scripts/catalogue-page.sh > doc/catalogue.new && mv doc/catalogue.new doc/catalogue.md
	$(Q)$(BUILD)/hostrace help schema > doc/schema/columns.new && mv doc/schema/columns.new doc/schema/columns.json
	$(Q)tests/seeds/run.py --page > doc/seeds.new && mv doc/seeds.new doc/seeds.md
	$(Q)scripts/forms-page.sh > doc/forms.new && mv doc/forms.new doc/forms.md
	$(Q)stap/inside.sh
	$(Q)HOSTRACE=$(BUILD)/hostrace scripts/tutorial-pages.sh
	$(Q)$(MAKE) --no-print-directory man

.PHONY: man

man: $(MAN_PAGES) $(COMPLETIONS)

# The --help of hostrace and of each command with a page. The file changes only if the text does, so that a relink of
# the program alone regenerates neither pages nor completion.
$(BUILD)/help.txt: $(BUILD)/help.stamp ;

$(BUILD)/help.stamp: $(BUILD)/hostrace $(wildcard doc/man/*.scd)
	$(Q){ $(BUILD)/hostrace --help; $(BUILD)/hostrace help columns; $(BUILD)/hostrace help recorded; for page in $(patsubst hostrace-%.1,%,$(filter hostrace-%,$(notdir $(MAN_PAGES)))); do \
		$(BUILD)/hostrace $$page --help 2>/dev/null || :; done; } > $@
	$(Q)cmp -s $@ $(BUILD)/help.txt || cp $@ $(BUILD)/help.txt

$(BUILD)/man/%: doc/man/%.scd doc/options.sh $(BUILD)/help.txt
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)doc/options.sh $(BUILD)/hostrace $< > $@.scd
	$(Q)scdoc < $@.scd > $@
	$(Q)rm $@.scd

# Completions are generated from the program's --help.
$(COMPLETIONS): $(BUILD)/hostrace.%: doc/completion.sh bpf/events.def $(BUILD)/help.txt
	$(Q)doc/completion.sh $(BUILD)/hostrace $* > $@

ifneq ($(SAN),1)
check-build: man
endif
