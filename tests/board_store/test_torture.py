"""`board torture`: a verdict on a disk, that leaves nothing, and that can be bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from flask_pi_taskbar.board.torture import Check, torture

pytestmark = pytest.mark.timeout(600)


def test_a_good_disk_is_called_safe(quick: Path) -> None:
    heard: list[Check] = []
    verdict = torture(quick, seconds=2, workers=3, tell=heard.append)
    assert verdict.ok, verdict.text
    assert verdict.level == 0
    assert heard == verdict.checks
    assert [check.name for check in heard] == ["mixed writes", "claims", "notes", "rings", "crashes"]
    assert verdict.text.endswith("level 0: a board is safe here")
    assert not list(quick.iterdir())


def test_a_disk_whose_locks_keep_nobody_away_is_called_unsafe(quick: Path) -> None:
    verdict = torture(quick, seconds=2, workers=3, level="broken")
    assert not verdict.ok
    assert "FAIL" in verdict.text
    assert "do not keep a board here" in verdict.text
    assert not list(quick.iterdir())


def test_a_disk_that_cannot_be_written_gets_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_pi_taskbar.board.layout.os.geteuid", lambda: 12345)
    verdict = torture(tmp_path, seconds=1, workers=2)
    assert (verdict.ok, verdict.level) == (False, None)
    assert any("another user" in fault for check in verdict.checks for fault in check.faults)
