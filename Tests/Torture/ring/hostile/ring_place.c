// SPDX-License-Identifier: MIT
// A log whose file is deleted, moved or replaced while it is open: what is of no use any more says
// so, what only reads says it when nothing more can come, and nobody touches the file that has the
// name by then.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_calls.h"
#include "larder_os_file.h"
#include "ring_calls.h"

enum { CAPACITY = 16384, MESSAGES = 5, OTHERS = 9 };

/** What happens to the file `log` in `folder`; `aside` is where it is moved. */
typedef struct scene {
    char folder[600], moved[640], log[640], aside[640], other[640];
    uint8_t before[CAPACITY];
} scene;

static larder_status fill(const char *path, uint64_t count) {
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(CAPACITY, 0);
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    for (; count > 0 && !status; count--) status = larder_ring_append(ring, "theirs", 6, NULL);
    larder_ring_close(ring);
    return status;
}

static bool make_other(scene *self, const char *path) {
    return fill(path, OTHERS) == LARDER_OK && read_file(path, self->before, CAPACITY) == CAPACITY;
}

static bool stays(scene *self) { return self->log[0] != 0; }

static bool is_deleted(scene *self) { return unlink(self->log) == 0; }

static bool is_moved(scene *self) { return rename(self->log, self->aside) == 0; }

static bool is_made_anew(scene *self) {
    return unlink(self->log) == 0 && make_other(self, self->log);
}

static bool is_rotated(scene *self) { return is_moved(self) && make_other(self, self->log); }

static bool is_renamed_over(scene *self) {
    return make_other(self, self->other) && rename(self->other, self->log) == 0;
}

static bool folder_is_moved(scene *self) {
    return rename(self->folder, self->moved) == 0 && make_directory(self->folder);
}

static bool folder_is_made_anew(scene *self) {
    return folder_is_moved(self) && make_other(self, self->log);
}

static bool becomes_a_folder(scene *self) { return is_moved(self) && make_directory(self->log); }

/** The process is in another folder, where another log has that name. */
static bool process_goes(scene *self) {
    return make_directory(self->moved) && chdir(self->moved) == 0 && make_other(self, "log");
}

typedef struct way {
    const char *what;
    bool (*happens)(scene *self);
    /** Of what makes sure that the next open finds it, of what lies beside it, and of a resize
        meanwhile, which goes by the folder. */
    larder_status found, beside, resized;
} displacement;

static const displacement ways[] = {
    {"nothing", stays, LARDER_OK, LARDER_OK, LARDER_OK},
    {"it is deleted", is_deleted, LARDER_EREPLACED, LARDER_EREPLACED, LARDER_EREPLACED},
    {"it is moved", is_moved, LARDER_OK, LARDER_EREPLACED, LARDER_EREPLACED},
    {"it is deleted and made anew", is_made_anew, LARDER_EREPLACED, LARDER_EREPLACED,
     LARDER_EREPLACED},
    {"it is moved and made anew", is_rotated, LARDER_EREPLACED, LARDER_EREPLACED, LARDER_EREPLACED},
    {"another one is renamed over it", is_renamed_over, LARDER_EREPLACED, LARDER_EREPLACED,
     LARDER_EREPLACED},
    {"its folder is moved", folder_is_moved, LARDER_OK, LARDER_EREPLACED, LARDER_OK},
    {"its folder is moved, and made anew", folder_is_made_anew, LARDER_EREPLACED, LARDER_EREPLACED,
     LARDER_EREPLACED},
    {"it is moved, and a folder has its name", becomes_a_folder, LARDER_EREPLACED, LARDER_EREPLACED,
     LARDER_EREPLACED},
    {"the process goes elsewhere", process_goes, LARDER_OK, LARDER_OK, LARDER_OK},
};

static bool set_scene(torture *run, const char *path, scene *self) {
    snprintf(self->folder, sizeof self->folder, "%s-place", path);
    snprintf(self->moved, sizeof self->moved, "%s-moved", self->folder);
    snprintf(self->log, sizeof self->log, "%s/log", self->folder);
    snprintf(self->aside, sizeof self->aside, "%s/aside", self->folder);
    snprintf(self->other, sizeof self->other, "%s/other", self->folder);
    remove_tree(self->folder);
    remove_tree(self->moved);
    memset(self->before, 0, CAPACITY);
    return EXPECT(run, make_directory(self->folder) && chdir(self->folder) == 0, "cannot make %s",
                  self->folder);
}

