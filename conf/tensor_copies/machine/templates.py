"""HTML drawn from templates that stand beside the module that knows the facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def templates_of(module: str, **options: Any) -> Environment:
    """Return the templates beside a module (its ``__file__``); they escape all text."""
    return Environment(
        loader=FileSystemLoader(Path(module).parent),
        autoescape=True,
        undefined=StrictUndefined,
        **options,
    )
