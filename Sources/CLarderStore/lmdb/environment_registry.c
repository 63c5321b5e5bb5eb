// SPDX-License-Identifier: MIT
/** @file environment_registry.c
    The environments that are open in this process, each once. */
#include <unistd.h>

#include "lmdb/environment_internal.h"

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
/** By inode: a process may have thousands. */
enum { REGISTRY_LISTS = 1024 };
static environment *registry[REGISTRY_LISTS];

// A child inherits the lock as it was at the fork, so nobody else may hold it then. What it
// inherits of the list is never used: the entries carry their process.
static void registry_before_fork(void) { pthread_mutex_lock(&registry_lock); }
static void registry_after_fork(void) { pthread_mutex_unlock(&registry_lock); }
static void registry_init(void) {
    (void)pthread_atfork(registry_before_fork, registry_after_fork, registry_after_fork);
}

void larder_registry_lock(void) {
    (void)pthread_once(&registry_once, registry_init);
    pthread_mutex_lock(&registry_lock);
}

void larder_registry_unlock(void) { pthread_mutex_unlock(&registry_lock); }

environment *larder_registry_find(const larder_os_facts *facts) {
    const pid_t pid = getpid();
    for (environment *env = registry[facts->inode % REGISTRY_LISTS]; env; env = env->next)
        if (env->pid == pid && environment_is_of(env, facts)) return env;
    return NULL;
}

bool larder_registry_has_folder(const char *folder) {
    const pid_t pid = getpid();
    for (size_t list = 0; list < REGISTRY_LISTS; list++)
        for (const environment *env = registry[list]; env; env = env->next)
            if (env->pid == pid && strcmp(larder_environment_folder_path(env), folder) == 0)
                return true;
    return false;
}

void larder_registry_add(environment *env, const larder_os_facts *facts) {
    env->device = facts->device;
    env->inode = facts->inode;
    env->next = registry[env->inode % REGISTRY_LISTS];
    registry[env->inode % REGISTRY_LISTS] = env;
}

void larder_registry_remove(const environment *env) {
    environment **link = &registry[env->inode % REGISTRY_LISTS];
    while (*link != env) link = &(*link)->next;
    *link = env->next;
}

/** What is at the path of the file. */
static larder_status facts_at_path(const environment *env, larder_os_facts *facts) {
    file_path path;
    (void)larder_environment_path(path, larder_environment_folder_path(env), "data.mdb");
    return larder_os_file_facts_at(path, facts);
}

bool larder_environment_is_replaced(environment *env) {
    larder_os_facts facts;
    if (!atomic_load(&env->is_unprotected)) return false;
    larder_registry_lock();
    if (facts_at_path(env, &facts) == LARDER_OK && facts.is_regular &&
        !environment_is_of(env, &facts))
        atomic_store(&env->is_replaced, true);
    larder_registry_unlock();
    return atomic_load(&env->is_replaced);
}
