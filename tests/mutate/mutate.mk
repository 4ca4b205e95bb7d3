# `make mutate N=200 [FOLDER=src/clock] [SEED=1]` tests N mutants more; `make mutate MUTATE=again` the survivors again.
N	?= 200
SEED	?= 1
FOLDER	?= src
MUTATE	?=

mutate:
	@scripts/deps.sh build check coverage
	$(Q)[ -s $(BUILD)/coverage/executed ] || $(MAKE) --no-print-directory coverage COVERAGE_PARTS="units cases broken"
	$(Q)N=$(N) SEED=$(SEED) FOLDER=$(FOLDER) COVERAGE=$(BUILD)/coverage DIR=$(BUILD)/mutate tests/mutate/mutate.sh $(MUTATE)

.PHONY: mutate
