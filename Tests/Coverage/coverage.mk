# SPDX-License-Identifier: MIT
# How many branches of the C core the tests take; included by the Makefile after torture.mk.
#
#   make coverage-c            by the tests in plain C: some five minutes
#   make coverage-c QUICK=1    the short form of torture; one minute, and some 4 % less
#   make coverage              by the Swift tests, too
#   SECONDS=60                 the families of torture that have a time take that long

# The clang that understands what this clang writes lies beside it, whatever else is in PATH.
COVERAGE_CC ?= clang
COVERAGE_LLVM = $(patsubst %/,%,$(dir $(shell readlink -f "$$(command -v $(COVERAGE_CC))")))
COVERAGE_OUT := .build/coverage
# Counters lie in a mapped file: those of a child that is killed, or ends by _exit, count as well.
COVERAGE_FLAGS = $(TORTURE_FLAGS) -O1 -g -fprofile-instr-generate -fcoverage-mapping \
  -fprofile-update=atomic -Wno-nullability-completeness -mllvm -runtime-counter-relocation
COVERAGE_OBJECTS := $(patsubst %.c,$(COVERAGE_OUT)/%.o,$(TORTURE_C))
COVERAGE_TESTS := $(patsubst %.c,$(COVERAGE_OUT)/%.o,$(TORTURE_SOURCES))
COVERAGE_PROGRAMS := $(addprefix $(COVERAGE_OUT)/bin/,torture $(notdir $(basename \
  $(filter-out %/namesakes.c,$(wildcard Tests/CConsumer/*.c $(TORTURE_DIR)/fuzz/fuzz_*.c)))))
COVERAGE_LINK = $(COVERAGE_CC) -pthread -fprofile-instr-generate -Wno-unused-command-line-argument
# At least so many percent.
COVERAGE_LEAST ?= 95

$(COVERAGE_OUT)/Sources/%.o: Sources/%.c $(TORTURE_H)
	@mkdir -p $(@D)
	@$(COVERAGE_CC) $(COVERAGE_FLAGS) -c $< -o $@

$(COVERAGE_OUT)/Tests/%.o: Tests/%.c $(TORTURE_HEADERS) $(TORTURE_H)
	@mkdir -p $(@D)
	@$(COVERAGE_CC) $(TORTURE_FLAGS) -O1 -g -c $< -o $@

# What a public header has inline is compiled with whoever uses it.
$(COVERAGE_OUT)/Tests/Torture/coding/cbor_rare.o: Tests/Torture/coding/cbor_rare.c \
  $(TORTURE_HEADERS) $(TORTURE_H)
	@mkdir -p $(@D)
	@$(COVERAGE_CC) $(COVERAGE_FLAGS) -c $< -o $@

$(COVERAGE_OUT)/bin/torture: $(COVERAGE_TESTS) $(COVERAGE_OBJECTS)
	@mkdir -p $(@D)
	@$(COVERAGE_LINK) $(TORTURE_LINK) $^ $(LMDB_LIBS) -o $@

$(COVERAGE_OUT)/bin/fuzz_%: $(COVERAGE_OUT)/$(TORTURE_DIR)/fuzz/fuzz_%.o $(COVERAGE_OBJECTS)
	@mkdir -p $(@D)
	@$(COVERAGE_LINK) -fsanitize=fuzzer $(call TORTURE_CLANG_LD,$(COVERAGE_CC)) $^ $(LMDB_LIBS) \
	  -o $@

$(COVERAGE_OUT)/bin/%: $(COVERAGE_OUT)/Tests/CConsumer/%.o $(COVERAGE_OBJECTS)
	@mkdir -p $(@D)
	@$(COVERAGE_LINK) $^ $(LMDB_LIBS) -o $@

# The Swift package manager has its own language counted, and C not.
COVERAGE_SWIFT_C := -Xcc -fprofile-instr-generate -Xcc -fcoverage-mapping

.PHONY: coverage-c coverage
coverage-c: $(COVERAGE_PROGRAMS) ## print the C core's branches that the tests in C take
	@rm -f $(COVERAGE_OUT)/shown-swift
	@$(COVERAGE_RUN)

coverage: $(COVERAGE_PROGRAMS) ## print the C core's branches that all tests take, and do not
	$(SWIFT_TEST) --traits $(ALL_TRAITS) --enable-code-coverage $(COVERAGE_SWIFT_C) \
	  --scratch-path .build-coverage
	@bin=$$(swift build --scratch-path .build-coverage --show-bin-path); \
	$(COVERAGE_LLVM)/llvm-cov show $$bin/larderPackageTests.xctest --show-branches=count \
	  -instr-profile $$bin/codecov/default.profdata $(SYSTEM_DIR) $(C_DIR) $(STORE_DIR) \
	  > $(COVERAGE_OUT)/shown-swift
	@$(COVERAGE_RUN)

COVERAGE_RUN = LLVM="$(COVERAGE_LLVM)" LEAST=$(COVERAGE_LEAST) \
  TORTURE='--seconds $(or $(SECONDS),60) $(if $(QUICK),--short)' \
  sh Tests/Coverage/run.sh $(COVERAGE_OUT)
