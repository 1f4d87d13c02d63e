#!/bin/sh
# Installs the packages of a list that are not there yet. Where nothing is
# missing, no network is needed.
set -eu

missing=''
while read -r package present; do
  case "$package" in '' | '#'*) continue ;; esac
  sh -c "$present" </dev/null >/dev/null 2>&1 || missing="$missing $package"
done <"$1"

if [ -n "$missing" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  # shellcheck disable=SC2086 # a list of words
  apt-get install -q -y --no-install-recommends $missing
  apt-get clean
  rm -rf /var/lib/apt/lists/*
fi
