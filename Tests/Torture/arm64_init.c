// SPDX-License-Identifier: MIT
/** @file arm64_init.c
    The first and only program of an emulated machine: runs the harness with the arguments that the
    kernel passes on, says how it ended, and turns the machine off. Called for by arm64.sh. */
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void mount_at(const char *path, const char *type) {
    mkdir(path, 0755);
    if (mount(type, path, type, 0, NULL)) perror(path);
}

int main(int count, char *arguments[]) {
    (void)count;
    mount_at("/proc", "proc");
    mount_at("/sys", "sysfs");
    mount_at("/dev", "devtmpfs");
    mount_at("/tmp", "tmpfs");
    mount_at("/dev/shm", "tmpfs");
    printf("Pages of %ld KiB\n", sysconf(_SC_PAGESIZE) / 1024);
    fflush(stdout);
    pid_t harness = fork();
    if (harness == 0) {
        arguments[0] = "/larder-torture";
        execv(arguments[0], arguments);
        perror(arguments[0]);
        _exit(127);
    }
    int status = -1;
    waitpid(harness, &status, 0);
    printf("The harness ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
    reboot(RB_POWER_OFF);
}
