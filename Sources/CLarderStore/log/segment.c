// SPDX-License-Identifier: MIT
/** @file segment.c
    One file of the log; the drawing is in segment.h. */
#include "log/segment.h"

#include <sys/mman.h>

#include "larder_crc32c.h"

/** The first 64 bytes, as they lie on disk. */
typedef struct segment_head {
    char magic[8];
    uint32_t crc;
    uint32_t number;
    uint64_t store_id;
    uint32_t kind;
    uint32_t zero;
    uint64_t capacity;
    uint64_t first_sequence;
    uint64_t as_of;
    segment_epoch epoch;
} segment_head;

_Static_assert(sizeof(segment_head) == SEGMENT_HEAD_BYTES, "segment head");
_Static_assert(offsetof(segment_head, number) == 12, "number");
_Static_assert(offsetof(segment_head, capacity) == 32, "capacity");
_Static_assert(offsetof(segment_head, as_of) == 48, "as of");
_Static_assert(offsetof(segment_head, epoch) == 56, "epoch");
_Static_assert(SEGMENT_NEXT_BYTES == ((RECORD_HEAD_BYTES + 7) & ~7), "room for RECORD_NEXT");

static const char magic[8] = {'L', 'A', 'R', 'D', 'S', 'E', 'G', '1'};
static const char new_magic[8] = {'L', 'A', 'R', 'D', 'N', 'E', 'W', '1'};

enum { CRC_START = 12, BLOCK_BYTES = 4096 };
enum {
    /** A usual segment is not larger, so no more of one stands empty. */
    USUAL_BYTES = 64 << 20,
    /** A smaller hole is passed as zeros. */
    HOLE_LEAST_BYTES = 1 << 20
};
/** Offsets are kept in eighths of 32 bits. */
static const uint64_t CAPACITY_MAX = ((uint64_t)UINT32_MAX + 1) * 8;

static uint32_t head_crc(const segment_head *head) {
    return larder_crc32c(0, (const uint8_t *)head + CRC_START, sizeof *head - CRC_START);
}

static segment_head head_make(uint32_t number, uint32_t kind, uint64_t capacity,
                              uint64_t first_sequence, uint64_t as_of, segment_epoch epoch,
                              uint64_t store_id) {
    segment_head head = {.number = number,
                         .store_id = store_id,
                         .kind = kind,
                         .capacity = (capacity + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES,
                         .first_sequence = first_sequence,
                         .as_of = as_of,
                         .epoch = epoch};
    memcpy(head.magic, magic, sizeof magic);
    head.crc = head_crc(&head);
    return head;
}

// Names -------------------------------------------------------------------------------------------

void larder_segment_name(uint32_t number, char out[SEGMENT_NAME_BYTES]) {
    for (int digit = 0; digit < 8; digit++)
        out[digit] = "0123456789abcdef"[number >> (28 - 4 * digit) & 15];
    memcpy(out + 8, ".seg", 5);
}

/** The number that a name begins with; 0 if it does not. */
static uint32_t leading_number(const char *name) {
    uint32_t value = 0;
    for (int digit = 0; digit < 8; digit++) {
        char read = name[digit];
        if (read >= '0' && read <= '9') value = value << 4 | (uint32_t)(read - '0');
        else if (read >= 'a' && read <= 'f') value = value << 4 | (uint32_t)(read - 'a' + 10);
        else return 0;
    }
    return value;
}

bool larder_segment_number_of(const char *name, uint32_t *number) {
    *number = leading_number(name);
    return *number != 0 && strcmp(name + 8, ".seg") == 0;
}

bool larder_segment_is_unfinished(const char *name) {
    return leading_number(name) != 0 && strcmp(name + 8, ".new") == 0;
}

// Opening and closing -----------------------------------------------------------------------------

static segment *segment_new(const segment_head *head) {
    segment *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) return NULL;
    fresh->number = fresh->file_number = head->number;
    fresh->kind = head->kind;
    fresh->capacity = head->capacity;
    fresh->first_sequence = head->first_sequence;
    fresh->as_of = head->as_of;
    fresh->epoch = head->epoch;
    fresh->synced = SEGMENT_HEAD_BYTES;
    atomic_init(&fresh->end, SEGMENT_HEAD_BYTES);
    atomic_init(&fresh->holds, 1);
    return fresh;
}

