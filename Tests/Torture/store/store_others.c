// SPDX-License-Identifier: MIT
// What other users leave where a store is, and what they can do to one that they may only read.
// Some of it needs root, to be another user for a while.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "larder_os_faults.h"
#include "store.h"

enum { OTHER_USER = 65534 };

static larder_status opened(const char *path, uint32_t flags, uint32_t mode,
                            larder_store_detail *detail, larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    options.mode = mode;
    *detail = (larder_store_detail){.version = 0};
    return larder_store_open(path, &options, detail, out);
}

static larder_status put(larder_store *store, const char *key) {
    larder_store_item item;
    larder_store_item_init(&item, bytes_of_text(key), bytes_of_text("value"));
    return larder_store_put(store, &item, NULL);
}

/** Opens it, writes, and closes it. */
static larder_status used(torture *run, const char *path, uint32_t flags, uint32_t mode) {
    larder_store_detail detail;
    larder_store *store = NULL;
    larder_status status = opened(path, flags, mode, &detail, &store);
    if (!status) {
        EXPECT_STATUS(run, put(store, "key"), LARDER_OK);
        EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
    }
    larder_store_close(store);
    return status;
}

static void refused(torture *run, const char *path, larder_store_part part, larder_status reason) {
    larder_store_detail detail;
    larder_store *store = NULL;
    larder_store_report report;
    torture_trial(run);
    EXPECT_STATUS(run, opened(path, 0, 0600, &detail, &store), reason);
    EXPECT(run, store == NULL && detail.part == part, "it is part %d", (int)detail.part);
    EXPECT_STATUS(run, larder_store_rebuild(path, NULL, NULL, NULL, &report), reason);
    larder_status compacted = larder_store_compact(path, NULL, NULL, NULL, NULL, NULL);
    EXPECT(run, compacted == reason || (compacted == ENOENT && part == LARDER_STORE_PART_FOLDER),
           "compaction gave %d", compacted);
    // What is written to a file with two names is written to both, whoever is trusted.
    GIVES(used(run, path, LARDER_STORE_TRUST_OTHERS, 0600),
          reason == LARDER_ELINKED ? LARDER_ELINKED : LARDER_OK);
}

/** A store of others, or for them, is mended for whoever trusts them; its permissions stay. */
static void mended(torture *run, const char *path, larder_status reason) {
    char inside[700];
    struct stat facts;
    larder_store_report report;
    larder_store_options options;
    larder_store_options_init(&options);
    options.mode = 0;
    torture_note(run, "mending");
    GIVES(larder_store_rebuild(path, &options, NULL, NULL, &report), reason);
    GIVES(larder_store_compact(path, &options, NULL, NULL, NULL, NULL), reason);
    options.flags = LARDER_STORE_TRUST_OTHERS;
    GIVES(larder_store_compact(path, &options, NULL, NULL, NULL, NULL), LARDER_OK);
    GIVES(larder_store_rebuild(path, &options, NULL, NULL, &report), LARDER_OK);
    snprintf(inside, sizeof inside, "%s/log", path);
    EXPECT(run, stat(inside, &facts) == 0, "no log");
    mode_t wanted = facts.st_mode & 0666;
    snprintf(inside, sizeof inside, "%s/data.mdb", path);
    EXPECT(run, stat(inside, &facts) == 0 && (facts.st_mode & 0777) == wanted,
           "the new index has permissions %o", (unsigned)facts.st_mode & 0777);
    options.flags |= LARDER_STORE_READ_ONLY;
    GIVES(larder_store_compact(path, &options, NULL, NULL, NULL, NULL), LARDER_EINVALID);
}

static const struct {
    const char *name;
    larder_store_part part;
} files[] = {{"lock", LARDER_STORE_PART_LOCK},
             {"lock.mdb", LARDER_STORE_PART_READERS},
             {"data.mdb", LARDER_STORE_PART_DATA},
             {"log/00000001.seg", LARDER_STORE_PART_JOURNAL}};

