// SPDX-License-Identifier: MIT
// What other users of the machine do to a log: files that they make first, names that they take or
// guess, read locks. Nothing of theirs is written to, nothing of ours becomes theirs, and what they
// cause is called by its name. Where this process may not become another user, what needs one is
// left out.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"
#include "failing_calls.h"
#include "larder_os_faults.h"

enum { CAPACITY = 16384, MESSAGES = 20 };

/** A world-writable, sticky folder, as /tmp is, with a log in it. */
typedef struct others {
    const char *folder, *path, *other;
} others;

static bool make_log(torture *run, const char *path, uint64_t count) {
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(CAPACITY, LARDER_RING_OVERWRITE);
    (void)unlink(path);
    bool good = EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK);
    for (uint64_t i = 0; i < count && good; i++) {
        good = EXPECT_STATUS(run, larder_ring_append(ring, "ours", 4, NULL), LARDER_OK);
    }
    larder_ring_close(ring);
    return good;
}

static bool make_folder(torture *run, const others *self) {
    remove_tree(self->folder);
    return EXPECT(run, make_directory(self->folder) && chmod(self->folder, 01777) == 0,
                  "cannot make %s", self->folder) &&
           make_log(run, self->path, MESSAGES);
}

static larder_status opens(const char *path, uint32_t flags) {
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(CAPACITY, LARDER_RING_OVERWRITE | flags);
    if (flags & LARDER_RING_READ_ONLY) {
        options.capacity_bytes = 0;
    }
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    larder_ring_close(ring);
    return status;
}

static bool holds(torture *run, const char *path, uint64_t count) {
    larder_ring *ring = NULL;
    larder_ring_statistics figures = {0};
    larder_ring_options options = ring_options(0, LARDER_RING_READ_ONLY);
    bool good = EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK) &&
                EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK) &&
                EXPECT(run, figures.count == count, "%s has %llu messages of %llu", path,
                       (unsigned long long)figures.count, (unsigned long long)count);
    larder_ring_close(ring);
    return good;
}

// Files that were there before --------------------------------------------------------------------

typedef struct planted {
    const char *what;
    mode_t mode;
    bool is_other, is_empty, is_linked;
    larder_status refused;
} planted;

static const planted plants[] = {
    {"a log that every user may write to", 0666, false, false, false, LARDER_EWRITABLE},
    {"an empty file that every user may write to", 0602, false, true, false, LARDER_EWRITABLE},
    {"a log with a second name", 0600, false, false, true, LARDER_ELINKED},
    {"an empty file with a second name", 0600, false, true, true, LARDER_ELINKED},
    {"another user's log", 0644, true, false, false, LARDER_EOWNER},
    {"another user's empty file", 0600, true, true, false, LARDER_EOWNER},
    {"another user's empty file for all", 0666, true, true, false, LARDER_EOWNER},
    {"a log that the group may write to", 0660, false, false, false, LARDER_OK},
};

static void find_planted(torture *run, const others *self, const planted *plant) {
    struct stat before, after;
    torture_trial(run);
    if ((plant->is_other && !hostile_has_other_user()) || !make_folder(run, self) ||
        (plant->is_empty && truncate(self->path, 0) != 0) ||
        (plant->is_linked && link(self->path, self->other) != 0) ||
        (plant->is_other && chown(self->path, 65534, 65534) != 0) ||
        chmod(self->path, plant->mode) != 0 || stat(self->path, &before) != 0) {
        return;
    }
    static uint8_t was[CAPACITY], is[CAPACITY];
    (void)read_file(self->path, was, sizeof was);
    larder_ring_options larger = ring_options(2 * CAPACITY, LARDER_RING_OVERWRITE);
    torture_note(run, "%s", plant->what);
    EXPECT(run, opens(self->path, 0) == plant->refused, "%s is opened", plant->what);
    if (!plant->is_empty) {
        EXPECT(run, opens(self->path, LARDER_RING_READ_ONLY) == LARDER_OK, "%s cannot be read",
               plant->what);
    }
    if (plant->refused) {
        EXPECT(run, larder_ring_resize(self->path, &larger, NULL) == plant->refused,
               "%s is resized", plant->what);
        EXPECT(run,
               stat(self->path, &after) == 0 && after.st_size == before.st_size &&
                   after.st_ino == before.st_ino && after.st_mode == before.st_mode &&
                   read_file(self->path, is, sizeof is) == before.st_size &&
                   memcmp(was, is, (size_t)before.st_size) == 0,
               "%s was changed", plant->what);
    }
    larder_status trusted = plant->is_linked ? plant->refused : LARDER_OK;
    EXPECT(run, opens(self->path, LARDER_RING_TRUST_OTHERS) == trusted, "%s is not trusted",
           plant->what);
    larger.flags |= LARDER_RING_TRUST_OTHERS;
    EXPECT(run, larder_ring_resize(self->path, &larger, NULL) == trusted,
           "%s is trusted and not resized", plant->what);
}

