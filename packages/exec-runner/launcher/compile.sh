#!/bin/sh
# Compiles secbox-subprocess to the file that is named, from this folder and the
# sources of the sandbox's init beside it (init/), whose main becomes a function.
# Static: it is compiled in an image and runs on the host.
set -eu
here=$(dirname "$0")
init=${2:-$here/init}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
gcc -c -O2 -Wall -Wextra -Dmain=init_main -o "$objects/init.o" "$init/init.c"
others=$(ls "$init"/*.c | grep -v '/init\.c$')
# shellcheck disable=SC2086
gcc -static -O2 -Wall -Wextra -Werror -o "$1" "$here"/*.c "$objects/init.o" $others