static void owners(torture *run, const char *path) {
    char inside[700];
    EXPECT(run, mkdir(path, 0777) == 0 && chown(path, OTHER_USER, OTHER_USER) == 0, "no folder");
    refused(run, path, LARDER_STORE_PART_FOLDER, LARDER_EOWNER);
    EXPECT(run, chown(path, 0, 0) == 0, "no owner");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(inside, sizeof inside, "%s/%s", path, files[i].name);
        torture_note(run, "%s of another user", files[i].name);
        EXPECT(run, chown(inside, OTHER_USER, OTHER_USER) == 0, "no owner");
        refused(run, path, files[i].part, LARDER_EOWNER);
        EXPECT(run, chown(inside, 0, 0) == 0, "no owner");
    }
    EXPECT(run, chown(path, OTHER_USER, OTHER_USER) == 0, "no owner");
    mended(run, path, LARDER_EOWNER);
}

static void permissions(torture *run, const char *path) {
    char inside[700];
    EXPECT(run, mkdir(path, 0700) == 0 && chmod(path, 0777) == 0, "no folder");
    refused(run, path, LARDER_STORE_PART_FOLDER, LARDER_EWRITABLE);
    EXPECT(run, chmod(path, 01777) == 0, "no permissions");
    GIVES(used(run, path, 0, 0600), LARDER_OK);
    EXPECT(run, chmod(path, 0775) == 0, "no permissions");
    GIVES(used(run, path, 0, 0600), LARDER_OK);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(inside, sizeof inside, "%s/%s", path, files[i].name);
        torture_note(run, "%s for anybody", files[i].name);
        EXPECT(run, chmod(inside, 0666) == 0, "no permissions");
        refused(run, path, files[i].part, LARDER_EWRITABLE);
        GIVES(used(run, path, 0, 0666), LARDER_OK);
        EXPECT(run, chmod(inside, 0664) == 0, "no permissions");
        GIVES(used(run, path, 0, 0600), LARDER_OK);
        EXPECT(run, chmod(inside, 0600) == 0, "no permissions");
    }
    snprintf(inside, sizeof inside, "%s/log", path);
    EXPECT(run, chmod(inside, 0777) == 0, "no permissions");
    mended(run, path, LARDER_EWRITABLE);
}

static void links(torture *run, const char *path) {
    char inside[700], outside[700];
    GIVES(used(run, path, 0, 0600), LARDER_OK);
    snprintf(outside, sizeof outside, "%s.outside", path);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(inside, sizeof inside, "%s/%s", path, files[i].name);
        torture_note(run, "%s has another name", files[i].name);
        EXPECT(run, link(inside, outside) == 0, "no link");
        refused(run, path, files[i].part, LARDER_ELINKED);
        EXPECT(run, unlink(outside) == 0, "no link");
    }
}

/** Locks the whole file to read, in whatever way it can be opened. -1 if it cannot. */
static int lock_to_read(const char *path) {
    struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    return file >= 0 && fcntl(file, F_OFD_SETLK, &all) == 0 ? file : -1;
}

/** A user who may read everything locks all that it can. */
static void read_locks(torture *run, const char *path) {
    int pipe_of[2], ended = 0;
    char word = 0;
    GIVES(used(run, path, 0, 0644), LARDER_OK);
    EXPECT(run, pipe(pipe_of) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) {
        // The folders above are not for others.
        char is_good = chdir(path) == 0 && setuid(OTHER_USER) == 0 && lock_to_read("lock") < 0 &&
                       lock_to_read("lock.mdb") < 0 && lock_to_read("data.mdb") >= 0 &&
                       lock_to_read("log/00000001.seg") >= 0;
        is_good = write(pipe_of[1], &is_good, 1) == 1;
        pause();
        _exit(0);
    }
    close(pipe_of[1]);
    EXPECT(run, read(pipe_of[0], &word, 1) == 1 && word == 1, "the reader could lock too much");
    GIVES(used(run, path, 0, 0644), LARDER_OK);
    close(pipe_of[0]);
    kill(child, SIGKILL);
    waitpid(child, &ended, 0);
    // Whoever has it open all the same is told of.
    char lock[700];
    snprintf(lock, sizeof lock, "%s/lock", path);
    int file = lock_to_read(lock);
    larder_store_detail detail;
    larder_store_report report;
    larder_store *store = NULL;
    GIVES(opened(path, 0, 0644, &detail, &store), LARDER_ELOCKED);
    EXPECT(run, detail.holder_pid == 0, "process %d holds it", (int)detail.holder_pid);
    close(file);
    // As a process does for a moment that opens it with LMDB.
    snprintf(lock, sizeof lock, "%s/lock.mdb", path);
    file = lock_to_read(lock);
    GIVES(larder_store_rebuild(path, NULL, NULL, NULL, &report), LARDER_EBUSY);
    close(file);
}

