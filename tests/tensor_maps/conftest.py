"""The package's tests run in a worker that may have begun a browser before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_running_loop() -> Iterator[None]:
    """Hide the browser's event loop, beside which no other one may run.

    Playwright keeps its loop running in the thread of the tests.
    """
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)
