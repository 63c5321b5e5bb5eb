// SPDX-License-Identifier: MIT
#include "larder_os_machine.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__)
#include <sys/random.h>
#include <sys/sysctl.h>
#endif
#include <time.h>
#include <unistd.h>
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include "descriptor.h"
#ifdef LARDER_FAULTS
#include "larder_os_faults.h"
#endif

static uint8_t boot_id[16];

/** What the system calls this boot: a UUID as text, with or without its end. */
static bool boot_id_text(char text[37]) {
#if defined(__linux__)
    const char *path = "/proc/sys/kernel/random/boot_id";
    int file;
    if (larder_os_descriptor_open(AT_FDCWD, path, O_RDONLY, 0, &file)) return false;
    ssize_t got = read(file, text, 36);
    close(file);
    return got == 36;
#elif defined(__APPLE__)
    // Not kern.boottime, which moves with every step of the wall clock.
    size_t length = 37;
    return sysctlbyname("kern.bootsessionuuid", text, &length, NULL, 0) == 0;
#else
    (void)text;
    return false;
#endif
}

static void boot_id_read(void) {
    char text[37] = {0};
    if (!boot_id_text(text)) return;
    size_t digits = 0;
    for (size_t i = 0; i < 36 && digits < 32; i++) {
        char character = text[i];
        uint8_t value;
        if (character >= '0' && character <= '9') value = (uint8_t)(character - '0');
        else if (character >= 'a' && character <= 'f') value = (uint8_t)(character - 'a' + 10);
        else if (character >= 'A' && character <= 'F') value = (uint8_t)(character - 'A' + 10);
        else continue;
        boot_id[digits / 2] = (uint8_t)(boot_id[digits / 2] | (digits % 2 ? value : value << 4));
        digits++;
    }
}

#ifdef LARDER_FAULTS
static uint8_t fault_boot[16];
static bool fault_boot_set;

void larder_fault_boot_id(const uint8_t *id) {
    fault_boot_set = id != NULL;
    if (id) memcpy(fault_boot, id, sizeof fault_boot);
}
#endif