/** Notes the large holes of a file that claims to be far longer than it is on the disk: what would
    have to be looked at costs time by what is there. Where the system does not tell, there are
    none. ENOMEM. */
static larder_status note_holes(int file, segment *of) {
    size_t room = 0;
    uint64_t at = 0, data, hole;
    while (at < of->capacity) {
        larder_status status = larder_os_file_next_data(file, at, &data, &hole);
        if (status && status != LARDER_END) return LARDER_OK;
        if (data > of->capacity) data = of->capacity;
        if (data - at >= HOLE_LEAST_BYTES) {
            status = larder_os_array_reserve(&of->holes, of->hole_count, &room, sizeof *of->holes);
            if (status) return status;
            of->holes[of->hole_count++] = (segment_hole){at, data};
        }
        at = hole;
    }
    return LARDER_OK;
}

static void segment_free(segment *freed) {
    larder_os_file_unmap(freed->map, (size_t)freed->capacity);
    free((void *)atomic_load(&freed->lent));
    free(freed->holes);
    free(freed);
}

/** Maps an open file that has that head.
    @param stored_bytes what the disk has of it. */
static larder_status segment_map(int file, const segment_head *head, bool writes,
                                 uint64_t stored_bytes, segment **out) {
    segment *fresh = segment_new(head);
    if (fresh == NULL) return ENOMEM;
    larder_status status = larder_os_file_map(file, (size_t)fresh->capacity, writes, &fresh->map);
    if (!status && stored_bytes + USUAL_BYTES < fresh->capacity) status = note_holes(file, fresh);
    if (!status) *out = fresh;
    else segment_free(fresh);
    return status;
}

larder_status larder_segment_open_file(int folder, uint32_t number, int flags, int *file) {
    char name[SEGMENT_NAME_BYTES];
    larder_segment_name(number, name);
    return larder_os_file_open_in(folder, name, flags, 0, file);
}

larder_status larder_segment_create(int folder, uint32_t number, uint32_t kind, uint64_t capacity,
                                    uint64_t first_sequence, uint64_t as_of, segment_epoch epoch,
                                    uint64_t store_id, uint32_t mode, segment **out) {
    *out = NULL;
    segment_head head = head_make(number, kind, capacity, first_sequence, as_of, epoch, store_id);
    memcpy(head.magic, new_magic, sizeof new_magic);
    char name[SEGMENT_NAME_BYTES], unfinished[SEGMENT_NAME_BYTES];
    larder_segment_name(number, name);
    larder_segment_name(number, unfinished);
    memcpy(unfinished + 8, ".new", 5);
    int file;
    larder_status status = larder_segment_open_file(folder, number, 0, &file);
    larder_os_file_close(file);
    if (status != ENOENT) return !status ? EEXIST : status;
    // Of a process that was killed just then.
    status = larder_os_file_remove_in(folder, unfinished);
    if (status && status != ENOENT) return status;
    status = larder_os_file_open_in(
        folder, unfinished, LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE, mode, &file);
    if (status) return status;
    status = larder_os_file_change_mode(file, mode);
    if (!status) status = larder_os_file_reserve(file, head.capacity);
    if (!status) status = segment_map(file, &head, true, head.capacity, out);
    larder_os_file_close(file);
    if (!status) {
        memcpy((*out)->map, &head, sizeof head);
        // Nothing of it is on the device, not even the head.
        (*out)->synced = 0;
        (*out)->is_measured = true;
        status = larder_os_file_rename_in(folder, unfinished, name);
    }
    if (!status) return LARDER_OK;
    // What cannot be removed goes when that number's turn comes again.
    (void)larder_os_file_remove_in(folder, unfinished);
    larder_segment_close(*out);
    *out = NULL;
    return status;
}

