// SPDX-License-Identifier: MIT
/** @file namesakes.c
    What a program may call its own functions: Larder, linked statically, neither collides with them
    nor calls them. */
#include <stdlib.h>

void file_open(void);
void record_find(void);
void apply_begin(void);
void journal_open(void);
void store_open(void);

void file_open(void) { abort(); }
void record_find(void) { abort(); }
void apply_begin(void) { abort(); }
void journal_open(void) { abort(); }
void store_open(void) { abort(); }
