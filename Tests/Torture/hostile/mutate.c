// SPDX-License-Identifier: MIT
// Segments, names, links, holes and the lock's text.
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/record.h"
#include "larder_crc32c.h"
#include "log/segment.h"

static bool is_segment(const image_file *file) {
    return strncmp(file->name, "log/", 4) == 0 && file->size >= SEGMENT_HEAD_BYTES;
}

static image_file *some_segment(image *in, rng *random) {
    for (unsigned attempt = 0; attempt < 64 && in->count > 0; attempt++) {
        image_file *file = &in->files[rng_below(random, in->count)];
        if (is_segment(file)) {
            return file;
        }
    }
    return NULL;
}

static void mend_record(uint8_t *at, size_t room) {
    uint32_t length = load32(at);
    if (length <= RECORD_CRC_START || length > room) {
        return;
    }
    uint32_t crc = larder_crc32c(0, at + RECORD_CRC_START, length - RECORD_CRC_START);
    memcpy(at + 4, &crc, 4);
}

void mutate_record(uint8_t *at, size_t room_bytes, rng *random, char *told, size_t room) {
    static const struct {
        uint8_t offset, width;
        const char *name;
    } fields[] = {{0, 4, "length"},       {8, 8, "sequence"},    {16, 4, "minor"},
                  {20, 1, "kind"},        {21, 1, "flags"},      {22, 1, "indexes"},
                  {24, 8, "written"},     {32, 4, "key length"}, {36, 4, "extended length"},
                  {40, 4, "index bytes"}, {36, 8, "time"},       {44, 8, "time"}};
    if (room_bytes < RECORD_HEAD_BYTES + 20) {
        return;
    }
    unsigned field = (unsigned)rng_below(random, sizeof fields / sizeof *fields);
    uint64_t now = 0, value;
    memcpy(&now, at + fields[field].offset, fields[field].width);
    value = odd_number(random, now, room_bytes);
    memcpy(at + fields[field].offset, &value, fields[field].width);
    tell(told, room, " record's %s %llx -> %llx;", fields[field].name, (unsigned long long)now,
         (unsigned long long)value);
    mend_record(at, room_bytes);
}

/** One of the records of a segment, or where its last one ends. */
static size_t some_record(const image_file *file, rng *random) {
    size_t places[512], count = 0, at = SEGMENT_HEAD_BYTES;
    while (at + RECORD_HEAD_BYTES < file->size && count < 512) {
        uint32_t length = load32(file->bytes + at);
        places[count++] = at;
        if (length < RECORD_HEAD_BYTES || length > file->size - at) {
            break;
        }
        at += record_padded(length);
    }
    return count > 0 ? places[rng_below(random, count)] : file->size;
}

static void mend_head(image_file *file) {
    uint32_t crc = larder_crc32c(0, file->bytes + 12, SEGMENT_HEAD_BYTES - 12);
    memcpy(file->bytes + 8, &crc, 4);
}

static void change_segment_head(image_file *file, rng *random, char *told, size_t room) {
    static const struct {
        uint8_t offset, width;
    } fields[] = {{0, 8}, {12, 4}, {16, 8}, {24, 4}, {28, 4}, {32, 8}, {40, 8}, {48, 8}, {56, 8}};
    unsigned field = (unsigned)rng_below(random, sizeof fields / sizeof *fields);
    uint64_t now = 0, value;
    memcpy(&now, file->bytes + fields[field].offset, fields[field].width);
    value = odd_number(random, now, 8);
    if (fields[field].offset == 32) {
        value = value / 4096 * 4096;
    }
    memcpy(file->bytes + fields[field].offset, &value, fields[field].width);
    tell(told, room, " %s head %d: %llx -> %llx;", file->name, fields[field].offset,
         (unsigned long long)now, (unsigned long long)value);
    mend_head(file);
}

/** A segment that is said, or is, to be far longer, with nothing in it. */
static void make_sparse(image_file *file, rng *random, char *told, size_t room) {
    uint64_t bytes = (uint64_t)1 << rng_between(random, 20, 36);
    file->apparent = bytes;
    if (rng_one_in(random, 2)) {
        memcpy(file->bytes + 32, &bytes, 8);
        mend_head(file);
    }
    tell(told, room, " %s has %llx bytes;", file->name, (unsigned long long)bytes);
}

static const char *const odd_names[] = {"log/ffffffff.seg", "log/fffffffe.seg",
                                        "log/00000000.seg", "log/80000000.seg",
                                        "log/00000001.seg", "log/00000002.seg",
                                        "log/000000ff.seg", "log/00000100.seg",
                                        "log/0000000a.new", "log/ffffffff.new",
                                        "log/stranger",     "log/01000000.seg",
                                        "data.new",         "lock",
                                        "lock.mdb",         "data.mdb",
                                        "stranger",         "index.new"};

