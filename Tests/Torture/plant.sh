#!/bin/sh
# SPDX-License-Identifier: MIT
# plant.sh DEFECT FOLDER|--check
#
# Copies the C core to FOLDER/Sources with one defect in it, and prints the sources to compile anew,
# as Sources/CLarder/ring/sync.c: the one that was changed, or those beside a header. The harnesses
# have to find each of them; where one is put in by a line that is not there any more, this fails;
# with --check that is all that is done.
set -eu

defect=$1
folder=$2
file=
script=
in_file() { # FILE SED-SCRIPT
    file=$1 script=$2
}

case $defect in
# The log
SKIP_CRC) in_file CLarder/ring/layout.h \
    's/return record_crc(crc, .* == head.crc;/return true;/' ;;
NO_BOUNDS) in_file CLarder/ring/layout.h \
    's/return record_bytes(record_length(head.word)) <= data_bytes - position;/return true;/' ;;
HEAD_FIRST) in_file CLarder/ring/append.c '/If we crash here, or in the copy/i\
    STORE_RELEASE(ring->header->state.published[ring->slot].end, ring->end + record_bytes(length));\
    { extern int sched_yield(void); sched_yield(); }' ;;
EVICT_LATE) in_file CLarder/ring/append.c \
    '/STORE(ring->header->state.count, 0);/,/store_oldest/{
    s/^        ring_store_oldest(ring);//
    }
    /^    ring_seal(ring, payload_crc, (uint32_t)length | partial/i\
    { extern int sched_yield(void); sched_yield(); ring_store_oldest(ring); }' ;;
NO_SYNC) in_file CLarder/ring/sync.c \
    's/status = larder_os_map_sync(.*);/status = LARDER_OK;/' ;;
REUSE_SEQUENCE) in_file CLarder/ring/recovery.c \
    's/found->next_sequence = .* + 1;/found->next_sequence = 1;/
    s/^    return next;/    return 1;/' ;;
RING_TIME_GOES_BACK) in_file CLarder/ring/append.c \
    's/if (now_ns > ring->newest_ns) ring->newest_ns = now_ns;/ring->newest_ns = now_ns;/' ;;
RING_FORGETS_TIME) in_file CLarder/ring/append.c \
    's/ring->newest_ns = larder_ring_newest_time(ring, &view);/(void)view;/' ;;
RING_SEEKS_TOO_FAR) in_file CLarder/ring/reader.c \
    's/return ring_time_at(ring, offset) < goal.time_ns;/return true;/' ;;
RING_SEEKS_ALONG) in_file CLarder/ring/reader.c \
    's/while (high - low > SEEK_WALK_BYTES) {/while (high - low > SEEK_WALK_BYTES) {\
        if (goal.time_ns != INT64_MIN) {\
            uint64_t at = larder_ring_find_offset(ring, view, low, high, bounds, NULL);\
            if (at >= high || !seek_reaches(ring, at, 0, goal)) return low;\
            low = at + 8;\
            continue;\
        }/' ;;
RING_TORN_BEFORE_SYNC) in_file CLarder/ring/recovery.c 's/^        out->first = 0;//' ;;
RING_KEEPS_DROPPED) in_file CLarder/ring/recovery.c \
    's/if (hints->is_protected && (is_found/if ((is_found/' ;;
RING_BELIEVES_CLOCK) in_file CLarder/ring/append.c \
    's/now_ns - ages->now_ns > passed.*/passed < 0)/' ;;
RING_FORGETS_AGES) in_file CLarder/ring/append.c \
    's/ages->marks\[count\].time_ns = .*/ages->marks[count].time_ns = INT64_MAX;/' ;;
RING_WRITES_SEALED) in_file CLarder/ring/sync.c 's/^    if (!sealed) return;/    return;/' ;;
RING_CHECKS_PADS) in_file CLarder/ring/check.c 's/ || (is_pad && kept == offset + rest)//' ;;
RING_REFUSES_SHORT) in_file CLarder/ring/open.c 's/^        ring_was_cut_short(.*)) {/        0) {/
    s/^static bool ring_was_cut_short/__attribute__((unused)) &/' ;;
RING_FORGETS_FIRST) in_file CLarder/ring/recovery.c 's/^    found->damaged = before;//' ;;
RING_SALVAGES_UNTOLD) in_file CLarder/ring/copy.c \
    's/if (oldest && runs->count && .*/if (oldest > UINT64_MAX - 1)/' ;;
RING_BELIEVES_EMPTY) in_file CLarder/ring/recovery.c \
    's/return empty_is_possible(\(.*\)) &&/return (empty_is_possible(\1) || true) \&\&/' ;;
