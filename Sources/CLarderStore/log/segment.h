// SPDX-License-Identifier: MIT
/** @file segment.h
    Private: one append-only file of the log, `log/<number, 8 hex digits>.seg`, mapped as a whole.

        0   8 B  magic "LARDSEG1"; "LARDNEW1" until the first sync of its records begins
        8   u32  CRC-32C of bytes 12 to 64
        12  u32  number
        16  u64  store id
        24  u32  kind       SEGMENT_…
        28  u32  0
        32  u64  capacity   of the file
        40  u64  first      no write in it has a smaller sequence
        48  u64  as of      of a cleaned one: no record in it was replaced or removed by a write
                            up to this sequence
        56  u32  epoch      of a written one: see StoreProtocol.md, I15
        60  u32  before     the epoch before it, where it begins; else the same
        64       records, see record.h

    The file has all its blocks and its head when it gets its name (it is made as `<number>.new`),
    so that a store into the mapping cannot fail and a reader elsewhere finds it whole or not at
    all. It is zeros behind the last record. A record is there as soon as its first eight bytes are,
    which are stored last: a process that is killed leaves it whole or not at all. Whoever appends
    keeps SEGMENT_NEXT_BYTES free for the record that names the next segment.

    Nothing in it is ever overwritten but the magic, and the epoch of an empty one: what makes a
    store is synced before the first sync of its log, and only then. So where every segment still
    says that it is new, nothing in the store was ever promised to survive a power cut. Its files
    are found relative to the descriptor of the folder `log`, never by path. */
#ifndef LARDER_SEGMENT_H
#define LARDER_SEGMENT_H

#include "format/record.h"
#include "larder_os_file.h"

enum {
    SEGMENT_HEAD_BYTES = 64,
    SEGMENT_NEXT_BYTES = 40,
    SEGMENT_NAME_BYTES = 16,

    /** Its head is damaged. */
    SEGMENT_UNKNOWN = 0,
    /** Records in the order in which they were written. */
    SEGMENT_WRITTEN = 1,
    /** Records that cleaning has brought together, in any order. */
    SEGMENT_CLEANED = 2
};

/** How often the log went back. */
typedef struct segment_epoch {
    uint32_t number;
    /** Of the segment that begins it, the last one that began before; of others `number`. */
    uint32_t before;
} segment_epoch;

/** What is known of a segment's file without mapping it. */
typedef struct segment_facts {
    /** Of the file's name, and of its head: 0 if that is damaged. */
    uint32_t number, head_number;
    uint32_t kind;
    uint64_t store_id;
    /** As the file has them, whatever its head says; 0 if it is no file, or shorter than a head. */
    uint64_t bytes;
    /** As the disk has them, or as many: without holes. */
    uint64_t stored_bytes;
    uint64_t first_sequence;
    uint64_t as_of;
    segment_epoch epoch;
    /** Its first sync has not begun; of a damaged head, that nothing says it has. */
    bool is_new;
    /** It has a head, and no record right behind it. */
    bool is_empty;
    /** It is shorter than a head, and nothing was written to it. */
    bool is_blank;
} segment_facts;

/** A part of a file in which nothing is, not even blocks. */
typedef struct segment_hole {
    uint64_t from, until;
} segment_hole;

typedef struct segment {
    uint32_t number;
    /** Of its file's name: another one only in salvage, where files have changed names. */
    uint32_t file_number;
    uint32_t kind;
    /** Where the log goes on; 0 as long as that is not known. */
    uint32_t next;
    uint8_t *map;
    /** Of file and mapping; a multiple of 8, if the file was cut short. */
    uint64_t capacity;
    /** Of a file with far more of them than any that was written here: in ascending order, as they
        were when it was opened. Else NULL. */
    segment_hole *holes;
    size_t hole_count;
    /** Where the file ended when it was opened, if it had been cut short; else 0. */
    uint64_t cut_at;
    uint64_t first_sequence;
    /** Of the last record that was appended or read; 0 if that is not known. */
    uint64_t last_sequence;
    uint64_t as_of;
    segment_epoch epoch;
    /** Behind the last record that is there. */
    _Atomic uint64_t end;
    /** Records up to there, and those of them that are no puts. */
    uint64_t record_count;
    uint64_t bare_count;
    /** These are of all its records: it was made, or read from its start, by this handle. */
    bool is_measured;
    /** So much is on the device; the rest may not be. */
    uint64_t synced;
    /** Its name is on the device. */
    bool is_named;
    /** A sync failed: what lies behind `synced` has to be made dirty again before the next one is
        believed. */
    bool sync_failed;
    /** The last record names another one, or it was closed by cleaning. */
    bool is_sealed;
    /** The log's own, and values of it that are lent out: the last one ends the mapping. */
    _Atomic uint32_t holds;
    /** How many such values lie in each LOAN_BLOCK_BYTES of it; NULL before the first. */
    _Atomic(_Atomic uint32_t *) lent;
} segment;

/** A value that is lent out: it stays readable whatever becomes of its segment. */
typedef struct segment_loan {
    segment *of;
    uint64_t from, until;
} segment_loan;

/** "<number>.seg" */
void larder_segment_name(uint32_t number, char out[SEGMENT_NAME_BYTES]);
/** The number in such a name; false for another one. */
bool larder_segment_number_of(const char *name, uint32_t *number);
/** Whether it is the name of a segment that is being made: of one that never was, when the store is
    opened. */
bool larder_segment_is_unfinished(const char *name);

/** Opens a segment's file; flags as larder_os_file_open_in, -1 on failure. */
LARDER_MUST_CHECK larder_status larder_segment_open_file(int folder, uint32_t number, int flags,
                                                         int *file);
