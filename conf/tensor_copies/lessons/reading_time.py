"""How long a lesson takes to read, from its script: text and code, nothing else."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

from sphinx_gallery.py_source_parser import (
    remove_config_comments,
    split_code_and_text_blocks,
)

if TYPE_CHECKING:
    from pathlib import Path

WORDS_PER_MINUTE = 238
WORD = re.compile(r"\S*\w\S*")
# In code a name or a number is a word, `torch.tensor` two of them.
TOKEN = re.compile(r"[^\W\d]\w*|\d[\d.]*")


def minutes(script: Path) -> int:
    """Return the minutes that an adult needs to read a lesson, rounded up.

    The formula is (words of text + names and numbers in code) / 238. 238 words a
    minute is the mean rate of silent reading of English non-fiction: M. Brysbaert,
    "How many words do we read per minute? A review and meta-analysis of reading
    rate", Journal of Memory and Language 109 (2019), 104047. That a name or a number
    in code takes the time of a word is our assumption. Outputs are not counted, so
    that the time is the same whatever machine ran the lesson.
    """
    words = 0
    for kind, content, _ in split_code_and_text_blocks(str(script))[1]:
        if kind == "code":
            words += len(TOKEN.findall(remove_config_comments(content)))
        else:
            words += len(WORD.findall(content))
    return ceil(words / WORDS_PER_MINUTE)


def in_words(script: Path) -> str:
    """Return the time as a page says it, such as ``3 min read``."""
    return f"{minutes(script)} min read"
