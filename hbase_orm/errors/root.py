"""The root of the errors: static text, details as attributes, and the remedy in `fix`."""

from __future__ import annotations

from typing import Any, Final

_SHOWN_CHARACTERS: Final = 500


def cut(text: str) -> str:
    """Return a text for display; a long text is cut, and its length is appended."""
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}… {len(text)} characters in all"


def shown(value: Any) -> str:
    """Return the `repr` of a value, cut if it is long; never raise, whatever the value is."""
    if isinstance(value, (bytes, bytearray, str)) and len(value) > _SHOWN_CHARACTERS:
        unit = "characters" if isinstance(value, str) else "bytes"
        beginning = _shown_plainly(value[:_SHOWN_CHARACTERS])[:_SHOWN_CHARACTERS]
        return f"{beginning}… {len(value)} {unit} in all"
    return cut(_shown_plainly(value))


def _shown_plainly(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - deep nesting, long numbers, a class's own mistakes
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


class HBaseORMError(Exception):
    """The root of all errors of this library.

    Attributes:
        text: What is wrong; the same text for every occurrence.
        fix: What the caller can do about the error; empty if there is no general remedy.
        details: The details of this occurrence, by name. Each detail is also an attribute of the
            error.
    """

    text: str
    fix: str
    details: dict[str, Any]

    def __init__(self, text: str, /, *, fix: str = "", **details: Any) -> None:
        """Store the static `text`, the `fix` and the `details` of this occurrence."""
        super().__init__(text)
        self.text = text
        self.fix = fix
        self.details = details

    def __getattr__(self, name: str) -> Any:
        """Return the detail called `name`."""
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        message = f"{type(self).__name__!r} has no attribute or detail {name!r}"
        raise AttributeError(message)

    def __str__(self) -> str:
        """Return one line: the text, the details in brackets, and the fix; long details are cut."""
        details = " ".join(f"{name}={shown(value)}" for name, value in self.details.items())
        parts = [self.text]
        if details:
            parts.append(f" [{details}]")
        if self.fix:
            parts.append(f"; {self.fix}")
        return "".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with text, fix and details, so that worker processes can raise it."""
        return _rebuild, (type(self), self.text, self.fix, self.details)


def _rebuild(
    kind: type[HBaseORMError], text: str, fix: str, details: dict[str, Any]
) -> HBaseORMError:
    return kind(text, fix=fix, **details)
