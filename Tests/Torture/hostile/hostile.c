// SPDX-License-Identifier: MIT
#include "hostile.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER_USER = 65534 };

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
