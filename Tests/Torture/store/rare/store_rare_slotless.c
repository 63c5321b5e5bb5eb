// SPDX-License-Identifier: MIT
// Readers without a place in LMDB's table, which no writer sees: at each of the calls that a look
// of theirs makes, another process writes, runs checkpoints, and so deletes what they were about
// to read. And compactions, which put another file in the place of the one that they read. And
// readers with a place, of a state that LMDB's table names when a newer one is there.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "larder_store_feed.h"
#include "store_rare.h"

enum { KEYS = 32, VALUE_BYTES = 250, FEW = 5, ROUNDS = 20, SPACE_PERCENT = 100 };

// The writer --------------------------------------------------------------------------------------

/** Another process, and what it does at one of the reader's calls: each letter of the script is
    writes, of every key, "w", or of a few, "p", a checkpoint, "f", many of both, "g", or a
    compaction, "c". */
static struct {
    torture *run;
    const char *path;
    int asks[2], answers[2];
    const char *before, *script;
    unsigned calls, at;
    bool acts_at_maps;
    uint64_t writes, before_that;
} other;

/** Each round has an order of its own, so that every segment dies little by little. */
static unsigned key_of(uint64_t number) {
    return (unsigned)((number - 1) * ((number - 1) / KEYS % 2 == 1 ? 5 : 1) % KEYS);
}

/** Of the write of that number, one for each key in turn. */
static size_t length_of(uint64_t number) { return VALUE_BYTES + (size_t)((number - 1) / KEYS); }

static unsigned count_of(char asked) {
    return asked == 'g' ? ROUNDS * KEYS : asked == 'w' ? KEYS : asked == 'p' ? FEW : 0;
}

static larder_status write_some(larder_store *store, uint64_t from, uint64_t to) {
    static char value[2 * VALUE_BYTES];
    larder_status status = LARDER_OK;
    for (uint64_t n = from + 1; n <= to && !status; n++) {
        memset(value, 'v', length_of(n));
        value[length_of(n)] = 0;
        status = rare_put(store, key_of(n), value);
    }
    return status;
}

static larder_status write_rounds(larder_store *store, uint64_t from, unsigned rounds) {
    larder_status status = LARDER_OK;
    for (unsigned n = 0; n < rounds && !status; n++, from += KEYS) {
        status = write_some(store, from, from + KEYS);
        if (!status) status = larder_store_flush(store);
    }
    return status;
}

/** Writes beside a snapshot, for which data.mdb grows: most of it is free then. */
static larder_status grow(larder_store *store, uint64_t writes) {
    larder_store_cursor *cursor = NULL;
    larder_store_query every;
    larder_store_query_init(&every);
    larder_status status = larder_store_cursor_open(store, &every, &cursor);
    if (!status) status = write_rounds(store, writes, ROUNDS);
    larder_store_cursor_close(cursor);
    return status;
}

static larder_status compact(const char *path, larder_store **store) {
    larder_store_close(*store);
    larder_status status = larder_store_compact(path, NULL, NULL, NULL, NULL, NULL);
    return status ? status : opened_small(path, 0, SPACE_PERCENT, store);
}

static noreturn void write_when_asked(const char *path) {
    larder_store *store;
    // So that it ends when there is nobody to ask it.
    close(other.asks[1]);
    close(other.answers[0]);
    larder_status status = opened_small(path, 0, SPACE_PERCENT, &store);
    uint64_t writes = 0;
    char asked, answer;
    while (read(other.asks[0], &asked, 1) == 1) {
        unsigned count = count_of(asked);
        if (!status && asked == 'g') status = grow(store, writes);
        else if (!status && asked == 'c') status = compact(path, &store);
        else if (!status && count > 0) status = write_some(store, writes, writes + count);
        else if (!status) status = larder_store_flush(store);
        writes += count;
        answer = (char)(status != LARDER_OK);
        if (write(other.answers[1], &answer, 1) != 1) break;
    }
    _exit(1);
}

static void ask(const char *script) {
    for (; *script != 0; script++) {
        char answer = 1;
        bool is_done =
            write(other.asks[1], script, 1) == 1 && read(other.answers[0], &answer, 1) == 1;
        // Whoever is in the middle of opening LMDB may keep a compaction from doing so.
        EXPECT(other.run, is_done && (answer == 0 || *script == 'c'), "the writer failed at '%c'",
               *script);
        other.writes += count_of(*script);
    }
}

