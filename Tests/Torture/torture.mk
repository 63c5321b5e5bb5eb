# SPDX-License-Identifier: MIT
# Rules of the torture harness, the planted defects and the fuzzers; included by the Makefile.
#
#   make torture SECONDS=120 SEED=7     everything, longer, with that seed
#   make torture-short                  about ten seconds, as `make test` runs it; SEED is 1 there
#   make torture-selftest               each planted defect must be found; `make test` runs it
#   make torture-tsan                   the concurrency family under the Thread Sanitizer
#   make torture-asan                   all of it under the Address and UB Sanitizers, short
#   make fuzz SECONDS=60                libFuzzer on ring files, frames and varints

TORTURE_DIR := Tests/Torture
TORTURE_OUT := .build/torture
TORTURE_CC ?= cc
TORTURE_TSAN_CC ?= $(if $(shell command -v gcc 2>/dev/null),gcc,$(TORTURE_CC))
FUZZ_CC ?= clang
AREA ?= log

TORTURE_SOURCES := $(wildcard $(TORTURE_DIR)/*.c)
TORTURE_HEADERS := $(wildcard $(TORTURE_DIR)/*.h)
CLARDER_SOURCES := $(wildcard Sources/CLarder/*.c)
CLARDER_HEADERS := $(wildcard Sources/CLarder/*.h Sources/CLarder/include/*.h)
TORTURE_ALL := $(TORTURE_SOURCES) $(TORTURE_HEADERS) $(CLARDER_SOURCES) $(CLARDER_HEADERS)

TORTURE_WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror
TORTURE_FLAGS := -std=c11 -D_GNU_SOURCE -DLARDER_FAULTS -ISources/CLarder/include \
  -ISources/CLarder -pthread
ifeq ($(shell uname -s),Linux)
TORTURE_FLAGS += -DTORTURE_WRAPS_SYNC
TORTURE_LINK := -Wl,--wrap=fdatasync -Wl,--wrap=fsync
endif

# The Swift toolchain's clang prefers gold, which does not know all of its own sanitizers.
TORTURE_CLANG_LD = $(shell $(1) --version 2>/dev/null | grep -q clang && \
  command -v ld.lld >/dev/null 2>&1 && echo -fuse-ld=lld)

.PHONY: torture torture-short torture-selftest torture-tsan torture-asan fuzz fuzz-corpus

$(TORTURE_OUT)/%.o: $(TORTURE_DIR)/%.c $(TORTURE_HEADERS) $(CLARDER_HEADERS)
	@mkdir -p $(@D)
	$(TORTURE_CC) $(TORTURE_FLAGS) $(TORTURE_WARNINGS) -O2 -g -c $< -o $@

$(TORTURE_OUT)/clarder/%.o: Sources/CLarder/%.c $(CLARDER_HEADERS)
	@mkdir -p $(@D)
	$(TORTURE_CC) $(TORTURE_FLAGS) -O2 -g -c $< -o $@

TORTURE_OBJECTS := $(patsubst $(TORTURE_DIR)/%.c,$(TORTURE_OUT)/%.o,$(TORTURE_SOURCES))
TORTURE_LIBRARY := $(patsubst Sources/CLarder/%.c,$(TORTURE_OUT)/clarder/%.o,$(CLARDER_SOURCES))

$(TORTURE_OUT)/larder-torture: $(TORTURE_OBJECTS) $(TORTURE_LIBRARY)
	$(TORTURE_CC) -pthread $(TORTURE_LINK) $^ -o $@

torture: $(TORTURE_OUT)/larder-torture ## hurt the log in every way; AREA, SECONDS, SEED
	$< --area $(AREA) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

torture-short: $(TORTURE_OUT)/larder-torture
	$< --area $(AREA) --short --seed $(or $(SEED),1)

# A harness for each planted defect, from the same objects and a library with the defect in it.
torture-selftest: $(TORTURE_OUT)/larder-torture ## show that torture finds every planted defect
	@TORTURE_CC="$(TORTURE_CC)" TORTURE_FLAGS="$(TORTURE_FLAGS)" TORTURE_LINK="$(TORTURE_LINK)" \
	  TORTURE_OUT="$(TORTURE_OUT)" FUZZ_CC="$(FUZZ_CC)" \
	  FUZZ_FLAGS="$(FUZZ_FLAGS) $(call TORTURE_CLANG_LD,$(FUZZ_CC))" \
	  sh $(TORTURE_DIR)/selftest.sh

$(TORTURE_OUT)/larder-torture-tsan: $(TORTURE_ALL)
	@mkdir -p $(@D)
	$(TORTURE_TSAN_CC) $(TORTURE_FLAGS) -w -O1 -g -fsanitize=thread $(TORTURE_LINK) \
	  $(call TORTURE_CLANG_LD,$(TORTURE_TSAN_CC)) $(TORTURE_SOURCES) $(CLARDER_SOURCES) -o $@

torture-tsan: $(TORTURE_OUT)/larder-torture-tsan
	TSAN_OPTIONS="halt_on_error=1 exitcode=66" $< --family concurrency \
	  --seconds $(or $(SECONDS),20) --seed $(or $(SEED),1)

$(TORTURE_OUT)/larder-torture-asan: $(TORTURE_ALL)
	@mkdir -p $(@D)
	$(TORTURE_TSAN_CC) $(TORTURE_FLAGS) -O1 -g -fsanitize=address,undefined \
	  -fno-sanitize-recover=all $(TORTURE_LINK) $(call TORTURE_CLANG_LD,$(TORTURE_TSAN_CC)) \
	  $(TORTURE_SOURCES) $(CLARDER_SOURCES) -o $@

torture-asan: $(TORTURE_OUT)/larder-torture-asan
	$< --short --seconds $(or $(SECONDS),30) --seed $(or $(SEED),1)

# Fuzzing -----------------------------------------------------------------------------------------

FUZZ_OUT := .build/fuzz
FUZZ_FLAGS := -std=c11 -D_GNU_SOURCE -ISources/CLarder/include -ISources/CLarder -pthread -O1 -g \
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

$(FUZZ_OUT)/fuzz-%: $(TORTURE_DIR)/fuzz/fuzz_%.c $(CLARDER_SOURCES) $(CLARDER_HEADERS)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(call TORTURE_CLANG_LD,$(FUZZ_CC)) $< $(CLARDER_SOURCES) -o $@

# New finds stay in .build; what is in the repository only seeds them.
FUZZ_RUN = mkdir -p $(FUZZ_OUT)/corpus-$(1) && $(FUZZ_OUT)/fuzz-$(1) \
  -max_total_time=$(2) -timeout=10 -max_len=$(3) -verbosity=0 -print_final_stats=1 \
  -artifact_prefix=$(FUZZ_OUT)/ $(if $(SEED),-seed=$(SEED)) \
  $(FUZZ_OUT)/corpus-$(1) $(TORTURE_DIR)/fuzz/corpus-$(1)

fuzz: $(FUZZ_OUT)/fuzz-ring $(FUZZ_OUT)/fuzz-frame ## feed arbitrary bytes to the readers; SECONDS
	$(call FUZZ_RUN,frame,$(shell expr $(or $(SECONDS),60) / 6 + 1),512)
	$(call FUZZ_RUN,ring,$(shell expr $(or $(SECONDS),60) \* 5 / 6 + 1),8192)

# Writes the seeds anew, after a change of the format.
fuzz-corpus: $(TORTURE_LIBRARY)
	@mkdir -p $(TORTURE_DIR)/fuzz/corpus-ring $(FUZZ_OUT)
	$(TORTURE_CC) $(TORTURE_FLAGS) $(TORTURE_DIR)/fuzz/make_corpus.c $(TORTURE_LIBRARY) \
	  -o $(FUZZ_OUT)/make-corpus
	$(FUZZ_OUT)/make-corpus $(TORTURE_DIR)/fuzz