/** Somebody says that they hold LMDB's mutex. */
static void mutexes(torture *run, const char *path) {
    // Behind the other mutex and two numbers, in a cache line of its own.
    enum { WRITER_OFFSET = (8 + sizeof(pthread_mutex_t) + sizeof(size_t) + 4 + 63) / 64 * 64 };
    char inside[700];
    larder_store_detail detail;
    larder_store *store = NULL;
    uint32_t pid = (uint32_t)getpid(), none = 0;
    snprintf(inside, sizeof inside, "%s/lock.mdb", path);
    GIVES(opened(path, 0, 0600, &detail, &store), LARDER_OK);
    EXPECT_STATUS(run, put(store, "key"), LARDER_OK);
    EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
    // Another handle keeps LMDB open, which would make its mutexes anew else.
    larder_store *reader = NULL;
    EXPECT_STATUS(run, opened(path, LARDER_STORE_READ_ONLY, 0600, &detail, &reader), LARDER_OK);
    pid_t child = fork();
    if (child == 0) {
        int file = open(inside, O_RDWR | O_CLOEXEC);
        _exit(pwrite(file, &pid, sizeof pid, WRITER_OFFSET) == sizeof pid ? 0 : 1);
    }
    int ended = 1;
    EXPECT(run, waitpid(child, &ended, 0) == child && ended == 0, "nothing was written");
    EXPECT_STATUS(run, put(store, "key"), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_EBUSY);
    child = fork();
    if (child == 0) {
        int file = open(inside, O_RDWR | O_CLOEXEC);
        _exit(pwrite(file, &none, sizeof none, WRITER_OFFSET) == sizeof none ? 0 : 1);
    }
    EXPECT(run, waitpid(child, &ended, 0) == child && ended == 0, "nothing was written");
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(reader);
    larder_store_close(store);
}

/** Reads it, and gives back the entry's key. */
static larder_status looked_at(torture *run, const char *path) {
    larder_store_detail detail;
    larder_store_entry entry = {0};
    larder_store *store = NULL;
    larder_status status = opened(path, LARDER_STORE_READ_ONLY, 0600, &detail, &store);
    if (!status) status = larder_store_get(store, bytes_of_text("key"), 0, &entry);
    larder_store_release(&entry);
    larder_store_close(store);
    torture_trial(run);
    return status;
}

/** Whoever only reads writes to nothing that lies where LMDB's table of readers was. */
static void tables(torture *run, const char *path) {
    char table[700], outside[700], letter[] = "a letter", after[64];
    larder_store_detail detail;
    larder_store *store = NULL;
    struct stat facts;
    GIVES(used(run, path, 0, 0600), LARDER_OK);
    snprintf(table, sizeof table, "%s/lock.mdb", path);
    snprintf(outside, sizeof outside, "%s.outside", path);
    EXPECT(run, write_file(outside, letter, sizeof letter), "no letter");
    for (int kind = 0; kind < 3; kind++) {
        torture_note(run, "a table of kind %d", kind);
        (void)unlink(table);
        EXPECT(run,
               (kind == 0   ? link(outside, table)
                : kind == 1 ? symlink(outside, table)
                            : mkfifo(table, 0600)) == 0,
               "no table");
        GIVES(looked_at(run, path), LARDER_OK);
        GIVES(opened(path, 0, 0600, &detail, &store), kind == 0 ? LARDER_ELINKED : LARDER_EFOREIGN);
        EXPECT(run, detail.part == LARDER_STORE_PART_READERS, "it is part %d", (int)detail.part);
        EXPECT(run,
               read_file(outside, after, sizeof after) == sizeof letter &&
                   memcmp(after, letter, sizeof letter) == 0,
               "it was written to");
    }
    // Of another user's store they touch nothing, for what is there may be another file the next
    // moment; of a trusted one they do.
    if (geteuid() != 0) return;
    EXPECT(run, unlink(table) == 0, "no table");
    GIVES(used(run, path, 0, 0600), LARDER_OK);
    EXPECT(run, truncate(table, 0) == 0, "no table");
    snprintf(outside, sizeof outside, "%s/data.mdb", path);
    EXPECT(run, chown(outside, OTHER_USER, OTHER_USER) == 0, "no owner");
    GIVES(looked_at(run, path), LARDER_OK);
    EXPECT(run, stat(table, &facts) == 0 && facts.st_size == 0, "it was written to");
    GIVES(opened(path, LARDER_STORE_READ_ONLY | LARDER_STORE_TRUST_OTHERS, 0600, &detail, &store),
          LARDER_OK);
    EXPECT(run, stat(table, &facts) == 0 && facts.st_size > 0, "it has no slot");
    larder_store_close(store);
}