/** Makes a segment's file, of `capacity` bytes at least: a multiple of 4096. It is not synced.
    @return LARDER_OK; ENOSPC, EDQUOT, EFBIG, EEXIST, ENOMEM or another errno: then there is
    none. */
LARDER_MUST_CHECK larder_status larder_segment_create(int folder, uint32_t number, uint32_t kind,
                                                      uint64_t capacity, uint64_t first_sequence,
                                                      uint64_t as_of, segment_epoch epoch,
                                                      uint64_t store_id, uint32_t mode,
                                                      segment **out);
/** Reads what the file's head says.
    @return LARDER_OK, also where the head is damaged or too short; ENOENT or another errno. */
LARDER_MUST_CHECK larder_status larder_segment_facts(int folder, uint32_t number,
                                                     segment_facts *out);
/** Opens one that is there; `end` is not known yet (SEGMENT_HEAD_BYTES). A damaged head costs no
    record: then it is of SEGMENT_UNKNOWN, and each record speaks for itself. A file that was cut
    short gets its length again if it is opened to write, and there is room.
    @param writes whether it may be appended to.
    @return LARDER_OK; ENOENT; LARDER_EDAMAGED (another segment has come into its place, of this
            store or of another one, or it is shorter than a head); ENOMEM or another errno. */
LARDER_MUST_CHECK larder_status larder_segment_open(int folder, uint32_t number, uint64_t store_id,
                                                    bool writes, segment **out);
/** Releases the mapped pages of a segment of the least size: they are read again on access. */
void larder_segment_rest(const segment *resting);
/** The same of the pages between two offsets, as far as they are whole. */
void larder_segment_rest_between(const segment *resting, uint64_t from, uint64_t until);
/** Opens one for reading whatever its head says: of SEGMENT_UNKNOWN if that is damaged, without a
    first sequence, and of whatever length it is. Its number is that of a sound head. NULL if it is
    no file, or too short for a head.
    @param store_id receives the one in its head; 0 if that is damaged. */
LARDER_MUST_CHECK larder_status larder_segment_open_damaged(int folder, uint32_t number,
                                                            uint64_t *store_id, segment **out);
/** Gives the file a head of that kind, with the segment's number and figures; not synced. The
    mapped segment has it then, too. */
LARDER_MUST_CHECK larder_status larder_segment_mend(segment *of, int folder, uint32_t kind,
                                                    uint64_t store_id);
/** Its epoch as its head says by now: whoever recovers the log may have changed it since it was
    mapped. */
uint32_t larder_segment_epoch_now(const segment *of);
/** All of its file to the device; it does not say that it was synced. */
LARDER_MUST_CHECK larder_status larder_segment_sync_file(const segment *of, int folder);
/** Ends the mapping, or leaves that to the last loan; NULL is allowed. */
void larder_segment_close(segment *closed);
/** Lends out bytes of it, which the caller is protected to read.
    @return what larder_segment_take_back ends; NULL without memory. */
segment_loan *larder_segment_lend(segment *of, larder_bytes bytes);
void larder_segment_take_back(segment_loan *loan);
/** To be called when its file is removed and nobody lends of it any more: what is lent out is
    copied and takes the place of the mapping, so that neither disk nor memory keep the rest. Where
    the system cannot do that, or has no memory, everything stays. O(bytes lent). */
void larder_segment_detach(segment *of);
/** Gives the disk back what stands empty behind the end of a segment to which nothing is appended
    any more. Where the system cannot, everything stays. */
void larder_segment_release_rest(const segment *of, int folder);
/** Has all blocks of one to which is appended again, where that was given back, behind damage or a
    power cut that the record at its end did not survive. An errno. */
LARDER_MUST_CHECK larder_status larder_segment_reserve_rest(const segment *of, int folder);
/** Whether nothing of it was synced yet. */
bool larder_segment_is_new(const segment *asked);
/** Whether the file was cut short so near to `offset` that something may have lain there. */
static inline bool segment_is_cut_at(const segment *asked, uint64_t offset) {
    return asked->cut_at > 0 && offset + 8 > asked->cut_at;
}
/** The first place from `offset` on where something lies that is not zero; the capacity if there is
    none. O(what it passes, without the large holes). */
uint64_t larder_segment_first_used(const segment *in, uint64_t offset);

/** What lies at `offset`, as long as it has the shape of a record and fits into the mapping. Not
    verified. LARDER_END where nothing was written; LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_segment_look(const segment *from, uint64_t offset,
                                                    larder_bytes *record);
/** The same, taken apart; `offset` moves behind it. */
LARDER_MUST_CHECK larder_status larder_segment_read(const segment *from, uint64_t *offset,
                                                    bool verifies, record *out);

/** Publishes what was written at `end`, `length` bytes of whole sealed records of which the first
    has `first_word` still to come. */
void larder_segment_publish(segment *to, size_t length, uint64_t first_word);
/** Says that no more will be appended, and where the log goes on. There is room for that. */
void larder_segment_seal(segment *sealed, uint32_t next, uint64_t sequence);

/** Everything up to `end` to the device. */
LARDER_MUST_CHECK larder_status larder_segment_sync_to(segment *synced, int folder, uint64_t end);
/** Everything up to its end to the device, and its name. */
LARDER_MUST_CHECK larder_status larder_segment_sync(segment *synced, int folder);
/** Makes every page from `from` on dirty again, whatever the system thinks of them. */
void larder_segment_redirty(segment *dirtied, uint64_t from);

#endif
