"""Policies that counted once, kept under their digest, so that a replay reviews as the run did.

The keys are kept. Of texts and plugins only the digests are: a replay uses those of today, and says which have changed.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from host.durable import replace_file
from supervisor.config.model import Config
from supervisor.runtime.assembly.policy import NO_PART, digest_of, parts_of
from supervisor.runtime.log import log

_DIGEST = re.compile(r"[0-9a-f]{16}")
"""How digests look: one of a journal names a file."""


@dataclass(frozen=True, slots=True)
class KeptPolicy:
    """A policy as it was."""

    config: Config
    """Its keys, with today's for what only a daemon's start takes."""
    changed: tuple[str, ...]
    """Texts and plugins that are others today, or gone."""


def keep_policy(folder: Path, config: Config) -> None:
    """Keep a policy. Blocks; what fails is logged, since reviews do not need it.

    Args:
        folder: Where policies are kept.
        config: Its configuration.
    """
    try:
        path = folder / f"{digest_of(config)}.json"
        if path.exists():
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        keys, files = parts_of(config)
        replace_file(path, orjson.dumps({"keys": keys, "files": files}, option=orjson.OPT_SORT_KEYS) + b"\n")
    except OSError as error:
        log.warning("the policy could not be kept for replays (%s)", error)


def kept_policy(folder: Path, digest: str, today: Config) -> KeptPolicy | None:
    """Return the policy of a digest; None if it was not kept, or this version cannot read it. Blocks."""
    if _DIGEST.fullmatch(digest) is None:
        return None
    try:
        kept = orjson.loads((folder / f"{digest}.json").read_bytes())
        keys, files = kept["keys"], kept["files"]
        now = today.model_dump(mode="json", by_alias=True)
        for path in NO_PART:
            *sections, key = path.split(".")
            there, here = keys, now
            for section in sections:
                there = there.setdefault(section, {}) if section == "agent" else there[section]  # older ones lack it
                here = here[section]
            there[key] = here[key]
        config = Config.model_validate(keys)
        _, files_now = parts_of(config)
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return None
    return KeptPolicy(config, tuple(name for name, is_ in files.items() if files_now.get(name) != is_))
