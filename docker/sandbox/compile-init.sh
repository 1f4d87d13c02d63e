#!/bin/sh
# Compiles the sandbox's first process to the file that is named. Static: it
# must run in whatever root file system an image has.
set -eu
here=$(dirname "$0")
exec gcc -static -O2 -Wall -Wextra -o "$1" "$here"/init/*.c
