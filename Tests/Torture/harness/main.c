// SPDX-License-Identifier: MIT
// larder-torture: hurts logs, stores and coded values in every way that they have to survive, and
// counts what did not hold.
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "feed_model.h"
#include "memory.h"
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
    {"log", "rare", family_rare, 0, "copies, progress, cursors and files that are rare"},
    {"log", "exhaustion", family_exhaustion, 0,
     "full disks, limits, every system call failing once"},
    {"log", "failures", family_failures, 0, "memory, threads, files failing in every call"},
    {"log", "model", family_model, 7, "random operations beside a model in memory"},
    {"log", "damage", family_damage, 13, "flipped bytes, truncations, zeroed and swapped pages"},
    {"log", "fields", family_fields, 0, "every field of headers and records set wrong"},
    {"log", "lines", family_lines, 0, "parts of headers that are zeros or noise, nothing untold"},
    {"log", "concurrency", family_concurrency, 13,
     "threads, second openers, fork, readers elsewhere"},
    {"log", "kill", family_kill, 30, "SIGKILL at a random moment, then reopen"},
    {"log", "power", family_power, 20, "pages old, new or torn as after a power cut, then reopen"},
    {"log", "failed-syncs", family_failed_syncs, 10,
     "the same where syncs fail and the file is opened again"},
    {"log", "resize-cut", family_resize_cut, 0, "resizes killed and failing, then syncs"},
    {"log", "others", family_others, 0, "files and locks that other users prepared"},
    {"log", "hostile", family_hostile, 12,
     "logs with anything changed and every checksum mended, in little time and memory"},
    {"log", "wreck", family_wreck, 10, "damage to logs that were closed, killed, rebooted, copied"},
    {"log", "soak", family_soak, 7, "mixed load at full speed: memory, files, descriptors level"},
    {"coding", "coding", family_coding, 8, "CBOR and damaged CBOR beside a simple reference"},
    {"memory", "memory", family_memory, 0, "indexes beside a model, threads, contradictions"},
    {"store", "store-input", family_store_input, 0, "arguments and folders that none should pass"},
    {"store", "store-others", family_store_others, 0,
     "what other users prepare, link, lock and hold"},
    {"store", "store-rare", family_store_rare, 0, "rare options, codes, folders and limits"},
    {"store", "store-rare-tree", family_store_rare_tree, 0, "trees made by hand"},
    {"store", "store-rare-data", family_store_rare_data, 0, "rare states of data.mdb and LMDB"},
    {"store", "store-rare-repair", family_store_rare_repair, 0,
     "checks, copies and salvages beside what is rare"},
    {"store", "store-rare-read", family_store_rare_read, 0,
     "rows that lead nowhere, logs with holes, handles that ended"},
    {"store", "store-rare-log", family_store_rare_log, 0,
     "rows, records and failures that are rare in the log and in checkpoints"},
    {"store", "statuses", family_statuses, 0, "every status that the headers list"},
    {"store", "descriptors", family_descriptors, 0,
     "programs with a closed input, output or error"},
    {"store", "store-promises", family_store_promises, 0,
     "syncs that failed, paths that changed, the log alone"},
    {"store", "store-exhaustion", family_store_exhaustion, 0, "full disks, limits of the process"},
    {"store", "store-full", family_store_full, 5, "disks filled, emptied and filled again"},
    {"store", "store-many", family_store_many, 0, "many stores open in one process"},
    {"store", "store-growth", family_store_growth, 0,
     "new stores whose first checkpoint is large, seen by every handle"},
    {"store", "store-limits", family_store_limits, 8,
     "limits at full speed and after kills: values beyond them, bytes on disk"},
    {"store", "store-failures", family_store_failures, 0,
     "memory, threads, files and LMDB failing in every call"},
    {"store", "store-model", family_store_model, 10, "random operations beside a model in memory"},
    {"store", "store-damage", family_store_damage, 20,
     "any byte flipped, pages zeroed and swapped"},
    {"store", "store-remains", family_store_remains, 15,
     "files missing, older, swapped, cut short: what an open finds beside a salvage"},
    {"store", "store-pages", family_store_pages, 0, "every field of LMDB's pages set wrong"},
    {"store", "store-rows", family_store_rows, 0, "rows of the tree changed, in sound pages"},
    {"store", "store-bits", family_store_bits, 2, "a bit of data.mdb changed, nothing left out"},
    {"store", "store-records", family_store_records, 0, "every field of the log's records wrong"},
    {"store", "store-concurrency", family_store_concurrency, 10,
     "threads, second openers, fork, a shutdown in use"},
    {"store", "store-readers", family_store_readers, 10,
     "readers in other processes beside a writer that cleans, compacts, is killed and recovers"},
    {"store", "store-explore", family_store_explore, 30,
     "short runs ended at every system call: kills, power cuts, failures"},
    {"store", "store-kill", family_store_kill, 20, "SIGKILL at a random moment, then reopen"},
    {"store", "store-power", family_store_power, 20,
     "pages and names old, new or torn as after a power cut"},
    {"store", "feed", family_feed, 15,
     "consumers of changes in other processes: kills and power cuts of both sides"},
    {"large", "store-kill-large", family_store_kill_large, 1,
     "SIGKILL twice and three times in flushes of 100,000 writes"},
    {"blocks", "store-blocks", family_store_blocks, 1,
     "ext4 cut at every flush of its device, which needs root"},
};
enum { FAMILIES = sizeof families / sizeof *families };