static bool open_as_other(void *context) {
    const larder_status *wanted = context;
    return opens("log", 0) == *wanted;
}

/** Root made it, and another user may write to it by its group, or as everybody may. */
static void find_roots(torture *run, const others *self) {
    larder_status fine = LARDER_OK, refused = LARDER_EWRITABLE;
    torture_trial(run);
    if (!hostile_has_other_user() || !make_folder(run, self) || chown(self->path, 0, 65534) != 0 ||
        chmod(self->path, 0660) != 0) {
        return;
    }
    EXPECT(run, hostile_as_other(self->folder, open_as_other, &fine),
           "root's log is refused to its group");
    EXPECT(run,
           chmod(self->path, 0666) == 0 && hostile_as_other(self->folder, open_as_other, &refused),
           "root's log for everybody is opened");
}

// Names that are taken ----------------------------------------------------------------------------

static bool take_names(void *context) {
    bool *makes = context;
    int file = open("log.resize", O_RDWR | O_CREAT | O_EXCL, 0666);
    int guess = open("log.resize-00000001", O_RDWR | O_CREAT | O_EXCL, 0666);
    *makes = file >= 0 && guess >= 0 && fchmod(file, 0666) == 0 && fchmod(guess, 0666) == 0;
    return *makes;
}

/** Nothing that has the name of a resize's new file is used for it, or removed if it may be of
    somebody else; what a resize left that was killed is. */
static void resize_among_names(torture *run, const others *self, bool is_other) {
    static const uint32_t guessed[] = {1, 1, 2, 3, 4, 5, 6, 7};
    char victim[640], name[700], guess[700], left[700];
    struct stat facts, kept;
    torture_trial(run);
    bool makes = false;
    if (!make_folder(run, self)) {
        return;
    }
    snprintf(victim, sizeof victim, "%s/victim", self->folder);
    snprintf(name, sizeof name, "%s.resize", self->path);
    snprintf(guess, sizeof guess, "%s.resize-00000001", self->path);
    snprintf(left, sizeof left, "%s.resize-0badcafe", self->path);
    bool made = write_file(victim, "precious", 8) && write_file(left, "left", 4) &&
                (is_other ? hostile_as_other(self->folder, take_names, &makes)
                          : link(victim, name) == 0 && symlink(victim, guess) == 0);
    if (!EXPECT(run, made, "cannot prepare the names")) {
        return;
    }
    larder_ring_options larger = ring_options(2 * CAPACITY, LARDER_RING_OVERWRITE);
#ifdef TORTURE_WRAPS_CALLS
    failing_random = guessed;
#endif
    larder_status status = larder_ring_resize(self->path, &larger, NULL);
    failing_random = NULL;
    (void)guessed;
    EXPECT_STATUS(run, status, LARDER_OK);
    EXPECT(run, stat(self->path, &facts) == 0 && facts.st_uid == geteuid() && facts.st_nlink == 1,
           "the log is of another user");
    holds(run, self->path, MESSAGES);
    EXPECT(run, size_of_file(victim) == 8, "a file was written to that has another name");
    EXPECT(run, lstat(name, &kept) == 0 && lstat(guess, &facts) == 0,
           "what others made was removed");
    EXPECT(run, !is_other || (facts.st_size == 0 && facts.st_uid != geteuid()),
           "a file that others made was written to");
    EXPECT(run, lstat(left, &facts) != 0, "what a killed resize left is still there");
}

