"""Counts the instructions of native operations for each element: python native_counts.py BENCH_NATIVE [operation ...]

Runs bench_native under valgrind's cachegrind, whose processor has AVX2 and no AVX-512; with one thread. The instructions
of a call are the difference between runs with more and fewer calls, so that neither the start nor the operands count.
With --qemu=COMMAND, a program for another processor runs under QEMU's user emulation: COMMAND is the emulator with its
options, among them the plugin that tools/count_instructions.c makes.
"""

import os
import re
import subprocess
import sys

# Elements of the result or of the operand that is reduced; for products, multiplications and additions.
MILLION = 1000000
OPERATIONS = {
    "add": MILLION,
    "divide": MILLION,
    "greater": MILLION,
    "astype_s32": MILLION,
    "exp": MILLION,
    "log": MILLION,
    "tanh": MILLION,
    "sin": MILLION,
    "exp_f64": MILLION,
    "sum": MILLION,
    "max": MILLION,
    "sum_axis_0": MILLION,
    "transpose": MILLION,
    "matmul_256": 256**3,
}
# The calls of a line "operation turns" of bench_native: one, then a quarter of the turns and one, then the turns.
FEW, MANY = 4, 8


def calls(turns):
    return 1 + turns // 4 + 1 + turns


def instructions(program, operation, turns, qemu):
    if qemu:
        command = [*qemu.split(), program]
    else:
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", program]
    environment = os.environ | {"RAYON_NUM_THREADS": "1"}
    done = subprocess.run(command, input=f"{operation} {turns}\n", capture_output=True, text=True, env=environment)
    found = re.search(r"I +refs: +([\d,]+)|^instructions: (\d+)$", done.stderr, re.M)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return int((found[1] or found[2]).replace(",", ""))


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    qemu = "".join(argument.removeprefix("--qemu=") for argument in sys.argv[1:] if argument.startswith("--"))
    if not arguments:
        sys.exit(__doc__)
    print("| operation | instructions for each element |\n|---|---|")
    for operation in arguments[1:] or OPERATIONS:
        few, many = (instructions(arguments[0], operation, turns, qemu) for turns in (FEW, MANY))
        each = (many - few) / (calls(MANY) - calls(FEW)) / OPERATIONS[operation]
        print(f"| {operation} | {each:.2f} |", flush=True)


if __name__ == "__main__":
    main()
