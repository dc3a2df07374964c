"""Chooses the plugin: the file in LXLA_PJRT_PLUGIN, else the first for an accelerator that lxla_plugin_list finds."""

import ctypes
import json
import os
import site
import sysconfig
from pathlib import Path

# The processor's plugin is tried only where there is no other one.
PROCESSOR = "cpu"


def folders():
    """Folders of packages of this Python, where JAX installs its plugins."""
    found = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    names = ("site-packages", "dist-packages")
    return [path for path in dict.fromkeys(found) if Path(path).name in names and Path(path).is_dir()]


def listed(library):
    """Returns the plugins that lxla_plugin_list finds, also in the packages of this Python."""
    known = [os.environ["LXLA_PLUGIN_DIRS"]] if os.environ.get("LXLA_PLUGIN_DIRS") else []
    os.environ["LXLA_PLUGIN_DIRS"] = ":".join(known + [path for path in folders() if ":" not in path])
    lib = ctypes.CDLL(str(library))
    lib.lxla_last_error_message.restype = ctypes.c_char_p
    text = ctypes.c_void_p()
    if lib.lxla_plugin_list(ctypes.byref(text)) != 0:
        raise OSError(f"lxla_plugin_list: {lib.lxla_last_error_message().decode()}")
    found = json.loads(ctypes.string_at(text).decode())
    lib.lxla_string_free(text)
    return found


def platform_of(plugin):
    """The platform of a plugin, as it says itself, else by its name."""
    said = (plugin.get("platform") or "").lower()
    if said:
        return said
    words = " ".join(str(plugin.get(key) or "") for key in ("name", "package", "path")).lower()
    for word in ("cuda", "rocm", "tpu", "metal", "oneapi", "xpu"):
        if word in words:
            return word
    return PROCESSOR if "cpu" in words else "unknown"


def ordered(plugins):
    """The plugins that could be loaded, accelerators before processors."""
    usable = [each for each in plugins if not each.get("error")]
    return sorted(usable, key=lambda each: platform_of(each) == PROCESSOR)


def chosen(library):
    """Returns the plugin to try and all that were found. Raises OSError if there is none."""
    named = os.environ.get("LXLA_PJRT_PLUGIN")
    if named and not Path(named).is_file():
        raise OSError(f"LXLA_PJRT_PLUGIN is {named!r}, want the file of a plugin")
    plugins = listed(library)
    if named:
        same = [each for each in plugins if os.path.realpath(each["path"]) == os.path.realpath(named)]
        return (same or [{"path": named, "found": "LXLA_PJRT_PLUGIN", "error": "not listed"}])[0], plugins
    if not (found := ordered(plugins)):
        said = "; ".join(f"{each['path']}: {each.get('error')}" for each in plugins)
        raise OSError(f"no plugin was found: install one of JAX's, or set LXLA_PJRT_PLUGIN to its file. {said}".strip())
    return found[0], plugins


def cuda_folder(plugin):
    """The folder of CUDA's compiler files in NVIDIA's packages, which XLA looks for beside JAX only."""
    if "cuda" not in platform_of(plugin):
        return None
    for folder in [*Path(plugin["path"]).parents[2:3], *map(Path, folders())]:
        for path in sorted(folder.glob("nvidia/*/nvvm/libdevice")):
            return path.parents[1]
    return None
