// SPDX-License-Identifier: MIT
// The locks of bundled.c between processes: they exclude each other, and what a killed process held
// is taken over. `make test-bundled-lmdb` builds and runs it, in an empty folder.
#include "../../Sources/CLarderStore/lmdb/bundled.c"

#include <stdio.h>
#include <sys/wait.h>

enum { ROUNDS = 200000 };

static void expect(bool is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "lmdb_locks: %s\n", what);
    exit(1);
}

static MDB_env *open_env(const char *folder) {
    MDB_env *env;
    expect(mdb_env_create(&env) == 0, "no environment");
    expect(mdb_env_open(env, folder, MDB_NOTLS, 0600) == 0, "cannot be opened");
    return env;
}

static void put(MDB_env *env, const char *text, size_t wanted) {
    MDB_txn *txn;
    MDB_dbi main;
    MDB_val key = {1, (void *)(uintptr_t)text};
    expect(mdb_txn_begin(env, NULL, 0, &txn) == 0, "no transaction");
    expect(mdb_txn_id(txn) == wanted, "the transaction has the wrong number");
    expect(mdb_dbi_open(txn, NULL, 0, &main) == 0 && mdb_put(txn, main, &key, &key, 0) == 0,
           "cannot be written");
    expect(mdb_txn_commit(txn) == 0, "cannot be committed");
}

/** A process that adds to what the writers' lock guards. */
static pid_t start_adding(const char *folder, volatile int *sum) {
    pid_t child = fork();
    if (child != 0) return child;
    MDB_env *env = open_env(folder);
    for (int i = 0; i < ROUNDS; i++) {
        expect(LOCK_MUTEX0(env->me_wmutex) == 0, "not locked");
        *sum += 1;
        UNLOCK_MUTEX(env->me_wmutex);
    }
    _exit(0);
}

/** Holds both locks when it is killed, and has committed a transaction of which nobody was told. */
static void leave_locked(const char *folder) {
    int ready[2];
    char byte;
    expect(pipe(ready) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) {
        MDB_env *env = open_env(folder);
        put(env, "b", 2);
        expect(LOCK_MUTEX0(env->me_wmutex) == 0 && LOCK_MUTEX0(env->me_rmutex) == 0, "not locked");
        env->me_txns->mti_txnid = 1;
        expect(write(ready[1], "", 1) == 1, "nobody listens");
        for (;;) pause();
    }
    expect(read(ready[0], &byte, 1) == 1, "nobody tells");
    expect(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child, "not killed");
}

int main(int argc, char **argv) {
    const char *folder = argv[argc - 1];
    MDB_txn *reader;
    MDB_stat facts;
    // What would wait for good ends here.
    alarm(60);
    volatile int *sum =
        mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MDB_env *env = NULL;
    // Before this process has it open: a child of LMDB's must not use what it inherits.
    pid_t children[] = {start_adding(folder, sum), start_adding(folder, sum)};
    for (int i = 0; i < 2; i++) {
        int status;
        expect(waitpid(children[i], &status, 0) == children[i] && status == 0, "a process failed");
    }
    expect(*sum == 2 * ROUNDS, "two processes were inside at once");

    env = open_env(folder);
    put(env, "a", 1);
    leave_locked(folder);
    // A new slot takes the one lock, a transaction the other.
    expect(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader) == 0, "no reader");
    mdb_txn_abort(reader);
    put(env, "c", 3);
    expect(mdb_env_stat(env, &facts) == 0 && facts.ms_entries == 3, "a transaction is lost");
    mdb_env_close(env);
    puts("lmdb_locks: ok");
    return 0;
}
