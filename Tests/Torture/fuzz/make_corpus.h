// SPDX-License-Identifier: MIT
/** @file make_corpus.h
    What the files that write the seeds of the fuzzers share. */
#ifndef TORTURE_MAKE_CORPUS_H
#define TORTURE_MAKE_CORPUS_H

#include <stddef.h>
#include <stdio.h>

/** Writes a file; ends the program if that fails. */
void write_bytes(const char *folder, const char *name, const void *bytes, size_t size);

/** Writes `folder/corpus-cbor`. */
void make_cbor_corpus(const char *folder);

/** Writes `folder/../fixtures`. */
void make_store_fixtures(const char *folder);

#endif