/** Opens a segment's file and reads its head, whatever that says.
    @param file to be closed in any case.
    @param out all zero if it is no file, or too short for a head. */
static larder_status head_read(int folder, uint32_t number, int flags, int *file, segment_head *out,
                               segment_facts *facts) {
    static const uint8_t zeros[SEGMENT_HEAD_BYTES];
    struct {
        segment_head head;
        uint64_t first_word;
    } start = {.first_word = 0};
    larder_os_facts of = {0};
    size_t got = 0;
    *facts = (segment_facts){.number = number};
    memset(out, 0, sizeof *out);
    larder_status status = larder_segment_open_file(folder, number, flags, file);
    if (!status) status = larder_os_file_facts_get(*file, &of);
    if (!status && of.is_regular && of.bytes <= SIZE_MAX / 2)
        status = larder_os_file_read_at(*file, &start, sizeof start, 0, &got);
    if (status || !of.is_regular) return status;
    // A power cut may leave a part of each.
    facts->is_new = memcmp(&start, zeros, sizeof magic) == 0 ||
                    (memcmp(&start, magic, 4) == 0 && memcmp(&start, magic, sizeof magic) != 0);
    facts->is_blank = got < sizeof start.head && memcmp(&start, zeros, got) == 0;
    if (got < sizeof start.head) return LARDER_OK;
    facts->bytes = of.bytes;
    facts->stored_bytes = of.stored_bytes < of.bytes ? of.stored_bytes : of.bytes;
    facts->is_empty = start.first_word == 0;
    *out = start.head;
    if (out->crc != head_crc(out) ||
        (out->kind != SEGMENT_WRITTEN && out->kind != SEGMENT_CLEANED) ||
        out->capacity < BLOCK_BYTES || out->capacity % BLOCK_BYTES != 0 ||
        out->capacity > CAPACITY_MAX || out->first_sequence > SEQUENCE_MAX ||
        out->as_of > SEQUENCE_MAX)
        return LARDER_OK;
    facts->head_number = out->number;
    facts->kind = out->kind;
    facts->store_id = out->store_id;
    facts->first_sequence = out->first_sequence;
    facts->as_of = out->as_of;
    facts->epoch = out->epoch;
    return LARDER_OK;
}

larder_status larder_segment_facts(int folder, uint32_t number, segment_facts *out) {
    int file;
    segment_head head;
    larder_status status = head_read(folder, number, 0, &file, &head, out);
    larder_os_file_close(file);
    // What is in its place is no file.
    return status == ELOOP || status == ENXIO ? LARDER_OK : status;
}

/** Where the file ends, if it was longer once: as its head says, or because no segment has a part
    of a block; else 0. */
static uint64_t cut_of_file(const segment_head *head, const segment_facts *facts) {
    bool is_whole =
        facts->head_number != 0 ? head->capacity <= facts->bytes : facts->bytes % BLOCK_BYTES == 0;
    return is_whole ? 0 : facts->bytes;
}

/** As much as there is of a file that was cut short: the rest of its last page is zeros. */
static uint64_t mappable(uint64_t bytes) {
    uint64_t most = (bytes + 7) / 8 * 8;
    return most < CAPACITY_MAX ? most : CAPACITY_MAX;
}

/** Whether a file that was cut short may get the length again that its head says. */
static bool may_regrow(const segment_head *head, const segment_facts *facts) {
    uint64_t missing = head->capacity - facts->bytes;
    return missing <= USUAL_BYTES || missing <= facts->stored_bytes;
}

/** As much of the file as there is. A head that is damaged says nothing. */
static segment_head head_of_file(const segment_head *head, const segment_facts *facts) {
    segment_head known = *head;
    if (facts->head_number == 0)
        known = (segment_head){.number = facts->number, .first_sequence = UINT64_MAX};
    if (facts->head_number == 0 || known.capacity > facts->bytes)
        known.capacity = mappable(facts->bytes);
    return known;
}

