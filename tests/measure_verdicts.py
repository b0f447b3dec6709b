"""Whether the benchmarks say the same each time: ``python tests/measure_verdicts.py``.

Each lesson that ends with a verdict runs ten times, in turn with the others. What it
says is compared without its numbers, whose least and greatest are printed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
RUN = """
import json, runpy, sys
import matplotlib
matplotlib.use("agg")
print("\\n" + json.dumps(runpy.run_path(sys.argv[1])["verdict"]))
"""
NUMBER = re.compile(r"[\d.]+(?=×)")


def main(rounds: int) -> int:
    """Print what each lesson says and how often; return 1 if one contradicts itself."""
    lessons = [
        path
        for path in sorted(EXAMPLES.glob("*/*.py"))
        if re.search(r"^verdict\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    said: dict[str, list[str]] = {path.stem: [] for path in lessons}
    for _ in range(rounds):
        for path in lessons:
            command = [sys.executable, "-c", RUN, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            said[path.stem] += json.loads(done.stdout.splitlines()[-1])
    agree = True
    for name, lines in said.items():
        print(name)
        without = Counter(NUMBER.sub("N", line) for line in lines)
        for words, count in without.items():
            found = [
                NUMBER.findall(line) for line in lines if NUMBER.sub("N", line) == words
            ]
            ranges = [f"{min(n)} to {max(n)}" for n in zip(*found, strict=True)]
            print(f"  {count} of {rounds}: {words} {', '.join(ranges)}")
            agree &= count == rounds
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
