"""The font of figures: the same letters, in fewer bytes, also in a PDF file."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from matplotlib.font_manager import FontProperties, findfont

from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.lean_font import lean_font, write_lean_font


def saved(path: Path) -> bytes:
    figure = style.canvas(2.0, 2.0)
    style.dress(figure.add_subplot(), "A title of the AVERAGE", "seconds", "loss ÷ ∞")
    style.save(figure, path)
    return path.read_bytes()


def test_it_has_the_letters_of_the_whole_font_and_no_layout_tables(tmp_path: Path) -> None:
    write_lean_font(tmp_path / "font.ttf")
    lean, whole = TTFont(tmp_path / "font.ttf"), TTFont(findfont("DejaVu Sans"))

    assert set(whole.keys()) - set(lean.keys()) == {"GSUB", "GPOS", "GDEF", "MATH", "FFTM"}
    assert lean.getBestCmap() == whole.getBestCmap()
    assert lean["glyf"]["A"] == whole["glyf"]["A"] and lean["hmtx"]["A"] == whole["hmtx"]["A"]


def test_a_figure_is_saved_with_it_and_afterwards_without(tmp_path: Path) -> None:
    font = tmp_path / "font.ttf"
    write_lean_font(font)
    before = saved(tmp_path / "a.pdf")
    with lean_font(font):
        lean = saved(tmp_path / "b.pdf")
    font.unlink()

    assert len(lean) < len(before)
    assert re.findall(rb"/FontName /\w+\+?(DejaVuSans)", lean)
    assert saved(tmp_path / "c.pdf") == before


def test_the_font_of_an_earlier_report_may_be_gone(tmp_path: Path) -> None:
    first, second = tmp_path / "first.ttf", tmp_path / "second.ttf"
    for font in (first, second):
        write_lean_font(font)
    with lean_font(first):
        saved(tmp_path / "a.png")
    first.unlink()
    with lean_font(second):
        assert saved(tmp_path / "b.png") == (tmp_path / "a.png").read_bytes()


def test_it_has_a_bold_face(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_lean_font(tmp_path / "font.ttf")
    with lean_font(tmp_path / "font.ttf"):
        figure = style.canvas(2.0, 2.0)
        figure.add_subplot()
        figure.text(0.1, 0.5, "bold", fontweight="bold")
        style.save(figure, tmp_path / "bold.pdf")

    assert re.findall(rb"/FontName /\w+\+?(DejaVuSans-Bold)", (tmp_path / "bold.pdf").read_bytes())
    # Another package may have asked for more messages in this process: only warnings count.
    assert [one.message for one in caplog.records if one.levelno >= logging.WARNING] == []


def test_no_other_figure_of_the_process_gets_it(tmp_path: Path) -> None:
    write_lean_font(tmp_path / "font.ttf")
    with lean_font(tmp_path / "font.ttf"):
        saved(tmp_path / "a.png")

    assert Path(findfont(FontProperties())).name == "DejaVuSans.ttf"
