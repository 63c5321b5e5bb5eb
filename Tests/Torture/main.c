// SPDX-License-Identifier: MIT
// larder-torture: hurts logs, stores and coded values in every way that they have to survive, and
// counts what did not hold.
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failing_calls.h"
#include "store.h"

typedef struct family {
    const char *area;
    const char *name;
    torture_family function;
    /** Share of the time, in percent. The others take what they need. */
    unsigned share;
    const char *summary;
} family;

static const family families[] = {
    {"log", "input", family_input, 0, "arguments and files that no caller should pass"},
    {"log", "exhaustion", family_exhaustion, 0,
     "full disks, limits, every system call failing once"},
    {"log", "failures", family_failures, 0, "memory, threads, files failing in every call"},
    {"log", "model", family_model, 7, "random operations beside a model in memory"},
    {"log", "damage", family_damage, 18, "flipped bytes, truncations, zeroed and swapped pages"},
    {"log", "concurrency", family_concurrency, 13,
     "threads, second openers, fork, readers elsewhere"},
    {"log", "kill", family_kill, 30, "SIGKILL at a random moment, then reopen"},
    {"log", "power", family_power, 25, "pages old, new or torn as after a power cut, then reopen"},
    {"log", "soak", family_soak, 7, "mixed load at full speed: memory, files, descriptors level"},
    {"coding", "coding", family_coding, 8, "CBOR and damaged CBOR beside a simple reference"},
    {"store", "store-input", family_store_input, 0, "arguments and folders that none should pass"},
    {"store", "statuses", family_statuses, 0, "every status that the headers list"},
    {"store", "store-promises", family_store_promises, 0,
     "what was told to be kept, at every place a flush can end"},
    {"store", "store-exhaustion", family_store_exhaustion, 0,
     "full disks, limits, every system call failing once"},
    {"store", "store-failures", family_store_failures, 0,
     "memory, threads, files and LMDB failing in every call"},
    {"store", "store-model", family_store_model, 10, "random operations beside a model in memory"},
    {"store", "store-damage", family_store_damage, 20,
     "any byte flipped, pages zeroed and swapped"},
    {"store", "store-concurrency", family_store_concurrency, 10,
     "threads, second openers, fork, readers elsewhere"},
    {"store", "store-kill", family_store_kill, 30, "SIGKILL at a random moment, then reopen"},
    {"store", "store-power", family_store_power, 30,
     "pages and names old, new or torn as after a power cut"},
};
enum { FAMILIES = sizeof families / sizeof *families };

static void usage(FILE *target) {
    fputs("Usage: larder-torture [options]\n\n"
          "Hurts logs and stores in every way they must survive, and what reads coded values, for\n"
          "about a minute, prints one line for each family of trials and ends with 'N passed, M\n"
          "failed'. Fails if anything did.\n\n"
          "  --area NAME       what to torture: log, store, coding or all (default)\n"
          "  --seconds N       time for everything together (default 60)\n"
          "  --seed N          seed of all random choices (default: a new one, printed)\n"
          "  --family NAME     only this family; may be given several times\n"
          "  --case N          only this case of each family, as a failure tells it\n"
          "  --short           about ten seconds, with fewer repeats\n"
          "  --stop            stop a family at its first failure\n"
          "  --keep            leave the files of the last case behind\n"
          "  --directory PATH  where files go (default: /dev/shm, else $TMPDIR, else /tmp)\n"
          "  --help            this text\n\nFamilies:\n",
          target);
    for (size_t i = 0; i < FAMILIES; i++) {
        fprintf(target, "  %-18s %-7s %s\n", families[i].name, families[i].area,
                families[i].summary);
    }
    fputs("\nExamples:\n"
          "  larder-torture --seconds 120\n"
          "  larder-torture --family kill --family power --seed 42\n",
          target);
}

static uint64_t number(const char *text, const char *option) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-') {
        fprintf(stderr, "larder-torture: --%s takes a number, not '%s'\n", option, text);
        exit(64);
    }
    return value;
}

typedef struct arguments {
    uint64_t seconds, seed, only_case;
    bool seeded, brief, stop, keep;
    bool chosen[FAMILIES];
    bool any_chosen;
    const char *directory;
    /** NULL for all. */
    const char *area;
} arguments;

static void choose(arguments *given, const char *name) {
    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp(families[i].name, name) == 0) {
            given->chosen[i] = given->any_chosen = true;
            return;
        }
    }
    fprintf(stderr, "larder-torture: no family is called '%s'; see --help\n", name);
    exit(64);
}

