// SPDX-License-Identifier: MIT
// Uses stores whose files somebody has changed who knows their formats. Each use is a process with
// limits of its own: two seconds of the processor, and 256 MiB of memory, or twice what the store
// has on the disk. A crash, a report of a sanitizer and a limit exceeded are failures; what is
// answered is not judged here. One mutant is one number, which makes it again.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

enum { CPU_SECONDS = 2, WHOLE_SECONDS = 60, MEMORY_KIB = 256 << 10, TOLD_BYTES = 2000 };

const char *__asan_default_options(void);
/** An allocation beyond the limit is a report of its own. */
const char *__asan_default_options(void) {
    return "max_allocation_size_mb=512:detect_leaks=0:handle_segv=1:exitcode=70";
}

typedef struct trials {
    image bases[IMAGE_KINDS];
    const char *directory;
    uint64_t seed, count, only;
    double until;
    unsigned jobs;
    bool stops, keeps;
} trials;

/** What the processes share. */
typedef struct tally {
    _Atomic uint64_t next, done, failed;
} tally;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *at) {
    (void)facts, (void)kind, (void)at;
    return remove(path);
}

static void remove_all(const char *path) { (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

// One use -----------------------------------------------------------------------------------------

static void limit_child(const char *log) {
    struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS + 1};
    struct rlimit core = {0, 0};
    int output = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)setrlimit(RLIMIT_CPU, &cpu);
    (void)setrlimit(RLIMIT_CORE, &core);
    (void)alarm(WHOLE_SECONDS);
    if (output >= 0) {
        (void)dup2(output, 2);
        close(output);
    }
}

/** The line of a report that says most. */
static void cause_of(const char *log, char *out, size_t room) {
    static const char *const marks[] = {"SUMMARY", "runtime error", "ssertion", "for ever",
                                        "requested allocation"};
    char line[400];
    FILE *from = fopen(log, "r");
    out[0] = 0;
    while (from && fgets(line, sizeof line, from)) {
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !out[0]; i++) {
            if (strstr(line, marks[i])) {
                line[strcspn(line, "\n")] = 0;
                snprintf(out, room, "%s", line);
            }
        }
    }
    if (from) {
        fclose(from);
    }
}

/** @return whether it went well; else why not, in `why`. */
static bool use_once(unsigned which, const char *folder, const char *target, uint64_t seed,
                     long disk_kib, char *why, size_t room) {
    char log[1200];
    struct rusage mine, used = {.ru_maxrss = 0};
    int ended = 0;
    snprintf(log, sizeof log, "%s.log", folder);
    getrusage(RUSAGE_SELF, &mine);
    pid_t child = fork();
    if (child == 0) {
        limit_child(log);
        exercise(which, folder, target, seed);
        _exit(0);
    }
    if (child < 0 || wait4(child, &ended, 0, &used) != child) {
        snprintf(why, room, "no process could be had");
        return false;
    }
    long most = mine.ru_maxrss + (disk_kib * 2 > MEMORY_KIB ? disk_kib * 2 : MEMORY_KIB);
    why[0] = 0;
    if (WIFSIGNALED(ended)) {
        int number = WTERMSIG(ended);
        const char *kind = number == SIGXCPU || number == SIGKILL ? " (too much time)"
                           : number == SIGALRM                    ? " (it waits for ever)"
                                                                  : "";
        snprintf(why, room, "signal %d%s: ", number, kind);
    } else if (WEXITSTATUS(ended) != 0) {
        snprintf(why, room, "ended with %d: ", WEXITSTATUS(ended));
    } else if (used.ru_maxrss > most) {
        snprintf(why, room, "%ld MiB of memory", (used.ru_maxrss - mine.ru_maxrss) >> 10);
    }
    if (why[0]) {
        cause_of(log, why + strlen(why), room - strlen(why));
    }
    (void)unlink(log);
    return !why[0];
}

static long disk_kib_of(const image *what) {
    long bytes = 0;
    for (size_t i = 0; i < what->count; i++) {
        bytes += (long)what->files[i].size;
    }
    return bytes >> 10;
}

// Mutants -----------------------------------------------------------------------------------------

