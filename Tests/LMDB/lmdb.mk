# SPDX-License-Identifier: MIT
# Other versions of LMDB, and another C library; included by the Makefile.
#
#   make test-lmdb                          openers, torture and the Swift tests of the store with
#                                           each version
#   make test-lmdb VERSIONS=0.9.31 OPENERS_SECONDS=5 SWIFT_TESTS=
#                                           one of them, less of it
#   make test-musl                          static programs, alone and beside others

VERSIONS ?= 0.9.24 0.9.29 0.9.31 0.9.33 0.9.35
OPENERS_SECONDS ?= 30
# With what `make test-swift` has built.
SWIFT_TESTS ?= $(SWIFT_TEST) $(WITH_TRAITS) --scratch-path $(BUILD) --skip-build --filter DiskCache
LMDB_TORTURE = $(TORTURE_OUT)/larder-torture --area store --short --seed $(or $(SEED),1)

.PHONY: test-lmdb test-musl
test-lmdb: $(TORTURE_OUT)/larder-torture ## run what uses LMDB with several of its versions
	@MAKE="$(MAKE)" CC="$(CC)" SWIFT_TESTS="$(SWIFT_TESTS)" \
	  TORTURE="$(LMDB_TORTURE)" \
	  sh Tests/LMDB/run.sh $(OPENERS_SECONDS) $(VERSIONS)

MUSL_SECONDS ?= 5
test-musl: ## run the C core as static programs with musl, alone and beside others
	@$(MAKE) -s test-lmdb VERSIONS=0.9.35 OPENERS_SECONDS=2 SWIFT_TESTS= \
	  LMDB_TORTURE=
	@sh Tests/LMDB/musl.sh $(MUSL_SECONDS) 0.9.35
