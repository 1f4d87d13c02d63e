#!/bin/sh
# Compiles secbox-mounts to the file that is named. Static: it is compiled in
# an image and runs on the host.
set -eu
here=$(dirname "$0")
exec gcc -static -O2 -Wall -Wextra -Werror -o "$1" "$here"/*.c
