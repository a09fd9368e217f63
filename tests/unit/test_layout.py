"""Tables: columns stand beneath each other, and on a narrow terminal none is lost."""

from tidegate.explain.table import layout
from tidegate.kinds.integrations.app.shards import in_order

HEAD = ("NAME", "STATUS", "DONE", "WHY")
LONG = "integrations/slack-usergroups@prod"
ROWS = [(LONG, "Succeeded", "3/3", ""), ("b", "Waiting", "0/3", "canary: 0 of 1 done, waiting")]


def test_without_a_width_a_row_is_a_line() -> None:
    """Programs read a line a row, however long."""
    assert layout(HEAD, ROWS) == [
        f"{'NAME':34}  STATUS     DONE  WHY",
        f"{LONG}  Succeeded  3/3",
        f"{'b':34}  Waiting    0/3   canary: 0 of 1 done, waiting",
    ]


def test_columns_that_do_not_fit_go_on_beneath() -> None:
    """In order, as many as fit; a line that would be empty is left out."""
    assert layout(HEAD, ROWS, 56) == [
        f"{'NAME':34}  STATUS     DONE",
        "    WHY",
        f"{LONG}  Succeeded  3/3",
        f"{'b':34}  Waiting    0/3",
        "    canary: 0 of 1 done, waiting",
    ]
    assert layout(HEAD, ROWS, 36)[2:4] == ["    WHY", LONG]


def test_the_last_column_is_cut_where_enough_of_it_is_seen() -> None:
    """And no line is wider than the terminal, however narrow."""
    rows = [*ROWS, (*ROWS[0][:-1], "x" * 50)]
    assert layout(HEAD, rows, 90)[-1].endswith("xxx…")
    assert layout(HEAD, rows, 80)[-1] == f"    {'x' * 50}", "where too little is seen: beneath"
    for width in range(5, 90):
        assert max(map(len, layout(HEAD, ROWS, width))) <= width


def test_the_head_can_be_left_out_with_all_its_lines() -> None:
    """On a narrow terminal it has several."""
    assert layout(HEAD, ROWS, 40, headed=False) == layout(HEAD, ROWS, 40)[3:]


def test_names_are_sorted_as_people_sort_them() -> None:
    """A name before those that begin with it, nine before ten."""
    names = ["x/app-sre-ci", "x/10", "x/app-sre", "x/9", "x", "x/app-sre-stage-02"]
    wanted = ["x", "x/9", "x/10", "x/app-sre", "x/app-sre-ci", "x/app-sre-stage-02"]
    assert sorted(names, key=in_order) == wanted