RING_BELIEVES_PLACES) in_file CLarder/ring/cursor.c \
    's/return place < larder_ring_view_get(ring).next_sequence ? place : 0;/return place;/' ;;
RING_BELIEVES_FLOORS) in_file CLarder/ring/recovery.c \
    '/if (hints->oldest.removed_through >= next)/d' ;;
RING_GIVES_UP_EARLY) in_file CLarder/ring/layout.h \
    's/from + ((uint64_t)1 << 32)}/0 * from}/' ;;
RING_READS_HOLES) in_file CLarder/ring/view.c \
    's/if (!kept->count || .*) return offset;/return offset;/' ;;
RING_LEAVES_HOLES) in_file CLarder/ring/open.c '/ring_erase_others(ring, &found->kept);/d
    s/^static void ring_erase_others/__attribute__((unused)) &/' ;;
RING_COPY_IS_CUT) in_file CLarder/ring/open.c \
    's/if (!is_same_file) return RECOVERY_COPIED;/if (!is_same_file) return RECOVERY_POWER_CUT;/' ;;
RING_BELIEVES_SYNC) in_file CLarder/ring/open.c 's/STORE(ring->sync_failures, 1);/;/' ;;
RING_MARKS_CLEAN) in_file CLarder/ring/sync.c \
    's/if (failures != ring->sync_failures_mended) ring_redirty(ring);//' ;;
RING_NAMES_EARLY) in_file CLarder/ring/copy.c \
    's/target->is_temporary = true;/target->is_temporary = target->is_named = true;/' ;;
RING_BELIEVES_COUNTS) in_file CLarder/ring/open.c '/^static bool ring_is_closed/,/^}/{
    s/^        return false;/        (void)0;/
    }' ;;
RING_NUMBERS_GO_ON) in_file CLarder/ring/append.c \
    '/if (ring->next_sequence >= ring->floor) return LARDER_EFULL;/d' ;;
RING_OLDEST_STAYS) in_file CLarder/ring/lock.c \
    's/ || LOAD(ring->header->state.oldest) != ring->oldest) {/) {/' ;;
RING_BELIEVES_CLAIM) in_file CLarder/ring/copy.c \
    's/if (is_there && wreck->map_bytes == fixed->capacity_bytes) return/if (fixed) return/' ;;
RING_BELIEVES_LENGTH) in_file CLarder/ring/copy.c \
    's/bool is_there = .*/bool is_there = wreck->map_bytes > 0;/' ;;
RING_LEAVES_FILE_HOLES) in_file CLarder/ring/open.c \
    's/if (!status) status = ring_fill_holes(.*);//
    s/^static larder_status ring_fill_holes/__attribute__((unused)) &/' ;;
RING_MISSES_DELETION) in_file CLarder/ring/view.c \
    's/return !status .* now.links == 0 ? LARDER_EREPLACED : status;/return status;/' ;;
RING_MISSES_ANOTHER) in_file CLarderSystem/others.c \
    's/return larder_os_is_same_file(file, &found) ? LARDER_OK : .*;/return LARDER_OK;/' ;;
RING_SYNCS_ANYWHERE) in_file CLarder/ring/sync.c '/^static larder_status sync_found/,/^}/{
    s/status = larder_ring_check_place(ring);/(void)ring;/
    }' ;;
RING_RESIZES_ANOTHER) in_file CLarder/ring/copy.c \
    's/ || (!status \&\& !larder_os_is_same_file(&found, place->facts))//' ;;
RING_WAITS_IN_VAIN) in_file CLarder/ring/wait.c \
    's/^    if (placed) return true;/    *status = LARDER_OK;/' ;;
RING_TAKES_ANY_LOG) in_file CLarder/ring/open.c \
    's/ && options->created_ns != ring->fixed.created_ns)/ \&\& !ring->fixed.created_ns)/' ;;
RING_RESIZES_TO_ANOTHER) in_file CLarder/ring/copy.c \
    's/&target->fixed, source->fixed.created_ns,/\&target->fixed, target->fixed.created_ns,/' ;;
RING_KEEPS_REPLACED) in_file CLarder/ring/open.c 's/if (status || is_there) return/return/' ;;
RING_TRUSTS_ANYBODY) in_file CLarder/ring/open.c \
    's/return larder_os_trust_check(.*);/return LARDER_OK;/' ;;
NO_LOCK) in_file CLarder/ring/ring_internal.h '/^    uint32_t expected = LOCK_FREE;/i\
    if (atomic_load_explicit(ring->lock, memory_order_relaxed) == LOCK_FREE) return LARDER_OK;' ;;
# The system
NO_RESERVE) in_file CLarderSystem/file.c '/^larder_status larder_os_file_reserve/,/^}/{
    s/^    if (allowed) return allowed;/    return larder_os_file_truncate(file, bytes);/
    }' ;;
