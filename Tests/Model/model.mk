# SPDX-License-Identifier: MIT
# The model of the store's protocol; included by the Makefile after torture.mk.

MODEL_OUT := .build/model
MODEL_JOBS ?= 2

.PHONY: model
model: ## check the store's protocol as a model, exhaustively, and that planted defects are found
	@CC="$(CC)" sh Tests/Model/run.sh $(CURDIR)/$(MODEL_OUT) $(MODEL_JOBS)
