# SPDX-License-Identifier: MIT
# Every command that a developer or CI runs. `make` alone lists them.

PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
CFLAGS ?= -O2 -g
INSTALL ?= install

# Where the Swift package manager builds; the sanitizers build in folders beside it.
BUILD ?= .build
# More arguments for swift build and swift test, for example SWIFT_FLAGS='-j 1'.
SWIFT_FLAGS ?=
# Without traits, as most users build it: swift-crypto, swift-nio and what servers use take minutes.
# `make test-traits test-remote` and the documentation have all of them, in a folder of their own.
SERVER = Configuration,Logging,Metrics,ServiceLifecycle,Tracing
ALL_TRAITS = Encryption,Remote,$(SERVER)
TRAITS ?=
WITH_TRAITS = $(if $(TRAITS),--traits $(TRAITS))
TRAITED = $(MAKE) --no-print-directory TRAITS=$(ALL_TRAITS) BUILD=.build-traits
# Tests call the C core millions of times, so it is optimised where Swift is not. What a debugger
# asks for would be a tenth of a build. (Tests are found by the index, which is twice that.)
FAST = -Xcc -O1 -Xswiftc -gnone
SWIFT_TEST = swift test --disable-xctest $(FAST) $(SWIFT_FLAGS)
# Or all would be under way at once, and none at its end before all are: nobody could tell what is
# slow, and what hangs.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= $(TWICE_THE_CORES)
TWICE_THE_CORES := $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
# The compiler is told of traits in the order of a set, and with another order everything is built
# again. What runs tests is not to have that order: there it is to differ.
SWIFT_BUILD = SWIFT_DETERMINISTIC_HASHING=1 swift build $(FAST) $(SWIFT_FLAGS)
BUILD_TESTS = $(SWIFT_BUILD) --build-tests --disable-xctest $(WITH_TRAITS) --scratch-path $(BUILD)
# Whoever watches them needs each line as it comes.
BY_LINE = $(if $(shell command -v stdbuf),stdbuf -oL)
BUILT_TESTS = $(BY_LINE) $(SWIFT_TEST) --skip-build $(WITH_TRAITS) --scratch-path $(BUILD)

# What a check of the C core is compiled with; clang calls the nullability marks an extension.
STRICT = -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
STRICT_C = $(STRICT) -Wmissing-prototypes