static void usage(FILE *target) {
    fputs("Usage: larder-torture [options]\n\n"
          "Hurts logs and stores in every way they must survive, and what reads coded values, for\n"
          "about a minute, prints one line for each family of trials and ends with 'N passed, M\n"
          "failed'. Fails if anything did.\n\n"
          "  --area NAME       what to torture: log, store, coding, memory, large, blocks or\n"
          "                    all (default), which leaves large and blocks out\n"
          "  --seconds N       time for everything together (default 60)\n"
          "  --seed N          seed of all random choices (default: a new one, printed)\n"
          "  --family NAME     only this family; may be given several times\n"
          "  --case N          only this case of each family, as a failure tells it\n"
          "  --count N         so many stores in store-many (default 100)\n"
          "  --short           about ten seconds, with fewer repeats\n"
          "  --whole           store-explore: everything, however long it takes\n"
          "  --rounds N        store-kill-large: how many (default 14)\n"
          "  --jobs N          processes that share a family's cases (default: two a core)\n"
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
    uint64_t seconds, seed, only_case, count, jobs, rounds;
    bool seeded, brief, is_whole, stop, keep;
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
                "larder-torture: no area is called '%s'; there are: log, store, coding, memory, "
                "large, blocks, all\n",
                name);
        exit(64);
    }
}

/** A family that was named is run, whatever its area. */
static bool is_wanted(const arguments *given, size_t i) {
    return given->any_chosen ? given->chosen[i]
           : given->area     ? strcmp(given->area, families[i].area) == 0
                             : !strstr("large blocks", families[i].area);
}

