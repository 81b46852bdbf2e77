from whyspan.analysis.drift import KEPT, DriftGuard
from whyspan.analysis.statistics.evalues import two_sided_e_value


def warnings(early: list[bool], late: list[bool], models: tuple[str, str] = ("m", "m")) -> list[str]:
    guard = DriftGuard()
    for half, model in ((early, models[0]), (late, models[1])):
        for is_target in half:
            guard.note(is_target=is_target, model=model)
    return list(guard.warnings())


def test_a_model_that_stays_gives_no_warning() -> None:
    assert warnings([True, False] * 20, [False, True] * 20) == []
    assert warnings([], []) == []


def test_a_rate_that_changes_is_reported_with_both_counts() -> None:
    (warning,) = warnings([True] * 20, [False] * 20)
    assert "from 20 of 20 to 0 of 20" in warning


def test_several_models_are_reported_by_name() -> None:
    (warning,) = warnings([True] * 3, [True] * 3, ("m-1", "m-2"))
    assert "m-1, m-2" in warning


def test_memory_does_not_grow_with_the_draws() -> None:
    guard = DriftGuard()
    for n in range(10 * KEPT):
        guard.note(is_target=n < 5 * KEPT, model="m")
    assert len(list(guard.warnings())) == 1


def test_the_e_value_is_the_same_for_more_and_for_less() -> None:
    assert two_sided_e_value((0, 20), (20, 20)) == two_sided_e_value((20, 20), (0, 20))
    assert two_sided_e_value((10, 20), (10, 20)) < 1