/** Whoever may write to LMDB's table locks what LMDB waits for without an end. */
static void write_locks(torture *run, const char *path) {
    const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    char table[700];
    larder_store_detail detail;
    larder_store *store = NULL;
    GIVES(used(run, path, 0, 0600), LARDER_OK);
    snprintf(table, sizeof table, "%s/lock.mdb", path);
    GIVES(opened(path, 0, 0600, &detail, &store), LARDER_OK);
    EXPECT_STATUS(run, put(store, "key"), LARDER_OK);
    int file = open(table, O_RDWR | O_CLOEXEC);
    EXPECT(run, file >= 0 && fcntl(file, F_OFD_SETLK, &lock) == 0, "no lock");
    GIVES(larder_store_flush(store), LARDER_EBUSY);
    larder_store_close(store);
    GIVES(looked_at(run, path), LARDER_OK);
    close(file);
    GIVES(used(run, path, 0, 0600), LARDER_OK);
}

/** What is no store stays as it was. */
static void strangers(torture *run, const char *path) {
    char inside[700], letter[5000];
    larder_store_report report;
    snprintf(inside, sizeof inside, "%s/data.mdb", path);
    memset(letter, 'a', sizeof letter);
    EXPECT(run, mkdir(path, 0700) == 0 && write_file(inside, letter, sizeof letter), "no folder");
    GIVES(larder_store_rebuild(path, NULL, NULL, NULL, &report), LARDER_EFOREIGN);
    EXPECT(run, unlink(inside) == 0 && rmdir(path) == 0, "something was left in the folder");
}

// Lengths and sums that somebody chose ------------------------------------------------------------

/** The pages of mapped files that this process has; they come with the first touch. */
static long mapped_pages(void) {
    long all = 0, resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        int got = fscanf(file, "%ld %ld %ld", &all, &resident, &shared);
        fclose(file);
        return got == 3 ? shared : 0;
    }
    return 0;
}

enum { HOLED_BYTES = 80 << 20 };

/** Makes the file a copy with a hole where it has zeros. @return how long it is. */
static off_t make_holes(const char *path) {
    static uint8_t block[4096];
    static const uint8_t zeros[sizeof block];
    int file = open(path, O_RDWR | O_CLOEXEC);
    off_t size = size_of_file(path);
    for (off_t at = 0; file >= 0 && at + (off_t)sizeof block <= size; at += (off_t)sizeof block) {
        if (pread(file, block, sizeof block, at) == sizeof block &&
            memcmp(block, zeros, sizeof block) == 0) {
            (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, sizeof block);
        }
    }
    close(file);
    return size;
}

/** A value of zeros is one hole in a copy, and intact; a damaged one is found to be so without a
    look into the hole. */
