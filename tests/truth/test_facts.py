"""What the site says of each call, against a witness that runs it again (witness.py)."""

from __future__ import annotations

import csv
import gc
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import two_devices
from forms import concrete
from reading import EVERYTHING
from tensor_copies.calls.facts import facts
from tensor_copies.gallery.isolation import in_fresh_process
from tensor_maps.atlas import calls, probe
from witness import Heard, Witness, testify_all

# What a witness says by the same name, and of how many calls at least.
FACTS = {
    "same_object": 22000, "shares_memory": 22000, "shares_version": 18000,
    "gradient_flows": 22000, "requires_grad": 22000, "is_leaf": 22000,
    "grad_fn": 22000, "result": 22000, "where": 22000, "strides_kept": 10000,
    "changes_x": 22000, "writes_x": 22000, "version_raised": 22000, "pinned": 22000,
    "other_values": 14000,
}  # fmt: skip


@pytest.mark.parametrize("fact", FACTS)
def test_a_witness_sees_the_same(heard: list[Heard], fact: str) -> None:
    told = [one for one in heard if fact in one.seen]
    assert len(told) >= FACTS[fact]
    wrong = [
        (one.key, one.record[fact], one.seen[fact])
        for one in told
        if one.record[fact] != one.seen[fact]
    ]
    assert wrong == []
