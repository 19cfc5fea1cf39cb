"""From the configuration to the reviewer's settings.

They are apart from the other settings, which take longer to import than a review.
"""

import os
from collections.abc import Mapping

from monitors.contract.errors import UsageError
from monitors.review import ReviewSettings
from monitors.review.catalogue import check
from monitors.review.rules.definitions import RuleError, knowledge_from
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths, config_home


def review_settings(config: Config) -> ReviewSettings:
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


def protected_paths(config: Config, places: StatePaths, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths that no agent may touch.

    They are chaperon's own, the user's programs that it runs, and the configured ones.

    Chaperon's own are state, socket and configuration. Each is listed as given and, if it is a link, with its target:
    an agent may use either path. A program that is a link into /usr is listed as given only, since its target may be
    the shell or busybox. Blocks.
    """
    own = (places.state, places.runtime, config_home(environ) / "chaperon")
    programs = (*config.hooks.programs().values(), *filter(None, [config.workspaces.set_up]))
    given = (*map(str, own), *config.plugins.files(), *config.protected_paths)
    led_to = [path for path in map(os.path.realpath, programs) if not path.startswith("/usr/")]
    return tuple(dict.fromkeys((*given, *map(os.path.realpath, given), *programs, *led_to)))