/** Where segments are opened, and where the tree's rows of them are listed; or where files are
    mapped. */
static void act_meanwhile(const char *call, const void *what) {
    (void)what;
    bool counts = other.acts_at_maps
                      ? strcmp(call, "system mmap") == 0
                      : strcmp(call, "system openat") == 0 || strcmp(call, "memory") == 0;
    if (!counts || ++other.calls != other.at) return;
    other.at = 0;
    ask(other.script);
}

// What is seen ------------------------------------------------------------------------------------

/** @param least writes that had returned before. */
typedef void (*look)(torture *run, larder_store *store, uint64_t least);

/** Whether a writer went on, which is all that may keep a look from an answer. */
static bool is_overtaken(torture *run, larder_status status, const char *name) {
    EXPECT(run, status == LARDER_OK || status == LARDER_EBUSY, "%s gave %d (%s)", name, status,
           larder_strerror(status));
    return status != LARDER_OK;
}

static void is_of_time(torture *run, const char *name, uint64_t number, uint64_t least) {
    EXPECT(run, number >= least && number <= other.writes,
           "%s is of write %" PRIu64 ", and %" PRIu64 " had returned", name, number, least);
}

/** What is under a key behind that many writes: the last of them of the key. */
static uint64_t held_by(uint64_t writes, unsigned key) {
    for (uint64_t n = writes; n > 0 && n + 2 * KEYS > writes; n--)
        if (key_of(n) == key) return n;
    return 0;
}

/** @param bytes of all values; UINT64_MAX if that was not asked for. */
static void is_sum_of_time(torture *run, const char *name, uint64_t count, uint64_t bytes,
                           uint64_t least) {
    bool is_known = false;
    for (uint64_t n = least; n <= other.writes && !is_known; n++) {
        uint64_t entries = 0, sum = 0;
        for (unsigned key = 0; key < KEYS; key++) {
            entries += held_by(n, key) != 0;
            if (held_by(n, key) != 0) sum += length_of(held_by(n, key));
        }
        is_known = count == entries && (bytes == UINT64_MAX || bytes == sum);
    }
    EXPECT(run, is_known, "%s: no moment had %" PRIu64 " entries of %" PRIu64 " bytes", name, count,
           bytes);
}

static void look_at_one(torture *run, larder_store *store, uint64_t least) {
    larder_store_entry entry;
    larder_status status = larder_store_get(store, rare_key(0), LARDER_STORE_PEEK, &entry);
    EXPECT(run, !status && key_of(entry.sequence) == 0 && entry.sequence >= held_by(least, 0),
           "a get gave %d, write %" PRIu64 ", and %" PRIu64 " had returned", status, entry.sequence,
           least);
    larder_store_release(&entry);
}

static void look_at_all(torture *run, larder_store *store, uint64_t least) {
    larder_store_cursor *cursor = NULL;
    larder_store_query every;
    larder_store_token token;
    larder_store_entry entry;
    uint64_t seen[KEYS] = {0};
    larder_store_query_init(&every);
    larder_status status = larder_store_snapshot_open(store, &every, &token, &cursor);
    while (!status && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK)
        seen[key_of(entry.sequence)] = entry.sequence;
    larder_store_cursor_close(cursor);
    if (is_overtaken(run, status == LARDER_END ? LARDER_OK : status, "a snapshot")) return;
    uint64_t newest = larder_store_token_sequence(&token);
    is_of_time(run, "a snapshot", newest, least);
    for (unsigned key = 0; key < KEYS; key++)
        EXPECT(run, seen[key] == held_by(newest, key),
               "a snapshot of write %" PRIu64 " has %" PRIu64 " and not %" PRIu64, newest,
               seen[key], held_by(newest, key));
}

static void count_all(torture *run, larder_store *store, uint64_t least) {
    larder_store_query every;
    uint64_t count;
    larder_store_query_init(&every);
    larder_status status = larder_store_count(store, &every, LARDER_STORE_UNLIMITED, &count);
    if (is_overtaken(run, status, "a count")) return;
    is_sum_of_time(run, "a count", count, UINT64_MAX, least);
}

