"""Keys that are accepted and checked, and that nothing reads yet: a file that has them works on, and is told so."""

from supervisor.config.model import Config

UNREAD = {"hooks": None, "audit": frozenset({"retain_days", "export_format"})}
"""By section; None stands for all keys of it."""


def unread(config: Config) -> tuple[str, ...]:
    """The keys that somebody has set and that do nothing yet. Example: `audit.retain_days`."""
    return tuple(
        f"{section}.{type(part).model_fields[name].alias or name}"
        for section, names in UNREAD.items()
        for part in (getattr(config, section),)
        for name in sorted(part.model_fields_set)
        if names is None or name in names
    )
