"""Number words with the British "and"."""

import pytest

from loudr_core.text.british import says_and
from loudr_core.text.normalize import normalize
from loudr_core.text.numbers import cardinal


@pytest.mark.parametrize("language", ["en-GB", "en-gb", "en-IE", "en_AU", "en-Latn-NZ", "en-IN"])
def test_regions_that_say_and(language: str) -> None:
    assert says_and(language)


@pytest.mark.parametrize("language", ["", "en", "en-US", "en-CA", "fr-GB", "de-AU", "gb"])
def test_regions_that_do_not(language: str) -> None:
    assert not says_and(language)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("105 men", "one hundred and five men"),
        ("all 1,023 of them", "all one thousand and twenty-three of them"),
        ("1,203,405", "one million two hundred and three thousand four hundred and five"),
        ("2,005,000 men", "two million five thousand men"),
        ("1,000,001 nights", "one million and one nights"),
        ("300 men", "three hundred men"),
        ("£1,105.50", "one thousand one hundred and five pounds and fifty pence"),
        ("the 101st", "the one hundred and first"),
        ("105-110 miles", "one hundred and five to one hundred and ten miles"),
        ("105.5 degrees", "one hundred and five point five degrees"),
        ("in 2005", "in two thousand and five"),
        ("in 1907", "in nineteen oh seven"),
        ("in 1900, 5 men", "in nineteen hundred, five men"),
        ("in 1900 5 men", "in nineteen hundred five men"),
        ("one hundred five", "one hundred five"),
        ("a thousand 5 times", "a thousand five times"),
    ],
)
def test_what_is_spoken(text: str, spoken: str) -> None:
    found = normalize(text, language="en-GB")
    assert found.spoken == spoken
    assert normalize(found.spoken, language="en-GB").spoken == spoken


def test_every_number_below_a_thousand_has_its_and_once() -> None:
    for number in range(1, 1000):
        spoken = normalize(str(number), language="en-GB").spoken
        assert spoken.replace(" and ", " ") == cardinal(number)
        assert spoken.count(" and ") == (number > 100 and number % 100 > 0)