static void add_up(torture *run, larder_store *store, uint64_t least) {
    uint64_t count, bytes;
    GIVES(larder_store_totals(store, &count, &bytes), LARDER_OK);
    is_sum_of_time(run, "a total", count, bytes, least);
}

static void ask_for_figures(torture *run, larder_store *store, uint64_t least) {
    larder_store_statistics now;
    GIVES(larder_store_statistics_get(store, &now), LARDER_OK);
    is_sum_of_time(run, "statistics", now.count, now.bytes, least);
    EXPECT(run, now.log_live_bytes <= now.log_used_bytes && now.segment_count > 0,
           "%" PRIu64 " bytes of %" PRIu64 " are live", now.log_live_bytes, now.log_used_bytes);
}

static void ask_for_losses(torture *run, larder_store *store, uint64_t least) {
    larder_store_report report;
    (void)least;
    GIVES(larder_store_recovery(store, &report), LARDER_OK);
    EXPECT(run, report.journal_lost == 0 && report.damaged == 0,
           "%" PRIu64 " writes and %" PRIu64 " entries are lost", report.journal_lost,
           report.damaged);
}

static void take_token(torture *run, larder_store *store, uint64_t least) {
    larder_store_token token;
    GIVES(larder_store_token_now(store, &token), LARDER_OK);
    is_of_time(run, "a token", larder_store_token_sequence(&token), least);
}

static void check_all(torture *run, larder_store *store, uint64_t least) {
    larder_store_report report;
    (void)least;
    (void)is_overtaken(run, larder_store_check(store, NULL, NULL, &report), "a check");
}

/** A feed that begins now tells every write from here on, unless they are gone: then of a gap. */
static void follow_on(torture *run, larder_store *store, uint64_t least) {
    larder_store_feed *feed = NULL;
    larder_store_feed_event event;
    larder_store_feed_options options = {.flags = 0};
    uint64_t told = least;
    larder_status status = larder_store_feed_open(store, &options, &feed);
    while (!status && (status = larder_store_feed_next(feed, &event)) == LARDER_OK) {
        bool is_next = event.kind == LARDER_STORE_FEED_WRITE && event.sequence > told;
        EXPECT(run, is_next || event.kind == LARDER_STORE_FEED_GAP,
               "a feed told %d of %" PRIu64 " behind %" PRIu64, (int)event.kind, event.sequence,
               told);
        told = event.sequence;
    }
    EXPECT(run, status == LARDER_END, "a feed gave %d", status);
    larder_store_feed_close(feed);
}

static void open_another(torture *run, larder_store *store, uint64_t least) {
    (void)store;
    larder_store *another = NULL;
    GIVES(opened_small(other.path, LARDER_STORE_READ_ONLY, SPACE_PERCENT, &another), LARDER_OK);
    ask_for_losses(run, another, least);
    larder_store_close(another);
}

static const struct {
    const char *name;
    look look;
} looks[] = {{"get", look_at_one},  {"snapshot", look_at_all},    {"count", count_all},
             {"totals", add_up},    {"figures", ask_for_figures}, {"losses", ask_for_losses},
             {"token", take_token}, {"check", check_all},         {"feed", follow_on},
             {"open", open_another}};

// The trials --------------------------------------------------------------------------------------

/** @return whether the look made so many calls. */
static bool overtake(torture *run, const char *path, unsigned which, bool is_known, unsigned at) {
    larder_store *reader = NULL;
    EXPECT(run, pipe(other.asks) == 0 && pipe(other.answers) == 0, "no pipes");
    remove_tree(path);
    fflush(NULL);
    pid_t writer = fork();
    if (writer == 0) write_when_asked(path);
    other.writes = other.calls = 0;
    ask("wfpppppf");
    larder_fault_set("mdb_env_open", 1, EACCES);
    GIVES(opened_small(path, LARDER_STORE_READ_ONLY, SPACE_PERCENT, &reader), LARDER_OK);
    larder_fault_set(NULL, 0, 0);
    if (is_known) look_at_one(run, reader, 0);
    ask(other.before);
    // What is opened is to have nothing of another handle's.
    const bool is_alone = looks[which].look == open_another && !is_known;
    if (is_alone) larder_store_close(reader);
    other.at = at;
    call_hook = act_meanwhile;
    looks[which].look(run, reader, other.writes);
    call_hook = NULL;
    bool is_done = other.at == 0;
    if (is_alone)
        GIVES(opened_small(path, LARDER_STORE_READ_ONLY, SPACE_PERCENT, &reader), LARDER_OK);
    // Nothing of it stays behind.
    look_at_all(run, reader, other.writes);
    add_up(run, reader, other.writes);
    ask_for_losses(run, reader, 0);
    larder_store_close(reader);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    for (unsigned end = 0; end < 2; end++) {
        close(other.asks[end]);
        close(other.answers[end]);
    }
    return is_done;
}

