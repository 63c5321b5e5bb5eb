// SPDX-License-Identifier: MIT
// What the letters of a workload do, to a store and to the picture of it that it is held to.
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

enum { SHORT, MIDDLE, LONG };
static const uint32_t lengths[] = {20, 300, 6000};
enum { LENGTH_MAX = 6000 };
static const int64_t second = 1000000000, start_ns = 1000000000000000000, passing_ns = 100000000000;

// The picture -------------------------------------------------------------------------------------

static uint32_t salt_of(uint32_t step, uint32_t key, uint32_t kind) {
    return ((step + 1) * WORKLOAD_KEYS + key) * 4 + kind;
}
static uint32_t salt_length(uint32_t salt) { return lengths[salt & 3]; }

static void shelf_put(shelf *self, uint32_t key, uint32_t salt, uint32_t order) {
    self->salt[key] = salt;
    self->order[key] = (uint16_t)order;
    self->dies_in[key] = 0;
}

static void shelf_trim(shelf *self, uint32_t most) {
    for (;;) {
        uint32_t count = 0, oldest = 0;
        for (uint32_t key = 0; key < WORKLOAD_KEYS; key++) {
            if (self->salt[key]) {
                if (count++ == 0 || self->order[key] < self->order[oldest]) {
                    oldest = key;
                }
            }
        }
        if (count <= most) {
            return;
        }
        self->salt[oldest] = 0;
    }
}

typedef struct batch_part {
    uint32_t key, salt;
} batch_part;
enum { BATCH_PARTS = 4 };

/** Two that are put, one that is removed, one that is put. */
static batch_part batch_part_of(workload_step step, uint32_t number, uint32_t i) {
    static const uint32_t kinds[BATCH_PARTS] = {MIDDLE, SHORT, 0, MIDDLE};
    uint32_t key = (step.key + i) % WORKLOAD_KEYS;
    return (batch_part){key, i == 2 ? 0 : salt_of(number, key, kinds[i])};
}

/** Changes the picture as a step does. */
static void shelf_apply(shelf *self, workload_step step, uint32_t number) {
    uint32_t key = step.key, order = number * BATCH_PARTS;
    switch (step.act) {
    case 's':
    case 'S': shelf_put(self, key, salt_of(number, key, SHORT), order); break;
    case 'm':
    case 'M': shelf_put(self, key, salt_of(number, key, MIDDLE), order); break;
    case 'l':
    case 'L': shelf_put(self, key, salt_of(number, key, LONG), order); break;
    case 'e':
        shelf_put(self, key, salt_of(number, key, MIDDLE), order);
        self->dies_in[key] = (uint8_t)(self->time + 1);
        break;
    case 'r': self->salt[key] = 0; break;
    case 'b':
    case 'B':
        for (uint32_t i = 0; i < BATCH_PARTS; i++) {
            batch_part part = batch_part_of(step, number, i);
            shelf_put(self, part.key, part.salt, order + i);
        }
        break;
    case 'P': memset(self->salt + 8, 0, 8 * sizeof *self->salt); break;
    case 'c':
    case 'C': memset(self->salt, 0, sizeof self->salt); break;
    case 't':
    case 'k': shelf_trim(self, key); break;
    case 'g': self->order[key] = (uint16_t)order; break;
    case '+': self->time++; break;
    default: break;
    }
}

/** What is under a key when so much time has passed. */
static uint32_t salt_at(const shelf *self, uint32_t key, uint32_t time) {
    return self->dies_in[key] && self->dies_in[key] <= time ? 0 : self->salt[key];
}

static uint32_t time_of(const workload_run *self) {
    return (uint32_t)((atomic_load(&self->now_ns) - start_ns) / passing_ns);
}

static bool evicts(char act) { return act == 't' || act == 'k'; }

/** The checkpoint that ends it, or the sync, has everything before it on the device. */
static bool makes_safe(char act) { return strchr("SMLByftkCxoKFVW", act) != NULL; }

/** On failure it may have been done nevertheless. */
static bool may_fail_late(char act) { return strchr("SMLBtkC", act) != NULL; }

// Choices -----------------------------------------------------------------------------------------

