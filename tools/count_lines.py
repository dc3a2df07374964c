"""Prints the lines of code of src by layer: without blank lines, comments and unit tests."""

import pathlib

TESTS = ("test.rs", "tests.rs", "testing.rs")


def lines_of_code(text):
    text = text.split("#[cfg(test)]\nmod tests {")[0]
    lines = [line.strip() for line in text.splitlines()]
    return sum(1 for line in lines if line and not line.startswith("//"))


def main():
    source = pathlib.Path(__file__).parent.parent / "src"
    counts = {}
    for path in sorted(source.rglob("*.rs")):
        if not path.name.endswith(TESTS) and "tests" not in path.parts:
            layer = path.relative_to(source).parts[0].removesuffix(".rs")
            counts[layer] = counts.get(layer, 0) + lines_of_code(path.read_text())
    for layer, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:6} {layer}")
    print(f"{sum(counts.values()):6} all")


if __name__ == "__main__":
    main()