// Compactions -------------------------------------------------------------------------------------

/** What is done in a process of its own. */
typedef enum chore {
    CHORE_GROW,
    CHORE_COMPACT,
    /** Writes, with checkpoints that delete all that lies behind; and some that none comes for. */
    CHORE_GO_ON
} chore;

static larder_status do_chore(const char *path, chore what) {
    larder_store *store;
    if (what == CHORE_COMPACT) return larder_store_compact(path, NULL, NULL, NULL, NULL, NULL);
    larder_status status = opened_small(path, 0, SPACE_PERCENT, &store);
    if (!status && what == CHORE_GROW) status = write_rounds(store, 0, 1);
    if (!status && what == CHORE_GROW) status = grow(store, KEYS);
    if (!status && what == CHORE_GO_ON) status = write_rounds(store, other.writes, ROUNDS);
    if (!status && what == CHORE_GO_ON)
        status =
            write_some(store, other.writes + ROUNDS * KEYS, other.writes + ROUNDS * KEYS + FEW);
    larder_store_close(store);
    return status;
}

static bool have_done(torture *run, const char *path, chore what) {
    int ended = 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(do_chore(path, what) != LARDER_OK);
    other.writes += what == CHORE_GROW    ? (ROUNDS + 1) * KEYS
                    : what == CHORE_GO_ON ? ROUNDS * KEYS + FEW
                                          : 0;
    return EXPECT(run, waitpid(child, &ended, 0) == child && ended == 0, "chore %d ended with 0x%x",
                  (int)what, ended);
}

static uint64_t file_number(const char *path) {
    struct stat facts = {0};
    (void)stat(inside(path, "data.mdb"), &facts);
    return facts.st_ino;
}

/** Its file is found beside whatever data.mdb is there. */
static void make_cursor(torture *run, larder_store *store) {
    larder_store_feed *feed = NULL;
    larder_store_feed_options options = {.name = bytes_of_text("cursor")};
    GIVES(larder_store_feed_open(store, &options, &feed), LARDER_OK);
    larder_store_feed_close(feed);
    GIVES(larder_store_feed_cursor_remove(store, options.name), LARDER_OK);
}

/** A store in which that was done, and a reader of it; NULL if it cannot be had. */
static larder_store *read_behind(torture *run, const char *path, chore what, bool has_slot) {
    larder_store *reader = NULL;
    remove_tree(path);
    other.writes = 0;
    if (!have_done(run, path, what)) return NULL;
    if (!has_slot) larder_fault_set("mdb_env_open", 1, EACCES);
    GIVES(opened_small(path, LARDER_STORE_READ_ONLY, SPACE_PERCENT, &reader), LARDER_OK);
    larder_fault_set(NULL, 0, 0);
    return reader;
}

static void write_more(torture *run, larder_store *writer, unsigned count) {
    GIVES(write_some(writer, other.writes, other.writes + count), LARDER_OK);
    other.writes += count;
}

/** A reader goes on in the file that a compaction has put in the place of its own.
    @param stays without a slot there, too. */
