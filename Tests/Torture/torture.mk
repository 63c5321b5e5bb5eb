# SPDX-License-Identifier: MIT
# Rules of the torture harness, the planted defects and the fuzzers; included by the Makefile.
#
#   make torture SECONDS=120 SEED=7     everything, longer, with that seed
#   make torture AREA=coding            the coders and their fuzzers alone; or AREA=log,
#                                       AREA=memory, AREA=store, AREA=entry, AREA=archive,
#                                       AREA=migration, AREA=suspend, AREA=queue: the last five in
#                                       Swift
#   make torture AREA=remote            caches over a server, which needs the trait Remote and is
#                                       not part of `all`; torture-selftest-remote for its defects
#   make torture-short                  a minute and a half, as in `make test`; SEED is 1 there
#   make torture-selftest               each planted defect must be found, or a PART=1/4
#   make torture-tsan                   the concurrency families under the Thread Sanitizer
#   make torture-asan                   all of it under the Address and UB Sanitizers, short
#   make torture-explore                every system call of every short workload, which takes long
#   make torture-large ROUNDS=700       kills inside flushes of 100,000 writes
#   make torture-arm64                  all of it as an arm64 program under qemu, short
#   make torture-arm64-16k              the same in an emulated machine with pages of 16 KiB;
#                                       ARGUMENTS="--family store-kill --seed 3" instead of short
#   make torture-blocks                 the file system itself cut at every flush of its device
#   make fuzz SECONDS=60                libFuzzer on ring files, frames, varints, CBOR, segments and
#                                       records of a store, and logs and stores of which every
#                                       checksum was mended; or an AREA
#   make fuzz AREA=tool                 every command of the tool on changed logs and stores whose
#                                       checksums are right

TORTURE_DIR := Tests/Torture
TORTURE_OUT := .build/torture
TORTURE_CC ?= cc
TORTURE_TSAN_CC ?= $(if $(shell command -v gcc 2>/dev/null),gcc,$(TORTURE_CC))
FUZZ_CC ?= clang
FUZZ_SWIFTC ?= swiftc
AREA ?= all

TORTURE_ROOMS := $(addprefix $(TORTURE_DIR)/,harness coding memory ring ring/hostile store \
  store/cuts store/rare feed)
