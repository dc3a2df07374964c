"""Counts instructions of recording and of cached steps, and compares them with benches/instructions.txt.

    python instructions.py FOLDER_OF_THE_PROGRAMS/bench_step_real [--write]

Runs `bench_step_real --count` under valgrind's callgrind. Counted are the instructions of the calling thread in the
library and in what it calls, except for the plugin: they do not depend on the load of the machine. Ends with status 1
if a count is more than 10 % above that in the file; --write writes the file anew. Ends with status 2 if there is
nothing to compare.
"""

import collections
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

LIMIT = 1.10
FILE = pathlib.Path(__file__).with_name("instructions.txt")
RENEW = "make bench-counts WRITE=1"
# The functions of step_real.c whose calls are counted, and what each does many times.
FUNCTIONS = {
    "count_addition": "lxla_binary, and the release of its operand",
    "count_mixed": "an operation of a mixed chain, and the release of its operand",
    "count_release_many": "a handle of lxla_tensor_release_many",
    "count_step": "an operation of a cached step of 100 layers, in lxla_mark_step",
}
HEAD = f"""\
# Instructions of the calling thread without those of the plugin, counted by benches/instructions.py, which fails if one of
# these numbers rises by more than {LIMIT - 1:.0%}. A change that is meant to raise one renews the file and says why:
#
#     {RENEW}
"""


def stop(message):
    print(message, file=sys.stderr)
    sys.exit(2)


def read_dump(text):
    """Returns the function of a dump, its instructions without the program's own, and how many of these are the plugin's.

    In callgrind's format, `ob=` names the object file of the following functions, and `cob=` that of the function which is
    called next, where it is another one. The line after `calls=` has the inclusive cost of the calls; every other line that
    begins with a number has a cost of the function itself.
    """
    function = re.search(r"^desc: Trigger: --dump-after=(\w+)$", text, re.M)
    instructions = plugin = 0
    caller = callee = ""
    is_call = False
    for line in text.splitlines():
        if line.startswith("ob="):
            caller = callee = pathlib.PurePath(line[3:]).name
        elif line.startswith("cob="):
            callee = pathlib.PurePath(line[4:]).name
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit():
            cost = int(line.split()[1])
            if not is_call and not caller.startswith("bench_"):
                instructions += cost
            if is_call and caller.startswith("liblazyxla.so") and "pjrt" in callee:
                plugin += cost
            is_call, callee = False, caller
    return function[1], instructions, plugin


def run(program):
    """Runs the program under callgrind. Returns what it printed, and the dumps in the order of time."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind",
            "--tool=callgrind",
            "--compress-strings=no",
            "--compress-pos=no",
            "--toggle-collect=count_*",
        ]
        command += [f"--dump-after={function}" for function in FUNCTIONS]
        command += [f"--callgrind-out-file={folder}/dump", program, "--count"]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            stop("valgrind is not installed")
        if done.returncode != 0:
            stop(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr[-4000:]}")
        files = sorted(pathlib.Path(folder).glob("dump.*"), key=lambda file: int(file.suffix[1:]))
        return done.stdout, [file.read_text() for file in files]


def measure(program):
    """Returns for each function the median of instructions each time, of all its calls but the first."""
    printed, dumps = run(program)
    divisors = {name: int(divisor) for name, divisor in (line.split() for line in printed.splitlines())}
    counts, plugin_calls = collections.defaultdict(list), 0
    for function, instructions, plugin in map(read_dump, dumps):
        counts[function].append((instructions - plugin) / divisors[function])
        plugin_calls += plugin > 0
    if any(len(counts[function]) < 2 for function in FUNCTIONS) or not plugin_calls:
        stop(f"callgrind gave {len(dumps)} dumps, {plugin_calls} with calls of the plugin: the program has no symbols?")
    return {function: statistics.median(counts[function][1:]) for function in FUNCTIONS}


def read_file():
    """Returns the counts of the file by function."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    return {line.split()[0]: float(line.split()[1]) for line in lines if line and line[0] != "#"}


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    if len(arguments) != 1:
        stop(__doc__)
    counts, before = measure(arguments[0]), read_file()
    print("| instructions of | now | in the file | ratio |\n|---|---|---|---|")
    for function, what in FUNCTIONS.items():
        if function in before:
            print(
                f"| {what} | {counts[function]:.0f} | {before[function]:.0f} | "
                f"{counts[function] / before[function]:.3f} |"
            )
        else:
            print(f"| {what} | {counts[function]:.0f} | | |")
    if "--write" in sys.argv:
        lines = [f"{function} {counts[function]:.1f}  # {what}\n" for function, what in FUNCTIONS.items()]
        FILE.write_text(HEAD + "".join(lines))
        return
    if missing := [function for function in FUNCTIONS if function not in before]:
        stop(f"{FILE} does not have {', '.join(missing)}; to write it: {RENEW}")
    risen = [what for function, what in FUNCTIONS.items() if counts[function] > LIMIT * before[function]]
    for what in risen:
        print(f"{what}: more than {LIMIT - 1:.0%} above benches/instructions.txt", file=sys.stderr)
    if risen:
        print(
            f"Make it cheaper; if it has to cost that, write the file anew and say why in the commit: {RENEW}",
            file=sys.stderr,
        )
        sys.exit(1)
    if any(counts[function] * LIMIT < before[function] for function in FUNCTIONS):
        print(
            f"Some counts fell by about {LIMIT - 1:.0%} or more; so that they stay there, write the file anew: {RENEW}"
        )


if __name__ == "__main__":
    main()
