"""The page tells each hazard, and what the models of this run say of it."""

from fencepost.reports.analysis.hazards import hazard_rows, rows_of
from fencepost.reports.analysis.stages import ModelRow
from fencepost.reports.page.views import HazardRow
from fencepost.spec.hazards import HazardFinding, load_hazards


def model(name: str, *, agrees: bool = True) -> ModelRow:
    return ModelRow(name=name, verdict="violates", expected="violates", agrees=agrees)


def row(rows: tuple[HazardRow, ...], hazard: str) -> HazardRow:
    return next(one for one in rows if one.hazard == hazard)


def test_a_hazard_has_the_models_of_this_run_that_follow_the_text() -> None:
    rows = hazard_rows((model("truncation_to_high_watermark", agrees=False), model("other")))

    assert [one.name for one in row(rows, "H17").models] == ["truncation_to_high_watermark"]
    assert not row(rows, "H17").models[0].agrees
    assert row(rows, "H31").models == ()


def test_every_hazard_has_a_command_that_shows_it() -> None:
    listed = load_hazards()
    rows = rows_of(listed, ())

    assert len(rows) == len(listed)
    for hazard in listed:
        told = row(rows, hazard.id)
        assert told.command.split()[2:] == [*hazard.rows, *hazard.claims]
        assert told.is_refuted == (hazard.finding is HazardFinding.REFUTED)


def test_hazards_come_in_the_order_of_their_numbers() -> None:
    ids = [one.hazard for one in rows_of(load_hazards(), ())]

    assert ids.index("H2") < ids.index("H2b") < ids.index("H10") < ids.index("KIP-279.1")


def test_without_models_there_is_nothing_to_tell() -> None:
    assert hazard_rows(()) == ()