TAKES_WHAT_IS_THERE) in_file CLarderSystem/others.c 's/ | LARDER_OS_EXCLUSIVE//' ;;
SWEEPS_ANYTHING) in_file CLarderSystem/others.c 's/ && facts.st_uid == geteuid())/)/
    s/facts.st_nlink == 1/facts.st_nlink/' ;;
LINKS_ARE_FINE) in_file CLarderSystem/others.c 's/return facts->links > 1 .*/return LARDER_OK;/' ;;
READERS_ARE_WRITERS) in_file CLarderSystem/lock.c '/^bool larder_os_file_is_locked/,/^}/{
    s/F_RDLCK/F_WRLCK/
    }' ;;
FOLLOW_LINKS) in_file CLarderSystem/file.c 's/int how = O_NOFOLLOW | /int how = /' ;;
LOW_DESCRIPTOR) in_file CLarderSystem/file.c \
    's/return larder_os_descriptor_open(folder, name, how, mode, out);/\
        *out = openat(folder, name, how | O_CLOEXEC, (mode_t)mode);\
        return *out < 0 ? errno : LARDER_OK;/' ;;
LOW_FOR_A_MOMENT) in_file CLarderSystem/descriptor.c \
    '/^larder_status larder_os_descriptor_open/,/^}/{
    /larder_os_standard_/d
    }' ;;
# Coding
CBOR_LENGTH) in_file CLarder/cbor/walk.h '/larder_status read_content/,/^}/{
    s/if (length > readable)/if (0)/
    }' ;;
# The index
INDEX_OVERFLOW) in_file CLarder/index/group.h \
    's/if (overflow != OVERFLOW_STUCK) tag_set(at, OVERFLOW, overflow - 1);//' ;;
INDEX_NOTES) in_file CLarder/index/index.c '/^static void leave_reader/,/^}/{
    s/if (wants_writer)/if (0)/
    }' ;;
INDEX_LATE_CLOCK) in_file CLarder/index/clock.c '/^bool larder_index_is_over/,/^}/{
    s/return index.*;/return (void)index, (void)deadline, false;/
    }' ;;
INDEX_GRACE_HIDES) in_file CLarder/index/table.h \
    's/return deadline <= now && index->grace_ns == 0;/return deadline <= now;/' ;;
INDEX_READS_GRACE) in_file CLarder/index/lock.c 's/index->is_held_for_writing = false;//' ;;
INDEX_LONG_GRACE) in_file CLarder/index/expiry.c '/^static int64_t end_of_grace/,/^}/{
    s/index->grace_ns/index->grace_ns + 1/
    }' ;;
INDEX_EARLY_END) in_file CLarder/index/expiry.c '/^larder_index_slot larder_index_expire/,/^}/{
    s/if (deadline <= held_time(index))/if (deadline > 0)/
    }' ;;
INDEX_LIST_COST) in_file CLarder/index/index.c \
    's/if (list != LIST_NONE) index->lists/if (0) index->lists/' ;;
CLOCK_SLEEPS_ON) in_file CLarderSystem/machine.c 's/moved < NOISE_NS &&.*NS)/(moved, 1))/' ;;
INDEX_FORGETS_LEFT) in_file CLarder/index/index.c \
    's/left_use_ns = larder_index_unlisted_use(index, slot);/left_use_ns = INT64_MIN;/' ;;
INDEX_TOLD_TAKEN) in_file CLarder/index/segment.c \
    's/^        larder_index_clear_told(index, slot);//' ;;
INDEX_WEIGHS_ALIKE) in_file CLarder/index/policy/adaptive.c '/^static index_total weight_of/,/^}/{
    s/return .*/return (void)index, (void)slot, 1;/
    }' ;;
INDEX_FORGETS_WEIGHT) in_file CLarder/index/policy/adaptive.c '/^static bool newest_stays/,/^}/{
    s/return uses == 0 ||.*/return weight > 0 || uses == 0;/
    }' ;;
# The store
STORE_SHRINKS_TOO_FAR) in_file CLarderStore/repair/shrink.c \
    's/data != SPACE_META/data < SPACE_ORDER/' ;;
STORE_SKIPS_CRC) in_file CLarderStore/format/record.c 's/^    if (verifies &&$/    if (0 \&\&/' ;;
STORE_HALF_A_BATCH) in_file CLarderStore/handle/pending.c \
    '/^        at += record_padded(record_length(at));/a\
        if (n == 0 \&\& store->maintenance.has_thread) {\
            extern int usleep(unsigned);\
            pthread_mutex_unlock(\&store->pending.lock);\
            usleep(20);\
            pthread_mutex_lock(\&store->pending.lock);\
        }' ;;
