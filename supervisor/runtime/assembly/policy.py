"""The policy: the configuration's part in reviews and sessions, made ready.

A policy is made whole, with its texts and plugins, before anything is changed. It makes the sessions of new tasks.
It is given to sessions that run, between two events, so that their next review is by the new policy. Their detectors
stay, since these remember the run.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
from pydantic import TypeAdapter

from interventions.approval import ApprovalSettings
from interventions.choice.controller import Controller
from interventions.choice.strategies import strategy_of
from interventions.effectiveness import EffectRecord
from monitors.contract.actions import ReviewContext, Reviewer
from monitors.contract.tasks import Task
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.core.decisions.decide import AgentSurroundings, SessionSettings
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.runtime.assembly.detectors import MakeDetectors
from supervisor.runtime.assembly.interventions import PluginInterventions
from supervisor.runtime.assembly.review_settings import ReviewerSetup
from supervisor.runtime.assembly.reviewer import make_gate_reviewer, own_rule_names
from supervisor.runtime.assembly.settings import controller_settings, session_settings
from supervisor.runtime.assembly.workspace_facts import Lookups
from supervisor.runtime.clock import Clock

APPROVAL = TypeAdapter(ApprovalSettings)

AT_THE_START = (
    "agent.command", "agent.arguments", "agent.environment", "agent.permission_mode", "agent.own_config_dir",
    "agent.settings_hooks", "agent.settings_servers", "agent.settings_environment", "agent.cgroups",
    "agent.max_processes", "agent.launcher", "agent.sandbox", "audit", "checkpoints", "hooks", "metrics", "notify", "socket", "workspaces",
    "interventions.checkpoint_rollback.checkpoint_retention_minutes",
    "interventions.checkpoint_rollback.safe_checkpoint_criteria",
    "interventions.emergency_stop.auto_cleanup",
    "interventions.emergency_stop.notification_channels",
    "interventions.emergency_stop.preserve_incident_data_days",
    "sandbox.profile", "sandbox.read", "sandbox.write", "sandbox.commands_apart", "sandbox.git_remotes",
    "sandbox.memory_mb", "patterns.judge", "patterns.learning", "plugins.exporters",
)  # fmt: skip
"""Keys, with all below them, that a daemon reads at its start alone: what they are for is opened or begun there."""

NO_PART = tuple(key for key in AT_THE_START if key != "sandbox.profile")
"""Keys that are no part of a policy; by the profile reviews know that the machine is thrown away."""


class Policy:
    """Reviews and sessions as one configuration wants them.

    Args:
        config: The configuration, checked.
        places: Where the daemon's files are.
        environ: The daemon's environment.
        clock: Tells the time that reviews take.
        record: What came of interventions in all runs.
        beside: Returns the workspaces of the agents beside one. It is asked for each review if the machine is thrown
            away (`sandbox.profile: container`), and else never.

    Raises:
        ChaperonError: A plugin, a rule or a text that the configuration names cannot be used.
    """

    def __init__(
        self,
        config: Config,
        places: StatePaths,
        environ: Mapping[str, str],
        clock: Clock,
        record: EffectRecord,
        beside: Callable[[str], tuple[str, ...]] | None = None,
    ) -> None:
        self.config = config
        self.digest = digest_of(config)
        """Names all that the policy is made of: keys, texts, and the code of plugins that are files."""
        reviews = ReviewerSetup.of(config)
        self._reviewer: Reviewer = make_gate_reviewer(reviews, clock, defers=True)
        self._record, self._clock = record, clock
        self._beside = beside if config.sandbox.profile == "container" else None
        about = session_settings(config, places, environ)
        self._about: SessionSettings = replace(about, own_rules=own_rule_names(reviews))
        self.nobody = ReviewContext(home=about.home, protected=about.protected)
        """The context of an action that no agent takes."""
        self._interventions = controller_settings(config)
        self._make_detectors = MakeDetectors.of(config)
        self._brought = PluginInterventions(config)
        nobody = Task("", "", "/")
        strategy_of(self._interventions.strategy, self._brought.strategy(nobody))
        Controller(self._interventions, nobody, record, self._brought.answers(nobody), self._brought.strategy(nobody))

    def make_session(self, submitted: events.TaskSubmitted, *, over: bool = False) -> Session:
        """Make the session of a task that was submitted; without detectors if its agent has ended long ago."""
        task = submitted.task
        detectors = () if over else self._make_detectors(task, submitted.workspace, submitted.factors)
        plugins, strategy = self._brought.answers(task), self._brought.strategy(task)
        controller = Controller(self._interventions, task, self._record, plugins, strategy)
        around = AgentSurroundings(
            facts=Lookups(submitted.workspace),
            recoveries=self._brought.recoveries,
            zones=self._clock.offset,
            session_id=lambda: str(uuid4()),
            others=tuple if self._beside is None else partial(self._beside, submitted.agent),
        )
        return Session(submitted, self._reviewer, detectors, controller, self._settings_of(task), around)

    def renew(self, session: Session) -> None:
        """Give this policy to a session that runs."""
        task = session.task
        plugins, strategy = self._brought.answers(task), self._brought.strategy(task)
        session.controller.renew(self._interventions, plugins, strategy)
        session.renew(self._reviewer, self._settings_of(task), self._brought.recoveries)

    def _settings_of(self, task: Task) -> SessionSettings:
        own = task.approval
        return self._about if own is None else replace(self._about, approval=_with_own(own, self._about.approval))


def _with_own(own: Mapping[str, Any], configured: ApprovalSettings) -> ApprovalSettings:
    """Return the configured rules for actions that wait, with a task's own in their place.

    What a task says of them counts: if nothing waits as configured, the smallest mode is taken in which it does.
    """
    mode = configured.mode
    if mode == "off":
        mode = "ask" if "require_approval_for" in own else "risky"
    return APPROVAL.validate_python({**asdict(configured), "mode": mode, **own})


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """How one configuration differs from another."""

    config: Config
    """The new one, with what only a start takes as it was."""
    live: tuple[str, ...]
    """Keys that changed and are taken now."""
    at_the_start: tuple[str, ...]
    """Keys that changed and are taken by the next start."""


def change(running: Config, wanted: Config) -> ConfigChange:
    """Return what of a new configuration can be taken now, and what waits for the next start."""
    before, after = running.model_dump(by_alias=True), wanted.model_dump(by_alias=True)
    differ = tuple(_differing(before, after))
    waiting = tuple(key for key in differ if any(key == one or key.startswith(f"{one}.") for one in AT_THE_START))
    for path in AT_THE_START:
        *sections, key = path.split(".")
        there, then = after, before
        for section in sections:
            there, then = there[section], then[section]
        there[key] = then[key]
    live = tuple(key for key in differ if key not in waiting)
    return ConfigChange(Config.model_validate(after), live, waiting)


def _differing(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The keys whose values differ."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys() and before:
        for key in before:
            yield from _differing(before[key], after[key], f"{path}.{key}".lstrip("."))
    elif before != after:
        yield path


def read_beside(config: Config) -> tuple[Path, ...]:
    """The files that a policy is made of beside the configuration: texts, and plugins that are files."""
    prompts = config.interventions.soft_correction.custom_prompts_path
    return tuple(map(Path, (*([prompts] if prompts else ()), *config.plugins.files())))


def parts_of(config: Config) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the keys that a policy is made of, and the digest of each file beside them. Blocks; raises `OSError`."""
    taken = config.model_dump(mode="json", by_alias=True)
    for path in NO_PART:
        *sections, key = path.split(".")
        there = taken
        for section in sections:
            there = there[section]
        del there[key]
    files = {str(path): sha256(path.read_bytes()).hexdigest() for path in read_beside(config) if path.is_file()}
    return taken, files


def digest_of(config: Config) -> str:
    """Return the digest of all that a policy is made of. Blocks.

    Raises:
        OSError: A file that is named cannot be read.
    """
    return sha256(orjson.dumps(list(parts_of(config)), option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