/** Whether the other log is as it was. */
static void other_is_kept(torture *run, scene *self, const char *what) {
    uint8_t now[CAPACITY];
    const char *paths[] = {self->log, "log"};
    bool is_there = false;
    for (int i = 0; i < 2; i++) {
        is_there = is_there || (read_file(paths[i], now, CAPACITY) == CAPACITY &&
                                memcmp(now, self->before, CAPACITY) == 0);
    }
    EXPECT(run, is_there || self->before[0] == 0, "the other log was changed when %s", what);
}

static void looks_around(torture *run, larder_ring *ring, const displacement *way) {
    int folder = -1;
    const char *name = NULL;
    GIVES(larder_ring_folder_open(ring, &folder, &name), way->beside);
    EXPECT(run,
           (folder >= 0) == (way->beside == LARDER_OK) && (folder < 0 || strcmp(name, "log") == 0),
           "the log is called %s there", name);
    if (folder >= 0) close(folder);
}

/** @param was_synced the file's name was on the device before. */
static void happens(torture *run, const char *path, const displacement *way, bool was_synced) {
    static scene self;
    larder_ring *ring = NULL, *reader = NULL;
    larder_ring_options options = ring_options(CAPACITY, LARDER_RING_OVERWRITE);
    larder_ring_report report;
    uint64_t newest = 0;
    torture_note(run, "%s", way->what);
    if (!set_scene(run, path, &self)) return;
    // A relative path, which means the same after the process went elsewhere.
    GIVES(larder_ring_open("log", &options, NULL, &ring), LARDER_OK);
    for (int i = 0; i < MESSAGES; i++) GIVES(larder_ring_append(ring, "ours", 4, NULL), LARDER_OK);
    GIVES(larder_ring_acknowledge(ring, bytes_of_text("one"), 1), LARDER_OK);
    if (was_synced) GIVES(larder_ring_sync(ring), LARDER_OK);
    options = ring_options(0, LARDER_RING_READ_ONLY);
    GIVES(larder_ring_open("log", &options, NULL, &reader), LARDER_OK);
    GIVES(larder_ring_wait(reader, MESSAGES, 0), ETIMEDOUT);
    if (!EXPECT(run, way->happens(&self), "cannot have it that %s", way->what)) return;

    GIVES(larder_ring_check_place(ring), way->found);
    GIVES(larder_ring_check_place(reader), way->found);
    looks_around(run, ring, way);
    // It makes no system call, and so cannot tell.
    GIVES(larder_ring_append(ring, "more", 4, &newest), LARDER_OK);
    GIVES(larder_ring_wait(reader, newest - 1, 0), LARDER_OK);
    GIVES(larder_ring_wait(reader, newest, -1 + (int)(way->found == LARDER_OK)),
          way->found ? way->found : ETIMEDOUT);
    GIVES(larder_ring_acknowledge(ring, bytes_of_text("one"), newest), way->found);
    uint64_t acknowledged = 0;
    GIVES(larder_ring_acknowledged(ring, bytes_of_text("one"), &acknowledged), LARDER_OK);
    EXPECT(run, acknowledged == (way->found ? 1 : newest), "%llu was acknowledged",
           (unsigned long long)acknowledged);
    GIVES(larder_ring_check(ring, &report), way->found);
    GIVES(larder_ring_check(reader, &report), way->found);
    GIVES(larder_ring_sync_through(ring, newest), way->found);
    GIVES(larder_ring_sync(ring), way->found);
    GIVES(larder_ring_append_synced(ring, "last", 4, &newest), way->found);
    EXPECT(run, newest == MESSAGES + 2, "the last one has number %llu", (unsigned long long)newest);
    GIVES(larder_ring_cursor_remove(ring, bytes_of_text("one")), way->found);
    GIVES(was_synced ? larder_ring_shutdown(ring) : larder_ring_shutdown_unsynced(ring),
          way->found);
    GIVES(larder_ring_shutdown(ring), LARDER_OK);
    // What only reads has nothing to lose.
    GIVES(larder_ring_shutdown(reader), LARDER_OK);
    larder_ring_close(reader);
    larder_ring_close(ring);
    other_is_kept(run, &self, way->what);
    if (rename(self.aside, self.log) == 0) {
        GIVES(larder_ring_open(self.log, NULL, NULL, &ring), LARDER_OK);
        GIVES(larder_ring_next_sequence(ring, &newest), LARDER_OK);
        EXPECT(run, newest == MESSAGES + 3, "the log that was moved goes on with %llu",
               (unsigned long long)newest);
        larder_ring_close(ring);
    }
}

