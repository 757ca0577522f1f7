"""A wrong setting of one of several voices says whose it is."""

import pytest

from loudr_core.errors import ConfigError, StoreError
from loudr_core.render.casting import naming_voice


def test_a_wrong_setting_of_a_voice_names_it() -> None:
    with pytest.raises(ConfigError) as caught, naming_voice("aunt"):
        raise ConfigError("engine 'koko' has no voice 'heart'", voice="heart")
    assert caught.value.message == "[voices.aunt]: engine 'koko' has no voice 'heart'"
    assert caught.value.context == {"voice": "heart"}


@pytest.mark.parametrize(
    ("name", "error"),
    [("", ConfigError("x")), ("aunt", StoreError("x")), ("aunt", TimeoutError("x"))],
)
def test_what_is_the_narrators_or_no_setting_stays_as_it_is(name: str, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, naming_voice(name):
        raise error
    assert caught.value is error