/** @return whether nothing was found. */
static bool try_mutant(const trials *all, uint64_t number) {
    char folder[700], target[720], outside[720], told[TOLD_BYTES], why[600];
    rng random = rng_make(mix2(all->seed, number));
    image hurt;
    const image *base = &all->bases[rng_below(&random, IMAGE_KINDS)];
    if (!image_copy(&hurt, base)) {
        return false;
    }
    mutate(&hurt, &random, told, sizeof told);
    bool good = true;
    snprintf(folder, sizeof folder, "%s/%llu", all->directory, (unsigned long long)number);
    snprintf(target, sizeof target, "%s.target", folder);
    snprintf(outside, sizeof outside, "%s/outside", all->directory);
    // Two uses of each, so that there are more mutants.
    unsigned first = (unsigned)rng_below(&random, EXERCISES);
    for (unsigned i = 0; i < 2 && good; i++) {
        unsigned which = i == 0 ? 1 : first == 1 ? 0 : first;
        if (!image_write(&hurt, folder, outside)) {
            printf("FAILED %llu: cannot be written: %s\n", (unsigned long long)number,
                   strerror(errno));
            good = false;
        } else if (!use_once(which, folder, target, rng_next(&random), disk_kib_of(&hurt), why,
                             sizeof why)) {
            printf("FAILED %llu, use %u, store %d:%s\n  %s\n", (unsigned long long)number, which,
                   (int)(base - all->bases), told, why);
            good = false;
        }
        if (good || !all->keeps) {
            remove_all(folder);
            remove_all(target);
        }
    }
    fflush(stdout);
    image_free(&hurt);
    return good;
}

static void work(const trials *all, tally *shared) {
    for (;;) {
        uint64_t number = atomic_fetch_add(&shared->next, 1);
        bool is_over = all->until > 0 ? now() > all->until : number >= all->count;
        if (is_over || (all->stops && shared->failed > 0)) {
            return;
        }
        if (!try_mutant(all, all->only != UINT64_MAX ? all->only : number)) {
            shared->failed++;
        }
        shared->done++;
    }
}

static int run(const trials *all) {
    tally *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 2;
    }
    double start = now();
    for (unsigned job = 0; job < all->jobs; job++) {
        if (fork() == 0) {
            work(all, shared);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    printf("hostile stores       %8llu mutants, %llu failed, seed %llu %10.0f s\n",
           (unsigned long long)shared->done, (unsigned long long)shared->failed,
           (unsigned long long)all->seed, now() - start);
    return shared->failed > 0 || shared->done == 0 ? 1 : 0;
}

static int usage(void) {
    fputs("larder-hostile [--seed N] [--count N | --seconds N] [--only N] [--jobs N] [--stop]\n"
          "               [--keep] [--directory PATH]\n"
          "Uses stores that somebody has changed who knows their formats. --only repeats the\n"
          "mutant that a failure names, with the same seed.\n",
          stderr);
    return 64;
}

static bool parse(int count, char **values, trials *all) {
    static const struct option known[] = {{"seed", required_argument, NULL, 's'},
                                          {"count", required_argument, NULL, 'n'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"stop", no_argument, NULL, 'x'},
                                          {"directory", required_argument, NULL, 'd'},
                                          {"keep", no_argument, NULL, 'k'},
                                          {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(count, values, "", known, NULL)) != -1) {
        uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (option) {
        case 's': all->seed = number; break;
        case 'n': all->count = number; break;
        case 't': all->until = now() + (double)number; break;
        case 'o': all->only = number; break;
        case 'j': all->jobs = (unsigned)number; break;
        case 'x': all->stops = true; break;
        case 'k': all->keeps = true; break;
        case 'd': all->directory = optarg; break;
        default: return false;
        }
    }
    return optind == count && all->jobs > 0;
}

int main(int count, char **values) {
    static trials all = {.seed = 1, .count = 500, .only = UINT64_MAX, .jobs = 2};
    char directory[600], path[700];
    if (!parse(count, values, &all)) {
        return usage();
    }
    if (all.only != UINT64_MAX) {
        all.count = all.jobs = 1;
        all.until = 0;
    }
    snprintf(directory, sizeof directory, "%s/larder-hostile-%d",
             all.directory ? all.directory : "/dev/shm", (int)getpid());
    all.directory = directory;
    snprintf(path, sizeof path, "%s/outside", directory);
    bool good = mkdir(directory, 0700) == 0;
    FILE *outside = good ? fopen(path, "w") : NULL;
    good = outside && fputs("precious", outside) >= 0;
    good = outside && fclose(outside) == 0 && good;
    for (unsigned kind = 0; kind < IMAGE_KINDS && good; kind++) {
        snprintf(path, sizeof path, "%s/base-%u", directory, kind);
        good = image_make(&all.bases[kind], path, kind);
        if (!good) {
            fprintf(stderr, "larder-hostile: no store of kind %u\n", kind);
        }
        remove_all(path);
    }
    int status = good ? run(&all) : 2;
    if (!all.keeps) {
        remove_all(directory);
    }
    return status;
}