/** A name that nobody has asked for, in the folder of the log: it stays. */
static void resize_beside_logs(torture *run, const others *self) {
    static const char *const names[] = {"log.resize-0badcaf",  "log.resize-0badcafe1",
                                        "log.resize-0BADCAFE", "log.resized",
                                        "log2.resize",         "log.resize-0badcaff.copy"};
    char path[8][700];
    torture_trial(run);
    if (!make_folder(run, self)) {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", self->folder, names[i]);
        EXPECT(run, write_file(path[i], "stays", 5), "cannot make %s", path[i]);
    }
    larder_ring_options larger = ring_options(2 * CAPACITY, LARDER_RING_OVERWRITE);
    EXPECT_STATUS(run, larder_ring_resize(self->path, &larger, NULL), LARDER_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT(run, size_of_file(path[i]) == 5, "%s is gone", path[i]);
    }
}

// Claims ------------------------------------------------------------------------------------------

/** A short file whose header, with the checksum that fits, claims 8 GiB. */
static void salvage_claim(torture *run, void *context) {
    const others *self = context;
    static uint8_t bytes[CAPACITY];
    const uint64_t claim = UINT64_C(8) << 30;
    const uint64_t sizes[][2] = {{claim, claim - 1024}, {claim, 8192}};
    struct rlimit limit = {4 * CAPACITY, 4 * CAPACITY};
    for (size_t i = 0; i < 2 && make_folder(run, self); i++) {
        torture_trial(run);
        uint64_t end = 0;
        (void)read_file(self->path, bytes, CAPACITY);
        memcpy(bytes + 16, &sizes[i][0], 8);
        memcpy(bytes + 32, &sizes[i][1], 8);
        uint32_t crc = larder_crc32c(0, bytes, 60);
        memcpy(bytes + 60, &crc, sizeof crc);
        (void)write_file(self->path, bytes, CAPACITY);
        EXPECT_STATUS(run, opens(self->path, LARDER_RING_READ_ONLY), LARDER_EDAMAGED);
        larder_ring_report report;
        EXPECT(run, setrlimit(RLIMIT_FSIZE, &limit) == 0, "cannot limit files");
        EXPECT_STATUS(run, larder_ring_salvage(self->path, self->other, NULL, NULL, NULL, &report),
                      LARDER_OK);
        end = (uint64_t)size_of_file(self->other);
        EXPECT(run, end <= CAPACITY + 64, "a salvage of %d bytes took %llu", CAPACITY,
               (unsigned long long)end);
        holds(run, self->other, MESSAGES);
        (void)unlink(self->other);
    }
}

static uint64_t load_data_bytes(const uint8_t *head) {
    uint64_t bytes;
    memcpy(&bytes, head + 32, sizeof bytes);
    return bytes;
}

/** Room that the disk has of a file. */
static uint64_t stored(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 ? (uint64_t)facts.st_blocks * 512 : 0;
}

/** A log whose file is as long as its header says, and almost all of it a hole: a copy, or made to
    hurt. Where its length is no one's wish but its own, it is not reserved. */
