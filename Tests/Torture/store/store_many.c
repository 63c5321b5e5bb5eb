// SPDX-License-Identifier: MIT
// Many stores open in one process: one write in each, then rest, then closed and opened again. What
// each takes of memory, address space, disk, descriptors and threads is bounded, and one that rests
// does nothing. --count 10000 is what is promised; the default is small.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

enum {
    USUAL_COUNT = 100,
    STORE_DISK_MAX = 100 << 10,
    STORE_MEMORY_MAX = 64 << 10,
    /** Of what does not grow with the number of stores. */
    PROCESS_MEMORY_MAX = 24 << 20,
    THREADS_MAX = 16
};

// A sanitizer's memory, or an emulator's, would count as ours.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(TORTURE_EMULATED)
static const bool measures_memory = false;
#else
static const bool measures_memory = true;
#endif

typedef struct many {
    uint64_t count;
    larder_store **stores;
} many;

/** Threads of this process, and how often all but the first have gone to sleep: each wake-up ends
    with that. */
static unsigned threads(uint64_t *sleeps) {
    unsigned count = 0;
    *sleeps = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        int task = atoi(entry->d_name);
        if (task == 0) {
            continue;
        }
        count++;
        char path[64], line[256];
        snprintf(path, sizeof path, "/proc/self/task/%d/status", task);
        FILE *file = task == getpid() ? NULL : fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            const char *name = "voluntary_ctxt_switches:";
            if (strncmp(line, name, strlen(name)) == 0) {
                *sleeps += strtoull(line + strlen(name), NULL, 10);
            }
        }
        if (file) {
            fclose(file);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return count;
}

static uint64_t blocks_of(const char *path) {
    struct stat facts;
    if (lstat(path, &facts) != 0) {
        return 0;
    }
    uint64_t bytes = (uint64_t)facts.st_blocks * 512;
    DIR *folder = S_ISDIR(facts.st_mode) ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char inner[1024];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        bytes += entry->d_name[0] == '.' ? 0 : blocks_of(inner);
    }
    if (folder) {
        closedir(folder);
    }
    return bytes;
}

static const char *store_path(const torture *run, uint64_t index) {
    static char path[700];
    snprintf(path, sizeof path, "%s/%06llu", run->directory, (unsigned long long)index);
    return path;
}

static larder_bytes value_of(uint64_t index, uint8_t bytes[100]) {
    memset(bytes, (int)(index % 251 + 1), 100);
    return bytes_of(bytes, 100);
}

static bool open_all(torture *run, many *self) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.sync_interval_ns = options.flush_interval_ns = 20000000;
    for (uint64_t i = 0; i < self->count; i++) {
        larder_status status =
            larder_store_open(store_path(run, i), &options, NULL, &self->stores[i]);
        if (!EXPECT_STATUS(run, status, LARDER_OK)) {
            return false;
        }
    }
    return true;
}

static bool write_all(torture *run, many *self, const char *key) {
    for (uint64_t i = 0; i < self->count; i++) {
        uint8_t bytes[100];
        larder_store_item item;
        larder_store_item_init(&item, bytes_of_text(key), value_of(i, bytes));
        if (!EXPECT_STATUS(run, larder_store_put(self->stores[i], &item, NULL), LARDER_OK)) {
            return false;
        }
    }
    return true;
}

static bool read_all(torture *run, many *self, const char *key) {
    bool good = true;
    for (uint64_t i = 0; good && i < self->count; i++) {
        uint8_t bytes[100];
        larder_bytes wanted = value_of(i, bytes);
        larder_store_entry entry;
        good = EXPECT_STATUS(run, larder_store_get(self->stores[i], bytes_of_text(key), 0, &entry),
                             LARDER_OK);
        good = good && EXPECT(run,
                              entry.value.length == wanted.length &&
                                  memcmp(entry.value.data, wanted.data, 100) == 0,
                              "store %llu holds another value", (unsigned long long)i);
        if (good) larder_store_release(&entry);
    }
    return good;
}

/** Waits until everything was synced and nothing is due; then nothing may happen. */
static void expect_rest(torture *run, const many *self, unsigned descriptors) {
    uint64_t before = 1, after = 0;
    for (unsigned attempt = 0; before != after && attempt < 600; attempt++) {
        (void)threads(&before);
        usleep(200000);
        unsigned count = threads(&after);
        EXPECT(run, count <= THREADS_MAX, "%u threads", count);
    }
    EXPECT(run, before == after, "resting stores wake a thread");
    EXPECT(run, open_descriptors() <= descriptors + self->count + 3,
           "%u descriptors for %llu stores", open_descriptors() - descriptors,
           (unsigned long long)self->count);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    uint64_t peak = (uint64_t)usage.ru_maxrss << 10;
    EXPECT(run, !measures_memory || peak <= PROCESS_MEMORY_MAX + self->count * STORE_MEMORY_MAX,
           "%llu bytes resident", (unsigned long long)peak);
}

static void close_all(torture *run, many *self) {
    for (uint64_t i = 0; i < self->count; i++) {
        if (self->stores[i]) {
            EXPECT_STATUS(run, larder_store_shutdown(self->stores[i]), LARDER_OK);
        }
        larder_store_close(self->stores[i]);
        self->stores[i] = NULL;
    }
}

static void open_write_rest_close(torture *run, void *context) {
    many *self = context;
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    // A telephone's process has little.
    const struct rlimit space = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    if (measures_memory && self->count <= USUAL_COUNT) {
        EXPECT(run, setrlimit(RLIMIT_AS, &space) == 0, "cannot limit the address space");
    }
    unsigned descriptors = open_descriptors();
    self->stores = calloc(self->count, sizeof *self->stores);
    if (open_all(run, self) && write_all(run, self, "first")) {
        expect_rest(run, self, descriptors);
    }
    close_all(run, self);
    if (torture_unhurt(run) && open_all(run, self) && read_all(run, self, "first") &&
        write_all(run, self, "second")) {
        expect_rest(run, self, descriptors);
        (void)read_all(run, self, "second");
    }
    close_all(run, self);
    uint64_t bytes = blocks_of(run->directory);
    EXPECT(run, bytes <= self->count * STORE_DISK_MAX + (1 << 20), "%llu bytes on disk",
           (unsigned long long)bytes);
    free(self->stores);
}

void family_store_many(torture *run) {
#ifdef __linux__
    many self = {.count = run->count ? run->count : USUAL_COUNT};
    torture_trial(run);
    torture_note(run, "%llu stores", (unsigned long long)self.count);
    (void)torture_guard(run, 600, open_write_rest_close, &self);
#else
    torture_skip(run, "threads and descriptors are counted in /proc");
#endif
}
