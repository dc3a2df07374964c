"""A clean Debian for whole_test.py: Python 3 and NumPy of its packages alone, no compiler, no network, and a user who
is not root and may write only to a folder of their own. Made by mmdebstrap or debootstrap, as root, from Debian's mirror."""

import os
import shutil
import subprocess
from pathlib import Path

USER, HOME = "someone", "/home/someone"
TOOLS = {
    "mmdebstrap": ["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3-numpy"],
    "debootstrap": ["debootstrap", "--variant=minbase", "--include=python3-numpy"],
}
# In namespaces of its own, so that whatever is left ends with the first process. Its network has no address.
APART = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
# The shell waits for the command: signals work otherwise for the first process.
INSIDE = 'root=$1; shift; mount -t proc proc "$root/proc"; chroot --userspec=someone:someone "$root" "$@" || exit $?'
# Says why a root is not clean.
PROBE = """
import importlib.util, os, shutil, socket, sys
import numpy
assert os.getuid() and os.geteuid(), "the user is root"
found = [each for each in ("cc", "gcc", "clang", "ld", "as", "rustc", "cargo") if shutil.which(each)]
assert not found, f"there are {found}"
found = [each for each in ("jax", "jaxlib", "ml_dtypes", "optree", "lazyxla") if importlib.util.find_spec(each)]
assert not found, f"Python has {found}"
try:
    socket.create_connection(("127.0.0.1", 9), 5)
except OSError as error:
    assert error.errno == 101, f"want no network: {error}"
else:
    assert False, "there is a network"
for folder in sys.argv[1:]:
    assert not os.access(folder, os.W_OK), f"the user may write to {folder}"
print("Python", sys.version.split()[0], "NumPy", numpy.__version__)
"""


def missing():
    """Why no clean root can be made here, or None."""
    if os.geteuid():
        return "a clean root needs root, for chroot"
    if not any(map(shutil.which, TOOLS)):
        return "a clean root needs mmdebstrap or debootstrap; Debian: apt-get install mmdebstrap"
    # Root of a container may have no right to make them.
    apart = subprocess.run([*APART, "true"], capture_output=True, text=True)
    return f"a clean root needs namespaces: {apart.stderr.strip()}" if apart.returncode else None


class CleanRoot:
    """A root in a folder that does not exist yet, of a release of Debian."""

    def __init__(self, folder, release):
        self.folder = Path(folder)
        tool = next(name for name in TOOLS if shutil.which(name))
        made = subprocess.run([*TOOLS[tool], release, str(folder)], capture_output=True, text=True)
        assert made.returncode == 0, f"{tool} made no root: {(made.stdout + made.stderr)[-2000:]}"
        subprocess.run(["chroot", str(folder), "useradd", "--create-home", USER], check=True)
        self.made = self.files()

    def outside(self, path):
        """The path of a file of the root, for programs outside it."""
        return self.folder / str(path).lstrip("/")

    def run(self, command, env):
        """Runs a command as the user, in the user's folder. All variables are given."""
        known = {"HOME": HOME, "USER": USER, "PATH": "/usr/local/bin:/usr/bin:/bin", **env}
        inside = ["env", "-i", f"--chdir={HOME}", *(f"{key}={value}" for key, value in known.items())]
        words = [*APART, "sh", "-ec", INSIDE, "sh", str(self.folder), *inside, *map(str, command)]
        return subprocess.run(words, capture_output=True, text=True, errors="replace")

    def check(self, *folders):
        """Asserts that the root is clean, and that the user may not write to these folders."""
        done = self.run(["python3", "-c", PROBE, *folders], {})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def files(self):
        """Files of the user, and temporary ones of everyone."""
        folders = map(self.outside, (HOME, "/tmp", "/var/tmp", "/dev/shm"))
        return {str(path.relative_to(self.folder)) for folder in folders for path in folder.rglob("*")}

    def written(self):
        """Files that the user has written and left."""
        return sorted(self.files() - self.made)