STORE_FORGETS_UNIQUE) in_file CLarderStore/store/unique.c \
    's/if (!status && count < 2) status = count_stored(.*);//
    s/^static larder_status count_stored/__attribute__((unused)) &/' ;;
STORE_UNIQUE_OF_ITSELF) in_file CLarderStore/store/unique.c \
    's/&scratch)) == NULL;/\&scratch)) == NULL || 1;/' ;;
STORE_SKIPS_CLEANED_SYNC) in_file CLarderStore/cleaning/clean.c \
    '/^larder_status larder_cleaning_settle/,/^}/s/= larder_segment_sync(.*);/= LARDER_OK;/' ;;
STORE_DELETES_UNKNOWN) in_file CLarderStore/store/replay.c \
    '/^static unknown_fate fate_of/,/^}/s/FATE_[KP][A-Z]*/FATE_GOES/' ;;
STORE_GIVEN_UP_STAYS) in_file CLarderStore/store/replay.c \
    's/removed = larder_log_remove(log, facts->number);/removed = LARDER_OK;/' ;;
STORE_OPENS_OLD_INDEX) in_file CLarderStore/store/match.c \
    's/facts->as_of > of->meta->applied)/facts->as_of > UINT64_MAX - 1)/
    s/missing != 0 && has_unknown(of, newest)/0 \&\& has_unknown(of, newest)/' ;;
STORE_ENDS_AT_A_HOLE) in_file CLarderStore/log/scan.c \
    's/^    if (!scan->looks_behind .*/    return LARDER_END;/' ;;
STORE_NEEDS_HEADS) in_file CLarderStore/log/segment.c \
    's/^    if (!status && facts.bytes == 0) /    if (!status \&\& !has_head) /' ;;
STORE_BELIEVES_NAMES) in_file CLarderStore/log/segment.c \
    's/^        \*store_id = facts.store_id;/        head.number = number;\n&/' ;;
STORE_LOSES_UNTOLD) in_file CLarderStore/store/replay.c \
    's/^    report->journal_lost += scan->lost;//' ;;
STORE_SYNCED_IS_TORN) in_file CLarderStore/log/scan.c \
    's/return scan->was_cut && compare_locations(place.*/(void)place; return scan->was_cut;/' ;;
STORE_FORGETS_GRACE) in_file CLarderStore/checkpoint/apply.c \
    's/expiry_removes_before(/expiry_now(/' ;;
STORE_TAKES_ANY_KEYS) in_file CLarderStore/store/store.c \
    's/is_as_wanted(store->options.key_form, .*)))/true))/' ;;
STORE_FEED_STOPS_AT_SEALS) in_file CLarderStore/feed/feed.c \
    's/leads_on = is_stuck && /leads_on = is_stuck \&\& feed->is_cut \&\& /' ;;
STORE_HIDES_THE_REST) in_file CLarderStore/pages/tree_cursor.c \
    's/^    if (larder_page_is_full(.*/    return LARDER_OK;/' ;;
STORE_GOES_ASTRAY) in_file CLarderStore/pages/tree_cursor.c \
    's/!is_in_order(leaf, at)/(is_in_order(leaf, at) \&\& false)/' ;;
STORE_LISTS_BY_CHANGED) in_file CLarderStore/read/cursor_tree.c \
    's/pending.by_key_count > 0 \&\& is_out/pending.by_key_count > 9999 \&\& is_out/' ;;
STORE_MISSES_CHANGED) in_file CLarderStore/read/get.c \
    's/i < 2 \&\& status == LARDER_ENOTFOUND/i < 0/' ;;
STORE_NEVER_MENDS) in_file CLarderStore/store/store.c \
    's/^    if (!larder_identity_has_damage(.*/    return LARDER_OK;/' ;;
STORE_PASSES_HOLES) in_file CLarderStore/log/scan.c \
    's/if (is_torn_before(scan, next))/if (is_torn_before(scan, scan->at))/' ;;
STORE_JUDGES_EARLY) in_file CLarderStore/lmdb/environment_readers.c \
    's/if (out->next_page > covered .*)/if (0)/' ;;
STORE_OLDER_WILL_DO) in_file CLarderStore/lmdb/environment_readers.c \
    's/return out->transaction < .* ? .*;/return LARDER_OK;/' ;;
STORE_FORGETS_APPLIED) in_file CLarderStore/checkpoint/checkpoint.c \
    '/^        apply->meta.applied = frozen->last_sequence;/{N
    s/;\n */, /
    s/apply/if (apply->meta.applied == 0) apply/
    }' ;;
STORE_COMMITS_EARLY) in_file CLarderStore/checkpoint/checkpoint.c \
    '/^    if (!status && (store->pending.frozen != NULL || leaves))$/{N
    d
    }' ;;
