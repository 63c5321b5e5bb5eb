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

static void faults_lock(void) { pthread_mutex_lock(&fault_mutex); }
static void faults_unlock(void) { pthread_mutex_unlock(&fault_mutex); }

/** A child that was forked while another thread was at a fault point could not pass any. The first
    handlers that are registered are called last: whoever holds a lock may be at one. No other is
    registered earlier than by a constructor without a priority. */
__attribute__((constructor(101))) static void faults_outlive_fork(void) {
    (void)pthread_atfork(faults_lock, faults_unlock, faults_unlock);
}

void larder_fault_set(const char *call, int nth, int error) {
    faults_lock();
    memset(fault_call, 0, sizeof fault_call);
    if (call) strncpy(fault_call, call, sizeof fault_call - 1);
    fault_lasts = nth < 0;
    fault_countdown = call ? abs(nth) : 0;
    fault_error = error;
    fault_count = 0;
    faults_unlock();
}

int larder_fault_passes(void) {
    faults_lock();
    int count = fault_count;
    faults_unlock();
    return count;
}

int larder_fault_at(const char *call) {
    int error = 0;
    faults_lock();
    if (fault_call[0] && strcmp(call, fault_call) == 0) {
        fault_count++;
        if (fault_countdown > 0 && --fault_countdown == 0) {
            error = fault_error;
            fault_countdown = fault_lasts;
        }
    }
    faults_unlock();
    return error;
}
#else
/** A file must declare something. */
typedef int larder_os_no_faults;
#endif
