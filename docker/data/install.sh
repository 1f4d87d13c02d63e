#!/bin/sh
# Installs the packages for the python that is there: Debian's for Debian's, wheels for any other.
set -eu
lists=$1

# Debian's font tools ask for scipy, that for a compiler, and so on to 800 MB of what drawing never uses. An empty
# package that claims to be those leaves them out; no compiler may be in a sandbox.
leave_out() {
  package=$(mktemp -d)
  mkdir "$package/DEBIAN"
  provided=$(sed 's/#.*//; s/ *$//; /^$/d; s/$/ (= 99)/' "$lists/left-out.txt" | paste -s -d ,)
  cat >"$package/DEBIAN/control" <<END
Package: secbox-left-out
Version: 1
Architecture: all
Maintainer: Secbox <root@localhost>
Provides: $provided
Description: stands for packages that are not needed here
END
  dpkg-deb --root-owner-group --build "$package" /tmp/left-out.deb
  dpkg --install /tmp/left-out.deb
  rm -rf "$package" /tmp/left-out.deb
}

if python3 -c 'import sys; sys.exit(sys.prefix != "/usr")'; then
  export DEBIAN_FRONTEND=noninteractive
  leave_out
  apt-get update -q
  # shellcheck disable=SC2046 # a list of words
  apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io $(grep -v '^#' "$lists/packages.txt")
  apt-get clean
  rm -rf /var/lib/apt/lists/*
else
  pip install --no-cache-dir --only-binary :all: --requirement "$lists/requirements.txt"
fi

# That what was installed works, with a home of its own: the sandbox's stays empty.
HOME=$(mktemp -d)
export HOME
python3 -c 'import numpy, pandas, matplotlib.pyplot'
rm -rf "$HOME"