static void choose(workload_run *self, uint32_t key, uint32_t salt) {
    self->choices[key][0] = salt;
    self->choice_count[key] = 1;
}

static void allow(workload_run *self, uint32_t key, uint32_t salt) {
    for (uint32_t i = 0; i < self->choice_count[key]; i++) {
        if (self->choices[key][i] == salt) {
            return;
        }
    }
    if (self->choice_count[key] < WORKLOAD_CHOICES) {
        self->choices[key][self->choice_count[key]++] = salt;
    }
}

static void note_choices(workload_run *self, uint32_t number, bool is_done) {
    workload_step step = self->steps[number];
    shelf next = self->now;
    bool is_open = false;
    shelf_apply(&next, step, number);
    for (uint32_t key = 0; key < WORKLOAD_KEYS; key++) {
        is_open |= self->choice_count[key] > 1;
    }
    for (uint32_t key = 0; key < WORKLOAD_KEYS; key++) {
        uint32_t salt = salt_at(&next, key, next.time);
        if (evicts(step.act) && is_open) {
            allow(self, key, 0); // Which are the oldest depends on what is there.
        } else if (salt != salt_at(&self->now, key, self->now.time) || strchr("PcCr", step.act)) {
            if (is_done && (step.act != 'r' || key == step.key) && (step.act != 'P' || key >= 8)) {
                choose(self, key, salt);
            } else if (!is_done && may_fail_late(step.act)) {
                allow(self, key, salt);
            }
        }
    }
    if (is_done) {
        self->now = next;
    }
}

// Steps -------------------------------------------------------------------------------------------

static larder_bytes key_of(uint32_t key, char text[8]) {
    text[0] = key < 8 ? 'a' : 'b';
    text[1] = (char)('0' + key % 8);
    return bytes_of(text, 2);
}

static int64_t clock_of_run(void *context) {
    const workload_run *self = context;
    return atomic_load(&self->now_ns);
}

static larder_store_options options_of(const workload_run *self, larder_store_tuning *tuning) {
    const workload_tuning *wanted = self->what->tuning;
    larder_store_tuning_init(tuning);
    tuning->segment_min_bytes = (uint64_t)wanted->segment_min << 10;
    tuning->segment_max_bytes = (uint64_t)wanted->segment_max << 10;
    tuning->space_percent = 100;
    tuning->remove_max_count = 2;
    tuning->memtable_max_count = wanted->memtable ? wanted->memtable : 10000;
    tuning->transaction_max_count = wanted->transaction ? wanted->transaction : 10000;
    tuning->clean_max_bytes = wanted->clean ? wanted->clean : 1 << 30;
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS;
    options.journal_bytes = 64 << 10;
    options.inline_threshold_bytes = wanted->inline_bytes;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
    options.clock = clock_of_run;
    options.context = (void *)(uintptr_t)self;
    options.tuning = tuning;
    return options;
}

static larder_status put(workload_run *self, workload_step step, uint32_t number) {
    static uint8_t value[LENGTH_MAX];
    char text[8];
    static const char kinds[] = "sSmMelL";
    uint32_t kind = (uint32_t)(strchr(kinds, step.act) - kinds);
    uint32_t salt = salt_of(number, step.key, kind < 2 ? SHORT : kind < 5 ? MIDDLE : LONG);
    message_fill(salt, value, salt_length(salt));
    larder_store_item item;
    larder_store_item_init(&item, key_of(step.key, text), bytes_of(value, salt_length(salt)));
    item.flags = strchr("SML", step.act) ? (uint32_t)LARDER_STORE_SYNCED : 0;
    if (step.act == 'e') {
        item.expires_ns = atomic_load(&self->now_ns) + 10 * second;
    }
    return larder_store_put(self->store, &item, NULL);
}