larder_status larder_segment_open(int folder, uint32_t number, uint64_t store_id, bool writes,
                                  segment **out) {
    *out = NULL;
    int file;
    segment_head head;
    segment_facts facts;
    larder_status status =
        head_read(folder, number, writes ? LARDER_OS_WRITE : 0, &file, &head, &facts);
    bool has_head = facts.head_number != 0;
    uint64_t cut_at = cut_of_file(&head, &facts);
    if (!status && facts.bytes == 0) status = LARDER_EDAMAGED;
    else if (!status && has_head && (head.store_id != store_id || head.number != number))
        status = LARDER_EDAMAGED;
    if (!status && writes && has_head && head.capacity > facts.bytes && may_regrow(&head, &facts) &&
        larder_os_file_reserve(file, head.capacity) == LARDER_OK)
        facts.bytes = head.capacity;
    if (!status) {
        head = head_of_file(&head, &facts);
        status = segment_map(file, &head, writes, facts.stored_bytes, out);
    }
    if (!status) (*out)->cut_at = cut_at;
    larder_os_file_close(file);
    return status;
}

larder_status larder_segment_open_damaged(int folder, uint32_t number, uint64_t *store_id,
                                          segment **out) {
    *out = NULL;
    *store_id = 0;
    int file;
    segment_head head;
    segment_facts facts;
    larder_status status = head_read(folder, number, 0, &file, &head, &facts);
    if (!status && facts.bytes > 0) {
        uint64_t cut_at = cut_of_file(&head, &facts);
        head = head_of_file(&head, &facts);
        head.capacity = mappable(facts.bytes);
        *store_id = facts.store_id;
        status = segment_map(file, &head, false, facts.stored_bytes, out);
        if (!status) (*out)->file_number = number;
        if (!status) (*out)->cut_at = cut_at;
    }
    larder_os_file_close(file);
    return status == ELOOP || status == ENXIO ? LARDER_OK : status;
}

bool larder_segment_is_new(const segment *asked) {
    return memcmp(asked->map, new_magic, sizeof new_magic) == 0;
}

larder_status larder_segment_mend(segment *mended, int folder, uint32_t kind, uint64_t store_id) {
    int file;
    larder_status status = larder_segment_open_file(folder, mended->number, LARDER_OS_WRITE, &file);
    if (status) return status;
    segment_head head = head_make(mended->number, kind, mended->capacity, mended->first_sequence,
                                  mended->as_of, mended->epoch, store_id);
    // It does not say more than before: what leads to a segment that says it was synced is synced.
    if (kind == SEGMENT_WRITTEN && memcmp(mended->map, magic, sizeof magic) != 0)
        memcpy(head.magic, new_magic, sizeof new_magic);
    // What a file only claims to have is not made.
    if (mended->hole_count == 0) status = larder_os_file_reserve(file, head.capacity);
    if (!status) status = larder_os_file_write_at(file, &head, sizeof head, 0);
    if (!status) mended->kind = kind;
    larder_os_file_close(file);
    return status;
}

uint32_t larder_segment_epoch_now(const segment *of) {
    segment_head head;
    // Of a damaged one it is known once it is mended.
    memcpy(&head, of->map, sizeof head);
    if (of->kind == SEGMENT_UNKNOWN && head.crc != head_crc(&head)) return of->epoch.number;
    uint64_t word = atomic_load_explicit(
        (const _Atomic uint64_t *)(const void *)(of->map + offsetof(segment_head, epoch)),
        memory_order_acquire);
    return (uint32_t)word;
}

larder_status larder_segment_sync_file(const segment *synced, int folder) {
    int file;
    larder_status status = larder_segment_open_file(folder, synced->number, LARDER_OS_WRITE, &file);
    if (!status) status = larder_os_map_sync(file, synced->map, synced->capacity);
    larder_os_file_close(file);
    return status;
}

