"""The version matrix: the tests under the SDKs, dependencies and Pythons that the project supports.

`nox -f .ci/noxfile.py` runs all of it, `-s oldest` one session, `-l` lists them. A session runs the tests of the fold
and of decoding, with few generated examples: it asks whether things work at all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parents[1]
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")["project"]
SDKS = ("0.1.19", "0.1.22", "1.0.0")
# What users install, so what the lower bounds in pyproject.toml promise to; and pydantic, which the SDK brings: its
# lower bound is the SDK's own.
BOUNDED = [
    *PROJECT["dependencies"],
    *(bound for extra in ("hypothesis", "cli", "fast") for bound in PROJECT["optional-dependencies"][extra]),
    "pydantic>=2.11.2",
]
OLDEST = [re.sub(r">=([^,]+).*", r"==\1", requirement) for requirement in BOUNDED]

TESTS = (
    "tests/cases",
    "tests/test_wire.py",
    "tests/test_decode_all.py",
    "tests/test_golden.py",
    "tests/test_laws.py",
    "tests/test_strict.py",
    "tests/test_checkpoint.py",
    "tests/test_patch.py",
    "tests/test_embed.py",
    "tests/test_short.py",
    "tests/test_ways.py",
    "tests/test_replay.py",
    "tests/test_compact.py",
    "tests/test_run_input.py",
)

nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_external_run = True


def interpreters() -> dict[str, str]:
    """Find the interpreters of supported Pythons, oldest first: on the path, or where pyenv keeps them."""
    found: dict[str, str] = {}
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for classifier in PROJECT["classifiers"]:
        version = classifier.rpartition(" :: ")[2]
        if not re.fullmatch(r"3\.\d+", version):
            continue
        candidates = [shutil.which(f"python{version}"), *sorted(map(str, kept.glob(f"{version}.*/bin/python")))]
        for candidate in filter(None, candidates):
            # A shim may stand on the path for a Python that it then does not find.
            asked = subprocess.run(  # noqa: S603 - a Python
                [candidate, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True,
                text=True,
                check=False,
            )
            if asked.stdout.strip() == version:
                found.setdefault(version, candidate)
    return found or {"{}.{}".format(*sys.version_info): sys.executable}


PYTHONS = list(interpreters().values())


def check(session: nox.Session, *pins: str) -> None:
    """Install the package with some versions held, and test it."""
    session.chdir(ROOT)
    session.install("--quiet", ".[test]", *pins)
    session.run(
        "python", "-m", "pytest", "-n", "auto", *TESTS, "-m", "not reference and not slow", *session.posargs,
        env={"HYPOTHESIS_PROFILE": "quick"},
    )  # fmt: skip


@nox.session
@nox.parametrize("version", SDKS)
def sdk(session: nox.Session, version: str) -> None:
    """Test under one release of the SDK."""
    check(session, f"ag-ui-protocol=={version}")


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Test under the oldest Python here, and the lower bound of every dependency."""
    check(session, *OLDEST)


@nox.session(python=PYTHONS[-1])
def newest(session: nox.Session) -> None:
    """Test under the newest Python here, and the newest of every dependency."""
    check(session)
