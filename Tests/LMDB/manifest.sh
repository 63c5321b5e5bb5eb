#!/bin/sh
# SPDX-License-Identifier: MIT
# What Package.swift makes of LARDER_LMDB: called by `make lint`.
set -eu

expect() { # VALUE PACKAGES-NAMED-CLMDB SYSTEM-LIBRARIES-NAMED-CLMDB
  dump=$(env ${1:+"LARDER_LMDB=$1"} swift package dump-package)
  packages=$(echo "$dump" | grep -c '"identity" : "clmdb"' || true)
  libraries=$(echo "$dump" | grep -c '"name" : "CLMDB"' || true)
  [ "$packages $libraries" = "$2 $3" ] && return
  echo "manifest: with LARDER_LMDB=$1 there are $packages packages and $libraries libraries" >&2
  exit 1
}

expect system 0 1
expect bundled 1 0
case $(uname) in
Darwin) expect "" 1 0 ;;
*) expect "" 0 1 ;;
esac
if LARDER_LMDB=nothing swift package dump-package >/dev/null 2>&1; then
  echo "manifest: LARDER_LMDB=nothing is taken" >&2
  exit 1
fi
echo "manifest: ok"