STORE_FORGETS_REMOVALS) in_file CLarderStore/cleaning/clean.c \
    's/^    return least;/    return UINT64_MAX;/' ;;
STORE_DELETES_EARLY) in_file CLarderStore/cleaning/clean.c \
    's/if (oldest < gone->retired_by) return;//' ;;
STORE_LOW_LMDB) in_file CLarderStore/lmdb/environment_open.c \
    's/int code = larder_os_standard_occupy();/int code = 0;/
    /^    larder_os_standard_vacate();/d' ;;
STORE_INHERITED_LMDB) in_file CLarderStore/lmdb/environment_open.c \
    's/larder_os_file_close_on_exec(file);/(void)file;/' ;;
# The failures that the store's first design had, so far as this one can have them
STORE_APPLIED_EARLY) in_file CLarderStore/checkpoint/checkpoint.c \
    '/^    if (!status && run->is_done) status = apply_last/i\
    if (run->frozen)\
        apply->meta.applied = run->frozen->last_sequence, apply->meta.end = run->frozen->end;' ;;
STORE_LAST_SYNCED_ONLY) in_file CLarderStore/log/log.c \
    's/sync_chain(log, first, /sync_chain(log, last->number, /' ;;
STORE_BELIEVES_SYNC) in_file CLarderStore/log/segment.c \
    's/synced->sync_failed = status;/synced->synced = end;/' ;;
STORE_KEEPS_NO_ROOM) in_file CLarderStore/lmdb/environment_writer.c \
    's/if (!larder_environment_is_short(env) ||/return; if (/' ;;
STORE_NAMES_UNSYNCED) in_file CLarderStore/handle/syncing.c \
    's/if (!store->syncing.is_settled)/if (0)/' ;;
STORE_PATH_AS_GIVEN) in_file CLarderStore/store/store.c \
    's/= larder_os_absolute_path(path, &\(.*path\));/= (\1 = strdup(path)) == NULL;/' ;;
STORE_ANY_FOLDER) in_file CLarderStore/log/log.c \
    's/if (!larder_os_is_same_file(&facts, &log->place)) return .*/return LARDER_OK;/' ;;
STORE_TAKES_REFILLED) in_file CLarderStore/log/log.c \
    's/if (log->lock.inode == 0) return LARDER_OK;/if (log != NULL) return LARDER_OK;/' ;;
STORE_MISSES_FOLDER) in_file CLarderStore/log/log.c \
    's/if (is_gone \&\& log->place.inode != 0) status = LARDER_EREPLACED;//' ;;
STORE_FOLLOWS_ON) in_file CLarderStore/read/follow.c \
    's/if (is_outdated(follow, meta->applied))/if (follow->first == 0)/' ;;
STORE_NEVER_LEAVES) in_file CLarderStore/checkpoint/checkpoint.c \
    's/is_worth_leaving(store)) status/0) status/' ;;
# A full disk that cannot be emptied, or read
STORE_REFUSES_REMOVALS) in_file CLarderStore/checkpoint/append.c \
    's/^    if (asked->is_removal) left = .*/    (void)shortages;/' ;;
STORE_KEEPS_LITTLE) in_file CLarderStore/checkpoint/room.c \
    's/^    return larder_live_longest(.*/    return 0;/' ;;
STORE_KEEPS_SEGMENTS) in_file CLarderStore/log/log.c \
    's/^    larder_segment_detach(gone);//' ;;
STORE_GROWS_UNDER_READERS) in_file CLarderStore/checkpoint/checkpoint.c \
    's/if (larder_environment_room(env) < 2 . larder_store_least_room.*/if (0 \&\&/' ;;
STORE_CLEANS_AT_ONCE) in_file CLarderStore/cleaning/clean.c \
    's/^    work->room_bytes = room - .*/    work->room_bytes = UINT64_MAX;/' ;;
STORE_CLEANS_FOR_NOTHING) in_file CLarderStore/checkpoint/checkpoint.c \
    's/dead + read \/ WORTH_PART >= before/dead + 0 * read >= before/' ;;
STORE_SKIPS_CAUSE) in_file CLarderStore/cleaning/clean.c \
    's/if (!is_all_memory(work, candidate)) return true;/const live_segment *own =\
        oldest_with_dead(work);\
    if (own \&\& own->number == candidate->number) return false;/' ;;
STORE_ENDS_HALFWAY) in_file CLarderStore/checkpoint/checkpoint.c \
    '/run->halvings += 2;/{n
    s/run->is_done = false;//
    }' ;;
STORE_READERS_MAKE_FILES) in_file CLarderStore/lmdb/environment_open.c \
    's/if (is_made) (void)!larder_os_file_remove_in(folder, "lock.mdb");//' ;;
