// SPDX-License-Identifier: MIT
// Sources: string(3), bstring(3); Libc's include/string.h.
#ifndef LARDER_DARWIN_STRING_H
#define LARDER_DARWIN_STRING_H

#include <sys/types.h>

int memcmp(const void *one, const void *other, size_t length);
void *memcpy(void *target, const void *source, size_t length);
void *memmove(void *target, const void *source, size_t length);
void *memset(void *target, int byte, size_t length);
int strcmp(const char *one, const char *other);
char *strdup(const char *text);
size_t strlen(const char *text);
char *strchr(const char *text, int character);
char *strrchr(const char *text, int character);

#endif
