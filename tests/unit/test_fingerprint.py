"""The day of a run is the same everywhere."""

from __future__ import annotations

import pytest
from tensor_copies.run import fingerprint


def test_the_day_is_in_utc_or_what_source_date_epoch_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(fingerprint.EPOCH, raising=False)
    midnight = 10**9 // 86400 * 86400
    assert fingerprint.day_of(midnight - 1) == "2001-09-08"
    assert fingerprint.day_of(midnight) == "2001-09-09"
    monkeypatch.setenv(fingerprint.EPOCH, "0")
    assert fingerprint.today() == "1970-01-01"
    for said in ("yesterday", "1e9", "9" * 20):
        monkeypatch.setenv(fingerprint.EPOCH, said)
        with pytest.raises(fingerprint.UnfitMachine, match=f"EPOCH is '{said}'"):
            fingerprint.check()
