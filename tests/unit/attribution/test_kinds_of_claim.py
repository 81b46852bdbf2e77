from whyspan.analysis.attribution.kinds import is_required
from whyspan.analysis.attribution.problem import Tally


def test_asking_more_than_elsewhere_means_required() -> None:
    assert is_required(Tally(asks=4), Tally(target=20, other=6))


def test_asking_as_the_only_alternative_says_nothing() -> None:
    assert not is_required(Tally(asks=4), Tally(target=20, asks=9))


def test_another_action_means_a_push() -> None:
    assert not is_required(Tally(other=4), Tally(target=20))
    assert not is_required(Tally(other=3, asks=1), Tally(target=20))
