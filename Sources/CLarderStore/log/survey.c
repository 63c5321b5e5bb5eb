// SPDX-License-Identifier: MIT
#include "log/survey.h"

typedef struct survey_visit {
    const store_log *log;
    log_survey *survey;
    larder_status status;
} survey_visit;

static int take_name(void *context, const char *name) {
    survey_visit *visit = context;
    log_survey *survey = visit->survey;
    uint32_t number;
    survey->has_unfinished = survey->has_unfinished || larder_segment_is_unfinished(name);
    if (!larder_segment_number_of(name, &number)) return 0;
    visit->status = larder_os_array_reserve(&survey->items, survey->count, &survey->capacity,
                                            sizeof *survey->items);
    if (visit->status) return 1;
    segment_facts *added = &survey->items[survey->count];
    visit->status = larder_segment_facts(visit->log->folder, number, added);
    // Whoever writes may have deleted it just now.
    if (visit->status == ENOENT) visit->status = LARDER_OK;
    else if (!visit->status) survey->count++;
    return visit->status ? 1 : 0;
}

static int compare_facts(const void *a, const void *b) {
    const segment_facts *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

larder_status larder_log_survey_make(store_log *log, log_survey *out) {
    *out = (log_survey){0};
    survey_visit visit = {.log = log, .survey = out};
    larder_status status = larder_log_enter(log);
    // A folder that was not there when the log was opened.
    if (status == ENOENT && log->place.inode == 0) return LARDER_OK;
    if (status) return status;
    status = larder_os_folder_list_in(log->folder, take_name, &visit);
    larder_log_leave(log);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, compare_facts);
    return visit.status ? visit.status : status;
}

void larder_log_survey_free(log_survey *survey) {
    free(survey->items);
    *survey = (log_survey){0};
}

const segment_facts *larder_log_survey_find(const log_survey *survey, uint32_t number) {
    segment_facts wanted = {.number = number};
    if (survey->count == 0) return NULL;
    return bsearch(&wanted, survey->items, survey->count, sizeof wanted, compare_facts);
}

bool larder_log_survey_is_itself(const store_log *log, const segment_facts *facts) {
    if (facts->bytes == 0) return false;
    return facts->head_number == 0 ||
           (facts->head_number == facts->number && facts->store_id == log->store_id);
}

bool larder_log_survey_has(const store_log *log, const log_survey *survey, uint32_t number) {
    const segment_facts *found = larder_log_survey_find(survey, number);
    return found != NULL && larder_log_survey_is_itself(log, found);
}

bool larder_log_survey_is_new(const log_survey *survey) {
    for (size_t at = 0; at < survey->count; at++)
        if (!survey->items[at].is_new) return false;
    return true;
}

location larder_log_survey_synced(const store_log *log, const log_survey *survey, location noted) {
    for (size_t at = survey->count; at > 0; at--) {
        const segment_facts *facts = &survey->items[at - 1];
        if (facts->kind == SEGMENT_WRITTEN && !facts->is_new &&
            larder_log_survey_is_itself(log, facts)) {
            const location said = {facts->number, SEGMENT_HEAD_BYTES};
            return compare_locations(noted, said) > 0 ? noted : said;
        }
    }
    return noted;
}