static larder_status batch(workload_run *self, workload_step step, uint32_t number) {
    larder_store_batch *parts = NULL;
    uint8_t value[300];
    larder_status status = larder_store_batch_create(self->store, &parts);
    for (uint32_t i = 0; i < BATCH_PARTS && status == LARDER_OK; i++) {
        batch_part part = batch_part_of(step, number, i);
        char text[8];
        larder_bytes key = key_of(part.key, text);
        if (part.salt) {
            message_fill(part.salt, value, salt_length(part.salt));
            larder_store_item item;
            larder_store_item_init(&item, key, bytes_of(value, salt_length(part.salt)));
            status = larder_store_batch_put(parts, &item);
        } else {
            status = larder_store_batch_remove(parts, key);
        }
    }
    uint32_t flags = step.act == 'B' ? (uint32_t)LARDER_STORE_SYNCED : 0;
    status = status ? status : larder_store_batch_commit(parts, flags, NULL);
    larder_store_batch_destroy(parts);
    return status;
}

static int goes_on(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return 0;
}

static larder_status erase(workload_run *self, workload_step step, uint32_t number) {
    (void)number;
    char text[8];
    switch (step.act) {
    case 'r': return larder_store_remove(self->store, key_of(step.key, text), 0);
    case 'P': return larder_store_remove_prefix(self->store, bytes_of("b", 1), NULL);
    case 'x': return larder_store_remove_expired(self->store, NULL);
    case 'c': return larder_store_remove_all(self->store, NULL, NULL);
    default: return larder_store_remove_all(self->store, goes_on, NULL);
    }
}

static larder_status keep_up(workload_run *self, workload_step step, uint32_t number) {
    (void)number;
    switch (step.act) {
    case 'f': return larder_store_flush(self->store);
    case 'y': return larder_store_sync(self->store);
    case 'n': return larder_store_maintain(self->store);
    default: return larder_store_formats_set(self->store, 7, 7);
    }
}

static larder_status evict(workload_run *self, workload_step step, uint32_t number) {
    (void)number;
    if (step.act == 't') {
        return larder_store_trim(self->store, step.key, LARDER_STORE_UNLIMITED, NULL);
    }
    larder_store_limits none = larder_store_limits_get(self->store), few = none;
    few.count = step.key;
    larder_status status = larder_store_limits_set(self->store, &few);
    status = status ? status : larder_store_flush(self->store);
    larder_status reset = larder_store_limits_set(self->store, &none);
    return status ? status : reset;
}

static larder_status pass_time(workload_run *self, workload_step step, uint32_t number) {
    (void)step;
    (void)number;
    atomic_fetch_add(&self->now_ns, passing_ns);
    return LARDER_OK;
}

static larder_status touch(workload_run *self, workload_step step, uint32_t number) {
    (void)number;
    char text[8];
    larder_store_entry entry;
    larder_status status = larder_store_get(self->store, key_of(step.key, text), 0, &entry);
    larder_store_release(&entry);
    return status == LARDER_ENOTFOUND ? LARDER_OK : status;
}

static larder_status end_use(workload_run *self) {
    larder_status status = larder_store_shutdown(self->store);
    workload_close(self);
    return status;
}

static larder_status copy_holds(workload_run *self, uint32_t number) {
    larder_store_tuning tuning;
    larder_store_options options = options_of(self, &tuning);
    larder_store *copy = NULL;
    larder_status status = larder_store_open(self->copy, &options, NULL, &copy);
    if (status == LARDER_OK && !self->error) {
        (void)workload_verify(self, copy, number, number, NULL);
    }
    larder_store_close(copy);
    remove_tree(self->copy);
    return status;
}

static larder_status whole_store(workload_run *self, workload_step step, uint32_t number) {
    larder_store_report report;
    remove_tree(self->copy);
    larder_status status =
        step.act == 'U' ? larder_store_backup(self->store, self->copy, NULL, NULL) : end_use(self);
    if (step.act == 'K' && status == LARDER_OK) {
        status = larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL);
    } else if (step.act == 'V' && status == LARDER_OK) {
        status = larder_store_salvage(self->path, self->copy, NULL, NULL, NULL, &report);
    } else if (step.act == 'W' && status == LARDER_OK) {
        char data[760];
        snprintf(data, sizeof data, "%s/data.mdb", self->path);
        larder_store_tuning tuning;
        larder_store_options options = options_of(self, &tuning);
        status = unlink(data) != 0 ? errno : LARDER_OK;
        if (status == LARDER_OK) {
            status = larder_store_rebuild(self->path, &options, NULL, NULL, &report);
        }
    }
    if (status == LARDER_OK && (step.act == 'U' || step.act == 'V')) {
        status = copy_holds(self, number);
    }
    larder_status opened = self->store ? LARDER_OK : workload_open(self, false);
    return status ? status : opened;
}