static void change_name(image *hurt, rng *random, char *told, size_t room) {
    image_file *file = &hurt->files[rng_below(random, hurt->count)];
    const char *name = odd_names[rng_below(random, sizeof odd_names / sizeof *odd_names)];
    char near[IMAGE_NAME_BYTES];
    if (is_segment(file) && rng_one_in(random, 2)) {
        unsigned number = (unsigned)strtoul(file->name + 4, NULL, 16);
        snprintf(near, sizeof near, "log/%08x.seg", number + (unsigned)rng_below(random, 5) - 2);
        name = near;
    }
    bool copies = rng_one_in(random, 2) && hurt->count < IMAGE_FILES;
    if (copies) {
        image_file *added = &hurt->files[hurt->count];
        *added = *file;
        added->bytes = malloc(file->size + 64);
        if (added->bytes == NULL) {
            return;
        }
        memcpy(added->bytes, file->bytes, file->size + 64);
        hurt->count++;
        file = added;
    }
    tell(told, room, " %s %s %s;", file->name, copies ? "also as" : "as", name);
    memcpy(file->name, name, strlen(name) + 1);
    uint32_t number = (uint32_t)strtoul(name + 4, NULL, 16);
    if (is_segment(file) && number != 0 && rng_one_in(random, 2)) {
        memcpy(file->bytes + 12, &number, 4);
        mend_head(file);
    }
}

static void change_kind(image *hurt, rng *random, char *told, size_t room) {
    image_file *file = &hurt->files[rng_below(random, hurt->count)];
    file->kind = "lhpd"[rng_below(random, 4)];
    tell(told, room, " %s of kind %c;", file->name, file->kind);
}

static void change_size(image_file *file, rng *random, char *told, size_t room) {
    size_t size = (size_t)rng_below(random, file->size + 1);
    if (rng_one_in(random, 2)) {
        size = size / 4096 * 4096;
    }
    tell(told, room, " %s cut to %zu;", file->name, size);
    file->size = size;
    file->apparent = rng_one_in(random, 3) ? file->apparent : size;
}

static void change_byte(image_file *file, rng *random, char *told, size_t room) {
    if (file->size > 0) {
        size_t at = (size_t)rng_below(random, file->size);
        file->bytes[at] = (uint8_t)rng_next(random);
        tell(told, room, " %s byte %zu;", file->name, at);
    }
}

/** Process, boot, and how far the log was synced, with its sum. */
static void change_lock(image *hurt, rng *random, char *told, size_t room) {
    image_file *lock = image_find(hurt, "lock"), *of = some_segment(hurt, random);
    if (lock == NULL || of == NULL || lock->size < 64) {
        return;
    }
    char boot[40] = "-", text[200];
    long long pid = 0;
    unsigned part = 0;
    unsigned long long offset = 0;
    (void)sscanf((const char *)lock->bytes, "%lld %33s %x %llx", &pid, boot, &part, &offset);
    uint64_t parts[3] = {part, offset, load64(of->bytes + 16)};
    uint64_t changed = rng_below(random, 4);
    if (changed == 0) {
        parts[0] = (uint32_t)odd_number(random, parts[0], 8);
    } else if (changed == 1) {
        parts[1] = odd_number(random, parts[1], 4096);
    } else if (changed == 2) {
        boot[0] = boot[0] == '0' ? '1' : '0';
    }
    uint32_t sum = larder_crc32c(0, parts, sizeof parts);
    memset(text, '\n', sizeof text);
    int length = snprintf(text, sizeof text, "%lld %s %x %llx %08x", changed == 3 ? 1 : pid, boot,
                          (unsigned)parts[0], (unsigned long long)parts[1], sum);
    text[length] = '\n';
    memcpy(lock->bytes, text, 64);
    tell(told, room, " lock %.60s;", text);
}

static void mutate_one(image *hurt, rng *random, char *told, size_t room) {
    image_file *data = image_find(hurt, "data.mdb"), *of = some_segment(hurt, random);
    uint64_t what = rng_below(random, 24);
    if (what < 11 && data != NULL && data->kind == 0) {
        mutate_pages(data, random, told, room);
    } else if (what < 16 && of != NULL) {
        size_t at = some_record(of, random);
        tell(told, room, " %s at %zu:", of->name, at);
        mutate_record(of->bytes + at, of->size - at, random, told, room);
    } else if (what < 18 && of != NULL) {
        change_segment_head(of, random, told, room);
    } else if (what == 18 && of != NULL) {
        make_sparse(of, random, told, room);
    } else if (what == 19) {
        change_name(hurt, random, told, room);
    } else if (what == 20) {
        change_kind(hurt, random, told, room);
    } else if (what == 21) {
        change_lock(hurt, random, told, room);
    } else if (what == 22) {
        change_size(&hurt->files[rng_below(random, hurt->count)], random, told, room);
    } else {
        change_byte(&hurt->files[rng_below(random, hurt->count)], random, told, room);
    }
}

void mutate(image *hurt, rng *random, char *told, size_t room) {
    uint64_t count = rng_one_in(random, 3) ? rng_between(random, 2, 5) : 1;
    told[0] = 0;
    while (count-- > 0) {
        mutate_one(hurt, random, told, room);
    }
}
