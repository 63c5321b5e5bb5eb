// SPDX-License-Identifier: MIT
/** @file survey.h
    Private: what lies in the folder `log` when a store is opened, before anything of it is believed
    or deleted. */
#ifndef LARDER_SURVEY_H
#define LARDER_SURVEY_H

#include "log/log.h"

/** The files of the log, in the order of the numbers in their names. */
typedef struct log_survey {
    segment_facts *items;
    size_t count, capacity;
    /** There are files of segments that were being made, too. */
    bool has_unfinished;
} log_survey;

/** Lists the folder and reads each head: O(segments). larder_log_survey_free follows in any case.
    @return LARDER_OK; ENOMEM or another errno. */
LARDER_MUST_CHECK larder_status larder_log_survey_make(store_log *log, log_survey *out);
void larder_log_survey_free(log_survey *survey);
/** The file of that name; NULL if there is none. */
const segment_facts *larder_log_survey_find(const log_survey *survey, uint32_t number);
/** Whether it is the segment that its name says, for all that can be told: its head says so, or is
    damaged. */
bool larder_log_survey_is_itself(const store_log *log, const segment_facts *facts);
/** Whether the segment of that number is there, under its name. */
bool larder_log_survey_has(const store_log *log, const log_survey *survey, uint32_t number);
/** Nothing of the log was ever synced, as the heads say. */
bool larder_log_survey_is_new(const log_survey *survey);
/** Up to where the log was synced at least: to `noted`, or as far as the heads say, if that is
    further. The segments that lead to one whose first sync began are on the device. */
location larder_log_survey_synced(const store_log *log, const log_survey *survey, location noted);

#endif
