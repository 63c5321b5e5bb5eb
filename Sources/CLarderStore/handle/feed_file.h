// SPDX-License-Identifier: MIT
/** @file feed_file.h
    Private: the file `feed` beside the log: who waits for changes, and named cursors. Writer,
    waiters and consumers map it; nobody needs it, and whatever lies there is checked.

        0     8 B   magic "LARDFEED"
        8     u64   store id
        64    u32   word     what waiters for writes sleep on
        68    u32   armed    somebody waits if it is after `word`
        72    u32 2          the same for those who wait for syncs
        256   30 slots of 128 bytes:
              0   32 B  name, and zeros
              32  u32   its length, 0 in a free slot
              36  u32   CRC-32C of name, length and lag; of a free slot all ones
              40  u64   lag that is allowed, in bytes
              48  two positions: u64 sequence, u64 count, u64 epoch, u64 CRC-32C of those
              112 16 B  0

    A slot of zeros is damaged: what it had is gone. So cursors that zeros, or the end of a file
    that was cut, took away are told of.

    A position is written to the copy that counts less, so that a crash leaves the other one. Each
    number is stored by itself: another process may look at any time, and sums them up.

    Waiting. A waiter reads `word`, sets `armed` to the one after it, and only then looks for
    something new. Whoever has published something new looks at both, behind a fence; if somebody
    waits, it raises `word`, which ends the waiting, and wakes all. A waiter that was killed costs
    that once. A writer that was killed before it woke anybody is made up for by the next one, which
    wakes all when it begins to watch. */
#ifndef LARDER_FEED_FILE_H
#define LARDER_FEED_FILE_H

#include <pthread.h>

#include "larder_os_wait.h"
#include "larder_store_feed.h"
#include "lmdb/environment.h"

enum { FEED_BYTES = 4096, FEED_NAME_WORDS = 4 };

/** Somebody looks at `armed`; who makes or removes a cursor; the first slot is open. */
#define FEED_PLACE_WATCH ((uint64_t)1 << 40)
#define FEED_PLACE_TABLE (FEED_PLACE_WATCH + 255)
#define FEED_PLACE_SLOT (FEED_PLACE_WATCH + 1)

/** Of a cursor that another store has left here: nobody ever was there. */
#define FEED_EPOCH_NONE UINT32_MAX

typedef struct feed_slot {
    _Atomic uint64_t name[FEED_NAME_WORDS];
    /** Length, and the sum above it. */
    _Atomic uint64_t length;
    _Atomic uint64_t max_lag;
    _Atomic uint64_t positions[2][4];
    uint64_t rest[2];
} feed_slot;

/** The length of a free slot, and what is above it. */
#define FEED_SLOT_FREE ((uint64_t)UINT32_MAX << 32)

/** Of what is told. */
enum { FEED_WRITTEN = 0, FEED_SYNCED = 1 };

typedef struct feed_bell {
    _Atomic uint32_t word, armed;
} feed_bell;

typedef struct feed_page {
    char magic[8];
    _Atomic uint64_t store_id;
    uint8_t zeros[48];
    feed_bell bells[2];
    uint8_t more_zeros[176];
    feed_slot slots[LARDER_STORE_FEED_CURSORS_MAX];
} feed_page;

_Static_assert(sizeof(feed_slot) == 128, "slot");
_Static_assert(offsetof(feed_page, bells) == 64, "word");
_Static_assert(offsetof(feed_page, slots) == 256, "slots");
_Static_assert(sizeof(feed_page) == FEED_BYTES, "page");

/** The file as one handle has it open; all zero but -1 without. */
typedef struct feed_file {
    int file;
    feed_page *page;
} feed_file;

/** A cursor as it was read. */
typedef struct feed_cursor {
    char name[LARDER_STORE_FEED_NAME_MAX_BYTES];
    uint32_t length;
    uint32_t epoch;
    uint64_t sequence;
    uint64_t max_lag;
} feed_cursor;

