#!/bin/sh
# Tries the library on this machine's accelerator: run.sh [--minutes 8] [--out FILE]. PYTHON names an interpreter.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
python=${PYTHON:-python3}
needs='import sys; sys.version_info >= (3, 10) or sys.exit("Python " + sys.version.split()[0]); import numpy'
if ! "$python" -c "$needs"; then
  echo "run.sh: '$python' is not Python 3.10 or newer with NumPy: name another one by PYTHON=/path/to/python" >&2
  exit 2
fi
exec "$python" -B "$here/kit/main.py" "$@"
