"""An installed library finds plugins in its own places only: python installed_test.py /path/to/liblazyxla.so
SOURCE_TREE

The library that is installed, which has no debug sections, is copied out of the source tree. It must not look into the
folder that it was built in."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leaves no caches beside the sources
from header import constants

PROGRAM = """
import ctypes, sys
sys.dont_write_bytecode = True
sys.path.append(sys.argv[2])
from header import load, types
library = load(sys.argv[1])
count = ctypes.c_int32()
status = library.lxla_env_device_count(types.lxla_env(0), ctypes.byref(count))
print(status, count.value, library.lxla_last_error_message().decode())
"""


def device_count(library):
    """Returns the status, count and message of a new process."""
    known = {"LXLA_PJRT_PLUGIN", "PJRT_NAMES_AND_LIBRARY_PATHS"}
    environment = {name: value for name, value in os.environ.items() if name not in known}
    command = [sys.executable, "-c", PROGRAM, str(library), sys.path[0]]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    status, count, message = answer.split(" ", 2)
    return int(status), int(count), message


def main():
    built, tree = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    stripped = built.parent.parent / "stripped" / built.name
    sections = subprocess.run(["readelf", "-SW", stripped], check=True, capture_output=True, text=True).stdout
    assert ".debug_line" not in sections and ".gnu_debuglink" in sections, sections
    debug = subprocess.run(["readelf", "-SW", f"{stripped}.debug"], check=True, capture_output=True, text=True).stdout
    assert ".debug_line" in debug, debug
    plugin = tree / "build/plugins/fastatomstruct_xla_cpu"
    assert device_count(built)[0] == 0, "in the source tree, the plugin of the build folder is found"
    with tempfile.TemporaryDirectory() as folder:
        installed = pathlib.Path(folder) / "liblazyxla.so"
        shutil.copy(stripped, installed)
        status, _, message = device_count(installed)
        assert status == constants.NOT_FOUND and str(tree) not in message, (status, message)
        # The advice is true: pip puts the plugin where the library looks, as below.
        assert "make plugin" not in message, message
        assert f"pip install fastatomstruct-xla-cpu==2026.6.23 --no-deps --target '{folder}/lazyxla'" in message, (
            message
        )
        own = pathlib.Path(folder) / "lazyxla"
        own.mkdir()
        (own / plugin.name).symlink_to(plugin)
        status, count, message = device_count(installed)
        assert (status, count) == (0, 1), (status, count, message)
    print("installed: plugins are looked for beside the library, and not in the folder that it was built in")


if __name__ == "__main__":
    main()