void larder_segment_rest(const segment *resting) {
    enum { SMALL_BYTES = 1 << 18 };
    if (resting->capacity <= SMALL_BYTES)
        (void)madvise(resting->map, (size_t)resting->capacity, MADV_DONTNEED);
}

void larder_segment_rest_between(const segment *resting, uint64_t from, uint64_t until) {
    const uint64_t block = (uint64_t)1 << 16;
    from = from / block * block;
    until = until / block * block;
    if (from < until) (void)madvise(resting->map + from, (size_t)(until - from), MADV_DONTNEED);
}

void larder_segment_close(segment *closed) {
    if (closed == NULL || atomic_fetch_sub_explicit(&closed->holds, 1, memory_order_acq_rel) > 1)
        return;
    segment_free(closed);
}

void larder_segment_release_rest(const segment *of, int folder) {
    // No smaller than a page of any system.
    enum { WORTH_BYTES = 1 << 16 };
    uint64_t end = (atomic_load(&of->end) + WORTH_BYTES - 1) / WORTH_BYTES * WORTH_BYTES;
    if (end + WORTH_BYTES > of->capacity) return;
    int file;
    if (larder_segment_open_file(folder, of->number, LARDER_OS_WRITE, &file) == LARDER_OK)
        (void)larder_os_file_release(file, end, of->capacity - end);
    larder_os_file_close(file);
}

larder_status larder_segment_reserve_rest(const segment *of, int folder) {
    int file;
    larder_status status = larder_segment_open_file(folder, of->number, LARDER_OS_WRITE, &file);
    uint64_t end = atomic_load(&of->end);
    if (!status) status = larder_os_file_reserve_behind(file, end, of->capacity - end);
    larder_os_file_close(file);
    // Such a system gave nothing back.
    return status == ENOTSUP || status == EOPNOTSUPP ? LARDER_OK : status;
}

// Loans -------------------------------------------------------------------------------------------

enum { LOAN_BLOCK_BYTES = 8 << 10 };

static size_t loan_blocks(const segment *of) {
    return (size_t)(of->capacity / LOAN_BLOCK_BYTES) + 1;
}

/** Counted without a lock, so that a child process can give back what it inherited. */
static bool loans_begin(segment *of) {
    _Atomic uint32_t *none = NULL;
    if (atomic_load_explicit(&of->lent, memory_order_acquire) != NULL) return true;
    _Atomic uint32_t *made = calloc(loan_blocks(of), sizeof *made);
    if (made == NULL) return false;
    if (!atomic_compare_exchange_strong(&of->lent, &none, made)) free((void *)made);
    return true;
}

static void loan_count(const segment_loan *loan, uint32_t by) {
    _Atomic uint32_t *lent = atomic_load_explicit(&loan->of->lent, memory_order_acquire);
    for (uint64_t block = loan->from / LOAN_BLOCK_BYTES; block * LOAN_BLOCK_BYTES < loan->until;
         block++)
        atomic_fetch_add_explicit(&lent[block], by, memory_order_relaxed);
}

segment_loan *larder_segment_lend(segment *of, larder_bytes bytes) {
    segment_loan *loan = loans_begin(of) ? malloc(sizeof *loan) : NULL;
    if (loan == NULL) return NULL;
    uint64_t from = (uint64_t)((const uint8_t *)bytes.data - of->map);
    *loan = (segment_loan){.of = of, .from = from, .until = from + bytes.length};
    atomic_fetch_add_explicit(&of->holds, 1, memory_order_relaxed);
    loan_count(loan, 1);
    return loan;
}

void larder_segment_take_back(segment_loan *loan) {
    loan_count(loan, UINT32_MAX);
    larder_segment_close(loan->of);
    free(loan);
}

