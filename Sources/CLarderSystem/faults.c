// SPDX-License-Identifier: MIT
#ifdef LARDER_FAULTS
#include "larder_os_faults.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t fault_mutex = PTHREAD_MUTEX_INITIALIZER;
static char fault_call[32];
static int fault_countdown;
static bool fault_lasts;
static int fault_error;
static int fault_count;

void larder_fault_set(const char *call, int nth, int error) {
    pthread_mutex_lock(&fault_mutex);
    memset(fault_call, 0, sizeof fault_call);
    if (call) strncpy(fault_call, call, sizeof fault_call - 1);
    fault_lasts = nth < 0;
    fault_countdown = call ? abs(nth) : 0;
    fault_error = error;
    fault_count = 0;
    pthread_mutex_unlock(&fault_mutex);
}

int larder_fault_passes(void) {
    pthread_mutex_lock(&fault_mutex);
    int count = fault_count;
    pthread_mutex_unlock(&fault_mutex);
    return count;
}

int larder_fault_at(const char *call) {
    int error = 0;
    pthread_mutex_lock(&fault_mutex);
    if (fault_call[0] && strcmp(call, fault_call) == 0) {
        fault_count++;
        if (fault_countdown > 0 && --fault_countdown == 0) {
            error = fault_error;
            fault_countdown = fault_lasts;
        }
    }
    pthread_mutex_unlock(&fault_mutex);
    return error;
}
#else
/** A file must declare something. */
typedef int larder_os_no_faults;
#endif
