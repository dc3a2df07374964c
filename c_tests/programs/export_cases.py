"""Exports for tests: writes computations by lxla_computation_export, and compares what is imported again."""

import ctypes
from ctypes import byref, c_char_p

import ctypes_test as lxla
from header import constants, types

FOLDER, TEXT, JAX = constants.EXPORT_FOLDER, constants.EXPORT_TEXT, constants.EXPORT_JAX
FORMATS = {"folder": FOLDER, "text": TEXT, "jax": JAX}


def export_options(format=0, vjp_order=0, version=None, parameters=None, results=None):
    """Options of an export."""
    options = types.lxla_export_options(struct_size=ctypes.sizeof(types.lxla_export_options))
    options.format, options.vjp_order, options.stablehlo_version = format, vjp_order, version
    for kind, names in (("parameter", parameters), ("result", results)):
        if names is not None:
            setattr(options, f"{kind}_names", (c_char_p * max(len(names), 1))(*names))
            setattr(options, f"n_{kind}_names", len(names))
    return options


def exported(computation, path, **options):
    """Exports a computation; returns the status."""
    return lxla.lib.lxla_computation_export(computation, byref(export_options(**options)), str(path).encode())


def stablehlo(computation):
    """The text of a computation. Its functions are named by digests of their bodies."""
    return lxla.text(lxla.lib.lxla_computation_stablehlo, computation)