void larder_segment_detach(segment *of) {
    const _Atomic uint32_t *lent = atomic_load_explicit(&of->lent, memory_order_acquire);
    uint8_t *copy = NULL;
    if (lent == NULL || atomic_load(&of->holds) == 1 ||
        larder_os_memory_map((size_t)of->capacity, &copy) != LARDER_OK)
        return;
    for (size_t block = 0; block < loan_blocks(of); block++) {
        uint64_t at = block * LOAN_BLOCK_BYTES, rest = of->capacity - at;
        if (atomic_load_explicit(&lent[block], memory_order_relaxed) == 0) continue;
        memcpy(copy + at, of->map + at,
               (size_t)(rest < LOAN_BLOCK_BYTES ? rest : LOAN_BLOCK_BYTES));
    }
    if (larder_os_memory_move(copy, of->map, (size_t)of->capacity) != LARDER_OK)
        larder_os_file_unmap(copy, (size_t)of->capacity);
}

// Records -----------------------------------------------------------------------------------------

/** The first eight bytes of the record at `at`: another process may be storing them. */
static inline uint64_t first_word_at(const uint8_t *at) {
    return atomic_load_explicit((const _Atomic uint64_t *)(const void *)at, memory_order_acquire);
}

static inline void store_first_word(uint8_t *at, uint64_t word, memory_order order) {
    atomic_store_explicit((_Atomic uint64_t *)(void *)at, word, order);
}

/** The first hole that ends behind an offset; the number of holes if none does. */
static size_t hole_at(const segment *in, uint64_t offset) {
    size_t from = 0, to = in->hole_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (in->holes[middle].until <= offset) from = middle + 1;
        else to = middle;
    }
    return from;
}

/** The product modulo CRC-32C's polynomial, bit 31 the coefficient of x^0. */
static uint32_t crc_multiply(uint32_t left, uint32_t right) {
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
        if (left & bit) product ^= right;
        right = right & 1 ? right >> 1 ^ 0x82f63b78u : right >> 1;
    }
    return product;
}

/** As larder_crc32c of so many zeros: times x^8 for each. O(log count). */
static uint32_t crc_zeros(uint32_t crc, uint64_t count) {
    uint32_t power = 1u << 31;
    for (uint32_t square = 1u << 23; count != 0; count >>= 1) {
        if (count & 1) power = crc_multiply(power, square);
        square = crc_multiply(square, square);
    }
    return ~crc_multiply(~crc, power);
}

/** Whether a record that large holes may lie in is intact: a length that somebody made up costs no
    memory for them, and no time. */
static bool is_intact_across_holes(const segment *in, uint64_t offset, uint32_t length) {
    uint64_t end = offset + length, at = offset + RECORD_CRC_START;
    size_t hole = hole_at(in, at);
    if (hole == in->hole_count || in->holes[hole].from >= end) return true;
    uint32_t crc = 0;
    for (; hole < in->hole_count && in->holes[hole].from < end; hole++) {
        uint64_t from = in->holes[hole].from, until = in->holes[hole].until;
        if (from > at) crc = larder_crc32c(crc, in->map + at, (size_t)(from - at));
        if (from < at) from = at;
        if (until > end) until = end;
        crc = crc_zeros(crc, until - from);
        at = until;
    }
    return larder_crc32c(crc, in->map + at, (size_t)(end - at)) == load32(in->map + offset + 4);
}

larder_status larder_segment_look(const segment *from, uint64_t offset, larder_bytes *out) {
    *out = (larder_bytes){NULL, 0};
    if (offset < SEGMENT_HEAD_BYTES || offset % 8 != 0 || offset > from->capacity)
        return LARDER_EDAMAGED;
    if (offset == from->capacity) return LARDER_END;
    const uint8_t *at = from->map + offset;
    uint64_t word = first_word_at(at);
    if (word == 0) return LARDER_END;
    uint32_t length = (uint32_t)word;
    if (length < RECORD_HEAD_BYTES || length > from->capacity - offset ||
        record_kind(at) < RECORD_PUT || record_kind(at) > RECORD_NEXT ||
        (from->hole_count > 0 && !is_intact_across_holes(from, offset, length)))
        return LARDER_EDAMAGED;
    *out = (larder_bytes){at, length};
    return LARDER_OK;
}