TORTURE_SOURCES := $(wildcard $(addsuffix /*.c,$(TORTURE_ROOMS)))
TORTURE_HEADERS := $(wildcard $(addsuffix /*.h,$(TORTURE_ROOMS)))
TORTURE_C := $(C_SOURCES) $(STORE_SOURCES)
TORTURE_H := $(CORE_HEADERS)
TORTURE_ALL := $(TORTURE_SOURCES) $(TORTURE_HEADERS) $(TORTURE_C) $(TORTURE_H)

TORTURE_WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror
TORTURE_INCLUDES = $(CORE_INCLUDES) $(LMDB_CFLAGS)
TORTURE_FLAGS = -std=c11 -D_GNU_SOURCE -DLARDER_FAULTS $(TORTURE_INCLUDES) \
  $(addprefix -iquote ,$(TORTURE_ROOMS)) -pthread
TORTURE_COMMA := ,
ifeq ($(shell uname -s),Linux)
TORTURE_FLAGS += -DTORTURE_WRAPS_SYNC -DTORTURE_WRAPS_CALLS
# And what failing_calls.c makes fail.
TORTURE_WRAPPED := malloc calloc realloc aligned_alloc posix_memalign strdup asprintf \
  pthread_create pthread_mutex_init pthread_cond_init pthread_condattr_init \
  pthread_condattr_setclock pthread_cond_wait pthread_attr_init pthread_attr_setdetachstate \
  pthread_atfork mmap munmap fstat fchmod statvfs getrlimit getentropy clock_gettime fallocate \
  ftruncate pread pwrite getcwd fdopendir readdir renameat unlinkat rmdir openat fcntl madvise \
  mdb_env_create mdb_env_open mdb_env_set_mapsize mdb_env_set_maxreaders mdb_env_get_fd \
  mdb_env_info mdb_reader_check mdb_reader_list mdb_txn_begin mdb_txn_renew mdb_txn_commit \
  mdb_dbi_open mdb_get mdb_put mdb_del mdb_drop mdb_cursor_open mdb_cursor_get mdb_cursor_put \
  mdb_cursor_del
TORTURE_LINK_SYNC := -Wl,--wrap=fdatasync -Wl,--wrap=fsync
TORTURE_LINK := $(TORTURE_LINK_SYNC) $(addprefix -Wl$(TORTURE_COMMA)--wrap=,$(TORTURE_WRAPPED))
endif

# The Swift toolchain's clang prefers gold, which does not know all of its own sanitizers.
TORTURE_CLANG_LD = $(shell $(1) --version 2>/dev/null | grep -q clang && \
  command -v ld.lld >/dev/null 2>&1 && echo -fuse-ld=lld)

TORTURE_AREAS = log coding memory store large blocks

.PHONY: torture torture-short torture-selftest torture-swift torture-remote \
  $(TORTURE_AREAS:%=short-%) short-swift short-hostile short-model \
  torture-selftest-remote torture-tsan torture-asan fuzz \
  torture-explore torture-large torture-arm64 torture-arm64-16k torture-blocks fuzz-corpus

# Half of the time to compile would go to the harness's own speed, and what a debugger asks for.
$(TORTURE_OUT)/%.o: $(TORTURE_DIR)/%.c $(TORTURE_HEADERS) $(TORTURE_H)
	@mkdir -p $(@D)
	$(TORTURE_CC) $(TORTURE_FLAGS) $(TORTURE_WARNINGS) -O1 -g1 -c $< -o $@

$(TORTURE_OUT)/core/%.o: Sources/%.c $(TORTURE_H)
	@mkdir -p $(@D)
	$(TORTURE_CC) $(TORTURE_FLAGS) -Werror=implicit-function-declaration -O2 -g1 -c $< -o $@

TORTURE_OBJECTS := $(patsubst $(TORTURE_DIR)/%.c,$(TORTURE_OUT)/%.o,$(TORTURE_SOURCES))
TORTURE_LIBRARY := $(patsubst Sources/%.c,$(TORTURE_OUT)/core/%.o,$(TORTURE_C))

$(TORTURE_OUT)/larder-torture: $(TORTURE_OBJECTS) $(TORTURE_LIBRARY)
	$(TORTURE_CC) -pthread $(TORTURE_LINK) $^ $(LMDB_LIBS) -o $@

# The coders' fuzzers take part: each has two fifths of the time of their own area, a tenth of all.
TORTURE_SECONDS = $(or $(SECONDS),60)
TORTURE_FUZZES = $(filter coding all,$(AREA))
TORTURE_FUZZ_SECONDS = $(if $(TORTURE_FUZZES),$(shell expr $(TORTURE_SECONDS) \* \
  $(if $(filter coding,$(AREA)),4,1) / 10),0)

# Entries and archives have a harness in Swift, built as the tests are, so that both share the work.
# If all areas have a turn, a fifth of the time is theirs.
TORTURE_IN_C = $(filter-out entry archive migration suspend queue names,$(AREA))
TORTURE_IN_SWIFT = $(filter entry archive migration suspend queue names all,$(AREA))
TORTURE_SWIFT = $(BUILD)/debug
TORTURE_SWIFT_SECONDS = $(if $(TORTURE_IN_SWIFT),$(if $(TORTURE_IN_C),$(shell expr \
  $(TORTURE_SECONDS) / 5),$(TORTURE_SECONDS)),0)
TORTURE_HARNESSES = $(if $(TORTURE_IN_C),$(TORTURE_OUT)/larder-torture) \
  $(if $(TORTURE_IN_SWIFT),torture-swift)

torture-swift:
	$(SWIFT_BUILD) --product LarderTorture $(WITH_TRAITS) --scratch-path $(BUILD)

# The store's log and memtable against simple models, by themselves.
$(TORTURE_OUT)/log-model: $(TORTURE_OUT)/model/log_model.o $(TORTURE_LIBRARY)
	$(TORTURE_CC) -pthread $^ $(LMDB_LIBS) -o $@
TORTURE_MODELS = $(if $(filter store all,$(AREA)),$(TORTURE_OUT)/log-model)

# What needs swift-nio has a build of its own, as its tests have; optimised, for simulations.
TORTURE_REMOTE_BUILD = .build-remote
TORTURE_REMOTE = $(TORTURE_REMOTE_BUILD)/release/LarderTorture --area remote

torture-remote:
	swift build -c release --product LarderTorture --traits Remote \
	  --scratch-path $(TORTURE_REMOTE_BUILD) $(SWIFT_FLAGS)

torture-selftest-remote: torture-remote ## likewise, of caches over a server
	+@$(SELFTEST) Tests/LarderTorture/Remote/defects.txt

ifeq ($(AREA),remote)
torture: torture-remote
	$(TORTURE_REMOTE) --seconds $(TORTURE_SECONDS) $(if $(SEED),--seed $(SEED))

torture-short: torture-remote
	$(TORTURE_REMOTE) --short --seed $(or $(SEED),1)
else
torture: $(TORTURE_HARNESSES) $(TORTURE_MODELS) ## hurt everything; AREA, SECONDS, SEED
	$(if $(TORTURE_MODELS),$(TORTURE_MODELS) $(or $(SEED),1) \
	  $(shell expr $(TORTURE_SECONDS) / 60))
	$(if $(TORTURE_IN_C),$(TORTURE_OUT)/larder-torture --area $(AREA) \
	  $(if $(SEED),--seed $(SEED)) --seconds $(shell expr $(TORTURE_SECONDS) \
	  - 2 \* $(TORTURE_FUZZ_SECONDS) - $(TORTURE_SWIFT_SECONDS)))
	$(if $(TORTURE_IN_SWIFT),$(TORTURE_SWIFT)/LarderTorture --area $(AREA) \
	  $(if $(SEED),--seed $(SEED)) --seconds $(TORTURE_SWIFT_SECONDS))
	$(if $(TORTURE_FUZZES),@$(call FUZZ_RUN,cbor,$(TORTURE_FUZZ_SECONDS),4096))
	$(if $(TORTURE_FUZZES),@$(call FUZZ_RUN,cbor-swift,$(TORTURE_FUZZ_SECONDS),4096))

# Side by side, the longest first. The seconds are those of the families that go on for as long as
# they are let.
SHORT_IN_C = $(if $(filter all,$(AREA)),store log memory coding,$(TORTURE_IN_C))
SHORT_SECONDS = $(or $(SHORT_$@),8)
SHORT_short-log = 4
SHORT_short-store = 5
SHORT_short-coding = 1

torture-short: $(firstword $(SHORT_IN_C:%=short-%)) $(if $(TORTURE_IN_SWIFT),short-swift) \
  $(if $(TORTURE_MODELS),short-hostile short-model) $(SHORT_IN_C:%=short-%)

$(TORTURE_AREAS:%=short-%): short-%: $(TORTURE_OUT)/larder-torture
	$< --area $* --short --seconds $(SHORT_SECONDS) --seed $(or $(SEED),1)

short-swift: torture-swift
	$(TORTURE_SWIFT)/LarderTorture --area $(AREA) --short --seed $(or $(SEED),1)

short-hostile:
	+@$(call HOSTILE_RUN,--count 150 --seed $(or $(SEED),1))

short-model: $(TORTURE_OUT)/log-model
	$< $(or $(SEED),1)
endif

# A harness for each planted defect, from the same objects and a library with the defect in it.
SELFTEST = $(foreach name,TORTURE_OUT TORTURE_CC TORTURE_FLAGS TORTURE_LINK TORTURE_OBJECTS \
  TORTURE_INCLUDES TORTURE_SWIFT TORTURE_REMOTE TORTURE_TSAN_CC ASAN_FLAGS HOSTILE \
  HOSTILE_OBJECTS C_SOURCES STORE_SOURCES LMDB_LIBS FUZZ_CC FUZZ_SWIFTC \
  MAKE,$(name)="$($(name))") \
  FUZZ_FLAGS="$(FUZZ_FLAGS) $(call TORTURE_CLANG_LD,$(FUZZ_CC))" sh $(TORTURE_DIR)/selftest.sh

torture-selftest: $(TORTURE_OUT)/larder-torture torture-swift ## show that torture finds every planted defect
	+@$(SELFTEST) $(TORTURE_DIR)/defects.txt Tests/LarderTorture/defects.txt

torture-explore: $(TORTURE_OUT)/larder-torture
	$< --family store-explore --whole --seed $(or $(SEED),1)

torture-large: $(TORTURE_OUT)/larder-torture
	$< --family store-kill-large --rounds $(or $(ROUNDS),700) $(if $(SEED),--seed $(SEED))

torture-blocks: $(TORTURE_OUT)/larder-torture ## cut ext4 at every flush of its device; needs root
	$< --family store-blocks --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

torture-arm64: ## torture, short, as an arm64 program under qemu
torture-arm64-16k: PAGES = 16k
torture-arm64 torture-arm64-16k:
	@TORTURE_OUT="$(TORTURE_OUT)" TORTURE_FLAGS="$(TORTURE_FLAGS)" TORTURE_LINK="$(TORTURE_LINK)" \
	  TORTURE_SOURCES="$(TORTURE_SOURCES) $(TORTURE_C)" TORTURE_SECONDS=$(or $(SECONDS),120) \
	  SEED=$(or $(SEED),1) ARGUMENTS="$(ARGUMENTS)" sh $(TORTURE_DIR)/arm64.sh $(PAGES)

# Objects of harness and library under sanitizers: sanitized NAME, FLAGS, of the compiler and the
# linker, FLAGS of the linker.
define sanitized
$(TORTURE_OUT)/$(1)/%.o: $(TORTURE_DIR)/%.c $(TORTURE_HEADERS) $(TORTURE_H)
	@mkdir -p $$(@D)
	$$(TORTURE_TSAN_CC) $$(TORTURE_FLAGS) $(2) -O1 -g1 -c $$< -o $$@

$(TORTURE_OUT)/$(1)/core/%.o: Sources/%.c $(TORTURE_H)
	@mkdir -p $$(@D)
	$$(TORTURE_TSAN_CC) $$(TORTURE_FLAGS) $(2) -O1 -g1 -c $$< -o $$@

$(TORTURE_OUT)/larder-torture-$(1): \
    $(patsubst $(TORTURE_DIR)/%.c,$(TORTURE_OUT)/$(1)/%.o,$(TORTURE_SOURCES)) \
    $(patsubst Sources/%.c,$(TORTURE_OUT)/$(1)/core/%.o,$(TORTURE_C))
	$$(TORTURE_TSAN_CC) -pthread $(2) $(3) $$(call TORTURE_CLANG_LD,$$(TORTURE_TSAN_CC)) $$^ \
	  $$(LMDB_LIBS) -o $$@
endef

# No call is wrapped: the fault points' lock, taken for each allocation, would hide races.
$(eval $(call sanitized,tsan,-UTORTURE_WRAPS_CALLS -w -fsanitize=thread,$(TORTURE_LINK_SYNC)))

torture-tsan: $(TORTURE_OUT)/larder-torture-tsan
	TSAN_OPTIONS="halt_on_error=1 exitcode=66" $< --family concurrency \
	  --family store-concurrency --seconds $(or $(SECONDS),20) --seed $(or $(SEED),1)

ASAN_FLAGS = -fsanitize=address,undefined -fno-sanitize-recover=all
$(eval $(call sanitized,asan,$$(ASAN_FLAGS),$(TORTURE_LINK)))

torture-asan: $(TORTURE_OUT)/larder-torture-asan
	$< --area $(AREA) --short --seconds $(or $(SECONDS),30) --seed $(or $(SEED),1)

# Fuzzing -----------------------------------------------------------------------------------------

FUZZ_OUT := .build/fuzz
FUZZ_FLAGS := -std=c11 -D_GNU_SOURCE $(CORE_INCLUDES) -pthread -O1 -g \
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

$(FUZZ_OUT)/fuzz-%: $(TORTURE_DIR)/fuzz/fuzz_%.c $(C_SOURCES) $(TORTURE_H)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(call TORTURE_CLANG_LD,$(FUZZ_CC)) $< $(C_SOURCES) -o $@

# Its seeds: segments and pages of the fixtures, and records out of them.
$(FUZZ_OUT)/fuzz-store: $(TORTURE_DIR)/fuzz/fuzz_store.c $(TORTURE_C) $(TORTURE_H)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(LMDB_CFLAGS) $(call TORTURE_CLANG_LD,$(FUZZ_CC)) $< \
	  $(TORTURE_C) $(LMDB_LIBS) -o $@

# Stores as somebody makes them who knows the formats, with every checksum mended, in processes
# under the sanitizers. LMDB_SOURCE, a folder with mdb.c, has LMDB under them as well.
HOSTILE := $(TORTURE_OUT)/larder-hostile
HOSTILE_OBJECTS := $(patsubst $(TORTURE_DIR)/%.c,$(TORTURE_OUT)/asan/%.o,$(wildcard \
  $(TORTURE_DIR)/hostile/*.c))
LMDB_SOURCE ?=
HOSTILE_LMDB = $(if $(LMDB_SOURCE),$(addprefix $(TORTURE_OUT)/asan/,mdb.o midl.o),$(LMDB_LIBS))

# Skipped where the compiler has no sanitizers.
HOSTILE_RUN = MAKE="$(MAKE)" CC="$(TORTURE_TSAN_CC)" \
  sh $(TORTURE_DIR)/hostile/run.sh $(HOSTILE) $(1)

$(HOSTILE_OBJECTS): $(wildcard $(TORTURE_DIR)/hostile/*.h)

$(TORTURE_OUT)/asan/%.o: $(LMDB_SOURCE)/%.c
	$(TORTURE_TSAN_CC) -O1 -g -w -pthread -fsanitize=address -c $< -o $@

$(HOSTILE): $(HOSTILE_OBJECTS) $(TORTURE_LIBRARY:$(TORTURE_OUT)/%=$(TORTURE_OUT)/asan/%) \
    $(filter %.o,$(HOSTILE_LMDB))
	$(TORTURE_TSAN_CC) -pthread $(ASAN_FLAGS) $(call TORTURE_CLANG_LD,$(TORTURE_TSAN_CC)) \
	  $^ $(filter-out %.o,$(HOSTILE_LMDB)) -o $@

# LarderCore's sources as one module with the target, so that the fuzzer sees all of the coder.
FUZZ_SWIFT_SOURCES := $(shell find Sources/LarderCore -name '*.swift')
FUZZ_SWIFT_CORE := $(patsubst Sources/%.c,$(FUZZ_OUT)/swift/%.o,$(C_SOURCES))
FUZZ_SWIFT_FLAGS := -O -g -parse-as-library -module-name LarderFuzz -package-name larder \
  -swift-version 6 -enable-upcoming-feature InternalImportsByDefault \
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility \
  -sanitize=fuzzer,address $(PUBLIC_INCLUDES)

$(FUZZ_OUT)/swift/%.o: Sources/%.c $(TORTURE_H)
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c11 -D_GNU_SOURCE $(CORE_INCLUDES) -O1 -g \
	  -fsanitize=fuzzer-no-link,address -c $< -o $@

$(FUZZ_OUT)/fuzz-cbor-swift: $(TORTURE_DIR)/fuzz/FuzzCBOR.swift $(FUZZ_SWIFT_SOURCES) \
    $(FUZZ_SWIFT_CORE)
	$(FUZZ_SWIFTC) $(FUZZ_SWIFT_FLAGS) \
	  $(shell command -v ld.lld >/dev/null 2>&1 && echo -use-ld=lld) $^ -o $@

# One line of output for each: FUZZ_RUN NAME, SECONDS, longest input.
FUZZ_RUN = FUZZ_CC="$(FUZZ_CC)" FUZZ_SWIFTC="$(FUZZ_SWIFTC)" FUZZ_OUT="$(FUZZ_OUT)" \
  MAKE="$(MAKE)" SEED="$(SEED)" sh $(TORTURE_DIR)/fuzz/run.sh $(1) $(2) $(3)

# So many sixths of the time; fifteenths, if all areas have a turn.
FUZZ_SHARE = $(shell expr $(or $(SECONDS),60) \* $(1) / $(if $(filter all,$(AREA)),15,6) + 1)

fuzz: ## feed arbitrary bytes to the readers; AREA, SECONDS, SEED
	$(if $(filter log all,$(AREA)),@$(call FUZZ_RUN,frame,$(call FUZZ_SHARE,1),512))
	$(if $(filter log all,$(AREA)),@$(call FUZZ_RUN,ring,$(call FUZZ_SHARE,3),8192))
	$(if $(filter log all,$(AREA)),@$(MAKE) -s $(TORTURE_OUT)/larder-torture-asan && \
	  $(TORTURE_OUT)/larder-torture-asan --family hostile $(if $(SEED),--seed $(SEED)) \
	  --seconds $(call FUZZ_SHARE,2))
	$(if $(filter coding all,$(AREA)),@$(call FUZZ_RUN,cbor,$(call FUZZ_SHARE,2),4096))
	$(if $(filter coding all,$(AREA)),@$(call FUZZ_RUN,cbor-swift,$(call FUZZ_SHARE,4),4096))
	$(if $(filter store all,$(AREA)),@$(call FUZZ_RUN,store,$(call \
	  FUZZ_SHARE,$(if $(filter all,$(AREA)),1,2)),30000))
	$(if $(filter store all,$(AREA)),+@$(call HOSTILE_RUN,--seed $(or $(SEED),$(shell date +%s)) \
	  --seconds $(call FUZZ_SHARE,$(if $(filter all,$(AREA)),2,4))))
	$(if $(filter tool,$(AREA)),$(BUILD_TESTS))
	$(if $(filter tool,$(AREA)),LARDER_FUZZ_SECONDS=$(or $(SECONDS),60) \
	  LARDER_SEED=$(or $(SEED),$(shell date +%s)) $(BUILT_TESTS) --filter HostileFilesTests)

# Writes the seeds and the fixtures of stores anew, after a change of the format.
fuzz-corpus: $(TORTURE_LIBRARY)
	@mkdir -p $(TORTURE_DIR)/fuzz/corpus-ring $(FUZZ_OUT)
	$(TORTURE_CC) $(TORTURE_FLAGS) $(TORTURE_DIR)/fuzz/make_*.c $(TORTURE_LIBRARY) \
	  $(LMDB_LIBS) -o $(FUZZ_OUT)/make-corpus
	$(FUZZ_OUT)/make-corpus $(TORTURE_DIR)/fuzz
