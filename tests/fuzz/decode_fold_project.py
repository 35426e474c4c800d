"""A coverage-guided fuzzer over `decode`, the folds and `project`: nothing but `ReducerError`s leaves the library.

    python3.11 -m venv .venv-fuzz && .venv-fuzz/bin/pip install atheris -e .
    .venv-fuzz/bin/python tests/fuzz/decode_fold_project.py -max_total_time=300 -max_len=4096 CORPUS

The bytes that the fuzzer makes are lines of a log. `CORPUS` is a folder of logs to start from, and where what adds
coverage is kept; without one, the golden logs are what it starts from. What it finds is pinned in `tests/test_fuzz.py`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]  # installed for this alone

with atheris.instrument_imports(include=["reducer"]):
    from reducer import EMPTY, Layout, ReducerError, decode, dumps, fold, fold_all, fold_strict, loads, project
    from reducer._decode_all import line_decoder
    from reducer._schema import EVENTS

GOLDEN = Path(__file__).parents[1] / "golden"
READ = line_decoder()
LINES = 64
SEED = 8


def one_input(data: bytes) -> None:
    """Decode the lines of a log, fold them in all ways and project what results."""
    state, events = EMPTY, []
    for line in data.split(b"\n")[:LINES]:
        try:
            event = READ(line)
            after = fold(state, event)
        except ReducerError:
            continue
        decoded = decode(line)
        assert (event, event.notes) == (decoded, decoded.notes), "what is read fast is not what is decoded"
        events.append(event)
        try:
            strict = fold_strict(state, event)
        except ReducerError:
            pass
        else:
            assert strict == after, "fold_strict is not fold"
        state = after
    assert fold_all(EMPTY, events) == state, "fold_all is not fold"
    assert loads(dumps(state)) == state, "loads is not dumps"
    for layout in Layout:
        shown = project(state, layout).to_dict()
        names = [message["id"] for message in shown["messages"]]
        assert len(set(names)) == len(names), "an id twice"
        json.dumps(shown, allow_nan=False)


def seeds(folder: Path) -> None:
    """Write what real producers streamed, and every type of event, as logs to start from."""
    for log in sorted(GOLDEN.rglob("*.jsonl")):
        lines = log.read_text("utf-8").splitlines()
        name = f"{log.parent.name}-{log.stem}"
        for start in range(0, len(lines), SEED):
            (folder / f"{name}-{start}").write_text("\n".join([*lines[:1], *lines[start : start + SEED]]), "utf-8")


def words(file: Path) -> None:
    """Write the names of all types and fields for the fuzzer to use."""
    fields = {name for shape in EVENTS.values() for name in shape.fields}
    file.write_text("".join(f'"\\"{word}\\":"\n' for word in sorted({*EVENTS, *fields})), "utf-8")


def main() -> None:
    """Fuzz until told to stop."""
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    with tempfile.TemporaryDirectory() as fresh:
        folder = Path(given[0]) if given else Path(fresh, "corpus")
        folder.mkdir(exist_ok=True)
        words(Path(fresh, "words"))
        if not any(folder.iterdir()):
            seeds(folder)
        options = [f"-dict={fresh}/words", *([] if given else [str(folder)])]
        atheris.Setup([*sys.argv, *options], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
