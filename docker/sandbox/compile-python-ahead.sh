#!/bin/sh
# Compiles what init loads into the python that it starts ahead to the file
# that is named, for the python that is on the PATH: it knows the layout of
# that python's configuration, so it has to be made where it is used.
set -eu
here=$(dirname "$0")
include=$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')
exec gcc -shared -fPIC -fvisibility=hidden -Wl,-z,now -O2 -Wall -Wextra -I"$include" -I"$here/init" \
  -o "$1" "$here"/python-ahead/*.c "$here/init/request.c"
