from tests.read_between import read_between
from tools import trust_table


def test_the_page_has_the_tables_of_the_results():
    found = trust_table.load()
    assert {result["dataset"] for result in found.values()} == {
        "an4",
        "omniglot_rotations",
    }
    page = read_between(trust_table.PAGE, *trust_table.MARKS)
    assert page == trust_table.tables(found)


def test_reached_rates_keep_the_promises():
    """The mean over divisions, up to two of its standard errors."""
    for result in trust_table.load().values():
        for score in ("log_evidence", "nearest_distance"):
            for row in result["promises"][score]:
                error = row["standard_error"]
                assert row["reached"] <= row["promised"] + 2 * error


def test_the_text_agrees_with_the_probabilities_of_new_classes():
    ends: dict[str, list[float]] = {}
    for line in trust_table.probabilities_table(trust_table.load()):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 7 and "digit numbers" in cells[1]:
            numbers = map(float, cells[5].split(" to "))
            ends.setdefault(cells[2], []).extend(numbers)
    shown = ", ".join(
        f"{method} {min(ends[method]):.0f} to {max(ends[method]):.0f}"
        for method in ("`StochasticPrototypes`", "`PrototypicalLoss`")
    )
    assert f"| {shown} |" in trust_table.PAGE.read_text("utf-8")


def test_a_minimum_is_below_every_cllr():
    for result in trust_table.load().values():
        for row in result["pairs"].values():
            for name in ("cllr", "cllr_logistic", "cllr_isotonic"):
                assert row.get(name, 9) >= row["min_cllr"] - 1e-9


def test_the_figure_has_a_panel_for_each_run():
    found = trust_table.load()
    (figure,) = trust_table.figures(found).values()
    panels = [panel for panel in figure.axes if panel.axison]
    assert len(panels) == len(found)
    for panel, result in zip(panels, found.values(), strict=True):
        assert panel.get_title().endswith(result["method"])
        lines = [line for bars in panel.containers for line in bars.lines[:1]]
        for line, score in zip(
            lines, ("log_evidence", "nearest_distance"), strict=True
        ):
            rows = result["promises"][score]
            drawn = [100 * row["reached"] for row in rows]
            assert line.get_ydata().tolist() == drawn
