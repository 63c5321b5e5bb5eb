// SPDX-License-Identifier: MIT
// Sources: stdio(3); Libc's include/stdio.h.
#ifndef LARDER_DARWIN_STDIO_H
#define LARDER_DARWIN_STDIO_H

#include <sys/types.h>

int asprintf(char **out, const char *format, ...) DARWIN_FORMAT(2, 3);
int renameat(int folder, const char *from, int other, const char *to);
int snprintf(char *out, size_t size, const char *format, ...) DARWIN_FORMAT(3, 4);
int sscanf(const char *text, const char *format, ...) DARWIN_SCAN(2, 3);

#endif