static void length_claim(torture *run, void *context) {
    const others *self = context;
    static uint8_t bytes[CAPACITY];
    const uint64_t sizes[] = {UINT64_C(64) << 20, UINT64_C(2) << 30};
    for (size_t i = 0; i < 2 && make_folder(run, self); i++) {
        torture_trial(run);
        larder_ring_report report;
        larder_ring *ring = NULL;
        larder_ring_options options = ring_options(sizes[i], LARDER_RING_OVERWRITE);
        bool is_long = i > 0;
        (void)read_file(self->path, bytes, CAPACITY);
        uint64_t data_bytes = sizes[i] - (CAPACITY - load_data_bytes(bytes));
        memcpy(bytes + 16, &sizes[i], 8);
        memcpy(bytes + 32, &data_bytes, 8);
        uint32_t crc = larder_crc32c(0, bytes, 60);
        memcpy(bytes + 60, &crc, sizeof crc);
        memset(bytes + CAPACITY - 64, 0, 64);
        (void)write_file(self->path, bytes, CAPACITY);
        EXPECT(run, truncate(self->path, (off_t)sizes[i]) == 0, "not made longer");
        uint64_t before = stored(self->path);
        if (before > CAPACITY * 4) {
            torture_skip(run, "logs with holes: the file system has none");
            return;
        }
        EXPECT_STATUS(run, larder_ring_open(self->path, NULL, NULL, &ring), LARDER_OK);
        larder_ring_close(ring);
        ring = NULL;
        if (is_long) {
            EXPECT(run, stored(self->path) <= before + 4 * CAPACITY, "%llu bytes were reserved",
                   (unsigned long long)stored(self->path));
            EXPECT_STATUS(run,
                          larder_ring_salvage(self->path, self->other, NULL, NULL, NULL, &report),
                          LARDER_OK);
            EXPECT(run, stored(self->other) <= 4 * CAPACITY, "a salvage took %llu bytes",
                   (unsigned long long)stored(self->other));
            holds(run, self->other, MESSAGES);
            continue;
        }
        EXPECT(run, stored(self->path) >= sizes[i], "a hole of the file stayed");
        holds(run, self->path, MESSAGES);
        // A full disk is told of, and nothing is changed.
        (void)write_file(self->path, bytes, CAPACITY);
        EXPECT(run, truncate(self->path, (off_t)sizes[i]) == 0, "not made longer");
        larder_fault_set("fallocate behind", 1, ENOSPC);
        EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), ENOSPC);
        larder_fault_set(NULL, 0, 0);
        EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK);
        larder_ring_close(ring);
        holds(run, self->path, MESSAGES);
    }
}

// Locks -------------------------------------------------------------------------------------------

static void hold_read_lock(void *context, int ready) {
    const int *command = context;
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int file = open("log", O_RDONLY);
    if (file >= 0 && fcntl(file, *command, &lock) == 0 && write(ready, "", 1) == 1) {
        for (;;) {
            pause();
        }
    }
}

/** One who may only read it holds a lock of the whole file. */
static void lock_for_reading(torture *run, const others *self, int command, bool is_other) {
    larder_ring *ring = NULL, *reader = NULL;
    larder_ring_detail detail = {0};
    larder_ring_statistics figures;
    torture_trial(run);
    if (!make_folder(run, self) || chmod(self->path, 0644) != 0) {
        return;
    }
    pid_t child = hostile_start(self->folder, is_other, hold_read_lock, &command);
    if (!EXPECT(run, child > 0, "cannot lock the log")) {
        return;
    }
    larder_status status = larder_ring_open(self->path, NULL, &detail, &ring);
    EXPECT(run, status == LARDER_ELOCKED, "an open beside a lock for reading gave %d", status);
    EXPECT(run, detail.holder_pid == (command == F_SETLK ? child : 0),
           "its holder is said to be "
           "%lld",
           (long long)detail.holder_pid);
    larder_ring_options options = ring_options(0, LARDER_RING_READ_ONLY);
    if (EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &reader), LARDER_OK)) {
        EXPECT_STATUS(run, larder_ring_statistics_get(reader, &figures), LARDER_OK);
        EXPECT(run, figures.writer_pid == 0 && figures.count == MESSAGES,
               "a reader takes it for a writer");
    }
    larder_ring_close(reader);
    larder_ring_close(ring);
    hostile_end(child);
    EXPECT_STATUS(run, opens(self->path, 0), LARDER_OK);
}

void family_others(torture *run) {
    others self = {torture_path(run, "shared"), torture_path(run, "shared/log"),
                   torture_path(run, "shared/other")};
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    if (!hostile_has_other_user()) {
        torture_skip(run, "files of another user: only root may become one");
    }
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        find_planted(run, &self, &plants[i]);
    }
    find_roots(run, &self);
    resize_beside_logs(run, &self);
    resize_among_names(run, &self, false);
    if (hostile_has_other_user()) {
        resize_among_names(run, &self, true);
    }
    torture_guard(run, 20, salvage_claim, &self);
    torture_guard(run, 60, length_claim, &self);
#if defined(F_OFD_SETLK)
    bool is_other = hostile_has_other_user();
    lock_for_reading(run, &self, F_SETLK, is_other);
    lock_for_reading(run, &self, F_OFD_SETLK, is_other);
#endif
    remove_tree(self.folder);
}
