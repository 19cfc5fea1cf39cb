"""How counts, times, sizes and money are written for people, in every view and sentence."""

MINUTE, HOUR, DAY = 60, 3_600, 86_400

MICRO, MILLI = 1e-6, 1e-3


def counted(number: float, thing: str, things: str = "") -> str:
    """A count with the right form of the word. Examples: `1 path`, `2,000 paths`, `0 entries`."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def duration(seconds: float) -> str:
    """Return a duration in its two leading units. Examples: `0.3 ms`, `89 ms`, `4.2 s`, `5 min 10 s`, `3 d 4 h`."""
    if seconds < 1:
        return f"{seconds / MILLI:.1f} ms" if seconds < 10 * MILLI else f"{seconds / MILLI:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    for unit, name, part, of in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", 1, "s")):
        if seconds >= unit:
            whole, rest = divmod(int(seconds), unit)
            return f"{whole} {name} {rest // part} {of}" if rest // part else f"{whole} {name}"
    return f"{seconds:.1f} s"


def size(number: float) -> str:
    """An amount of bytes. Examples: `12 B`, `4.2 KiB`, `30 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def dollars(amount: float) -> str:
    """An amount of US dollars. Examples: `$0.016`, `$0.52`, `$1,234.50`."""
    return f"${amount:,.3f}" if 0 < amount < 0.1 else f"${amount:,.2f}"