// While it is resized -----------------------------------------------------------------------------

static scene *resized;
static const displacement *interferes;

static void interfere(const char *call, const void *what) {
    (void)what;
    // The room for the new file: the old one is open, and nothing has taken its place.
    if (strcmp(call, "system fallocate") != 0) return;
    call_hook = NULL;
    (void)interferes->happens(resized);
}

static int count_names(void *context, const char *name) {
    *(unsigned *)context += strncmp(name, "log.", 4) == 0;
    return 0;
}

/** The log is replaced while its new file is written: that takes no other log's place. */
static void is_resized(torture *run, const char *path, const displacement *way) {
    static scene self;
    larder_ring_options options = ring_options(2 * CAPACITY, 0);
    unsigned left = 0;
    torture_note(run, "%s while it is resized", way->what);
    if (!set_scene(run, path, &self)) return;
    GIVES(fill("log", MESSAGES), LARDER_OK);
#ifdef TORTURE_WRAPS_CALLS
    resized = &self;
    interferes = way;
    call_hook = interfere;
    GIVES(larder_ring_resize("log", &options, NULL), way->resized);
    call_hook = NULL;
    other_is_kept(run, &self, way->what);
    (void)larder_os_folder_list(self.folder, count_names, &left);
    (void)larder_os_folder_list(self.moved, count_names, &left);
    EXPECT(run, left == 0, "%u files are left of a resize", left);
#endif
    (void)interfere, (void)count_names, (void)left, (void)options;
}

/** By its creation time the same log is told from another one, also when it was resized. */
static void is_known(torture *run, const char *path) {
    static scene self;
    larder_ring *ring = NULL;
    larder_ring_statistics figures, now;
    larder_ring_options options = ring_options(2 * CAPACITY, 0);
    if (!set_scene(run, path, &self)) return;
    GIVES(fill("log", MESSAGES), LARDER_OK);
    GIVES(larder_ring_open("log", NULL, NULL, &ring), LARDER_OK);
    GIVES(larder_ring_statistics_get(ring, &figures), LARDER_OK);
    larder_ring_close(ring);
    options.created_ns = figures.created_ns;
    GIVES(larder_ring_resize("log", &options, NULL), LARDER_OK);
    GIVES(larder_ring_open("log", &options, NULL, &ring), LARDER_OK);
    GIVES(larder_ring_statistics_get(ring, &now), LARDER_OK);
    EXPECT(run, now.created_ns == figures.created_ns && now.next_sequence == MESSAGES + 1,
           "a log that was resized is another one");
    larder_ring_close(ring);
    // A missing one is made.
    (void)unlink("log");
    GIVES(larder_ring_open("log", &options, NULL, &ring), LARDER_OK);
    larder_ring_close(ring);
    GIVES(larder_ring_open("log", &options, NULL, &ring), LARDER_EREPLACED);
    GIVES(larder_ring_resize("log", &options, NULL), LARDER_EREPLACED);
    options.flags = LARDER_RING_READ_ONLY;
    options.capacity_bytes = 0;
    GIVES(larder_ring_open("log", &options, NULL, &ring), LARDER_EREPLACED);
}

static int move_away(void *context, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return !process_goes(context);
}

/** A copy that is given up: what has its name elsewhere by then is not removed for it. */
static void copy_fails(torture *run, const char *path) {
    static scene self;
    static uint8_t bytes[1 << 20];
    larder_ring *ring = NULL;
    larder_ring_report report;
    larder_ring_options options = ring_options(8 << 20, 0);
    if (!set_scene(run, path, &self)) return;
    GIVES(larder_ring_open("from", &options, NULL, &ring), LARDER_OK);
    for (int i = 0; i < 3; i++)
        GIVES(larder_ring_append(ring, bytes, sizeof bytes, NULL), LARDER_OK);
    larder_ring_close(ring);
    options.capacity_bytes = (2 << 20) + CAPACITY;
    GIVES(larder_ring_salvage("from", "log", &options, move_away, &self, &report), LARDER_EFULL);
    other_is_kept(run, &self, "a copy fails");
    EXPECT(run, size_of_file(self.log) < 0, "half a copy is left");
}

void ring_places(torture *run, void *context) {
    // The first of what those of the family have.
    const char *path = *(const char **)context;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        happens(run, path, &ways[i], true);
        happens(run, path, &ways[i], false);
        is_resized(run, path, &ways[i]);
    }
    is_known(run, path);
    copy_fails(run, path);
    EXPECT(run, chdir("/") == 0, "cannot go elsewhere");
}