static void replace(torture *run, const char *path, unsigned which, bool looks_between,
                    bool stays) {
    larder_store *reader = read_behind(run, path, CHORE_GROW, false);
    if (reader == NULL) return;
    look_at_all(run, reader, other.writes);
    const uint64_t before = file_number(path);
    if (!have_done(run, path, CHORE_COMPACT)) return;
    EXPECT(run, file_number(path) != before, "compaction has left data.mdb as it was");
    if (looks_between) looks[which].look(run, reader, other.writes);
    else make_cursor(run, reader);
    if (!have_done(run, path, CHORE_GO_ON)) return;
    if (stays) larder_fault_set("mdb_env_open", 1, EACCES);
    looks[which].look(run, reader, other.writes);
    look_at_all(run, reader, other.writes);
    larder_fault_set(NULL, 0, 0);
    if (!have_done(run, path, CHORE_GO_ON)) return;
    look_at_all(run, reader, other.writes);
    add_up(run, reader, other.writes);
    look_at_one(run, reader, other.writes);
    ask_for_losses(run, reader, 0);
    larder_store_close(reader);
}

/** The number of the newest transaction in data.mdb, as its two meta pages say. */
static uint64_t newest_transaction(const char *path) {
    enum { NUMBER_OFFSET = 144, PAGE_BYTES = 4096 };
    uint64_t first = 0, second = 0;
    int file = open(inside(path, "data.mdb"), O_RDONLY | O_CLOEXEC);
    bool is_read = pread(file, &first, sizeof first, NUMBER_OFFSET) == sizeof first &&
                   pread(file, &second, sizeof second, PAGE_BYTES + NUMBER_OFFSET) == sizeof second;
    (void)close(file);
    if (!is_read) return 0;
    return first > second ? first : second;
}

/** The file that a compaction has made counts its transactions from the first one: what was known
    of the one with the same number in the file before is not of this one. */
static void count_again(torture *run, const char *path, unsigned which) {
    larder_store *reader = read_behind(run, path, CHORE_GROW, false), *writer = NULL;
    if (reader == NULL) return;
    looks[which].look(run, reader, other.writes);
    const uint64_t before = newest_transaction(path);
    if (!have_done(run, path, CHORE_COMPACT)) return;
    EXPECT(run, newest_transaction(path) < before, "compaction has gone on counting");
    GIVES(opened_small(path, 0, SPACE_PERCENT, &writer), LARDER_OK);
    while (writer != NULL && torture_unhurt(run) && newest_transaction(path) < before) {
        write_more(run, writer, KEYS);
        GIVES(larder_store_flush(writer), LARDER_OK);
    }
    EXPECT(run, newest_transaction(path) == before, "that number was passed over");
    looks[which].look(run, reader, other.writes);
    larder_store_close(writer);
    larder_store_close(reader);
}

void replaced_below(torture *run, void *context) {
    const rare *self = context;
    other.run = run;
    other.path = self->path;
    for (unsigned n = 0; n < 4 * sizeof looks / sizeof *looks && torture_unhurt(run); n++) {
        torture_note(run, "%s behind a compaction, number %u", looks[n / 4].name, n % 4);
        replace(run, self->path, n / 4, n % 2, n / 2 % 2);
    }
    for (unsigned n = 0; n < sizeof looks / sizeof *looks && torture_unhurt(run); n++) {
        torture_note(run, "%s of the transaction with the same number", looks[n].name);
        count_again(run, self->path, n);
    }
}

// A state that the table does not name ------------------------------------------------------------

/** Dies as a process does that is killed when LMDB has written a meta page, and the table does not
    say so yet: with the writer's mutex. What that state does not lead to is still there. */
static void die_untold(const char *call, const void *what) {
    // As larder_environment_mutexes has them.
    enum {
        NAMED_OFFSET = 8 + sizeof(pthread_mutex_t),
        WRITER_OFFSET = (NAMED_OFFSET + sizeof(size_t) + sizeof(unsigned) + 63) / 64 * 64,
        TABLE_BYTES = 4096
    };
    (void)what;
    if (strcmp(call, "system unlinkat") != 0 || newest_transaction(other.path) == other.before_that)
        return;
    int file = open(inside(other.path, "lock.mdb"), O_RDWR | O_CLOEXEC);
    uint8_t *table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || table == MAP_FAILED) return;
    --*(size_t *)(void *)(table + NAMED_OFFSET);
    (void)pthread_mutex_lock((pthread_mutex_t *)(void *)(table + WRITER_OFFSET));
    (void)kill(getpid(), SIGKILL);
}

/** In a process of its own: writes, all of which a checkpoint brings into the tree, and is killed
    in the next one, which only cleans; or goes on behind that one. */