STORE_READS_ON) in_file CLarderStore/lmdb/environment_readers.c \
    's/^    if (!is_over.* \&\& !\(may_be_missing\)).*/    (void)is_overwritten, (void)\1;\
    return status;/' ;;
STORE_LOOKS_PAST_GAPS) in_file CLarderStore/read/follow.c \
    's/if (!status) status = larder_environment_confirm(\*out, LARDER_OK);//' ;;
STORE_BELIEVES_REUSED) in_file CLarderStore/store/store.c \
    's/= larder_environment_confirm(seen, \(larder_store_live_load.*\));/= \1;/' ;;
STORE_MISSES_THE_CLEANED) in_file CLarderStore/store/match.c \
    's/bool is_missing = .*/bool is_missing = false;/' ;;
# Pending writes and reads in the orders of cursors
STORE_KEEPS_OLDER_ROWS) in_file CLarderStore/log/write_rows.c \
    's/made->count++\] = result < 0 ?/made->count++] = result <= 0 ?/' ;;
STORE_SHOWS_REPLACED) in_file CLarderStore/read/cursor_overlay.c \
    's/return newest && newest->record == row->record/return newest/' ;;
STORE_DROPS_ROWS) in_file CLarderStore/log/write_rows.c \
    's/= sorted->folded; at < until/= sorted->folded; at + 1 < until/' ;;
STORE_KEEPS_LATE_ROWS) in_file CLarderStore/checkpoint/apply.c \
    's/out->has_late_rows = .*/out->has_late_rows = false;/' ;;
STORE_COUNTS_LATE) in_file CLarderStore/read/count.c \
    's/!expiry_is_behind_rows(&store->expiry)/true/' ;;
STORE_KEEPS_LATE) in_file CLarderStore/checkpoint/checkpoint.c \
    's/apply->now_ns >= EXPIRY_ROWS_END_NS/false/' ;;
STORE_MIXES_AHEAD) in_file CLarderStore/read/cursor_ahead.c \
    's/if (found->stored != stored.data) continue;/(void)stored;/' ;;
STORE_LISTS_EXPIRED) in_file CLarderStore/read/cursor.c \
    's/if (due == .*) return true;/if (due) return true;/' ;;
STORE_OVERLOOKS_READS) in_file CLarderStore/read/cursor_touched.c \
    's/^    \*counts = cursor->query.order == .*/    *counts = (cursor == NULL) \&\&/' ;;
# Limits that are left far behind, and reads that are not seen
STORE_FORGETS_READS_ABOVE) in_file CLarderStore/read/touch.c \
    's/if (chunk->found\[at\] != LARDER_OK ||/if (1 ||/' ;;
STORE_WAITS_FOR_NOBODY) in_file CLarderStore/checkpoint/room.c \
    's/if (limit == LARDER_STORE_UNLIMITED) return;/return;/' ;;
STORE_KEEPS_WHAT_DIED) in_file CLarderStore/checkpoint/checkpoint.c \
    's/\.is_limited = has_bytes_limit(store),/.is_limited = false,/' ;;
STORE_KEEPS_TAILS) in_file CLarderStore/log/segment.c \
    's/(void)larder_os_file_release(file, .*/(void)file;/' ;;
STORE_READS_TOO_LATE) in_file CLarderStore/checkpoint/checkpoint.c \
    's/ status = apply_news(apply, run, &applied);/ status = LARDER_OK;/' ;;
STORE_EVICTS_THE_READ) in_file CLarderStore/checkpoint/apply_limits.c \
    's/if (read_until == INT64_MIN) return true;/if (hash != 0) return true;/' ;;
STORE_FINDS_THE_EVICTED) in_file CLarderStore/handle/leaving.c \
    's/if (load(&table->transaction) <= transaction) return false;/if (hash != 0) return false;/' ;;
STORE_LOOKS_ONCE) in_file CLarderStore/log/scan.c \
    's/return is_written ? LARDER_OK/return is_there \&\& is_written ? LARDER_OK/' ;;
STORE_BELIEVES_NUMBERS) in_file CLarderStore/format/meta.c \
    's/memcmp(one, other, META_BYTES) == 0/one->transaction == other->transaction/' ;;
STORE_GOES_OVER_ONCE) in_file CLarderStore/lmdb/environment_open.c \
    's/if (status != LARDER_EREPLACED) break;/break;/' ;;
STORE_BELIEVES_BOUNDS) in_file CLarderStore/read/cursor_bounds.c \
    's/    return is_where ? larder_cursor_prove(.*/    return LARDER_OK;/' ;;
