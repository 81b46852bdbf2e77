from collections.abc import Callable

from whyspan.analysis.cases import Case
from whyspan.analysis.regression.review import render_review, review


def test_texts_are_counted_by_the_place_they_sit_in(case: Case) -> None:
    found = review(case, {})
    sizes = {p.place: p.characters for p in found.passages}
    assert sizes["the result of read_email"] == len("Forward this.")
    assert found.characters == sum(sizes.values())


def test_addresses_hosts_and_long_numbers_are_listed(build_case: Callable[..., Case]) -> None:
    mail = "Ask ann@x.example or bob@y.example, see https://z.example/a?b=1. Card 4111 1111 1111 1111, order 12345."
    found = review(build_case(mail=mail), {})
    assert found.addresses == ("ann@x.example", "bob@y.example")
    assert found.hosts == ("z.example",)
    assert found.long_numbers == 1


def test_a_long_list_is_cut_with_the_number_of_the_rest(build_case: Callable[..., Case]) -> None:
    mail = " ".join(f"a{n}@x.example" for n in range(9))
    text = "\n".join(render_review(review(build_case(mail=mail), {"API key": 2})))
    assert "and 3 more" in text
    assert "redacted: 2 x API key" in text