static arguments parse(int count, char **values) {
    static const struct option known[] = {
        {"area", required_argument, NULL, 'a'},
        {"seconds", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},
        {"family", required_argument, NULL, 'f'},
        {"case", required_argument, NULL, 'c'},
        {"count", required_argument, NULL, 'n'},
        {"short", no_argument, NULL, 'b'},
        {"whole", no_argument, NULL, 'w'},
        {"jobs", required_argument, NULL, 'j'},
        {"rounds", required_argument, NULL, 'r'},
        {"stop", no_argument, NULL, 'x'},
        {"directory", required_argument, NULL, 'd'},
        {"keep", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    arguments given = {.only_case = UINT64_MAX, .rounds = 14};
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
        case 'n': given.count = number(optarg, "count"); break;
        case 'b': given.brief = true; break;
        case 'w': given.is_whole = true; break;
        case 'r': given.rounds = number(optarg, "rounds"); break;
        case 'j': given.jobs = number(optarg, "jobs"); break;
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

/** Several processes share the cases of those that take no notice of what else runs. */
static unsigned jobs_of(const arguments *given, torture_family function) {
    bool is_shared = function == family_store_explore || function == family_store_kill ||
                     function == family_store_power || function == family_store_kill_large;
    if (!is_shared || given->only_case != UINT64_MAX) {
        return 1;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return given->jobs && given->jobs < 1000 ? (unsigned)given->jobs
           : cores > 0 && cores < 1000       ? 2 * (unsigned)cores // They wait half of the time.
                                             : 1;
}

/** Runs a family, in one process or in several, each with a folder and a tally of its own. */
static tally run_jobs(torture *run, torture_family function) {
    tally *tallies = shared_memory(run->jobs * sizeof *tallies);
    pid_t *children = calloc(run->jobs, sizeof *children);
    torture own = *run;
    own.tallies = tallies;
    make_directory(run->directory);
    for (own.job = 0; children && own.job < run->jobs; own.job++) {
        own.tally = &tallies[own.job];
        own.progress = run->progress && own.job == 0;
        if (run->jobs > 1) {
            snprintf(own.directory, sizeof own.directory, "%.480s/%u", run->directory, own.job);
        }
        make_directory(own.directory);
        fflush(NULL);
        if (run->jobs == 1) {
            function(&own);
        } else if ((children[own.job] = fork()) == 0) {
            function(&own);
            fflush(NULL);
            _exit(0);
        }
    }
    tally sum = {0};
    for (unsigned i = 0; children && i < run->jobs; i++) {
        int status = 0;
        if (run->jobs > 1 &&
            (waitpid(children[i], &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))) {
            own.tally = &tallies[i];
            torture_fail(&own, "a process of the family ended with 0x%x in: %s", status,
                         tallies[i].note);
        }
        sum.trials += tallies[i].trials;
        sum.failures += tallies[i].failures;
        sum.kills += tallies[i].kills;
        sum.kills_in_a_row += tallies[i].kills_in_a_row;
        sum.images += tallies[i].images;
        sum.images_inside += tallies[i].images_inside;
        sum.faults += tallies[i].faults;
        sum.calls += tallies[i].calls;
        sum.workloads += tallies[i].workloads;
    }
    free(children);
    return sum;
}

static void tell_counts(const tally *sum) {
    if (sum->calls) {
        printf("  %llu workloads whole; %llu system calls, %llu made to fail\n",
               (unsigned long long)sum->workloads, (unsigned long long)sum->calls,
               (unsigned long long)sum->faults);
    }
    if (sum->kills) {
        printf("  %llu kills, %llu of them in a row\n", (unsigned long long)sum->kills,
               (unsigned long long)sum->kills_in_a_row);
    }
    if (sum->images) {
        printf("  %llu power images", (unsigned long long)sum->images);
        if (sum->images_inside) {
            printf(", %llu of them inside checkpoints and cleaning",
                   (unsigned long long)sum->images_inside);
        }
        puts("");
    }
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
                       .count = given.count,
                       .rounds = given.rounds,
                       .brief = given.brief,
                       .is_whole = given.is_whole,
                       .stop_at_failure = given.stop,
                       .progress = terminal,
                       .keep = given.keep};
        snprintf(run.directory, sizeof run.directory, "%s/%s", workplace, families[i].name);
        run.jobs = jobs_of(&given, families[i].function);
        run.started_ns = now_ns();
        run.deadline_ns = run.started_ns + given.seconds * 1000000000u * families[i].share / shares;
        // So much finds what is planted.
        if (given.brief && (families[i].function == family_power ||
                            families[i].function == family_store_readers)) {
            run.deadline_ns = run.started_ns + UINT64_C(15000000000);
        }
        tally sum = run_jobs(&run, families[i].function);
        uint64_t trials = sum.trials, failures = sum.failures;
        printf("%s%-18s %8llu trials %6llu failed  %6.1f s\n", terminal ? "\r\033[K" : "",
               run.family, (unsigned long long)trials, (unsigned long long)failures,
               (double)(now_ns() - run.started_ns) / 1e9);
        tell_counts(&sum);
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