# The C core, from the ground up: the system, which liblarder contains; liblarder; the store.
SYSTEM_DIR = Sources/CLarderSystem
C_DIR = Sources/CLarder
STORE_DIR = Sources/CLarderStore
C_SOURCES := $(shell find $(SYSTEM_DIR) $(C_DIR) -name '*.c')
STORE_SOURCES := $(shell find $(STORE_DIR) -name '*.c')
C_HEADERS = $(SYSTEM_DIR)/include/larder_base.h $(SYSTEM_DIR)/include/larder_status.h \
  $(wildcard $(C_DIR)/include/*.h)
STORE_HEADERS = $(wildcard $(STORE_DIR)/include/*.h)
CORE_HEADERS := $(shell find $(SYSTEM_DIR) $(C_DIR) $(STORE_DIR) -name '*.h')
PRIVATE_HEADERS = $(filter-out $(C_HEADERS) $(STORE_HEADERS),$(CORE_HEADERS))
PUBLIC_INCLUDES = $(addsuffix /include,$(addprefix -I,$(SYSTEM_DIR) $(C_DIR) $(STORE_DIR)))
CORE_INCLUDES = $(PUBLIC_INCLUDES) -I$(SYSTEM_DIR) -I$(C_DIR) -I$(STORE_DIR)
# Asked once, when needed: `make deps` may have to install pkg-config first.
LMDB_CFLAGS = $(eval LMDB_CFLAGS := $(shell pkg-config --cflags lmdb 2>/dev/null))$(LMDB_CFLAGS)
LMDB_LIBS = $(eval LMDB_LIBS := $(shell pkg-config --libs lmdb 2>/dev/null || \
  echo -llmdb))$(LMDB_LIBS)
VERSION := $(shell sed -n 's/^.define LARDER_VERSION "\(.*\)"/\1/p' \
  $(SYSTEM_DIR)/include/larder_base.h)
# Grows with each change that breaks a program linked to the library.
SOVERSION = 0

.DEFAULT_GOAL := help
# C sources are compiled side by side; what has to wait for another says so.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN)
endif

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## install the system packages that are missing (apt, brew)
	@.ci/deps base

.PHONY: demo
demo: deps ## build Larder and see it work
	swift build -c release --product larder --scratch-path $(BUILD) $(SWIFT_FLAGS)
	@$$(swift build -c release --scratch-path $(BUILD) --show-bin-path)/larder demo

.PHONY: build
build: ## build everything, optimised
	swift build -c release --scratch-path $(BUILD) $(SWIFT_FLAGS)

# Tests -------------------------------------------------------------------------------------------

# What is cheap comes first. Each with a limit in seconds: two cores take 16, 7, 17, 130, 340 and 60
# from a clean clone, and a machine that is busy with as much again more than twice that.
TESTS = lint=120 "check-c COMPILERS=gcc=120" test-c=120 torture-short=600 test-swift=1500 \
  test-outside=400
# Where there is a server; but swift-nio takes minutes, so not before `make test-remote` built it.
TESTS_WITH_SERVERS = \
  $(if $(shell command -v redis-server),$(if $(wildcard .build-traits),test-remote=1800))
MORE_TESTS = "check-c COMPILERS=clang=300" check-x32=300 check-packages=300 check-apple=1200 \
  torture-selftest=4800 test-lmdb=1800 test-musl=600 test-traits=2400 test-remote=1800 \
  check-docs=1200 test-asan=4800 test-tsan=4800 test-long=3600 check-parts=1800
PARTS = MAKE="$(MAKE)" .ci/parts

.PHONY: test
test: deps ## run what every change has to pass, and stop at what fails
	+@$(PARTS) --stop $(TESTS) $(TESTS_WITH_SERVERS)

.PHONY: test-all
test-all: deps ## run every test there is, hours of it, and sum up
	+@$(PARTS) $(TESTS) $(MORE_TESTS)

.PHONY: check-parts
check-parts: ## check that the two above find what hangs, and nothing else
	@.ci/parts-selftest

.PHONY: test-bundled-lmdb
test-bundled-lmdb: ## run the Swift tests with LMDB from a package, as on macOS
	@SWIFT_TEST="$(SWIFT_TEST)" sh Tests/Apple/bundled-lmdb.sh

# A Python with cbor2, for the tests that hold our CBOR to another's; without it they are skipped.
PEERS = .build/peers
WITH_PEERS = LARDER_TEST_PYTHON=$(wildcard $(CURDIR)/$(PEERS)/bin/python3)

.PHONY: peers
peers:
	@.ci/peers $(PEERS)

.PHONY: test-swift
test-swift: peers ## run the Swift tests alone; LARDER_TEST_LONG=1: more of what is random
	$(BUILD_TESTS)
	$(WITH_PEERS) $(BUILT_TESTS)

# Part of test-long.
.PHONY: test-swift-long
test-swift-long:
	@$(MAKE) --no-print-directory test-swift LARDER_TEST_LONG=1
test-long: test-swift-long

.PHONY: test-traits
test-traits: ## run the tests of what is behind a trait, but for servers
	$(TRAITED) test-traits-built

.PHONY: test-traits-built
test-traits-built:
	$(BUILD_TESTS)
	$(BUILT_TESTS) --filter 'LarderEncryptionTests|LarderServerTests|CommentTests'

.PHONY: test-server
test-server: ## run the tests of what servers use without other traits; SERVER=Logging for one alone
	$(SWIFT_TEST) --traits $(SERVER) --scratch-path .build-server --filter LarderServerTests

.PHONY: check-packages
check-packages: ## check that nothing is fetched but what the traits ask for
	@.ci/packages

# Against the servers that there are. They are real, and so is the time in which they must answer:
# nothing else runs beside them.
.PHONY: test-remote
test-remote: peers ## run the tests of LarderRemote, against Redis and Valkey servers of their own
	@.ci/deps remote
	$(TRAITED) test-remote-built

.PHONY: test-remote-built
test-remote-built:
	$(BUILD_TESTS)
	$(BUILT_TESTS) --filter LarderRemoteTests
	@$(MAKE) --no-print-directory test-outside PROGRAM=remote
	@if [ -x $(PEERS)/bin/valkey-server ]; then \
	  echo "again, with Valkey:"; LARDER_TEST_REDIS=$(CURDIR)/$(PEERS)/bin/valkey-server \
	    $(BUILT_TESTS) --filter LarderRemoteTests \
	      --skip 'RESPParser|Script|Topology|LogShipKill|Torture'; \
	fi

.PHONY: fuzz-remote
fuzz-remote: ## send mutated replies to LarderRemote's parser; SECONDS=60 LARDER_SEED=
	$(TRAITED) fuzz-remote-built

.PHONY: fuzz-remote-built
fuzz-remote-built:
	$(BUILD_TESTS)
	LARDER_FUZZ_SECONDS=$(or $(SECONDS),60) LARDER_SEED=$(or $(LARDER_SEED),$(shell date +%s)) \
	  $(BUILT_TESTS) --filter RESPParserTests

# Swift has no sanitizer of undefined behaviour, and its linker not the runtime: beside Address
# Sanitizer it traps in the C core. torture-asan, which plain C compilers build, also says what it
# was. Without traits: it would not be our C that is added, and so the package is built once as
# users have it. A report of Address Sanitizer ends its process by another status than 0, which
# torture counts as a failure, too.
ASAN_BUILD = --sanitize=address -Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined $(FAST) \
  $(SWIFT_FLAGS) --scratch-path .build-asan
WITH_LSAN = LSAN_OPTIONS=suppressions=$(CURDIR)/.ci/lsan-suppressions:print_suppressions=0

.PHONY: test-asan
test-asan: torture-asan ## run tests and torture under Address and Undefined Behaviour Sanitizer
	$(WITH_PEERS) $(WITH_LSAN) swift test --disable-xctest $(ASAN_BUILD) \
	  --skip 'HouseTests|WordsTests|FigureTests|ReadmeTests'
	swift build --product LarderTorture $(ASAN_BUILD)
	$(WITH_LSAN) .build-asan/debug/LarderTorture --short --seed $(or $(SEED),1)

# Thread Sanitizer does not know the standard library's mutex, so another one stands in for it, and
# in some files nothing is left for the import that it came from.
WATCHED_MUTEX = -Xswiftc -DLARDER_TSAN -Xswiftc -no-warnings-as-errors

# What has one thread is left out, as are commands of the tool, which are processes with one each.
ONE_THREAD = --skip 'CBOR|Cbor|Coder|Canonical|Equal|House|Words|Examples|History' \
  --skip 'Readme|Figure|Compression|Encryption|LarderTool'

.PHONY: test-tsan
test-tsan: torture-tsan ## run what has threads, and torture, under Thread Sanitizer
	$(SWIFT_TEST) --sanitize=thread --scratch-path .build-tsan $(WATCHED_MUTEX) \
	  $(ONE_THREAD)

# Headers alone, in both languages, and every source, by both compilers. Sources of CLarder that
# need more than C11 say so at their top, before they include a private header; of the floors below
# and above it so many do that all are compiled with it.
CHECK_INCLUDES = $(CORE_INCLUDES) $(LMDB_CFLAGS)
EACH = xargs -P 2 -I {}

# Watches have 64-bit processors and pointers of 32 bits, as x32 has, so what is lost on the way
# from one to the other shows there. All that a 64-bit Linux lacks to compile for it is a list of
# the C functions that are stubs; an empty one will do.
X32 = .build/x32
CHECK_X32 = clang --target=x86_64-linux-gnux32 -std=c11 -D_GNU_SOURCE $(STRICT_C) \
  -Wno-nullability-extension $(CHECK_INCLUDES) -isystem /usr/include/x86_64-linux-gnu \
  -isystem $(X32) -fsyntax-only

COMPILERS = gcc clang

.PHONY: check-c
check-c: ## compile the C core strictly, each header alone; COMPILERS="gcc clang"
	@set -e; for cc in $(COMPILERS); do \
	  command -v $$cc >/dev/null || { echo "check-c: no $$cc, skipped"; continue; }; \
	  extra=; case "$$($$cc --version)" in *clang*) extra=-Wno-nullability-extension ;; esac; \
	  for header in $(C_HEADERS) $(STORE_HEADERS); do \
	    for language in "c -std=c11 -Wmissing-prototypes" "c++ -std=c++17"; do \
	      printf '#include "%s"\n' "$$header" \
	        | $$cc -x $$language $(STRICT) -I. $(PUBLIC_INCLUDES) -fsyntax-only -; \
	    done; \
	  done; \
	  printf '%s\n' $(PRIVATE_HEADERS) | $(EACH) sh -c "printf '#include \"{}\"\n' \
	    | $$cc -x c -std=c11 -D_GNU_SOURCE $(STRICT_C) -Wno-unused-function $$extra -I. \
	      $(CHECK_INCLUDES) -fsyntax-only -"; \
	  strict="$$cc -std=c11 $(STRICT_C) $$extra $(CHECK_INCLUDES) -O2 -c -o /dev/null"; \
	  printf '%s\n' $(filter $(C_DIR)/%,$(C_SOURCES)) | $(EACH) $$strict {}; \
	  printf '%s\n' $(filter-out $(C_DIR)/%,$(C_SOURCES) $(STORE_SOURCES)) \
	    | $(EACH) $$strict -D_GNU_SOURCE {}; \
	  echo "check-c: $$cc, $(words $(C_SOURCES) $(STORE_SOURCES)) sources," \
	    "$(words $(C_HEADERS) $(STORE_HEADERS)) public headers: ok"; \
	done

.PHONY: check-x32
check-x32: ## compile the C core for pointers of 32 bits
	@mkdir -p $(X32)/gnu && : > $(X32)/gnu/stubs-x32.h
	@if printf '#include <pthread.h>\n#include <stdio.h>\n#include <lmdb.h>\n' \
	  | $(CHECK_X32) -x c - 2>/dev/null; then \
	  set -e; printf '%s\n' $(C_SOURCES) $(STORE_SOURCES) | $(EACH) $(CHECK_X32) {}; \
	  echo "check-x32: ok"; \
	else \
	  echo "check-x32: no clang, or no headers for it, skipped"; \
	fi

.PHONY: test-c
test-c: ## build a plain C program against an installed copy, run it, uninstall
	@MAKE="$(MAKE)" sh Tests/CConsumer/run.sh

include Tests/Torture/torture.mk
include Tests/Outside/outside.mk
include Tests/Model/model.mk
include Tests/Coverage/coverage.mk
include Tests/Apple/apple.mk
include Tests/LMDB/lmdb.mk

# Benchmarks --------------------------------------------------------------------------------------

# ROW=ID runs one row; KEYS=100k,1m,10m and RECORDS=1m set the size of the large rows of AREA=disk
# and of AREA=ycsb; PAIRS=7 runs at least so many pairs, where a large row otherwise has one.
.PHONY: bench
bench: ## measure Larder beside its rivals; AREA=log, coding, memory, disk, entry, archive, ycsb, hitratio, logging or remote for one, QUICK=1: 40 s an area
	cd Benchmarks && LARDER_BENCH_SQLITE=$$(pkg-config --exists sqlite3 && echo 1 || echo 0) \
	  LARDER_BENCH_ROCKSDB=$$(pkg-config --exists rocksdb && echo 1 || echo 0) \
	  LARDER_BENCH_REMOTE=$$(command -v redis-benchmark >/dev/null && echo 1 || echo 0) \
	  swift run -c release $(SWIFT_FLAGS) larder-bench \
	  $(if $(filter-out file,$(origin AREA)),--area $(AREA)) $(if $(filter-out 0,$(QUICK)),--quick) \
	  $(if $(ROW),--row $(ROW)) $(if $(KEYS),--keys $(KEYS)) $(if $(RECORDS),--records $(RECORDS)) \
	  $(if $(PAIRS),--pairs $(PAIRS)) $(if $(TRACES),--traces $(abspath $(TRACES))) \
	  --output $(CURDIR)/.build/bench

.PHONY: bench-help
bench-help: ## list the areas and options of make bench, as ROW=, KEYS=, RECORDS= and PAIRS=
	cd Benchmarks && swift run -c release $(SWIFT_FLAGS) larder-bench --help

.PHONY: bench-figures
bench-figures: ## record what make bench measured last, and make the page "Performance" and its chart of it
	@.ci/bench-figures Benchmarks/results.json Sources/Larder/Larder.docc/Performance.md \
	  Sources/Larder/Larder.docc/Resources/disk-10m.svg $(wildcard .build/bench/results.json)

.PHONY: bench-deps
bench-deps: ## install the rivals that the benchmarks compare with
	@.ci/deps base bench

# The C library -----------------------------------------------------------------------------------

C_BUILD = .build/c
C_OBJECTS = $(C_SOURCES:Sources/%.c=$(C_BUILD)/%.o)
STORE_OBJECTS = $(STORE_SOURCES:Sources/%.c=$(C_BUILD)/%.o)
# By sections a program that is linked statically leaves out what it does not call.
C_FLAGS = -std=c11 -D_GNU_SOURCE -DNDEBUG -fPIC -fvisibility=hidden -ffunction-sections \
  -fdata-sections -pthread $(CORE_INCLUDES)
LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include

# What a library is called, and the names by which programs are linked to it and look for it.
ifeq ($(shell uname),Darwin)
shared_name = $(1).$(2).dylib
shared_links = $(1).$(SOVERSION).dylib $(1).dylib
shared_flags = -dynamiclib -install_name $(LIBDIR)/$(1).$(SOVERSION).dylib
LOCALIZE = :
find_beside = install_name_tool -change $(LIBDIR)/liblarder.$(SOVERSION).dylib \
  @loader_path/liblarder.$(SOVERSION).dylib $(1)
else
shared_name = $(1).so.$(2)
shared_links = $(1).so.$(SOVERSION) $(1).so
shared_flags = -shared -Wl,-soname,$(1).so.$(SOVERSION) -Wl,--no-undefined
LOCALIZE = objcopy --localize-hidden
store_flags = -Wl,-rpath,'$$ORIGIN'
find_beside = :
endif

LIBRARY = $(call shared_name,liblarder,$(VERSION))
STORE_LIBRARY = $(call shared_name,liblarder-store,$(VERSION))
LIBRARIES = liblarder.a liblarder-store.a $(LIBRARY) $(STORE_LIBRARY)

.PHONY: c
c: $(addprefix $(C_BUILD)/,$(LIBRARIES)) ## build liblarder and liblarder-store, for C programs

$(C_BUILD)/%.o: Sources/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(C_FLAGS) $(LMDB_CFLAGS) -MMD -MP -c -o $@ $<

-include $(C_OBJECTS:.o=.d) $(STORE_OBJECTS:.o=.d)

$(C_BUILD)/$(LIBRARY): $(C_OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread $(call shared_flags,liblarder) -o $@ $(C_OBJECTS)

$(C_BUILD)/$(STORE_LIBRARY): $(STORE_OBJECTS) $(C_BUILD)/$(LIBRARY)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread $(call shared_flags,liblarder-store) $(store_flags) -o $@ \
	  $^ $(LMDB_LIBS)
	@$(call find_beside,$@)

# One object, in which what the files share with each other has become private to it: a program that
# links the archive meets the same names as one that links the shared library.
$(C_BUILD)/liblarder.a: $(C_OBJECTS)
$(C_BUILD)/liblarder-store.a: $(STORE_OBJECTS)
$(C_BUILD)/liblarder.a $(C_BUILD)/liblarder-store.a:
	@mkdir -p $(C_BUILD)/archive
	$(CC) -r -nostdlib -o $(C_BUILD)/archive/$(@F:.a=.o) $^
	$(LOCALIZE) $(C_BUILD)/archive/$(@F:.a=.o)
	@rm -f $@
	ar rcs $@ $(C_BUILD)/archive/$(@F:.a=.o)

# Found from where larder.pc lies, so that an installed tree can be moved; unless lib/ is elsewhere.
PC_PREFIX = $(if $(filter $(PREFIX)/lib,$(LIBDIR)),$${pcfiledir}/../..,$(PREFIX))
PC_LIBDIR = $(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))
PC_INCLUDEDIR = $(patsubst $(PREFIX)/%,$${prefix}/%,$(INCLUDEDIR))

# Text of a .pc file: $(call pc,NAME,DESCRIPTION), and then further lines.
pc = 'prefix=$(PC_PREFIX)' 'libdir=$(PC_LIBDIR)' 'includedir=$(PC_INCLUDEDIR)' '' \
  'Name: $(1)' 'Version: $(VERSION)' 'Description: $(2)' \
  'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -l$(1)'

# A program that links liblarder-store needs LMDB, but neither its header nor its .pc.
.PHONY: install
install: c ## install headers, liblarder, liblarder-store and their .pc; PREFIX=/usr/local DESTDIR=
	$(INSTALL) -d $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(C_HEADERS) $(STORE_HEADERS) $(DESTDIR)$(INCLUDEDIR)
	$(INSTALL) -m 644 $(C_BUILD)/liblarder.a $(C_BUILD)/liblarder-store.a $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(C_BUILD)/$(LIBRARY) $(C_BUILD)/$(STORE_LIBRARY) $(DESTDIR)$(LIBDIR)
	for link in $(call shared_links,liblarder); do \
	  ln -sf $(LIBRARY) $(DESTDIR)$(LIBDIR)/$$link; \
	done
	for link in $(call shared_links,liblarder-store); do \
	  ln -sf $(STORE_LIBRARY) $(DESTDIR)$(LIBDIR)/$$link; \
	done
	@printf '%s\n' $(call pc,larder,A message log that survives kill -9 at memory speed) \
	  'Libs.private: -pthread' > $(DESTDIR)$(LIBDIR)/pkgconfig/larder.pc
	@printf '%s\n' \
	  $(call pc,larder-store,A durable key-value store: an append-only log with LMDB as its index) \
	  'Requires: larder' 'Libs.private: $(strip $(LMDB_LIBS)) -pthread' \
	  > $(DESTDIR)$(LIBDIR)/pkgconfig/larder-store.pc
	@echo 'Installed. Build with: export PKG_CONFIG_PATH=$(LIBDIR)/pkgconfig' && \
	  echo '  cc app.c $$(pkg-config --cflags --libs larder-store) -Wl,-rpath,$(LIBDIR) -o app'

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/,$(notdir $(C_HEADERS) $(STORE_HEADERS)))
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(LIBRARIES) $(call shared_links,liblarder) \
	  $(call shared_links,liblarder-store))
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/pkgconfig/,larder.pc larder-store.pc)

# The command line tool ---------------------------------------------------------------------------

# On Linux with the Swift runtime inside, as no system comes with one.
TOOL_BUILD = swift build -c release --product larder --scratch-path $(BUILD) $(SWIFT_FLAGS) \
  $(if $(filter Linux,$(shell uname)),--static-swift-stdlib)
BINDIR = $(DESTDIR)$(PREFIX)/bin
MANUAL = $(DESTDIR)$(PREFIX)/share/man/man1/larder.1
# Where the three shells look for completions of programs that a package put under PREFIX.
COMPLETIONS = bash:bash-completion/completions/larder zsh:zsh/site-functions/_larder \
  fish:fish/vendor_completions.d/larder.fish

.PHONY: install-tool
install-tool: deps ## install larder, its manual page and completions for bash, zsh and fish; PREFIX=/usr/local DESTDIR=
	$(TOOL_BUILD)
	$(INSTALL) -d $(BINDIR)
	$(INSTALL) -m 755 -s $$($(TOOL_BUILD) --show-bin-path)/larder $(BINDIR)
	$(INSTALL) -d $(dir $(MANUAL))
	$(BINDIR)/larder manual > $(MANUAL)
	@set -e; for completion in $(COMPLETIONS); do \
	  file=$(DESTDIR)$(PREFIX)/share/$${completion#*:}; \
	  mkdir -p "$$(dirname "$$file")"; \
	  $(BINDIR)/larder --generate-completion-script $${completion%%:*} > "$$file"; \
	done

.PHONY: uninstall-tool
uninstall-tool: ## remove what install-tool put there
	rm -f $(BINDIR)/larder $(MANUAL) \
	  $(foreach file,$(COMPLETIONS),$(DESTDIR)$(PREFIX)/share/$(lastword $(subst :, ,$(file))))

# Housekeeping ------------------------------------------------------------------------------------

SWIFT_CODE = $(wildcard Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources)
C_CODE = $(shell find Sources Tests $(wildcard Benchmarks/Sources) -name '*.[ch]')

.PHONY: format
format: ## format all Swift and C code in place
	swift format --in-place --recursive --parallel $(SWIFT_CODE)
	clang-format -i $(C_CODE)

.PHONY: lint
lint: ## check the format of all Swift and C code, and that planted defects can be put in
	@swift format lint --strict --recursive --parallel $(SWIFT_CODE)
	@wrong=; for file in $(C_CODE); do \
	  clang-format --dry-run --Werror $$file 2>/dev/null || wrong="$$wrong $$file"; \
	done; \
	if [ -n "$$wrong" ]; then echo "lint: make format would change:$$wrong"; exit 1; fi
	@for defect in $$(sed -n '/^swift/d; s/^[^#].*: //p' Tests/*orture/defects.txt); do \
	  [ $$defect = nothing ] || sh Tests/Torture/plant.sh $$defect --check || exit 1; \
	done
	@sh Tests/LMDB/manifest.sh
	@echo "lint: ok"

.PHONY: clean
clean: ## remove everything that was built
	rm -rf .build .build-* Benchmarks/.build

# Documentation -----------------------------------------------------------------------------------

# One site for the Swift modules and the C core, with the articles of Larder's catalogue. A symbol
# graph needs what a module declares and no code, as an editor's index does: nothing of it is
# linked, no C compiled and no test built. So the package behind LarderTracing does not build, whose
# declarations need its code.
DOCS_BUILD = .build-docs
SYMBOLS = .build/docs/symbols
DOCUMENTED_SWIFT = Larder LarderCompatibility LarderCompression LarderEncryption LarderLogging \
  LarderMetrics LarderLifecycle LarderConfiguration LarderRemote
DOCUMENTED = CLarder CLarderStore LarderCore $(DOCUMENTED_SWIFT)
DECLARE = swift build --traits $(ALL_TRAITS:%,Tracing=%) $(SWIFT_FLAGS) \
  --scratch-path $(DOCS_BUILD) --experimental-prepare-for-indexing
EXTRACT = swift symbolgraph-extract -minimum-access-level public -skip-synthesized-members \
  $(if $(filter Darwin,$(shell uname)),-sdk $$(xcrun --show-sdk-path))
DOCC = docc convert Sources/Larder/Larder.docc

.PHONY: docs
docs: ## build the documentation, a static web site, into .build/docs/site
	@set -e; for target in $(DOCUMENTED_SWIFT); do $(DECLARE) --target $$target; done
	@rm -rf .build/docs && mkdir -p $(SYMBOLS)
	@set -e; bin=$$(swift build --scratch-path $(DOCS_BUILD) --show-bin-path); \
	triple=$$(swiftc -print-target-info | sed -n '1,/"triple"/s/.*"triple": "\(.*\)".*/\1/p'); \
	maps=$$(find Sources $(DOCS_BUILD)/checkouts/*/Sources -name module.modulemap); \
	for map in $$maps $$bin/*.build/module.modulemap; do c="$$c -I $$(dirname $$map)"; done; \
	for module in $(DOCUMENTED); do \
	  $(EXTRACT) -target $$triple $$c -I $$bin/Modules -module-name $$module \
	    -output-dir $(SYMBOLS); \
	done
	$(DOCC) --additional-symbol-graph-dir $(SYMBOLS) --output-path .build/docs/site \
	  --fallback-display-name Larder --fallback-bundle-identifier larder \
	  --transform-for-static-hosting

.PHONY: check-docs
check-docs: DOCC += --warnings-as-errors
check-docs: docs ## build the documentation, and fail on a warning such as a broken link

# Source breaks, not binary ones: the modules are not built for library evolution.
BASE ?= $(shell git describe --tags --abbrev=0 2>/dev/null)

.PHONY: api-diff
api-diff: deps ## list public Swift declarations that a change breaks; BASE=, by default the latest tag
	@[ "$(BASE)" ] || { echo "api-diff: no tag to compare with; name a commit: BASE=main"; exit 64; }
	swift package --scratch-path $(BUILD) --traits $(ALL_TRAITS) diagnose-api-breaking-changes $(BASE)
