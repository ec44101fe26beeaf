"""Whether a format and its arguments fit, before there are values to format."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any, final

from ...util.messages import described, message


@final
class MissingArgument(KeyError):
    """A `KeyError` whose text is shown as it is written."""

    __str__ = Exception.__str__


def has_placeholders(fmt: str) -> bool:
    """Whether a format has a place for an argument; text without one is shown as it is."""
    try:
        return any([name is not None for _, name, _, _ in string.Formatter().parse(fmt)])
    except ValueError:
        return True


def check_format(where: str, fmt: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise an error unless each place of `fmt` has an argument, and each argument a place."""
    if not isinstance(fmt, str):
        raise TypeError(
            message(
                f"{where}, argument fmt",
                given=described(fmt),
                expected="a format string",
                fix=f'Write {where}("{{}}", x).',
            )
        )
    used = _UsedFields()
    try:
        used.vformat(fmt, args, kwargs)
    except IndexError:
        raise IndexError(_misfit(where, fmt, args, kwargs, "a place without argument")) from None
    except KeyError as error:
        problem = f"no argument {error.args[0]!r}"
        raise MissingArgument(_misfit(where, fmt, args, kwargs, problem)) from None
    except ValueError as error:
        raise ValueError(_misfit(where, fmt, args, kwargs, str(error))) from None
    unused = sorted((set(range(len(args))) | set(kwargs)) - used.seen, key=str)
    if unused:
        problem = f"arguments that no place uses: {unused}"
        raise ValueError(_misfit(where, fmt, args, kwargs, problem))


def _misfit(
    where: str, fmt: str, args: Sequence[Any], kwargs: Mapping[str, Any], problem: str
) -> str:
    return message(
        where,
        given=f"{fmt!r} with {len(args)} arguments and {sorted(kwargs)}; {problem}",
        expected="one argument for each place of the format",
        fix='Write "{}" or "{name}" for each argument; an f-string would print tracers.',
    )


@final
class _UsedFields(string.Formatter):
    """Records which arguments a format uses, without formatting them."""

    def __init__(self) -> None:
        self.seen: set[int | str] = set()

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first = field_name.split(".")[0].split("[")[0]
        key = int(first) if first.isdigit() else first
        value = self.get_value(key, args, kwargs)
        self.seen.add(key)
        return value, key

    def format_field(self, value: object, format_spec: str) -> str:
        return ""

    def convert_field(self, value: object, conversion: object) -> Any:
        return value
