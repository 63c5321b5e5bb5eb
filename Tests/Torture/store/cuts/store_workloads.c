// SPDX-License-Identifier: MIT
// The workloads that the explorer ends at every one of their system calls.
#include "workload.h"

// Segments of so many KiB; keys in the memtable, writes a transaction; cleaning; inline.
static const workload_tuning tiny = {1, 4, 0, 3, 0, 64};
static const workload_tuning single = {1, 1, 0, 1, 0, 64};
static const workload_tuning whole = {1, 4, 0, 0, 0, 64};
static const workload_tuning eager = {1, 2, 8, 2, 0, 0};
static const workload_tuning slow = {1, 4, 0, 3, 1, 64};
static const workload_tuning inlined = {1, 4, 0, 3, 0, 1024};
static const workload_tuning large = {64, 1024, 0, 0, 0, 64};

const workload workloads[] = {
    {"create", "", "o", &tiny},
    {"create, put, sync", "", "s0 y m1", &tiny},
    {"put short", "", "s0-5 y s0-5 f s3", &tiny},
    {"put inline", "", "m0-7 f m0-3 f s0 f", &inlined},
    {"put middle", "", "m0-9 y m2-5 f", &tiny},
    {"put long", "", "l0-2 f l1 y l1 f", &tiny},
    {"put synced", "", "S0 M1 L2 S0 r1 M3", &tiny},
    {"segment of one long value", "s0-1 f", "s2 l3 s4 L5 s6 f", &single},
    {"segments turn over", "", "m0-f m0-7 y", &single},
    {"batch", "", "s0-7 b0 f b4 b6 y", &tiny},
    {"batch synced", "m0-f f", "B0 B4 B8 f", &single},
    {"batch over two segments", "", "m0 b4 b8 b0 b4 f b2 y", &single},
    {"remove", "s0-7 m8-f f", "r0-3 r8-b f r4 y", &tiny},
    {"remove what is not there", "", "r0 r0 s0 r0 f r0 f", &tiny},
    {"remove by prefix", "s0-7 m8-f f", "P f s8 P y", &tiny},
    {"clear", "m0-f f", "c s1 f", &tiny},
    {"clear before a flush", "m0-7", "c m0-9 f", &tiny},
    {"clear and delete", "l0-3 m4-f f", "C m2 y", &tiny},
    {"checkpoint of several transactions", "", "m0-f s0-7 f", &single},
    {"checkpoint of one", "", "m0-f s0-7 f m2 f", &whole},
    {"two checkpoints", "s0-f f", "m0-9 f s0-9 f", &tiny},
    {"checkpoint by count", "", "m0-f m0-f s0-f", &eager},
    {"cleaning", "m0-f f m0-7 f", "m8-b f m0-3 f n", &tiny},
    {"cleaning a little at a time", "m0-f f m0-7 f", "m8-b f f n f", &slow},
    {"cleaning behind removals", "m0-f f r0-7 f", "r8-b f m0 f n f", &tiny},
    {"cleaning of long values", "l0-3 m4-7 f", "l0-1 f r2 f n", &tiny},
    {"compaction", "m0-f f m0-5 r6-9 f", "K m1 K", &tiny},
    {"compaction of a full log", "l0-2 m0-f f s0-f", "K", &single},
    {"compaction beside a reader", "m0-f f m0-5 f", "R v K v z", &tiny},
    {"trim", "s0-f f", "t9 s0 t4 f", &tiny},
    {"trim to nothing", "m0-f f", "t0 s1 f", &single},
    {"limits", "m0-f f", "k9 m0-3 k5 f", &tiny},
    {"limits beside a reader", "m0-f f", "R k6 v m1 v k3 v z", &tiny},
    {"expiry", "e0-7 m8-b f", "s0 + x e1 f n", &tiny},
    {"expiry in the log", "", "e0-3 m4 + s1 f x", &tiny},
    {"order of use", "s0-f f", "g0-4 t8 g5 m1 t4 f", &tiny},
    {"reopen", "", "s0-3 o m0-3 o f o", &tiny},
    {"reopen with much pending", "m0-f", "o m0-7 o", &single},
    {"after a kill", "m0-9 f m2-c !", "m0 f o", &tiny},
    {"after a kill, large steps", "m0-f f l0-1 s2-5 !", "s6 f", &whole},
    {"after three kills", "m0-9 ! f m2-c ! r0-3 f s0 !", "m0 f n", &single},
    {"after a kill in a full log", "m0-f m0-f m0-7 !", "f m0 f", &single},
    {"after a power cut", "m0-9 f m2-c %", "m0 f o", &tiny},
    {"after a kill and a power cut", "m0-9 f r2-5 ! m3 c m4-9 %", "y m5 f", &single},
    {"backup", "m0-f f m0-5", "U m1 f U", &tiny},
    {"backup beside a reader", "l0-1 m2-f f m0-5", "R U v z", &tiny},
    {"salvage", "m0-f f m0-5 r6", "V m1 f", &tiny},
    {"rebuild of the index", "m0-f f m0-5 r6 f l1 r7-8", "W m1 f", &tiny},
    {"rebuild after a kill", "m0-f f m0-5 r6 f l1 !", "W s0 f", &single},
    {"emptied", "m0-f f", "r0-f f n m0 f", &tiny},
    {"content format", "m0-5 f", "m0-9 F m1 f", &single},
    {"reader follows", "m0-7 f", "R m0-3 v f v r0 m1-9 v f v z", &tiny},
    {"cursors", "m0-7 f", "d s8-f r0-3 d f d", &slow},
    {"usual thresholds", "m0-f f", "m0-7 r8 b9 y f l0 f K", &large},
    {"everything", "m0-f f", "s0-3 b4 l1 y f m0-9 r3 g5 t7 f n S1 o P f", &tiny},
};
const unsigned workload_count = sizeof workloads / sizeof *workloads;
