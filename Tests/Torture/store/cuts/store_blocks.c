// SPDX-License-Identifier: MIT
// Cuts the file system itself: a store writes to ext4 on a loop device, whose file is served by a
// process, through FUSE, that records every write and flush of the device. The disk as it was at
// each flush, and with any part of what was written behind it, in any order, is mounted and must
// hold what the writer was told to be safe by then. Needs root, loop devices, FUSE and mkfs.ext4.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"

#ifdef __linux__
#include <linux/fuse.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { DISK_BYTES = 24 << 20, EVENTS_MOST = 100000, SECTOR = 512, SUBSETS = 1000, STEPS = 250 };
static const uint64_t data_most = 1ull << 30;

/** A write of the device; of length 0, a flush. */
typedef struct event {
    uint64_t offset, length, data;
    /** What the writer had begun, and had been told to be safe, when it came. */
    uint64_t begun, synced;
} event;

typedef struct blocks {
    book *book;
    uint8_t *disk, *data;
    event *events;
    _Atomic uint64_t count, data_bytes;
    char image[600], served[600], mounted[600], file[640], store[640];
    rng random;
} blocks;

// The device --------------------------------------------------------------------------------------

static void record(blocks *self, uint64_t offset, const uint8_t *bytes, uint64_t length) {
    uint64_t count = atomic_load(&self->count), used = atomic_load(&self->data_bytes);
    if (count == EVENTS_MOST || used + length > data_most) {
        _exit(3);
    }
    memcpy(self->data + used, bytes, length);
    memcpy(self->disk + offset, bytes, length);
    self->events[count] = (event){offset, length, used, atomic_load(&self->book->lane[0].begun),
                                  atomic_load(&self->book->lane[0].synced)};
    atomic_store(&self->data_bytes, used + length);
    atomic_store(&self->count, count + 1);
}

static struct fuse_attr attributes_of(uint64_t node) {
    bool is_folder = node == FUSE_ROOT_ID;
    return (struct fuse_attr){.ino = node,
                              .size = is_folder ? 0 : DISK_BYTES,
                              .blocks = is_folder ? 0 : DISK_BYTES / SECTOR,
                              .mode = is_folder ? S_IFDIR | 0700 : S_IFREG | 0600,
                              .nlink = 1,
                              .blksize = 4096};
}

/** Fills in the answer's body. @return its length, or an errno below 0. */
static int64_t answer(blocks *self, const struct fuse_in_header *in, const void *body,
                      uint8_t *out) {
    switch (in->opcode) {
    case FUSE_INIT: {
        struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
                                     .minor = FUSE_KERNEL_MINOR_VERSION,
                                     .max_write = 128 << 10};
        memcpy(out, &init, sizeof init);
        return sizeof init;
    }
    case FUSE_LOOKUP: {
        struct fuse_entry_out entry = {.nodeid = 2, .attr = attributes_of(2)};
        memcpy(out, &entry, sizeof entry);
        return strcmp(body, "disk") == 0 ? (int64_t)sizeof entry : -ENOENT;
    }
    case FUSE_GETATTR:
    case FUSE_SETATTR: {
        struct fuse_attr_out facts = {.attr = attributes_of(in->nodeid)};
        memcpy(out, &facts, sizeof facts);
        return sizeof facts;
    }
    case FUSE_OPEN:
        memset(out, 0, sizeof(struct fuse_open_out));
        return sizeof(struct fuse_open_out);
    case FUSE_READ: {
        const struct fuse_read_in *what = body;
        uint64_t left = what->offset < DISK_BYTES ? DISK_BYTES - what->offset : 0;
        uint64_t length = what->size < left ? what->size : left;
        memcpy(out, self->disk + (left ? what->offset : 0), length);
        return (int64_t)length;
    }
    case FUSE_WRITE: {
        const struct fuse_write_in *what = body;
        struct fuse_write_out done = {.size = what->size};
        if (what->offset + what->size > DISK_BYTES) {
            return -EFBIG;
        }
        record(self, what->offset, (const uint8_t *)(what + 1), what->size);
        memcpy(out, &done, sizeof done);
        return sizeof done;
    }
    case FUSE_FSYNC: record(self, 0, self->disk, 0); return 0;
    case FUSE_FLUSH:
    case FUSE_RELEASE: return 0;
    default: return -ENOSYS;
    }
}

