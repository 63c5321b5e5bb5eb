# SPDX-License-Identifier: MIT
# Rules of the programs that use Larder as somebody would who knows the documentation alone;
# included by the Makefile.
#
#   make test-outside                   about ten seconds each, as in `make test`; SEED is 1 there
#   make test-outside PROGRAM=images    one of them; .build/debug/LarderOutside --help lists all;
#                                       `remote`, which needs a server, is part of test-remote
#   make test-long SECONDS=1800         larger sizes, so many seconds together

OUTSIDE = $(BUILD)/debug/LarderOutside
OUTSIDE_PROGRAMS = $(or $(PROGRAM),images api offline archive entries log keys folders \
  sessions bank mirror)

# So many at a time. Each has its turn, also after one that fails; what failed is said last, where
# one looks for it.
OUTSIDE_FAILED = $(BUILD)/outside-failed.txt
OUTSIDE_RUN = : >$(OUTSIDE_FAILED); \
  printf '%s\n' $(OUTSIDE_PROGRAMS) | xargs -P $(1) -I {} sh -c 'program={}; \
  said=$$($(OUTSIDE) $$program --seed $(or $(SEED),1) $(2) 2>&1) && echo "$$said" || \
  { printf "%s\n" "$$said" "Promises are broken: $$program" >>$(OUTSIDE_FAILED); exit 1; }' || \
  { cat $(OUTSIDE_FAILED); exit 1; }

.PHONY: outside test-outside test-long
outside:
	$(SWIFT_BUILD) --product LarderOutside $(WITH_TRAITS) --scratch-path $(BUILD)

test-outside: outside ## use every store as a program would, beside a plain model
	@$(call OUTSIDE_RUN,2)

test-long: outside ## the same with larger sizes, half an hour; SECONDS, SEED
	@$(call OUTSIDE_RUN,1,--long --seconds $(shell expr $(or $(SECONDS),1800) / \
	  $(words $(OUTSIDE_PROGRAMS))))