static void holes(torture *run, const char *path) {
    char inside[700];
    larder_store_detail detail;
    larder_store_report report;
    larder_store *store = NULL;
    larder_store_item item;
    larder_store_entry entry;
    uint8_t *zeros = calloc(1, HOLED_BYTES);
    GIVES(opened(path, 0, 0600, &detail, &store), LARDER_OK);
    larder_store_item_init(&item, bytes_of_text("zeros"), (larder_bytes){zeros, HOLED_BYTES});
    EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
    EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
    larder_store_close(store);
    free(zeros);
    unsigned number = 0;
    do {
        snprintf(inside, sizeof inside, "%s/log/%08x.seg", path, ++number);
    } while (number < 9 && size_of_file(inside) < HOLED_BYTES);
    off_t size = make_holes(inside);
    struct stat facts;
    if (stat(inside, &facts) != 0 || facts.st_blocks * 512 > size / 2) {
        torture_skip(run, "values in holes: the file system has none");
        return;
    }
    GIVES(opened(path, LARDER_STORE_READ_ONLY, 0600, &detail, &store), LARDER_OK);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
    // In memory, a hole that was read is there.
    (void)make_holes(inside);
    int file = open(inside, O_RDWR | O_CLOEXEC);
    EXPECT(run, pwrite(file, "x", 1, size / 2) == 1, "nothing was written");
    close(file);
    GIVES(opened(path, LARDER_STORE_READ_ONLY, 0600, &detail, &store), LARDER_OK);
    long before = mapped_pages();
    GIVES(larder_store_get(store, bytes_of_text("zeros"), 0, &entry), LARDER_EDAMAGED);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_EDAMAGED);
    long after = mapped_pages();
    EXPECT(run, (after - before) * sysconf(_SC_PAGESIZE) < HOLED_BYTES / 4,
           "%ld pages of a hole were read", after - before);
    larder_store_close(store);
}

/** A process of another PID namespace has this one's number in LMDB's table. */
static void numbers(torture *run, const char *path) {
    char table[700];
    larder_store_detail detail;
    larder_store *store = NULL;
    larder_store_cursor *cursor = NULL;
    larder_store_query query;
    larder_store_entry entry = {0};
    GIVES(used(run, path, 0, 0600), LARDER_OK);
    GIVES(looked_at(run, path), LARDER_OK);
    snprintf(table, sizeof table, "%s/lock.mdb", path);
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)getpid(), .l_len = 1};
    int file = open(table, O_RDWR | O_CLOEXEC);
    EXPECT(run, file >= 0 && fcntl(file, F_OFD_SETLK, &lock) == 0, "no lock");
    GIVES(looked_at(run, path), LARDER_OK);
    GIVES(opened(path, 0, 0600, &detail, &store), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_query_init(&query);
    GIVES(larder_store_cursor_open(store, &query, &cursor), LARDER_OK);
    larder_status status = LARDER_OK;
    for (int i = 0; i < 5 && !status; i++) {
        status = put(store, "other");
        if (!status) status = larder_store_flush(store);
    }
    EXPECT(run, status == LARDER_EBUSY, "behind a cursor's back flushes gave %d", status);
    GIVES(larder_store_cursor_next(cursor, &entry), LARDER_OK);
    GIVES(larder_store_cursor_next(cursor, &entry), LARDER_END);
    larder_store_cursor_close(cursor);
    for (int i = 0; i < 5; i++) {
        GIVES(put(store, "other"), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
    }
    GIVES(looked_at(run, path), LARDER_OK);
    larder_store_close(store);
    GIVES(looked_at(run, path), LARDER_OK);
    (void)close(file);
}

typedef struct scene {
    const char *name;
    bool needs_root;
    void (*play)(torture *run, const char *path);
} scene;

static const scene scenes[] = {
    {"owners", true, owners},    {"permissions", false, permissions},
    {"links", false, links},     {"read locks", true, read_locks},
    {"mutexes", false, mutexes}, {"strangers", false, strangers},
    {"tables", false, tables},   {"write locks", false, write_locks},
    {"holes", false, holes},     {"another process with this one's number", false, numbers},
};

static void play(torture *run, void *context) {
    const scene *what = context;
    const char *path = torture_path(run, "others");
    larder_fault_hide_links(false);
    remove_tree(path);
    what->play(run, path);
    remove_tree(path);
}

void family_store_others(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (scenes[i].needs_root && geteuid() != 0) {
            continue;
        }
        torture_note(run, "%s", scenes[i].name);
        torture_guard(run, 30, play, (void *)(uintptr_t)&scenes[i]);
    }
}
