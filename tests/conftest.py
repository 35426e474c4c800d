"""What all tests share: Hypothesis profiles, options, fixtures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from tests import reference_client
from tests.reference_client import reference  # noqa: F401 - a fixture

# Time says nothing on a busy machine, so nothing here has a deadline.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For the version matrix, which asks whether things work at all.
settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)
settings.register_profile(
    "nightly",
    max_examples=20_000,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the project's own options."""
    group = parser.getgroup("reducer")
    group.addoption(
        "--conformance",
        metavar="DIR",
        type=Path,
        help="the official conformance streams (default: ../shared/conformance, where it exists)",
    )
    group.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the examples of the documentation, and refuse options that cannot be meant."""
    config.pluginmanager.import_plugin("tests.examples")
    folder = config.getoption("conformance")
    if folder is not None and not folder.is_dir():
        raise pytest.UsageError(f"--conformance={folder}: no such folder")
    if config.getoption("update_golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden: golden files are not written in CI")


def conformance_folder(config: pytest.Config) -> Path | None:
    """Return the folder with the official streams, where there is one."""
    given: Path | None = config.getoption("conformance")
    default = config.rootpath.parent / "shared" / "conformance"
    return given or (default if default.is_dir() else None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `conformance_stream` each official stream in turn, by the name of its file."""
    if "conformance_stream" not in metafunc.fixturenames:
        return
    folder = conformance_folder(metafunc.config)
    if folder is None:
        absent = pytest.mark.skip(reason="no official streams here (--conformance=DIR)")
        metafunc.parametrize("conformance_stream", [pytest.param(None, marks=absent, id="none")])
    else:
        files = sorted(folder.rglob("*.json"))
        names = [file.relative_to(folder).with_suffix("").as_posix() for file in files]
        metafunc.parametrize("conformance_stream", files, ids=names)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what compares with the reference client, before `-m` selects."""
    for item in items:
        if "reference" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.reference)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install the reference client where a test needs it: one worker at a time, so that it is done once."""
    if not any(item.get_closest_marker("reference") for item in session.items):
        return
    if session.config.option.collectonly or reference_client.available() is None:
        return
    with FileLock(session.config.cache.mkdir("reference") / "lock"):
        # What goes wrong here goes wrong again in the fixture, which says so and knows whether to skip or to fail.
        if reference_client.available() is not None:
            with suppress(reference_client.ReplayError):
                reference_client.install()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, Any], None]:
    """Compare a JSON value with a golden file; with `--update-golden`, write the file instead."""
    update = request.config.getoption("update_golden")

    def compare(file: Path, value: Any) -> None:
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        if update:
            file.write_text(text, encoding="utf-8")
        else:
            assert text == file.read_text(encoding="utf-8"), f"{file.name} differs (--update-golden writes it anew)"

    return compare
