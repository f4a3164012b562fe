"""Tables fit the terminal, and their cells are text."""

import re

from limen.cli.table import Column, Table

ROWS = [
    {"name": "first", "mark": "ok", "more": "x" * 90},
    {"name": "second\x1b[31m", "mark": "fail", "more": "[bold]no markup[/bold] :smile:"},
]


def test_a_table_never_passes_the_width() -> None:
    table = Table(
        [Column("NAME", "name", width=8), Column("MARK", "mark", width=4), Column("MORE", "more", fills=True)], ROWS
    )
    for width in (40, 60, 80, 200):
        assert max(map(len, table.draw(width, is_colored=False).splitlines())) <= width


def test_tables_printed_one_after_the_other_line_up() -> None:
    columns = [Column("NAME", "name", width=8), Column("MORE", "more", fills=True), Column("MARK", "mark", width=4)]
    places = {Table(columns, [row], has_header=False).draw(60, is_colored=False).index(row["mark"]) for row in ROWS}
    assert len(places) == 1


def test_what_wraps_is_not_cut() -> None:
    table = Table([Column("NAME", "name"), Column("MORE", "more", wraps=True)], ROWS[:1])
    assert table.draw(60, is_colored=False).count("x") == 90


def test_cells_are_printable_text_and_no_markup() -> None:
    drawn = Table([Column("NAME", "name"), Column("MORE", "more")], ROWS[1:]).draw(120, is_colored=False)
    assert r"second\x1b[31m" in drawn
    assert "[bold]no markup[/bold] :smile:" in drawn


def test_colours_come_only_when_asked_for() -> None:
    table = Table([Column("MARK", "mark", tones={"ok": "ok", "fail": "fail"})], ROWS)
    assert "\x1b" not in table.draw(80, is_colored=False)
    colored = table.draw(80, is_colored=True)
    assert "\x1b[32mok" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored).split() == ["MARK", "ok", "fail"]


def test_extra_columns_are_for_wide_terminals() -> None:
    table = Table([Column("NAME", "name"), Column("MARK", "mark", is_extra=True)], ROWS)
    assert "MARK" not in table.draw(80, is_colored=False)
    assert "MARK" in table.draw(140, is_colored=False)
