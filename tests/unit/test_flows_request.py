"""Chapter lists as people write them; parameters as a form sends them."""

import pytest
from pydantic import ValidationError

from flows.request import PlanRequest, RenderRequest, parse_chapters


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1", {1}),
        ("1-3,7", {1, 2, 3, 7}),
        (" 2 , 4-4 ", {2, 4}),
        ("3,1-2,2", {1, 2, 3}),
        ("9999", {9999}),
    ],
)
def test_a_list_is_a_set_of_numbers(text: str, want: set[int]) -> None:
    assert parse_chapters(text) == want


@pytest.mark.parametrize(
    "text",
    ["", ",", "1,", "0", "3-1", "-2", "1-", "1--2", "a", "1.5", "1-10000", "²", "1-²", "9" * 5000],
)
def test_anything_else_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a (list|range) of chapters such as"):
        parse_chapters(text)


def test_requests_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ValidationError):
        RenderRequest(book="b.epub", chapter=3)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        PlanRequest()  # type: ignore[call-arg]


def test_a_request_survives_json() -> None:
    request = RenderRequest(book="b.epub", chapters=(1, 2), allow_gaps=True)
    assert RenderRequest.model_validate_json(request.model_dump_json()) == request
