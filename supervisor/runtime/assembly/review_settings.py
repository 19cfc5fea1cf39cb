"""From the configuration to what reviews need of it.

It is apart from the other settings, and from the configuration's model, which take longer to import than a review.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitors.contract.errors import UsageError
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
        return cls(
            review_settings(config),
            tuple(OwnRule(rule.name, rule.tool, rule.match, rule.decision, rule.reason) for rule in config.rules),
            config.plugins.wanted("reviewers"),
            config.plugins.wanted("rules"),
            config.plugins.wanted("risk"),
            _programs(config),
            _protected(config),
        )

    def protected_paths(self, places: StatePaths, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the paths that no agent may touch, as `protected_paths` does."""
        return _all_protected(self.programs, self.protected, places, environ)


def review_settings(config: "Config") -> ReviewSettings:
    """Return the reviewer's settings.

    Raises:
        UsageError: A rule, a program or a launcher cannot be used, or does not do what its examples say.
    """
    wanted = config.reviewer
    try:
        own = knowledge_from(wanted.model_dump(include={"words", "rules", "programs", "launchers"}), "reviewer")
        check(own, "reviewer")
    except RuleError as error:
        raise UsageError(f"{error}; nothing was started.", way_out="Mend it, or take it out.") from None
    return ReviewSettings(
        rules=own.rules,
        programs=own.programs,
        launchers=own.launchers,
        threshold=wanted.risk_threshold,
        scored=wanted.enabled,
        sensitivity=config.patterns.sensitivity,
        profile="container" if config.sandbox.profile == "container" else "standard",
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
    own = (places.state, places.runtime, config_home(environ) / "chaperon")
    given = (*map(str, own), *more)
    led_to = [path for path in map(os.path.realpath, programs) if not path.startswith("/usr/")]
    return tuple(dict.fromkeys((*given, *map(os.path.realpath, given), *programs, *led_to)))