static void choose_area(arguments *given, const char *name) {
    given->area = NULL;
    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp(families[i].area, name) == 0) {
            given->area = families[i].area;
        }
    }
    if (!given->area && strcmp(name, "all") != 0) {
        fprintf(stderr,
                "larder-torture: no area is called '%s'; there are: log, store, coding, all\n",
                name);
        exit(64);
    }
}

/** A family that was named is run, whatever its area. */
static bool is_wanted(const arguments *given, size_t i) {
    return given->any_chosen ? given->chosen[i]
                             : !given->area || strcmp(given->area, families[i].area) == 0;
}

static arguments parse(int count, char **values) {
    static const struct option known[] = {
        {"area", required_argument, NULL, 'a'},
        {"seconds", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},
        {"family", required_argument, NULL, 'f'},
        {"case", required_argument, NULL, 'c'},
        {"short", no_argument, NULL, 'b'},
        {"stop", no_argument, NULL, 'x'},
        {"directory", required_argument, NULL, 'd'},
        {"keep", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    arguments given = {.only_case = UINT64_MAX};
    int option;
    while ((option = getopt_long(count, values, "h", known, NULL)) != -1) {
        switch (option) {
        case 'a': choose_area(&given, optarg); break;
        case 't': given.seconds = number(optarg, "seconds"); break;
        case 's':
            given.seed = number(optarg, "seed");
            given.seeded = true;
            break;
        case 'f': choose(&given, optarg); break;
        case 'c': given.only_case = number(optarg, "case"); break;
        case 'b': given.brief = true; break;
        case 'x': given.stop = true; break;
        case 'k': given.keep = true; break;
        case 'd': given.directory = optarg; break;
        case 'h': usage(stdout); exit(0);
        default: usage(stderr); exit(64);
        }
    }
    if (optind < count) {
        fprintf(stderr, "larder-torture: '%s' is not an option\n", values[optind]);
        exit(64);
    }
    return given;
}

static void make_workplace(char *path, size_t size, const char *wanted) {
    const char *temporary = getenv("TMPDIR");
    const char *parents[] = {wanted, "/dev/shm", temporary, "/tmp"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        if (!parents[i]) {
            continue;
        }
        snprintf(path, size, "%s/larder-torture.XXXXXX", parents[i]);
        if (mkdtemp(path)) {
            return;
        }
        if (parents[i] == wanted) {
            break;
        }
    }
    fprintf(stderr, "larder-torture: cannot make a directory to work in: %s\n", strerror(errno));
    exit(2);
}

static unsigned total_share(const arguments *given) {
    unsigned total = 0;
    for (size_t i = 0; i < FAMILIES; i++) {
        total += is_wanted(given, i) ? families[i].share : 0;
    }
    return total ? total : 1;
}

int main(int count, char **values) {
    arguments given = parse(count, values);
    if (!given.seconds) {
        given.seconds = given.brief ? 8 : 60;
    }
    if (!given.seeded) {
        given.seed = mix2(now_ns(), (uint64_t)getpid()) % 1000000000u;
    }
    bool terminal = isatty(STDERR_FILENO);
    char workplace[256];
    make_workplace(workplace, sizeof workplace, given.directory);
    printf("seed %llu\n", (unsigned long long)given.seed);
    fflush(stdout);

    uint64_t passed = 0, failed = 0;
    unsigned shares = total_share(&given);
    for (size_t i = 0; i < FAMILIES; i++) {
        if (!is_wanted(&given, i)) {
            continue;
        }
        torture run = {.family = families[i].name,
                       .seed = given.seed,
                       .case_index = UINT64_MAX,
                       .only_case = given.only_case,
                       .brief = given.brief,
                       .stop_at_failure = given.stop,
                       .progress = terminal,
                       .keep = given.keep,
                       .tally = shared_memory(sizeof(tally))};
        snprintf(run.directory, sizeof run.directory, "%s/%s", workplace, families[i].name);
        make_directory(run.directory);
        run.started_ns = now_ns();
        run.deadline_ns = run.started_ns + given.seconds * 1000000000u * families[i].share / shares;
        families[i].function(&run);
        uint64_t trials = atomic_load(&run.tally->trials);
        uint64_t failures = atomic_load(&run.tally->failures);
        printf("%s%-18s %8llu trials %6llu failed  %6.1f s\n", terminal ? "\r\033[K" : "",
               run.family, (unsigned long long)trials, (unsigned long long)failures,
               (double)(now_ns() - run.started_ns) / 1e9);
        fflush(stdout);
        passed += trials > failures ? trials - failures : 0;
        failed += failures;
        if (!given.keep) {
            remove_tree(run.directory);
        }
    }
    if (given.keep) {
        printf("files are in %s\n", workplace);
    } else {
        remove_tree(workplace);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed ? 1 : 0;
}
