// SPDX-License-Identifier: MIT
// Uses stores whose files somebody has changed who knows their formats. Each use has limits: two
// seconds of the processor, and 256 MiB of memory, or twice what the store has on the disk. A
// crash, a report of a sanitizer and a limit exceeded are failures; answers are not judged here.
// One mutant is one number, which makes it again; a process uses a few, one after the other.
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
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

enum {
    CPU_SECONDS = 2,
    WHOLE_SECONDS = 600,
    MEMORY_KIB = 256 << 10,
    TOLD_BYTES = 2000,
    GROUP_MUTANTS = 16
};

const char *__asan_default_options(void);
/** An allocation beyond the limit is a report of its own; what is freed counts as memory, too,
    until it is reused. */
const char *__asan_default_options(void) {
    return "max_allocation_size_mb=512:detect_leaks=0:handle_segv=1:exitcode=70:"
           "quarantine_size_mb=16:clear_shadow_mmap_threshold=1073741824";
}

typedef struct trials {
    image bases[IMAGE_KINDS];
    const char *directory;
    uint64_t seed, count, first;
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

/** The most memory that this process has had. */
static long memory_kib(void) {
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_maxrss : 0;
}

static long disk_kib_of(const image *what) {
    long bytes = 0;
    for (size_t i = 0; i < what->count; i++) {
        bytes += (long)what->files[i].size;
    }
    return bytes >> 10;
}

/** From now on, whatever was used before. */
static void limit_time(void) {
    struct itimerval cpu = {.it_value = {.tv_sec = CPU_SECONDS}};
    struct itimerval whole = {.it_value = {.tv_sec = WHOLE_SECONDS}};
    (void)setitimer(ITIMER_PROF, &cpu, NULL);
    (void)setitimer(ITIMER_REAL, &whole, NULL);
}

/** Begins the log anew: what was said of the use before is not about this one. */
static void begin_log(uint64_t number, unsigned which, long store, const char *told) {
    (void)!ftruncate(2, 0);
    (void)lseek(2, 0, SEEK_SET);
    dprintf(2, "%llu, use %u, store %ld:%s\n", (unsigned long long)number, which, store, told);
}

/** In a process for it, whose memory was at `least_kib`. Ends the process if it goes wrong. */
static void use_mutant(const trials *all, uint64_t number, long least_kib) {
    char folder[700], target[720], outside[720], told[TOLD_BYTES];
    rng random = rng_make(mix2(all->seed, number));
    image hurt;
    const image *base = &all->bases[rng_below(&random, rng_one_in(&random, 3) ? IMAGE_KINDS : 6)];
    bool good = image_copy(&hurt, base);
    if (good) {
        mutate(&hurt, &random, told, sizeof told);
    }
    snprintf(folder, sizeof folder, "%s/%llu", all->directory, (unsigned long long)number);
    snprintf(target, sizeof target, "%s.target", folder);
    snprintf(outside, sizeof outside, "%s/outside", all->directory);
    // Two uses of each, so that there are more mutants.
    unsigned first = (unsigned)rng_below(&random, EXERCISES);
    for (unsigned i = 0; i < 2 && good; i++) {
        unsigned which = i == 0 ? 1 : first == 1 ? 0 : first;
        begin_log(number, which, base - all->bases, told);
        good = image_write(&hurt, folder, outside);
        if (good) {
            limit_time();
            exercise(which, folder, target, base->keys, rng_next(&random));
            long disk = disk_kib_of(&hurt) * 2, used = memory_kib() - least_kib;
            if (used > (disk > MEMORY_KIB ? disk : MEMORY_KIB)) {
                dprintf(2, "%ld MiB of memory\n", used >> 10);
                _exit(71);
            }
            remove_all(folder);
            remove_all(target);
        }
    }
    if (!good) {
        dprintf(2, "cannot be written: %s\n", strerror(errno));
        _exit(71);
    }
    image_free(&hurt);
}

// Mutants -----------------------------------------------------------------------------------------

/** The line of a log that says most. */
static void cause_of(FILE *log, char *out, size_t room) {
    static const char *const marks[] = {"SUMMARY",  "runtime error",        "ssertion",
                                        "for ever", "requested allocation", " of memory",
                                        "cannot be"};
    char line[400];
    out[0] = 0;
    while (log && fgets(line, sizeof line, log)) {
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !out[0]; i++) {
            if (strstr(line, marks[i])) {
                line[strcspn(line, "\n")] = 0;
                snprintf(out, room, "%s", line);
            }
        }
    }
}