void larder_os_boot_id(uint8_t out[16]) {
    // No process outlives a boot.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, boot_id_read);
    memcpy(out, boot_id, sizeof boot_id);
#ifdef LARDER_FAULTS
    if (fault_boot_set) memcpy(out, fault_boot, 16);
#endif
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#ifdef LARDER_FAULTS
static _Atomic int64_t fault_wall_ns;

void larder_fault_set_clock(int64_t ns) { atomic_store(&fault_wall_ns, ns); }
#endif

int64_t larder_os_wall_clock_ns(void) {
    int64_t ns = clock_ns(CLOCK_REALTIME);
#ifdef LARDER_FAULTS
    ns += atomic_load(&fault_wall_ns);
#endif
    return ns;
}
int64_t larder_os_monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

#if defined(CLOCK_BOOTTIME) && defined(CLOCK_MONOTONIC_COARSE)

/** For how long the machine was suspended, as far as is known; when that was looked at, and how far
    the calendar's clock was ahead then. */
static _Atomic int64_t known_ns, asked_ns, ahead_ns;

#ifdef LARDER_FAULTS
static _Atomic int64_t fault_suspended_ns, fault_late_ns;

void larder_fault_suspend(int64_t ns) { atomic_fetch_add(&fault_suspended_ns, ns); }

void larder_fault_late_clock(int64_t ns) { atomic_store(&fault_late_ns, ns); }
#endif

/** For how long the machine was suspended since it started: what the clock that counts it is ahead
    of the one that does not. */
static int64_t suspended_ns(void) {
    int64_t ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
#ifdef LARDER_FAULTS
    ns += atomic_load(&fault_suspended_ns);
#endif
    return ns;
}

/** How far the calendar's clock is ahead: by more, as soon as the machine wakes. It costs a third
    of the clock that counts suspensions. */
static int64_t calendar_ahead_ns(int64_t now) {
    int64_t ns = clock_ns(CLOCK_REALTIME_COARSE) - now;
#ifdef LARDER_FAULTS
    ns += atomic_load(&fault_suspended_ns);
#endif
    return ns;
}

/** What a clock says that stands still meanwhile, and for how long it did. */
static int64_t with_suspension(int64_t now) {
    enum { SECOND_NS = 1000000000, NOISE_NS = 50000000 };
    int64_t known = atomic_load_explicit(&known_ns, memory_order_relaxed);
    int64_t asked = atomic_load_explicit(&asked_ns, memory_order_relaxed);
    int64_t ahead = calendar_ahead_ns(now);
    int64_t moved = ahead - atomic_load_explicit(&ahead_ns, memory_order_relaxed);
    if (now - asked < SECOND_NS && moved < NOISE_NS && moved > -NOISE_NS) return now + known;
    atomic_store_explicit(&asked_ns, now, memory_order_relaxed);
    atomic_store_explicit(&ahead_ns, ahead, memory_order_relaxed);
    // The two clocks are not read at once. Less than the noise of that is no suspension, and the
    // sum never goes back: it grows by one of those who ask, in one step.
    int64_t found = suspended_ns();
    if (found > known + NOISE_NS && atomic_compare_exchange_strong(&known_ns, &known, found))
        known = found;
    return now + known;
}

int64_t larder_os_coarse_ns(void) {
    int64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
#ifdef LARDER_FAULTS
    now -= atomic_load(&fault_late_ns);
#endif
    return with_suspension(now);
}

int64_t larder_os_fine_ns(void) { return with_suspension(clock_ns(CLOCK_MONOTONIC)); }

#else

// Where there is no coarse clock; CLOCK_MONOTONIC counts sleep on Apple systems.
int64_t larder_os_coarse_ns(void) { return larder_os_monotonic_ns(); }
int64_t larder_os_fine_ns(void) { return larder_os_monotonic_ns(); }

#ifdef LARDER_FAULTS
void larder_fault_suspend(int64_t ns) { (void)ns; }
void larder_fault_late_clock(int64_t ns) { (void)ns; }
#endif

#endif

void larder_os_random_fill(uint8_t *out, size_t length) {
    if (getentropy(out, length) == 0) return;
    for (size_t at = 0; at < length; at++) out[at] = (uint8_t)(larder_os_random() >> (at % 4 * 8));
}

uint32_t larder_os_random(void) {
    uint32_t value = 0;
    if (getentropy(&value, sizeof value) == 0) return value;
    // Not a secret: only unlikely to be the same in two files.
    uint64_t mixed = (uint64_t)larder_os_wall_clock_ns() ^ ((uint64_t)getpid() << 32);
    mixed *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(mixed >> 32);
}

bool larder_os_has_arm_crc32(void) {
#if defined(__aarch64__) && defined(__linux__)
    const unsigned long hwcap_crc32 = 1ul << 7;
    return (getauxval(AT_HWCAP) & hwcap_crc32) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
    // Every one that runs a supported system has them.
    return true;
#else
    return false;
#endif
}

#if defined(__linux__)
/** The number in a file; UINT64_MAX if there is no such file, or no number in it. */
static uint64_t limit_in(const char *path) {
    char text[24] = {0};
    int file;
    if (larder_os_descriptor_open(AT_FDCWD, path, O_RDONLY, 0, &file)) return UINT64_MAX;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    uint64_t bytes = got > 0 ? strtoull(text, NULL, 10) : 0;
    return bytes > 0 ? bytes : UINT64_MAX;
}
#endif

uint64_t larder_os_memory_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
#if defined(__linux__)
    const char *limits[] = {"/sys/fs/cgroup/memory.max",
                            "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t limit = limit_in(limits[i]);
        if (limit < bytes) bytes = limit;
    }
#endif
    return bytes;
}

uint32_t larder_os_user(void) { return (uint32_t)geteuid(); }

bool larder_os_mutex_is_held(const void *mutex) {
#if defined(__linux__) && !defined(__BIONIC__)
    // The word that the kernel knows of: glibc has it first, musl behind the mutex's kind. A holder
    // that died left the second bit.
#if defined(__GLIBC__)
    const uint32_t *word = mutex;
#else
    const uint32_t *word = (const uint32_t *)mutex + 1;
#endif
    const uint32_t died = UINT32_C(1) << 30, thread = died - 1;
    uint32_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
    return (now & thread) != 0 && (now & died) == 0;
#else
    (void)mutex;
    return false;
#endif
}

uint32_t larder_os_library_kind(void) {
#if defined(__GLIBC__)
    const uint32_t library = 0;
#elif defined(__BIONIC__)
    const uint32_t library = 1;
#elif defined(__APPLE__)
    const uint32_t library = 2;
#else
    const uint32_t library = 3;
#endif
    return 2 * library + (sizeof(void *) == 8);
}
