"""Numbers in words: `beta=50`, `beta=1:30`, `beta=1,10,20,30`."""

from typing import Any


def _plain_number(text: str) -> float:
    """A whole number stays one: seeds and counts take nothing else."""
    return int(text) if text.strip().isdecimal() else float(text)


def _pairs(option: str, pairs: list[str], between: str, form: str) -> dict[str, list[float]]:
    """NAME=NUMBER…, with `between` the numbers, each name once."""
    from .._base import checks

    found: dict[str, list[float]] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        name = name.strip()
        try:
            values = [_plain_number(part) for part in text.split(between)]
        except ValueError:
            raise ValueError(f"{option} {pair!r:.60}: write {form}.") from None
        if name in found:
            raise ValueError(f"{option} gives `{name}` twice: leave one of them out.")
        for value in values:
            checks.number(option, name, value)
        found[name] = values
    return found


def settings(pairs: list[str]) -> dict[str, Any]:
    """`beta=50` as a number, `beta=1:30` as a range."""
    form = "NAME=NUMBER or NAME=LOW:HIGH, for example beta=50 or beta=1:30"
    found = _pairs("--set", pairs, ":", form)
    for name, values in found.items():
        if len(values) > 2:
            raise ValueError(f"--set {name} has {len(values)} numbers: write {form}.")
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in found.items()}


def swept_values(pairs: list[str]) -> dict[str, list[Any]]:
    """`beta=10,30,50` as three values, `beta=1:10,1:30` as two ranges."""
    found: dict[str, list[Any]] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        for part in text.split(","):
            for key, value in settings([f"{name}={part}"]).items():
                found.setdefault(key, []).append(value)
    return found


def values_of(pairs: list[str]) -> dict[str, tuple[float, ...]] | None:
    """`beta=1,10,20,30` as values of a parameter."""
    found = _pairs("--at", pairs, ",", "NAME=NUMBER,NUMBER,…, for example beta=1,10,20,30")
    return {name: tuple(map(float, values)) for name, values in found.items()} or None
