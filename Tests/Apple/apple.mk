# SPDX-License-Identifier: MIT
# What can be checked for Apple's systems without one of them; included by the Makefile.

.PHONY: check-apple
check-apple: ## compile the C core and type-check the libraries for Apple's systems, on any other
	@sh Tests/Apple/check.sh .build/apple
	@sh Tests/Apple/selftest.sh .build/apple/selftest
