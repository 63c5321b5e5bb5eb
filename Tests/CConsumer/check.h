// SPDX-License-Identifier: MIT
/** @file check.h
    The smallest test runner that C and C++ share: RUN counts a test as failed if any CHECK in it
    did not hold. */
#ifndef CHECK_H
#define CHECK_H

#include <larder.h>

#include <stdio.h>
#include <string.h>

static int check_passed;
static int check_failed;
static int check_broken;

static void check_report(int holds, const char *file, int line, const char *what) {
    if (!holds) {
        check_broken++;
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
    }
}

static void check_status(larder_status status, const char *file, int line, const char *what) {
    if (status != LARDER_OK) {
        check_broken++;
        fprintf(stderr, "%s:%d: %s: %s (%d)\n", file, line, what, larder_strerror(status), status);
    }
}

static inline void check_text(const char *is, const char *should_be, const char *file, int line) {
    if (strcmp(is, should_be) != 0) {
        check_broken++;
        fprintf(stderr, "%s:%d: \"%s\" should be \"%s\"\n", file, line, is, should_be);
    }
}

static void check_run(void (*test)(void), const char *name) {
    check_broken = 0;
    test();
    if (check_broken == 0) {
        check_passed++;
    } else {
        check_failed++;
        fprintf(stderr, "failed: %s\n", name);
    }
}

static int check_summary(void) {
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
}

#define CHECK(condition) check_report((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define CHECK_OK(call) check_status((call), __FILE__, __LINE__, #call)
#define CHECK_TEXT(is, should_be) check_text((is), (should_be), __FILE__, __LINE__)
#define RUN(test) check_run(test, #test)

#endif
