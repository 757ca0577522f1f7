"""Language tags of requests, as far as engines read them."""

__all__ = ["primary_subtag"]


def primary_subtag(tag: str) -> str:
    """Return the language of a BCP 47 tag, lower case, without script, region and the rest.

    An underscore separates as a hyphen does: locales are written so.
    """
    return tag.replace("_", "-").partition("-")[0].lower()
