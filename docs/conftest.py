"""The examples in these pages are tests: `tests/examples.py` says how they run."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Collect examples also where only pages are asked for."""
    config.pluginmanager.import_plugin("tests.examples")