STORE_ENDS_ANYWHERE) in_file CLarderStore/read/cursor_tree.c \
    's/    status = larder_cursor_prove(cursor, &cursor->tree.cursor);//' ;;
STORE_BELIEVES_ROWS) in_file CLarderStore/format/record_keys.c \
    's/    if (load32(value.data) != index_row_crc.*//' ;;
STORE_GIVES_TWICE) in_file CLarderStore/read/cursor_tree.c \
    's/compare_stamps(at, row->at) == 0/compare_stamps(at, row->at) != 2/' ;;
STORE_COUNTS_BLINDLY) in_file CLarderStore/read/count.c \
    's/status = larder_cursor_prove(cursor, end);/status = LARDER_OK;/' ;;
STORE_MIXES_STORES) in_file CLarderStore/store/match.c \
    's/(is_foreign || (is_itself \&\& !is_known))/is_itself \&\& !is_known/' ;;
STORE_WAITS_ANYHOW) in_file CLarderStore/checkpoint/append.c \
    's/!asked->waits \&\& would_wait(store, asked)/!store \&\& would_wait(store, asked)/' ;;
STORE_TAKES_ONE_NAME) in_file CLarderStore/log/log.c \
    '/(segment_epoch){0, 0}, out);/{n;s/EEXIST/LARDER_END/;}' ;;
STORE_SALVAGES_OLD_AGES) in_file CLarderStore/repair/salvage.c \
    's/!search->has_tree || larder_record_read/search->has_tree || larder_record_read/' ;;
STORE_RENEWS_LATE) in_file CLarderStore/read/get.c \
    's/    record_renew(entry, touched);//' ;;
STORE_LISTS_OLD_ENDS) in_file CLarderStore/read/get.c \
    's/return touched > known ? .*/return known;/' ;;
STORE_FORGETS_RENEWALS) in_file CLarderStore/checkpoint/apply.c \
    's/    if (record_is_renewable(entry)) record_renew(.*//' ;;
STORE_RENEWS_ANY) in_file CLarderStore/read/get.c \
    's/parts.sequence != sequence || !record_is_renewable/!record_is_renewable/' ;;
STORE_HIDES_RENEWALS) in_file CLarderStore/read/touch.c \
    's/    if (!is_new && deadline_ns == TOUCH_NO_DEADLINE) return;//' ;;
STORE_RENEWS_THE_NEXT) in_file CLarderStore/lmdb/touch.c \
    's/(renewed == 0 || renewed == sequence)/(renewed == 0 || sequence > 0)/' ;;
STORE_COPIES_OLD_AGES) in_file CLarderStore/repair/copy.c \
    's/if (!status && record_is_renewable(&found))/if (false)/' ;;
STORE_CLOSES_ANY) in_file CLarderStore/handle/identity.c \
    '/^larder_status larder_identity_folder/,/^}/s/\*folder = -1;/*folder = 1;/' ;;
STORE_BELIEVES_TABLES) in_file CLarderStore/lmdb/environment_open.c \
    's/if (!atomic_load(&env->has_writer) || env->names_newest) return/if (env != NULL) return/' ;;
# What nothing leads to, and what is only half there
STORE_KEEPS_UNLED) in_file CLarderStore/log/scan.c \
    's/larder_log_peek(/larder_log_segment(/
    s/^    larder_segment_close(found);//' ;;
STORE_GOES_ON_IN_A_BATCH) in_file CLarderStore/log/scan.c \
    's/ : record_minor(at) != 0) return false;/ : false) return false;/' ;;
FEED_KEEPS_UNLED) in_file CLarderStore/feed/place.c \
    's/larder_log_peek(/larder_log_segment(/
    s/^    larder_segment_close(.*);//' ;;
# What somebody has made who knows the formats, or another user
STORE_LEADS_TWICE) in_file CLarderStore/pages/tree_guard.c \
    's/^        if (has_bit(guard->taken, number)) return false;//' ;;
STORE_BELIEVES_SIZES) in_file CLarderStore/log/segment.c \
    's/if (!status \&\& stored_bytes + USUAL_BYTES < .*/(void)stored_bytes;/' ;;
STORE_READS_HOLES) in_file CLarderStore/log/segment.c 's/(from->hole_count > 0 \&\&/(0 \&\&/' ;;
STORE_FILLS_HOLES) in_file CLarderStore/log/segment.c \
    's/if (mended->hole_count == 0) status/status/' ;;
STORE_BELIEVES_SUMS) in_file CLarderStore/format/meta.c \
    's/ || meta->count > most ||$/ ||/
    s/^        meta->bytes > most)/        most == 0)/' ;;
STORE_TRUSTS_ANYBODY) in_file CLarderStore/handle/trust.c \
    's/^    return larder_os_trust_check(.*/    return LARDER_OK;/' ;;
