// SPDX-License-Identifier: MIT
/** @file store_alone.c
    A program that calls nothing of liblarder itself, and so is linked with liblarder-store alone.
    The argument is a folder. Ends with `N passed, M failed`. */
#include <larder_store.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    char path[4096];
    snprintf(path, sizeof path, "%s/store", argv[1]);
    larder_store *store = NULL;
    larder_store_options options;
    larder_store_options_init(&options);
    int holds = larder_store_open(path, &options, NULL, &store) == LARDER_OK;
    larder_store_close(store);
    printf("%d passed, %d failed\n", holds, !holds);
    return !holds;
}