/** Tells of what happened in a process that began with `first`. @return the mutant it was at. */
static uint64_t tell_failure(const trials *all, const char *log, int ended, uint64_t first) {
    char mutant[TOLD_BYTES + 100] = "", cause[400], path[700];
    FILE *from = fopen(log, "r");
    if (from && fgets(mutant, sizeof mutant, from)) {
        mutant[strcspn(mutant, "\n")] = 0;
    }
    cause_of(from, cause, sizeof cause);
    if (from) {
        fclose(from);
    }
    int number = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
    const char *kind = number == SIGPROF   ? " (too much time)"
                       : number == SIGALRM ? " (it waits for ever)"
                                           : "";
    printf("FAILED %s\n  %s %d%s: %s (since %llu)\n", mutant, number ? "signal" : "ended with",
           number ? number : WEXITSTATUS(ended), kind, cause, (unsigned long long)first);
    fflush(stdout);
    uint64_t reached = strtoull(mutant, NULL, 10);
    snprintf(path, sizeof path, "%s/%llu", all->directory, (unsigned long long)reached);
    if (!all->keeps) {
        remove_all(path);
        remove_all(strcat(path, ".target"));
    }
    return reached > first ? reached : first;
}

/** Uses mutants in a process, which is warm after the first: most of what one costs by itself is
    the process.
    @return which of them failed, or `end`. */
static uint64_t try_group(const trials *all, uint64_t first, uint64_t end) {
    char log[700];
    int ended = 0;
    snprintf(log, sizeof log, "%s/%llu.log", all->directory, (unsigned long long)first);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit core = {0, 0};
        int output = open(log, O_RDWR | O_CREAT | O_TRUNC, 0600);
        long least_kib = memory_kib();
        (void)setrlimit(RLIMIT_CORE, &core);
        if (output < 0 || dup2(output, 2) != 2) {
            _exit(71);
        }
        for (uint64_t number = first; number < end; number++) {
            use_mutant(all, number, least_kib);
        }
        _exit(0);
    }
    bool is_known = child > 0 && waitpid(child, &ended, 0) == child;
    uint64_t reached = is_known && ended == 0 ? end : tell_failure(all, log, ended, first);
    (void)unlink(log);
    return reached;
}

static void work(const trials *all, tally *shared) {
    for (;;) {
        uint64_t first = atomic_fetch_add(&shared->next, GROUP_MUTANTS),
                 end = all->first + all->count;
        if (all->until > 0 ? now() > all->until : first >= end) {
            return;
        }
        end = all->until > 0 || end - first > GROUP_MUTANTS ? first + GROUP_MUTANTS : end;
        while (first < end) {
            if (all->stops && shared->failed > 0) {
                return;
            }
            uint64_t reached = try_group(all, first, end);
            bool failed = reached < end;
            shared->failed += failed;
            shared->done += reached + failed - first;
            first = reached + failed;
        }
    }
}

static int run(const trials *all) {
    tally *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 2;
    }
    double start = now();
    shared->next = all->first;
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
    fputs("larder-hostile [--seed N] [--count N | --seconds N] [--first N] [--jobs N] [--stop]\n"
          "               [--keep] [--directory PATH]\n"
          "Uses stores that somebody has changed who knows their formats. With the seed of a\n"
          "failure, --first N --count 1 repeats the mutant that it names.\n",
          stderr);
    return 64;
}

static bool parse(int count, char **values, trials *all) {
    static const struct option known[] = {{"seed", required_argument, NULL, 's'},
                                          {"count", required_argument, NULL, 'n'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"first", required_argument, NULL, 'f'},
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
        case 'f': all->first = number; break;
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
    static trials all = {.seed = 1, .count = 500, .jobs = 2};
    char directory[600], path[700];
    if (!parse(count, values, &all)) {
        return usage();
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
