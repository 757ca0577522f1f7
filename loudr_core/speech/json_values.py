"""Reading JSON objects from foreign files: every value is checked, and every fault names its key.

A manifest, a voice's header and an export record are JSON that somebody else wrote. A `Section`
is one object of such a file; its methods return a key's value in the wanted type or raise a
`BundleError` that says which file, which key, what was found and what belongs there.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from loudr_core.errors import BundleError

__all__ = ["Section", "parse_object", "shown"]

_SHOWN_CHARACTERS = 40


def parse_object(text: bytes | str, *, what: str, path: Path | None) -> dict[str, object]:
    """Return a JSON object.

    Parameters
    ----------
    text : bytes or str
        UTF-8 when bytes.
    what : str
        What the text is, for the error: `manifest`, `voice header`.
    path : Path, optional
        The file it came from, for the error.

    Raises
    ------
    BundleError
        It is not JSON, is nested too deep to be read, or is not an object.
    """
    place = f"{path}: " if path is not None else ""
    try:
        # Decoded here: json would guess UTF-16 and leave a byte order mark out.
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise BundleError(
            f"{place}the {what} is not JSON ({reason}): copy the file again", path=str(path or "")
        ) from None
    if not isinstance(value, dict):
        raise BundleError(
            f"{place}the {what} must be a JSON object, found {shown(value)}", path=str(path or "")
        )
    return value


def shown(value: object) -> str:
    """Return a value as an error shows it: short, and never the inside of a list or object."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float() | str():
            text = repr(value) if not isinstance(value, int) else _integer(value)
            return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
        case list() | tuple():
            return f"a list of {len(value)}"
        case Mapping():
            return "an object"
    return f"a {type(value).__name__}"


def _integer(value: int) -> str:
    # Python refuses to spell integers of thousands of digits.
    return str(value) if abs(value).bit_length() < 4096 else f"an integer of {value.bit_length()} b"


class Section:
    """One JSON object of a file, and where it stands in there.

    Parameters
    ----------
    values : Mapping
        The object.
    path : Path, optional
        The file, for errors.
    at : str
        The key of the object inside the file, such as `sampling_defaults`; empty at the top.
    what : str
        What the file's text is: `manifest`.
    """

    def __init__(
        self,
        values: Mapping[str, object],
        *,
        path: Path | None = None,
        at: str = "",
        what: str = "manifest",
    ) -> None:
        self._values = values
        self._path = path
        self._at = at
        self._what = what

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def fault(self, key: str, problem: str) -> BundleError:
        """Return the error of a key: `PATH: manifest key 'a.b' PROBLEM`."""
        full = f"{self._at}.{key}" if self._at and key else self._at or key
        place = f"{self._path}: " if self._path is not None else ""
        return BundleError(
            f"{place}{self._what} key {full!r} {problem}", path=str(self._path or ""), key=full
        )

    def get(self, key: str) -> object:
        """Return a value of any type, or None when the key is absent."""
        return self._values.get(key)

    def section(self, key: str) -> "Section":
        """Return the object below a key; an empty one when the key is absent."""
        value = self._values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.fault(key, f"must be an object, found {shown(value)}")
        at = f"{self._at}.{key}" if self._at else key
        return Section(value, path=self._path, at=at, what=self._what)

    def number(self, key: str, default: float) -> float:
        """Return a number, as float; booleans and strings are not numbers."""
        return self._number(key, self._values.get(key, default))

    def whole(self, key: str, default: int) -> int:
        """Return a whole number; 2.0 is one."""
        return self._whole(key, self._values.get(key, default))

    def whole_or_null(self, key: str, default: int | None = None) -> int | None:
        """Return a whole number or None."""
        value = self._values.get(key, default)
        return None if value is None else self._whole(key, value)

    def text(self, key: str, default: str) -> str:
        """Return a string."""
        value = self._values.get(key, default)
        if not isinstance(value, str):
            raise self.fault(key, f"must be a string, found {shown(value)}")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of a closed set of strings."""
        value = self._values.get(key, default)
        if not isinstance(value, str) or value not in choices:
            wanted = " or ".join(repr(each) for each in choices)
            raise self.fault(key, f"must be {wanted}, found {shown(value)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return a JSON true or false."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.fault(key, f"must be true or false, found {shown(value)}")
        return value

    def wholes(self, key: str) -> tuple[int, ...]:
        """Return a list of whole numbers, in the file's order; empty when the key is absent."""
        values = self._list(key, self._values.get(key, []))
        places = [f"{key}[{index}]" for index in range(len(values))]
        # The reference reads the numbers of a list as floats, which shows beyond 2^53.
        numbers = [self._number(*each) for each in zip(places, values, strict=True)]
        return tuple(self._whole(*each) for each in zip(places, numbers, strict=True))

    def numbers_or_null(self, key: str) -> tuple[float, ...] | None:
        """Return a list of numbers, or None when the key is null or absent."""
        value = self._values.get(key)
        if value is None:
            return None
        return tuple(
            self._number(f"{key}[{index}]", each)
            for index, each in enumerate(self._list(key, value))
        )

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return a list of strings, in the file's order."""
        if key not in self._values:
            return default
        values = self._list(key, self._values[key])
        for index, each in enumerate(values):
            if not isinstance(each, str):
                raise self.fault(f"{key}[{index}]", f"must be a string, found {shown(each)}")
        return tuple(str(each) for each in values)

    def _list(self, key: str, value: object) -> list[object]:
        if not isinstance(value, list | tuple):
            raise self.fault(key, f"must be a list, found {shown(value)}")
        return list(value)

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(key, f"must be a number, found {shown(value)}")
        try:
            return float(value)
        except OverflowError:
            raise self.fault(key, f"is too large: {shown(value)}") from None

    def _whole(self, key: str, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        number = self._number(key, value)
        if not number.is_integer():
            raise self.fault(key, f"must be a whole number, found {shown(value)}")
        return int(number)