static void serve(blocks *self, int device) {
    static _Alignas(8) uint8_t in[1 << 20], out[1 << 20];
    for (;;) {
        ssize_t got = read(device, in, sizeof in);
        if (got < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) {
            continue;
        }
        if (got < (ssize_t)sizeof(struct fuse_in_header)) {
            _exit(0); // Unmounted.
        }
        const struct fuse_in_header *header = (const void *)in;
        if (header->opcode == FUSE_FORGET || header->opcode == FUSE_BATCH_FORGET) {
            continue;
        }
        int64_t length = answer(self, header, header + 1, out + sizeof(struct fuse_out_header));
        struct fuse_out_header head = {.unique = header->unique,
                                       .error = length < 0 ? (int)length : 0,
                                       .len = (uint32_t)sizeof head};
        head.len += length > 0 ? (uint32_t)length : 0;
        memcpy(out, &head, sizeof head);
        (void)!write(device, out, head.len);
    }
}

/** Mounts a file through a loop device, which goes when it is unmounted. */
static bool mount_file(const char *file, const char *folder) {
    char path[64];
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
    snprintf(path, sizeof path, "/dev/loop%d", number);
    int loop = number < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    int backing = open(file, O_RDWR | O_CLOEXEC);
    struct loop_config config = {.fd = (uint32_t)backing, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
    bool good = loop >= 0 && backing >= 0 && ioctl(loop, LOOP_CONFIGURE, &config) == 0 &&
                mount(path, folder, "ext4", MS_NOATIME, "") == 0;
    int error = errno;
    int files[] = {control, loop, backing};
    for (int i = 0; i < 3; i++) {
        if (files[i] >= 0) {
            close(files[i]);
        }
    }
    errno = error;
    return good;
}

// The writer --------------------------------------------------------------------------------------

static void write_to_it(torture *run, void *context) {
    blocks *self = context;
    store_plan plan = {.book = self->book,
                       .path = self->store,
                       .random = rng_make(rng_next(&self->random)),
                       .steps = STEPS};
    store_writer_run(&plan);
    EXPECT(run, !atomic_load(&self->book->broken), "the writer: %s", self->book->broken_text);
}

/** A run of the writer on the recorded device. @return false if it cannot be had here. */
static bool record_run(torture *run, blocks *self) {
    char options[128], command[1400];
    snprintf(command, sizeof command, "truncate -s %d '%s' && mkfs.ext4 -q -F '%s' 2>/dev/null",
             (int)DISK_BYTES, self->image, self->image);
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    if (device < 0 || system(command) != 0 ||
        read_file(self->image, self->disk, DISK_BYTES) != DISK_BYTES ||
        mount("torture", self->served, "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
        if (device >= 0) {
            close(device);
        }
        return false;
    }
    memcpy(self->data, self->disk, DISK_BYTES); // What it begins with.
    atomic_store(&self->data_bytes, DISK_BYTES);
    atomic_store(&self->count, 0);
    fflush(NULL);
    pid_t server = fork();
    if (server == 0) {
        serve(self, device);
    }
    close(device);
    bool is_mounted = server > 0 && mount_file(self->file, self->mounted);
    if (is_mounted) {
        torture_guard(run, 120, write_to_it, self);
        (void)umount2(self->mounted, 0);
    }
    (void)umount2(self->served, MNT_DETACH);
    if (server > 0) {
        kill(server, SIGTERM);
        (void)waitpid(server, NULL, 0);
    }
    return is_mounted;
}

// Images ------------------------------------------------------------------------------------------

static void verify_mounted(torture *run, void *context) {
    blocks *self = context;
    uint8_t boot[16] = {9};
    larder_fault_boot_id(boot);
    larder_store *store = NULL;
    larder_store_options options = book_options(self->book, LARDER_STORE_HOST_MAINTENANCE);
    (void)(EXPECT_STATUS(run, larder_store_open(self->store, &options, NULL, &store), LARDER_OK) &&
           book_verify(run, self->book, store, PROMISE_SYNCED, NULL) &&
           book_verify_sound(run, self->book, store, self->store, true) &&
           book_verify(run, self->book, store, PROMISE_SYNCED, NULL));
    larder_store_close(store);
}

static void apply(blocks *self, const event *what) {
    memcpy(self->disk + what->offset, self->data + what->data, what->length);
}

/** Everything up to the flush `at`, and any part of what came between it and the next one. */
static void try_image(torture *run, blocks *self, uint64_t at, bool goes_behind) {
    uint64_t count = atomic_load(&self->count), end = at + 1;
    torture_trial(run);
    torture_note(run, "flush %llu of %llu events%s", (unsigned long long)at,
                 (unsigned long long)count, goes_behind ? ", and some behind it" : "");
    memcpy(self->disk, self->data, DISK_BYTES);
    for (uint64_t i = 0; i <= at; i++) {
        apply(self, &self->events[i]);
    }
    while (end < count && self->events[end].length) {
        end++;
    }
    for (uint64_t i = at + 1; goes_behind && i < end; i++) {
        const event *any = &self->events[rng_between(&self->random, at + 1, end - 1)];
        event part = *any;
        if (rng_one_in(&self->random, 3)) { // Torn.
            part.length = SECTOR * rng_below(&self->random, part.length / SECTOR + 1);
        }
        apply(self, &part);
    }
    lane *own = &self->book->lane[0];
    const event *next = &self->events[at + 1 < count ? at + 1 : at];
    atomic_store(&own->synced, next->synced);
    atomic_store(&own->done, next->synced);
    atomic_store(&own->begun, self->events[end < count ? end : count - 1].begun);
    if (EXPECT(run,
               write_file(self->image, self->disk, DISK_BYTES) &&
                   mount_file(self->image, self->mounted),
               "cannot mount an image: %s", strerror(errno))) {
        torture_guard(run, 60, verify_mounted, self);
        (void)umount2(self->mounted, 0);
    }
    atomic_fetch_add(&run->tally->images, 1);
}

void family_store_blocks(torture *run) {
    blocks self = {.book = shared_memory(sizeof(book)),
                   .disk = shared_memory(DISK_BYTES),
                   .data = shared_memory(data_most),
                   .events = shared_memory(EVENTS_MOST * sizeof(event))};
    blocks *shared = shared_memory(sizeof *shared);
    if (!torture_next_case(run, &self.random)) {
        return;
    }
    snprintf(self.image, sizeof self.image, "%s/image", run->directory);
    snprintf(self.served, sizeof self.served, "%s/served", run->directory);
    snprintf(self.mounted, sizeof self.mounted, "%s/mounted", run->directory);
    snprintf(self.file, sizeof self.file, "%s/disk", self.served);
    snprintf(self.store, sizeof self.store, "%s/store", self.mounted);
    book_reset(self.book, &self.random);
    self.book->lanes = 1;
    self.book->longest = self.book->longest < 9000 ? self.book->longest : 9000;
    self.book->flushes = self.book->syncs = 60;
    memcpy(shared, &self, sizeof self);
    make_directory(self.served);
    make_directory(self.mounted);
    if (!record_run(run, shared)) {
        torture_skip(run, "needs root, /dev/fuse, loop devices, ext4 and mkfs.ext4");
        return;
    }
    uint64_t count = atomic_load(&shared->count), flushes = 0;
    for (uint64_t at = 0; at < count && torture_goes_on(run); at++) {
        if (shared->events[at].length == 0) {
            flushes++;
            try_image(run, shared, at, false);
        }
    }
    for (int i = 0; i < SUBSETS && flushes > 0 && torture_goes_on(run); i++) {
        uint64_t at = rng_below(&shared->random, count);
        while (at > 0 && shared->events[at].length) {
            at--;
        }
        try_image(run, shared, at, true);
    }
    printf("  %llu writes and flushes of the device, of which %llu flushes\n",
           (unsigned long long)count, (unsigned long long)flushes);
}
#else
void family_store_blocks(torture *run) { torture_skip(run, "needs Linux"); }
#endif
