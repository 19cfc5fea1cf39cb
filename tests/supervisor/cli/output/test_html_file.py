"""HTML files that need nothing else."""

from pathlib import Path

import htpy as h
import pytest

from supervisor.cli.output.html_file import HtmlFileError, html_file, write_html


def test_a_file_loads_and_runs_nothing_and_spells_out_what_would_act() -> None:
    made = html_file("Report", h.p["<script>alert(1)</script>\x1b[31m\u202e"])
    assert "default-src &#39;none&#39;" in made
    assert "<script" not in made
    assert "\x1b" not in made
    assert "\u202e" not in made


def test_a_file_that_cannot_be_written_is_said_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(HtmlFileError, match="no/such"):
        write_html(tmp_path / "no/such", "x")
    write_html(tmp_path / "there.html", "x")
    assert (tmp_path / "there.html").read_text() == "x"
