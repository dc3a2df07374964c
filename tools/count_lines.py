"""Prints the lines of code of the library by crate: without blank lines, comments and unit tests."""

import pathlib

TESTS = ("test.rs", "tests.rs", "testing.rs")


def lines_of_code(text):
    text = text.split("#[cfg(test)]\nmod tests {")[0]
    lines = [line.strip() for line in text.splitlines()]
    return sum(1 for line in lines if line and not line.startswith("//"))


def lines_of_crate(source):
    files = [path for path in source.rglob("*.rs") if "tests" not in path.parts]
    return sum(lines_of_code(path.read_text()) for path in files if not path.name.endswith(TESTS))


def main():
    root = pathlib.Path(__file__).parent.parent
    counts = {"lazyxla": lines_of_crate(root / "src")}
    for crate in sorted((root / "crates").iterdir()):
        counts[crate.name] = lines_of_crate(crate / "src")
    for crate, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:6} {crate}")
    print(f"{sum(counts.values()):6} all")


if __name__ == "__main__":
    main()
