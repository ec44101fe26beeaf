#!/bin/sh
# Print the path of a Python interpreter that can build and run this project.
#
#   find_python.sh MINIMUM [MAXIMUM]      for example: find_python.sh 3.12
#
# Candidates are the interpreters on PATH and those of pyenv, `python3` first.  One is suitable when
# it is at least MINIMUM (at most MAXIMUM), can make virtual environments, and has the headers for C++
# extensions.
# Prints nothing and fails when there is none.
set -u

minimum=$1
newest=${2:-3.13} # the newest version with a supported jaxlib

check='
import os, sys, sysconfig
import ensurepip, venv
parse = lambda text: tuple(map(int, text.split(".")))
header = os.path.join(sysconfig.get_path("include"), "Python.h")
suitable = parse(sys.argv[1]) <= sys.version_info[:2] <= parse(sys.argv[2])
if not (suitable and os.path.exists(header)):
    raise SystemExit(1)
print(sys.executable)
'

for candidate in python3 python3.11 python3.12 python3.13 \
  "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
  # A pyenv shim exists for versions that are not active: only running it tells.
  if found=$("$candidate" -c "$check" "$minimum" "$newest" 2>/dev/null); then
    printf '%s\n' "$found"
    exit 0
  fi
done
echo "no Python from $minimum to $newest with venv, pip and C headers was found" >&2
exit 1