larder_status larder_segment_read(const segment *from, uint64_t *offset, bool checks, record *out) {
    larder_bytes bytes;
    larder_status status = larder_segment_look(from, *offset, &bytes);
    if (!status) status = larder_record_read(bytes, checks, out);
    if (!status) *offset += record_padded(bytes.length);
    return status;
}

/** Behind the hole that an offset lies in; where it is, if it lies in none. */
static uint64_t behind_hole(const segment *in, uint64_t offset) {
    size_t hole = hole_at(in, offset);
    bool is_inside = hole < in->hole_count && in->holes[hole].from <= offset;
    return is_inside ? in->holes[hole].until : offset;
}

uint64_t larder_segment_first_used(const segment *in, uint64_t offset) {
    static const uint8_t zeros[BLOCK_BYTES];
    while ((offset = behind_hole(in, offset)) < in->capacity) {
        uint64_t room = in->capacity - offset;
        size_t length = room < BLOCK_BYTES ? (size_t)room : BLOCK_BYTES;
        if (memcmp(in->map + offset, zeros, length) != 0) break;
        offset += length;
    }
    while (offset < in->capacity && first_word_at(in->map + offset) == 0) offset += 8;
    return offset;
}

void larder_segment_publish(segment *to, size_t length, uint64_t first_word) {
    uint64_t start = atomic_load_explicit(&to->end, memory_order_relaxed);
    uint64_t end = start + length;
    if (end < to->capacity) store_first_word(to->map + end, 0, memory_order_relaxed);
    store_first_word(to->map + start, first_word, memory_order_release);
    atomic_store_explicit(&to->end, end, memory_order_release);
}

void larder_segment_seal(segment *sealed, uint32_t next, uint64_t sequence) {
    uint8_t *target = sealed->map + atomic_load_explicit(&sealed->end, memory_order_relaxed);
    size_t length = larder_record_write_bare(target, RECORD_NEXT, (larder_bytes){NULL, 0});
    uint64_t first_word = larder_record_seal(target, length, sequence, next, false);
    sealed->next = next;
    sealed->is_sealed = true;
    sealed->record_count++;
    sealed->bare_count++;
    larder_segment_publish(sealed, SEGMENT_NEXT_BYTES, first_word);
}

// Syncing -----------------------------------------------------------------------------------------

void larder_segment_redirty(segment *dirtied, uint64_t from) {
    uint64_t end = atomic_load(&dirtied->end);
    // The first word of each page is below the end: nobody is writing there.
    for (uint64_t at = from / BLOCK_BYTES * BLOCK_BYTES; at < end; at += BLOCK_BYTES)
        atomic_fetch_or_explicit((_Atomic uint64_t *)(void *)(dirtied->map + at), 0,
                                 memory_order_relaxed);
}

larder_status larder_segment_sync_to(segment *synced, int folder, uint64_t end) {
    if (synced->synced >= end && !synced->sync_failed) return LARDER_OK;
    // Opened for the moment: thousands of segments need no descriptors.
    int file;
    larder_status status = larder_segment_open_file(folder, synced->number, LARDER_OS_WRITE, &file);
    if (status) return status;
    if (synced->sync_failed) larder_segment_redirty(synced, synced->synced);
    uint64_t word;
    memcpy(&word, magic, sizeof word);
    if (larder_segment_is_new(synced)) store_first_word(synced->map, word, memory_order_relaxed);
    status = larder_os_map_sync(file, synced->map, synced->capacity);
    larder_os_file_close(file);
    synced->sync_failed = status;
    if (!status) synced->synced = end;
    return status;
}

larder_status larder_segment_sync(segment *synced, int folder) {
    larder_status status = larder_segment_sync_to(synced, folder, atomic_load(&synced->end));
    if (!status && !synced->is_named) {
        status = larder_os_folder_sync(folder);
        synced->is_named = !status;
    }
    return status;
}
