"""Waits of limited time, for fuzz_abi.py."""

from ctypes import byref, c_int32, c_uint64

import ctypes_test as abi
from ctypes_test import Device, Env, Tensor
from header import constants, types

OK, INVALID_ARGUMENT, NULL_ARGUMENT = constants.OK, constants.INVALID_ARGUMENT, constants.NULL_ARGUMENT
INVALID_HANDLE = constants.INVALID_HANDLE
MOST = 2**64 - 1
# Milliseconds. All recorded work ends, so that waits of any length do.
TIMES = [0, 0, 1, 1, 50, 2**40 + 1, 2**63 - 1, -1, -(2**63)]


TOLD = [0, 0]


@types.lxla_ready_fn
def told(status, _message, _user):
    TOLD[status != OK] += 1


@types.lxla_memory_fn
def frees(_bytes, _user):
    return 1


class Waits:
    """The part of a Fuzzer that waits for devices and tensors."""

    def wait(self):
        return self.rng.choice([self.wait_for_device, self.wait_for_tensor, self.ask_to_be_told])()

    def wait_for_device(self):
        r, lib = self.rng, abi.lib
        number, done = c_uint64(MOST), c_int32(7)
        wrong = self.expected("lxla_enqueued", lib.lxla_enqueued(byref(number)), OK)
        if wrong:
            return wrong
        wrong = self.expected("lxla_enqueued", lib.lxla_enqueued(None), NULL_ARGUMENT)
        if wrong:
            return wrong
        env = r.choice([self.env] * 8 + [Env(0), Env(MOST)])
        device = r.choice([*self.worlds, Device(0, 0), Device(9, 0), Device(abi.XLA, 2**31 - 1)])
        enqueued, time = r.choice([0, 1, number.value, number.value, MOST]), r.choice(TIMES)
        out = byref(done) if r.random() < 0.95 else None
        found = lib.lxla_wait_for(env, device, enqueued, time, out)
        unknown = device.kind == 9 or device.ordinal
        wanted = [OK]
        if out is None:
            wanted = [NULL_ARGUMENT]
        elif time < 0:
            wanted = [INVALID_ARGUMENT]
        elif env.id == MOST or unknown:
            wanted = [INVALID_HANDLE, INVALID_ARGUMENT, constants.NOT_FOUND]
        wrong = self.expected("lxla_wait_for", found, *wanted)
        if wrong:
            return f"{wrong} (device {device.kind}:{device.ordinal}, {enqueued} of {number.value}, {time} ms)"
        if found == OK and (done.value not in (0, 1) or not done.value and time > 1000):
            return f"lxla_wait_for: out_done is {done.value} after {time} ms"
        return None

    def wait_for_tensor(self):
        r, ready = self.rng, c_int32(7)
        pair = r.choice(self.kept) if self.kept and r.random() < 0.7 else self.tensor()
        tensor = r.choice(pair) if r.random() < 0.9 else Tensor(r.choice([0, MOST]))
        time, out = r.choice(TIMES), byref(ready) if r.random() < 0.95 else None
        found = abi.lib.lxla_tensor_wait_for(tensor, time, out)
        wanted = [NULL_ARGUMENT] if out is None else [INVALID_ARGUMENT]
        if out and time >= 0:
            wanted = [OK, INVALID_HANDLE, constants.FAILED_PRECONDITION]
        wrong = self.expected("lxla_tensor_wait_for", found, *wanted)
        # A pending tensor is computed as by a sync, which fails for placeholders and invalid handles.
        if not wrong and out and time >= 0 and abi.lib.lxla_sync(byref(tensor), 1) != found:
            return f"lxla_tensor_wait_for: status {found}; lxla_sync: {abi.lib.lxla_last_error_message().decode()}"
        if not wrong and found == OK and (ready.value not in (0, 1) or not ready.value and time > 1000):
            return f"lxla_tensor_wait_for: out_ready is {ready.value} after {time} ms"
        return wrong

    def ask_to_be_told(self):
        r, lib = self.rng, abi.lib
        env = r.choice([self.env] * 3 + [Env(0), Env(MOST)])
        found = lib.lxla_env_set_memory_callback(env, r.choice([frees, types.lxla_memory_fn()]), None)
        wrong = self.expected("lxla_env_set_memory_callback", found, INVALID_HANDLE if env.id == MOST else OK)
        if wrong:
            return wrong
        pair = r.choice(self.kept) if self.kept and r.random() < 0.7 else self.tensor()
        tensor = r.choice(pair) if r.random() < 0.9 else Tensor(r.choice([0, MOST]))
        function = told if r.random() < 0.95 else types.lxla_ready_fn()
        found = lib.lxla_tensor_on_ready(tensor, function, None)
        wanted = [OK, INVALID_HANDLE, constants.FAILED_PRECONDITION] if function is told else [NULL_ARGUMENT]
        wrong = self.expected("lxla_tensor_on_ready", found, *wanted)
        # A pending tensor is computed as by a sync, which fails for placeholders and invalid handles.
        if not wrong and function is told and lib.lxla_sync(byref(tensor), 1) != found:
            return f"lxla_tensor_on_ready: status {found}; lxla_sync: {lib.lxla_last_error_message().decode()}"
        return wrong