static int write_and_die(const char *path, bool dies) {
    larder_store *store;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        larder_status status = opened_small(path, 0, 100 * SPACE_PERCENT, &store);
        if (!status && dies)
            status = write_some(store, other.writes, other.writes + 2 * KEYS + FEW);
        if (!status) status = larder_store_flush(store);
        if (!status) larder_store_close(store);
        other.before_that = newest_transaction(path);
        if (dies) call_hook = die_untold;
        if (!status && dies) status = larder_store_compact(path, NULL, NULL, NULL, NULL, NULL);
        _exit(status != LARDER_OK);
    }
    int ended = 1;
    (void)waitpid(child, &ended, 0);
    return ended;
}

/** A reader before, beside which a state is left that is not named; and what is done by a writer in
    the same process, or in another one, is done behind that state. */
static void go_on_untold(torture *run, const char *path, unsigned which, bool is_elsewhere) {
    // It keeps LMDB's table as it is.
    larder_store *reader = read_behind(run, path, CHORE_GO_ON, true), *writer = NULL;
    larder_store_report report;
    if (reader == NULL) return;
    int ended = write_and_die(path, true);
    EXPECT(run, WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL, "it ended with 0x%x", ended);
    other.writes += 2 * KEYS + FEW;
    if (is_elsewhere) {
        ended = write_and_die(path, false);
        EXPECT(run, ended == 0, "the next writer ended with 0x%x", ended);
    } else GIVES(opened_small(path, 0, SPACE_PERCENT, &writer), LARDER_OK);
    for (unsigned n = 0; n < 3; n++) {
        if (writer != NULL) GIVES(larder_store_flush(writer), LARDER_OK);
        looks[which].look(run, reader, other.writes);
        look_at_all(run, reader, other.writes);
        add_up(run, reader, other.writes);
        ask_for_losses(run, reader, 0);
        GIVES(larder_store_check(reader, NULL, NULL, &report), LARDER_OK);
        if (writer == NULL) continue;
        look_at_all(run, writer, other.writes);
        write_more(run, writer, FEW);
    }
    larder_store_close(writer);
    larder_store_close(reader);
}

void untold_state(torture *run, void *context) {
    const rare *self = context;
    other.run = run;
    other.path = self->path;
    for (unsigned n = 0; n < 2 * sizeof looks / sizeof *looks && torture_unhurt(run); n++) {
        torture_note(run, "%s of a state that is not named, beside a writer %s", looks[n / 2].name,
                     n % 2 == 0 ? "here" : "elsewhere");
        go_on_untold(run, self->path, n / 2, n % 2);
    }
}

// Calls -------------------------------------------------------------------------------------------

void slotless_readers(torture *run, void *context) {
    static const char *const scripts[][2] = {{"w", "f"}, {"w", "wfwf"}, {"p", "f"}};
    const rare *self = context;
    other.run = run;
    other.path = self->path;
    bool goes_on = true;
    for (unsigned at = 1; goes_on && torture_unhurt(run); at++) {
        torture_note(run, "an open, beside a compaction at call %u", at);
        other.before = "g";
        other.script = "c";
        goes_on = overtake(run, self->path, sizeof looks / sizeof *looks - 1, false, at);
    }
    // The file was replaced before, and is again while the reader goes over to the next one.
    goes_on = other.acts_at_maps = true;
    other.before = "gcgwfwf";
    for (unsigned at = 1; goes_on && torture_unhurt(run); at++) {
        torture_note(run, "a snapshot behind a compaction, beside another at map %u", at);
        goes_on = overtake(run, self->path, 1, true, at);
    }
    other.acts_at_maps = false;
    for (unsigned n = 0; n < 6 * sizeof looks / sizeof *looks; n++) {
        bool is_known = n % 2;
        goes_on = true;
        other.before = scripts[n / 2 % 3][0];
        other.script = scripts[n / 2 % 3][1];
        for (unsigned at = 1; goes_on && torture_unhurt(run); at++) {
            torture_note(run, "%s, \"%s\" at call %u%s", looks[n / 6].name, other.script, at,
                         is_known ? ", not the first look" : "");
            goes_on = overtake(run, self->path, n / 6, is_known, at);
        }
    }
}