static larder_status elsewhere(workload_run *self, workload_step step, uint32_t number) {
    if (step.act == 'z') {
        larder_store_close(self->reader);
        self->reader = NULL;
        return LARDER_OK;
    }
    if (step.act == 'R' || !self->reader) {
        return workload_open(self, true);
    }
    if (!self->error) {
        (void)workload_verify(self, self->reader, number, number, NULL);
    }
    return LARDER_OK;
}

static larder_status go_over(workload_run *self, workload_step step, uint32_t number) {
    (void)step;
    (void)number;
    larder_store_query query;
    larder_store_query_init(&query);
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    larder_status status = larder_store_cursor_open(self->store, &query, &cursor);
    while (status == LARDER_OK) {
        status = larder_store_cursor_next(cursor, &entry);
    }
    larder_store_cursor_close(cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

static const struct act {
    const char *letters;
    larder_status (*function)(workload_run *self, workload_step step, uint32_t number);
} acts[] = {
    // Puts a short, middle, long value, one of middle length that expires soon; S, M, L are synced.
    {"smleSML", put},
    // A batch of four from that key on; B is synced.
    {"bB", batch},
    // Removes: the key, those that begin with b, all, all with a checkpoint, what expired.
    {"rPcCx", erase},
    // A flush, a sync, maintenance, a new content format.
    {"fynF", keep_up},
    // Leaves so many entries: by a trim, by a limit.
    {"tk", evict},
    {"+", pass_time},
    {"g", touch},
    // Closes and opens; compacts meanwhile; backs up; salvages to a copy; loses the index, which is
    // made anew.
    {"oKUVW", whole_store},
    // A reader is opened, looks, is closed.
    {"Rvz", elsewhere},
    {"d", go_over},
};

static larder_status take_step(workload_run *self, uint32_t number) {
    workload_step step = self->steps[number];
    if (!self->store) {
        larder_status status = workload_open(self, false);
        if (status != LARDER_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strchr(acts[i].letters, step.act)) {
            return acts[i].function(self, step, number);
        }
    }
    torture_fail(self->torture, "no step is called '%c'", step.act);
    return LARDER_EINVALID;
}

// Runs --------------------------------------------------------------------------------------------

void workload_boot(workload_run *self) { atomic_fetch_add(&self->boot, 1); }

larder_status workload_open(workload_run *self, bool reads_only) {
    uint8_t boot[16] = {1, (uint8_t)atomic_load(&self->boot)};
    larder_fault_boot_id(boot);
    larder_store_tuning tuning;
    larder_store_options options = options_of(self, &tuning);
    larder_store_detail detail;
    if (reads_only) {
        larder_store_close(self->reader);
        self->reader = NULL;
        options.flags = LARDER_STORE_READ_ONLY;
        return larder_store_open(self->path, &options, NULL, &self->reader);
    }
    self->store = NULL;
    // A store whose index is lost is opened by making it anew.
    if (strchr(self->what->script, 'W')) {
        options.flags |= LARDER_STORE_REBUILDS;
    }
    return larder_store_open(self->path, &options, &detail, &self->store);
}

void workload_close(workload_run *self) {
    larder_store_close(self->store);
    self->store = NULL;
}

static void go(workload_run *self, uint32_t from, uint32_t to) {
    larder_status status = workload_open(self, false);
    (void)EXPECT(self->torture, status == LARDER_OK || (self->error && status == self->error),
                 "open gave %d (%s)", status, larder_strerror(status));
    for (uint32_t i = from; i < to && torture_unhurt(self->torture); i++) {
        workload_step step = self->steps[i];
        atomic_store(&self->begun, i + 1);
        status = take_step(self, i);
        (void)EXPECT(self->torture, status == LARDER_OK || (self->error && status == self->error),
                     "step %u, %c%x, gave %d (%s)", i, step.act, step.key, status,
                     larder_strerror(status));
        if (self->error) {
            note_choices(self, i, status == LARDER_OK);
        }
        atomic_store(&self->done, i + 1);
        if (makes_safe(step.act)) {
            atomic_store(&self->synced, i + 1);
        }
    }
}

void workload_go(workload_run *self) {
    go(self, self->first, self->count);
    if (self->error) {
        return; // How it ends is for the caller to see.
    }
    larder_store_close(self->reader);
    self->reader = NULL;
    workload_close(self);
    atomic_store(&self->synced, self->count);
}

static bool add_steps(workload_run *self, const char *token) {
    static const char digits[] = "0123456789abcdef";
    uint8_t from = token[1] ? (uint8_t)(strchr(digits, token[1]) - digits) : 0, to = from;
    if (token[1] && token[2] == '-') {
        to = (uint8_t)(strchr(digits, token[3]) - digits);
    }
    for (uint8_t key = from; key <= to; key++) {
        if (self->count == WORKLOAD_STEPS) {
            return false;
        }
        self->steps[self->count++] = (workload_step){*token, key};
    }
    return true;
}

typedef struct stretch {
    workload_run *run;
    uint32_t from, to;
    bool dies;
} stretch;

static void live(torture *run, void *context) {
    const stretch *self = context;
    self->run->torture = run;
    go(self->run, self->from, self->to);
    if (!self->dies) {
        workload_close(self->run);
    }
}

static bool take_apart(workload_run *self, const char *script, bool is_before) {
    char text[400], *rest = NULL;
    snprintf(text, sizeof text, "%s", script);
    stretch part = {.run = self, .from = self->count};
    bool good = true;
    for (char *token = strtok_r(text, " ", &rest); good; token = strtok_r(NULL, " ", &rest)) {
        bool ends = token && strchr("!%", *token);
        if (token && !ends) {
            good = add_steps(self, token);
        } else if (is_before && self->count > part.from) {
            part.to = self->count;
            part.dies = ends;
            good = torture_guard(self->torture, 30, live, &part) && torture_unhurt(self->torture);
            part.from = part.to;
            atomic_fetch_add(&self->boot, token && *token == '%');
        }
        if (!token) {
            break;
        }
    }
    return good;
}

void workload_at(workload_run *self, const char *root) {
    snprintf(self->path, sizeof self->path, "%s/store", root);
    snprintf(self->copy, sizeof self->copy, "%s/copy", root);
}

bool workload_begin(torture *run, workload_run *self, const workload *what, const char *root) {
    memset(self, 0, sizeof *self);
    self->torture = run;
    self->what = what;
    workload_at(self, root);
    atomic_store(&self->now_ns, start_ns);
    bool good = take_apart(self, what->before, true);
    self->first = self->count;
    good = good && take_apart(self, what->script, false);
    workload_again(self);
    return EXPECT(run, good, "workload '%s' does not begin", what->name);
}

void workload_again(workload_run *self) {
    atomic_store(&self->begun, self->first);
    atomic_store(&self->done, self->first);
    atomic_store(&self->synced, self->first);
    atomic_store(&self->now_ns, start_ns);
    atomic_store(&self->is_inside, 0);
    self->error = 0;
    self->store = self->reader = NULL; // Of a process that is gone.
    self->now = (shelf){0};
    for (uint32_t i = 0; i < self->first; i++) {
        shelf_apply(&self->now, self->steps[i], i);
    }
    for (uint32_t key = 0; key < WORKLOAD_KEYS; key++) {
        choose(self, key, self->now.salt[key]);
    }
}

// Verifying ---------------------------------------------------------------------------------------

/** What lies under each key: its salt, 0 for nothing. */
static bool read_shelf(workload_run *self, larder_store *store, uint32_t found[WORKLOAD_KEYS]) {
    for (uint32_t key = 0; key < WORKLOAD_KEYS; key++) {
        char text[8];
        larder_store_entry entry;
        larder_status status =
            larder_store_get(store, key_of(key, text), LARDER_STORE_PEEK, &entry);
        found[key] = 0;
        for (uint32_t i = 0; i <= self->count && status == LARDER_OK && !found[key]; i++) {
            for (uint32_t kind = SHORT; kind <= LONG; kind++) {
                uint32_t salt = salt_of(i, key, kind);
                if (entry.value.length == salt_length(salt) &&
                    message_equals(salt, entry.value.data, entry.value.length)) {
                    found[key] = salt;
                }
            }
        }
        bool right = status == LARDER_ENOTFOUND || (status == LARDER_OK && found[key]);
        larder_store_release(&entry);
        if (!EXPECT(self->torture, right, "get of key %x gave %d (%s)%s", key, status,
                    larder_strerror(status), status ? "" : " and what was never written")) {
            return false;
        }
    }
    return true;
}

bool workload_verify(workload_run *self, larder_store *store, uint32_t least, uint32_t most,
                     uint32_t *which) {
    uint32_t found[WORKLOAD_KEYS], time = time_of(self), nearest = 0, fewest = UINT32_MAX, odd = 0;
    if (!read_shelf(self, store, found)) {
        return false;
    }
    shelf state = {0};
    for (uint32_t i = 0; i <= most; i++) {
        shelf next = state;
        if (i < most) {
            shelf_apply(&next, self->steps[i], i);
        }
        uint32_t wrong = 0, first = 0;
        for (uint32_t key = 0; key < WORKLOAD_KEYS && i >= least; key++) {
            // An eviction that was begun may be half done.
            bool right = found[key] == salt_at(&state, key, time) ||
                         (i < most && evicts(self->steps[i].act) && !found[key] && !next.salt[key]);
            first = !right && !wrong ? key : first;
            wrong += !right;
        }
        if (i >= least && wrong == 0) {
            if (which) {
                *which = i;
            }
            return true;
        }
        if (i >= least && wrong < fewest) {
            fewest = wrong;
            nearest = i;
            odd = first;
        }
        state = next;
    }
    torture_fail(self->torture,
                 "what is there is not what was after any step from %u to %u; nearest is %u, with "
                 "%u keys wrong, %x first: found %s of step %d",
                 least, most, nearest, fewest, odd, found[odd] ? "that" : "nothing",
                 found[odd] ? (int)(found[odd] / 4 / WORKLOAD_KEYS) - 1 : -1);
    return false;
}

bool workload_verify_choices(workload_run *self, const char *when) {
    uint32_t found[WORKLOAD_KEYS];
    if (!read_shelf(self, self->store, found)) {
        return false;
    }
    for (uint32_t key = 0; key < WORKLOAD_KEYS; key++) {
        bool right = false;
        for (uint32_t i = 0; i < self->choice_count[key]; i++) {
            right |= self->choices[key][i] == found[key];
        }
        // Time may have passed since it was written.
        right |= found[key] == 0 && salt_at(&self->now, key, self->now.time) == 0;
        if (!EXPECT(self->torture, right, "%s: key %x has what step %d wrote, not %d", when, key,
                    found[key] ? (int)(found[key] / 4 / WORKLOAD_KEYS) - 1 : -1,
                    self->choices[key][0] ? (int)(self->choices[key][0] / 4 / WORKLOAD_KEYS) - 1
                                          : -1)) {
            return false;
        }
    }
    return true;
}

static bool take_as_found(workload_run *self) {
    uint32_t found[WORKLOAD_KEYS];
    bool good = read_shelf(self, self->store, found);
    for (uint32_t key = 0; key < WORKLOAD_KEYS && good; key++) {
        choose(self, key, found[key]);
    }
    return good;
}

bool workload_settle(workload_run *self) {
    return workload_verify_choices(self, "after the failure") && take_as_found(self);
}

larder_status workload_write_more(workload_run *self, uint32_t times) {
    workload_step more = {'m', WORKLOAD_KEYS - 1};
    shelf_apply(&self->now, more, self->count);
    if (!take_as_found(self)) {
        return LARDER_EDAMAGED;
    }
    choose(self, more.key, self->now.salt[more.key]);
    larder_status status = LARDER_OK;
    for (uint32_t i = 0; i < times && status == LARDER_OK; i++) {
        status = put(self, more, self->count);
    }
    return status;
}