/** Opens the file of a store.
    @param makes it if it is missing, with the permissions of `lock`.
    @return LARDER_OK; ENOENT: there is none; LARDER_EREPLACED: another store is in the folder by
            now; LARDER_EFOREIGN; LARDER_EOWNER …; EACCES or another errno. */
LARDER_MUST_CHECK larder_status larder_feed_file_open(const larder_store *store, bool makes,
                                                      feed_file *out);
void larder_feed_file_close(feed_file *closed);
/** Notes where a cursor of this store is.
    @return LARDER_OK; LARDER_EREPLACED: another store has the file by now; nothing was noted. */
LARDER_MUST_CHECK larder_status larder_feed_file_note(const feed_file *of, uint64_t store_id,
                                                      size_t slot, uint32_t epoch,
                                                      uint64_t sequence);
/** Keeps others from making and removing cursors until larder_feed_table_unlock. LARDER_EBUSY after
    a second. */
LARDER_MUST_CHECK larder_status larder_feed_table_lock(const feed_file *of);
void larder_feed_table_unlock(const feed_file *of);
/** Brings it to the device, with its name. */
LARDER_MUST_CHECK larder_status larder_feed_file_sync(const feed_file *of, const char *folder);

/** @return false if the slot is free, or damaged. */
bool larder_feed_cursor_read(const feed_page *page, size_t slot, feed_cursor *out);
bool larder_feed_cursor_is_damaged(const feed_page *page, size_t slot);
/** Makes a cursor in a free slot; `length` 0 frees it. */
void larder_feed_cursor_write(feed_page *page, size_t slot, const feed_cursor *written);

/** A feed of the handle, whose wait ends with the handle's use. */
typedef struct feed_waiter {
    struct feed_waiter *next;
    /** What it sleeps on a word of; NULL if there is none. */
    _Atomic(feed_page *) page;
} feed_waiter;

/** What a handle has of feeds, and the one that writes of the file. */
typedef struct store_feed {
    /** Guards `waiters`, and making. */
    pthread_mutex_t lock;
    feed_waiter *waiters;
    feed_file file;
    /** In which the log goes on. */
    uint32_t epoch;
    /** There may be cursors that could not be looked at: then nothing is deleted for now. */
    _Atomic bool is_unknown;
    /** Of `file`, once it watches. */
    _Atomic(feed_page *) page;
} store_feed;

/** Looks whether there is such a file by now; from then on, waiters are woken. */
void larder_feed_watch(larder_store *store);
void larder_feed_join(store_feed *feed, feed_waiter *added);
void larder_feed_leave(store_feed *feed, const feed_waiter *gone);
/** Has every feed of the handle look at what there is, and find that the handle is shut. */
void larder_feed_wake_own(store_feed *feed);
/** Ends it; the page stays mapped until larder_feed_free. */
void larder_feed_unwatch(store_feed *feed);
void larder_feed_free(store_feed *feed);
/** What is acknowledged, to the device. */
LARDER_MUST_CHECK larder_status larder_feed_sync(const store_feed *feed);
void larder_feed_wake(feed_bell *bell);

/** To be called when something was published that waiters may wait for: FEED_…. */
static inline void feed_tell(store_feed *feed, int what) {
    feed_page *page = atomic_load_explicit(&feed->page, memory_order_acquire);
    if (page == NULL) return;
    // Either this sees that somebody waits, or the waiter sees what was published.
    atomic_thread_fence(memory_order_seq_cst);
    feed_bell *bell = &page->bells[what];
    uint32_t word = atomic_load_explicit(&bell->word, memory_order_relaxed);
    uint32_t armed = atomic_load_explicit(&bell->armed, memory_order_relaxed);
    if ((int32_t)(armed - word) > 0) larder_feed_wake(bell);
}

/** Says that somebody waits.
    @return what to sleep on `word` for, unless there is something new. */
uint32_t larder_feed_arm(feed_bell *bell);

#endif