STORE_LINKED_TABLE) in_file CLarderStore/lmdb/environment_open.c \
    '/facts.links > 1) status = LARDER_ELINKED/d' ;;
RING_WAKES_NOBODY) in_file CLarder/ring/append.c \
    's/if (UNLIKELY(LOAD(ring->header->floor.bell.armed).*//' ;;
# Feeds of changes
FEED_EPOCH_STAYS) in_file CLarderStore/store/replay.c \
    's/^    if (!status \&\& !goes_on) status = begin_.*/    (void)goes_on, (void)begin_epoch;/' ;;
FEED_HALF_A_BATCH) in_file CLarderStore/feed/feed.c \
    '/^static larder_status tell_write/,/^}/{
    s/\.count = count,/.count = count > 2 ? count - 1 : count,/
    }' ;;
FEED_FORGETS_CURSOR) in_file CLarderStore/cleaning/fed.c \
    's/if (behind < least) least = behind;/(void)behind;/' ;;
STORE_READS_REPLACED) in_file CLarderStore/lmdb/environment_registry.c \
    's/^    if (!atomic_load(&env->is_unprotected)) return false;/    return false;/' ;;
STORE_OPENS_ONCE) in_file CLarderStore/lmdb/environment_handles.c \
    's/attempt < ATTEMPTS \&\& status == LARDER_EREPLACED;/attempt < 1;/' ;;
FEED_MISSES_LATE) in_file CLarderStore/cleaning/clean.c \
    's/^        larder_feed_watch(store);//' ;;
FEED_UNHIDES) in_file CLarderStore/cleaning/clean.c \
    's/^ *!has_to_stay(retired, next, fed_after))/            true)/' ;;
FEED_BELIEVES_SPARE) in_file CLarderStore/feed/place.c \
    's/? find_without_log(feed, event)/\
        ? rewound_to(feed, written->items[written->count - 1].epoch.number,\
                     last ? last : written->items[0].first_sequence - 1, event)/' ;;
FEED_READS_COPIES) in_file CLarderStore/feed/place.c \
    's/from->kind == SEGMENT_CLEANED/false/; s/next->kind == SEGMENT_WRITTEN \&\& next/next/' ;;
FEED_SETS_BACK) in_file CLarderStore/cleaning/clean.c \
    's/if (larder_feed_sync(index->feed) != LARDER_OK) return;//' ;;
FEED_SYNCS_ONCE) in_file CLarderStore/cleaning/clean.c \
    's/if (fed_after > synced_after) fed_after = synced_after;//' ;;
FEED_TELLS_UNSYNCED) in_file CLarderStore/feed/feed.c \
    's/bool waits = !status \&\& feed->is_synced_only .*/bool waits = false;/' ;;
FEED_LOOKS_FIRST) in_file CLarderStore/feed/wait.c \
    's/uint32_t word = bell != NULL ? larder_feed_arm(bell) : 0;/\
        status = larder_feed_fetch(feed);\
        if (status != LARDER_END) return status;\
        uint32_t word = bell != NULL ? larder_feed_arm(bell) : 0;/
    /^        status = larder_feed_fetch(feed);$/d' ;;
# What a power cut left behind the end of the log
STORE_WIPES_NOTHING) in_file CLarderStore/store/replay.c \
    's/^    if (was_power_cut) return wipe_behind.*/    (void)was_power_cut;/' ;;
STORE_WIPES_UNSYNCED) in_file CLarderStore/store/replay.c \
    's/= larder_segment_sync\(_file\)\{0,1\}(last, .*;/= LARDER_OK;/' ;;
*)
    echo "plant.sh: there is no defect $defect" >&2
    exit 2
    ;;
esac

# The whole, and each substitution of it that is a line.
{
    printf '%s\n' "$script" | tr '\n' '\1'
    echo
    printf '%s\n' "$script" | grep '^ *s/.*/g\{0,1\}$' | grep -v '\\n'
} | while IFS= read -r lines; do
    if sed "$(printf '%s' "$lines" | tr '\1' '\n')" "Sources/$file" | cmp -s - "Sources/$file"; then
        echo "plant.sh: $defect changes nothing in Sources/$file: $lines" | tr '\1' '\n' >&2
        exit 1
    fi
done || exit 1
[ "$folder" != --check ] || exit 0
rm -rf "$folder/Sources"
mkdir -p "$folder/Sources"
cp -R Sources/CLarderSystem Sources/CLarder Sources/CLarderStore "$folder/Sources"
sed "$script" "Sources/$file" >"$folder/Sources/$file"
case $file in
*.h) ls "Sources/${file%/*}"/*.c ;;
*) echo "Sources/$file" ;;
esac
