// SPDX-License-Identifier: MIT
#include "children.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAKES_ADDRESSES 1
#elif defined(__has_feature)
#define TAKES_ADDRESSES (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define TAKES_ADDRESSES 0
#endif

enum { OTHER_USER = 65534, MEMORY_MIB = 256 };

bool hostile_has_other_user(void) { return geteuid() == 0; }

/** Relative paths lead into the folder also where its parents are shut. */
static bool become(const char *path, bool is_other) {
    return chdir(path) == 0 && (!is_other || (setgroups(0, NULL) == 0 && setgid(OTHER_USER) == 0 &&
                                              setuid(OTHER_USER) == 0));
}

bool hostile_as_other(const char *path, bool (*body)(void *context), void *context) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        _exit(become(path, true) && body(context) ? 0 : 1);
    }
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

pid_t hostile_start(const char *path, bool is_other, void (*body)(void *context, int ready),
                    void *context) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) {
        return -1;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (become(path, is_other)) {
            body(context, ends[1]);
        }
        _exit(1);
    }
    close(ends[1]);
    bool is_ready = child > 0 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    if (is_ready || child <= 0) {
        return child;
    }
    hostile_end(child);
    return -1;
}

void hostile_end(pid_t child) {
    if (child <= 0) {
        return;
    }
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static long peak_kib(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static long began_kib;

void hostile_begin(unsigned seconds) {
    const struct itimerval limit = {.it_value = {.tv_sec = (time_t)seconds}};
    (void)setitimer(ITIMER_PROF, &limit, NULL);
    began_kib = peak_kib();
    unsigned long pages = 0;
    FILE *memory = TAKES_ADDRESSES ? NULL : fopen("/proc/self/statm", "r");
    if (!memory) {
        return;
    }
    if (fscanf(memory, "%lu", &pages) == 1) {
        rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)MEMORY_MIB << 20);
        const struct rlimit most = {bytes, RLIM_INFINITY};
        (void)setrlimit(RLIMIT_AS, &most);
    }
    (void)fclose(memory);
}

void hostile_end_of(torture *run) {
    EXPECT(run, peak_kib() - began_kib < MEMORY_MIB * 1024L, "it took %ld KiB",
           peak_kib() - began_kib);
}

void hostile_limit_files(uint64_t bytes) {
    const struct rlimit most = {bytes, RLIM_INFINITY};
    (void)setrlimit(RLIMIT_FSIZE, &most);
}
