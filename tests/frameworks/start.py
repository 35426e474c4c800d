"""Runs a script, or the examples of a page of the documentation, in an environment with a framework.

    python start.py SCRIPT.py
    python start.py PAGE.md

Coverage is measured where it is measured in the tests that start this.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path


def examples(page: str) -> str:
    """Return the Python of a page as one program, each line of it where it stands in the page."""
    program, inside = list[str](), False
    for line in page.split("\n"):
        if line.startswith("```"):
            inside = line == "```python"
        program.append(line if inside and not line.startswith("```") else "")
    return "\n".join(program)


def outputs(page: str) -> str:
    """Return what a page says that its examples print."""
    return "".join(re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def main() -> None:
    """Run what the argument names."""
    [name] = sys.argv[1:]
    try:
        import coverage
    except ImportError:
        pass
    else:
        coverage.process_startup()
    if name.endswith(".md"):
        code = compile(examples(Path(name).read_text(encoding="utf-8")), name, "exec")
        exec(code, {"__name__": "__main__"})  # noqa: S102 - the project's own examples
    else:
        runpy.run_path(name, run_name="__main__")


if __name__ == "__main__":
    main()
