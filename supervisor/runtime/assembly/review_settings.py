"""From the configuration to what reviews need of it.

It is apart from the other settings, and from the configuration's model, which take longer to import than a review.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from monitors.contract.errors import UsageError
from monitors.contract.words import Decision, Sensitivity
from monitors.review import ReviewSettings
from monitors.review.catalogue import check
from monitors.review.rules.definitions import RuleError, knowledge_from
from monitors.review.user_rules import OwnRule
from supervisor.config.paths import StatePaths, config_home

if TYPE_CHECKING:
    from supervisor.config.model import Config


@dataclass(frozen=True, slots=True)
class ReviewerSetup:
    """The part of a configuration that reviews need; the defaults are those of one that says nothing."""

    settings: ReviewSettings = field(default_factory=ReviewSettings)
    own_rules: tuple[OwnRule, ...] = ()
    """Those of the section `rules`."""
    reviewers: tuple[str, ...] = ()
    """Plugins that review, by the name or path of each."""
    rules: tuple[str, ...] = ()
    """Plugins that bring rules."""
    risk: tuple[str, ...] = ()
    """The plugin that weighs risk, if there is one."""
    programs: tuple[str, ...] = ()
    """Programs of the user's that chaperon runs."""
    protected: tuple[str, ...] = ()
    """Further paths that no agent may touch."""

    @classmethod
    def of(cls, config: "Config") -> "ReviewerSetup":
        """Return that of a configuration; raises like `review_settings`."""
        return cls.from_plain(plain_part(config))

    @classmethod
    def from_plain(cls, part: Mapping[str, Any]) -> "ReviewerSetup":
        """Return what `plain_part` said.

        Raises:
            UsageError: A rule, a program or a launcher cannot be used, or does not do what its examples say.
            KeyError, TypeError, ValueError: It is no such part.
        """
        return cls(
            _settings(part),
            tuple(OwnRule(**{**rule, "decision": Decision(rule["decision"])}) for rule in part["own_rules"]),
            *(tuple(part[name]) for name in ("reviewers", "rules", "risk", "programs", "protected")),
        )

    def protected_paths(self, places: StatePaths, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the paths that no agent may touch, as `protected_paths` does."""
        return _all_protected(self.programs, self.protected, places, environ)


def plain_part(config: "Config") -> dict[str, Any]:
    """Return the part of a configuration that reviews need, as values of JSON; it holds nothing secret."""
    wanted, plugins = config.reviewer, config.plugins
    return {
        "knowledge": wanted.model_dump(mode="json", include={"words", "rules", "programs", "launchers"}),
        "threshold": wanted.risk_threshold,
        "scored": wanted.enabled,
        "sensitivity": str(config.patterns.sensitivity),
        "profile": "container" if config.sandbox.profile == "container" else "standard",
        "own_rules": [rule.model_dump(mode="json") for rule in config.rules],
        **{kind: plugins.wanted(kind) for kind in ("reviewers", "rules", "risk")},
        "programs": _programs(config),
        "protected": _protected(config),
    }


def review_settings(config: "Config") -> ReviewSettings:
    """Return the reviewer's settings.

    Raises:
        UsageError: A rule, a program or a launcher cannot be used, or does not do what its examples say.
    """
    return _settings(plain_part(config))


def _settings(part: Mapping[str, Any]) -> ReviewSettings:
    try:
        own = knowledge_from(part["knowledge"], "reviewer")
        check(own, "reviewer")
    except RuleError as error:
        raise UsageError(f"{error}; nothing was started.", way_out="Mend it, or take it out.") from None
    return ReviewSettings(
        rules=own.rules,
        programs=own.programs,
        launchers=own.launchers,
        threshold=part["threshold"],
        scored=part["scored"],
        sensitivity=Sensitivity(part["sensitivity"]),
        profile=part["profile"],
    )


def protected_paths(config: "Config", places: StatePaths, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths that no agent may touch.

    They are chaperon's own, the user's programs that it runs, and the configured ones.

    Chaperon's own are state, socket and configuration. Each is listed as given and, if it is a link, with its target:
    an agent may use either path. A program that is a link into /usr is listed as given only, since its target may be
    the shell or busybox. Blocks.
    """
    return _all_protected(_programs(config), _protected(config), places, environ)


def _programs(config: "Config") -> tuple[str, ...]:
    return (*config.hooks.programs().values(), *filter(None, [config.workspaces.set_up]))


def _protected(config: "Config") -> tuple[str, ...]:
    return (*config.plugins.files(), *config.protected_paths)


def _all_protected(
    programs: Iterable[str], more: Iterable[str], places: StatePaths, environ: Mapping[str, str]
) -> tuple[str, ...]:
    own = (places.chaperons, places.runtime, config_home(environ) / "chaperon")
    given = (*map(str, own), *more)
    led_to = [path for path in map(os.path.realpath, programs) if not path.startswith("/usr/")]
    return tuple(dict.fromkeys((*given, *map(os.path.realpath, given), *programs, *led_to)))
