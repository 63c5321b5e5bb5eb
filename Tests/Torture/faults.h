// SPDX-License-Identifier: MIT
/** @file faults.h
    The fault points of the library's system calls. */
#ifndef TORTURE_FAULTS_H
#define TORTURE_FAULTS_H

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"
#endif
#include "file_io.h"
#ifdef __clang__
#pragma clang diagnostic pop
#endif

#endif
