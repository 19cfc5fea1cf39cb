"""From the configuration, which is what a user writes, to the settings that the pure parts take."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

from checkpoints.choose import SafeCriteria
from checkpoints.retention import RetentionPolicy
from interventions.approval import ApprovalSettings
from interventions.ladders import LADDERS
from interventions.settings import InterventionSettings
from interventions.texts import fields as texts
from monitors.contract.errors import UsageError
from monitors.contract.words import Severity
from monitors.detectors import DetectorSettings, pattern_names
from supervisor.config.environment import agent_environment, without_keys
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths, config_home, data_home, home
from supervisor.config.sections.embedded import settings_from
from supervisor.config.yaml_tree import YamlError, parse
from supervisor.core.decisions.decide import SessionSettings
from supervisor.core.decisions.restart import RetrySettings
from supervisor.core.decisions.stop_sequence import StopSequence
from supervisor.core.fold.life.checkpoints import CaptureRules
from supervisor.core.registers.costs import DayLimits
from supervisor.core.settings import (
    DiscoverySettings,
    LimitSettings,
    MergeSettings,
    TaskSettings,
    VerifySettings,
)
from supervisor.protocol.claude.prices import Price
from supervisor.runtime.assembly.review_settings import protected_paths
from supervisor.runtime.checkpointing.worktrees import WorktreeRules
from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.account import account_of, has_gateway
from supervisor.runtime.gateway.credential import Credential, CredentialError, custom_headers, source_of
from supervisor.runtime.gateway.messages import CredentialSource, GatewaySettings
from supervisor.runtime.gateway.outbound import outbound_of
from supervisor.runtime.incidents.notifications import ByApprise, ByDesktop, ByJournal, ChannelSettings, Send
from supervisor.runtime.merging.merge_rules import MergeRules
from supervisor.runtime.sandbox.sandboxes import Sandboxes

MODEL_URL = "https://api.anthropic.com"
"""Base URL of the model, if the environment names none."""


def own_prices(config: Config) -> dict[str, Price]:
    """Return the user's own prices of models."""
    return {each.model: Price(**each.model_dump(exclude={"model"})) for each in config.resources.prices}


def session_settings(config: Config, places: StatePaths, environ: Mapping[str, str]) -> SessionSettings:
    """Return the settings of a session."""
    stop = {**config.stop.model_dump(), "hard_stop": config.interventions.hard_stop}
    return SessionSettings(
        stop_sequence=settings_from(StopSequence, stop),
        home=str(home(environ)),
        protected=protected_paths(config, places, environ),
        asynchronous=config.reviewer.review_mode == "async",
        approval=settings_from(ApprovalSettings, config.approval.model_dump()),
        limits=settings_from(LimitSettings, config.resources.model_dump()),
        prices=own_prices(config),
        captures=capture_rules(config),
        retries=RetrySettings(config.interventions.max_retries),
    )


def capture_rules(config: Config) -> CaptureRules:
    """When checkpoints are made by themselves, and which are worth going back to."""
    rollback = config.interventions.checkpoint_rollback
    safe = {**rollback.model_dump(), **rollback.safe_checkpoint_criteria.model_dump()}
    return CaptureRules(
        enabled=config.checkpoints.enabled,
        safe=settings_from(SafeCriteria, safe),
        serves_seconds=rollback.checkpoint_retention_minutes * 60.0,
        before_unattended=config.checkpoints.before_autopilot,
        spacing_seconds=config.checkpoints.spacing_seconds,
    )


def task_settings(config: Config) -> TaskSettings:
    """Return the settings of stored tasks."""
    return settings_from(TaskSettings, config.tasks.model_dump())


def day_limits(config: Config) -> DayLimits:
    """Return the budgets of a day."""
    given = config.resources
    return DayLimits(
        given.max_cost_per_day_usd,
        given.max_tokens_per_day,
        given.max_account_cost_per_day_usd,
        given.max_account_tokens_per_day,
    )


def retention(config: Config) -> RetentionPolicy:
    """Return the rules for keeping checkpoints."""
    kept = config.checkpoints
    return RetentionPolicy(
        max_count=kept.max_count,
        max_age_days=kept.max_age_days,
        checkpoint_retention_minutes=config.interventions.checkpoint_rollback.checkpoint_retention_minutes,
        quota_bytes=kept.quota_mb * 2**20,
    )


def worktree_rules(config: Config, places: StatePaths, environ: Mapping[str, str]) -> WorktreeRules:
    """Return the rules for the workspaces of agents.

    Their folder is not below the state directory, which no agent may touch. Each daemon has its own, since a workspace
    without an agent of the daemon is removed.
    """
    wanted = config.workspaces
    folder = Path(wanted.folder) if wanted.folder else data_home(environ) / "chaperon" / "workspaces"
    return WorktreeRules(
        folder / sha256(os.fsencode(places.state)).hexdigest()[:8],
        wanted.set_up,
        wanted.set_up_seconds,
        wanted.at_end,
        remove_stopped=config.interventions.emergency_stop.auto_cleanup,
        environment=without_keys(agent_environment(environ, config.agent.environment), config.agent.environment),
    )


def sandboxes(config: Config, places: StatePaths, environ: Mapping[str, str]) -> Sandboxes:
    """Return the maker of agents' sandboxes."""
    own = places.chaperons, places.runtime, config_home(environ) / "chaperon", Path("/etc/chaperon")
    workspaces = worktree_rules(config, places, environ).folder
    return Sandboxes(
        config.agent.sandbox,
        config.sandbox,
        home(environ),
        own,
        environ,
        workspaces,
        config.agent.max_processes,
        in_tmp=places.runtime if places.shared_tmp else None,
    )


def discovery_settings(config: Config) -> DiscoverySettings:
    """Return the settings of facts that agents note for one another."""
    return settings_from(DiscoverySettings, config.discoveries.model_dump())


def merge_rules(config: Config, places: StatePaths, environ: Mapping[str, str]) -> MergeRules:
    """Return the rules for checks and merges. Merged files are checked beside the workspaces of agents."""
    worktrees = worktree_rules(config, places, environ)
    return MergeRules(
        merge=settings_from(MergeSettings, config.merge.model_dump()),
        verify=settings_from(VerifySettings, config.verify.model_dump()),
        projects=config.verify.projects,
        folder=worktrees.folder.with_name(f"{worktrees.folder.name}-merging"),
        notes=places.state / "verifying",
        set_up=worktrees.set_up,
        set_up_seconds=worktrees.set_up_seconds,
        environment=worktrees.environment,
    )


def gateway_settings(config: Config, environ: Mapping[str, str], *, last: bool) -> GatewaySettings:
    """Return what the gateway works by. An emptied credential is taken from agents that are still behind it.

    Raises:
        CredentialError: There is no credential.
    """
    environment = agent_environment(environ, config.agent.environment)
    try:
        source = source_of(config.agent.credential, environment, environ.get("CREDENTIALS_DIRECTORY", ""))
    except CredentialError:
        if has_gateway(config.agent, environ):
            raise
        source = CredentialSource("none")
    return GatewaySettings(
        upstream=environment.get("ANTHROPIC_BASE_URL") or MODEL_URL,
        credential=source,
        account=account_of(config.agent, environ),
        others=len(config.agent.credentials) > 1,
        headers=custom_headers(environment),
        hosts=config.sandbox.hosts if config.sandbox.profile == "closed" else (),
        git_remotes=config.sandbox.git_remotes if config.agent.sandbox != "none" else (),
        ends_with_daemon=last,
        outbound=outbound_of(environment),
    )


def check_credential(config: Config, environ: Mapping[str, str], clock: Clock) -> None:
    """Look whether the credential that agents are to be paid by can be had. Blocks.

    Raises:
        CredentialError: It cannot.
    """
    if has_gateway(config.agent, environ):
        Credential(gateway_settings(config, environ, last=False).credential, clock).check()


def off_limits(places: StatePaths, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the paths that no workspace may be or hold, each as given and with its target, with a reason. Blocks.

    They are the user's home directory, and chaperon's own paths.
    """
    given = {
        str(home(environ)): "your home directory",
        str(places.chaperons): "chaperon's own state",
        str(places.runtime): "chaperon's own socket",
        str(config_home(environ) / "chaperon"): "chaperon's own configuration",
        "/etc/chaperon": "chaperon's own configuration",
    }
    return {each: what for path, what in given.items() for each in (path, os.path.realpath(path))}


def channels(config: Config) -> list[ChannelSettings]:
    """Return the notification channels; the stop's own get every stop."""
    told_of_stops = config.interventions.emergency_stop.notification_channels
    return [
        ChannelSettings(
            name=each.name,
            send=_by(each.url),
            min_severity=Severity(each.min_severity),
            stops=each.name in told_of_stops,
            approvals=each.approvals,
            group_seconds=each.group_seconds,
            ends=each.ends,
            digest_seconds=each.digest_seconds,
            panel=config.notify.panel,
        )
        for each in config.notify.channels
    ]


def _by(url: str) -> Send:
    if url.startswith("journal:"):
        return ByJournal()
    return ByDesktop() if url.startswith("desktop:") else ByApprise(url)


def controller_settings(config: Config) -> InterventionSettings:
    """Return the settings of the controller of interventions: the section's keys are its fields.

    Raises:
        UsageError: The file of custom prompts cannot be read, or its texts cannot be used.
    """
    wanted = config.interventions
    path, prompts = wanted.soft_correction.custom_prompts_path, dict[str, tuple[str, ...]]()
    if path is not None:
        types = None if config.plugins.detectors else (*LADDERS, *pattern_names(detector_settings(config)))
        prompts = custom_prompts(path, types)
    return settings_from(InterventionSettings, {**wanted.model_dump(), "custom_prompts": prompts})


def custom_prompts(path: str, types: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """The user's texts by issue type, checked.

    Args:
        path: The file.
        types: The issue types that there are; None if detectors of plugins may raise others.

    Raises:
        UsageError: The file cannot be read, is no YAML, or a text in it cannot be used.
    """
    try:
        document = parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YamlError) as error:
        raise UsageError(
            f"The custom prompts in {path} cannot be read ({error}); nothing was started.",
            way_out="Mend the file, or take interventions.kinds.soft_correction.custom_prompts_path out of the configuration.",
        ) from None

    def place(key: object) -> str:
        line, column = document.place((str(key),))
        return f"{path}:{line}:{column}: "

    return texts.load(document.value, types, place)


def detector_settings(config: Config) -> DetectorSettings:
    """Return the settings of the detectors.

    Raises:
        UsageError: A pattern is enabled that does not exist.
    """
    wanted = config.patterns
    own = wanted.model_dump(exclude={"enabled_patterns", "custom_patterns"})
    own["no_progress"]["progress"] = config.progress.model_dump()
    own["custom"] = [each.model_dump() for each in wanted.custom_patterns]
    settings = settings_from(DetectorSettings, own)
    return settings if "all" in wanted.enabled_patterns else _only(settings, wanted.enabled_patterns)


def _only(settings: DetectorSettings, enabled: tuple[str, ...]) -> DetectorSettings:
    """The same with every other pattern switched off."""
    names = pattern_names(settings)
    for name in enabled:
        if name not in names:
            near = get_close_matches(name, names, 1)
            raise UsageError(
                f"patterns.enabled_patterns names {name!r}, which there is none of; nothing was started.",
                way_out=f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names)}.",
            )
    custom = tuple(each for each in settings.custom if each.name in enabled)
    unwanted = set(pattern_names(replace(settings, custom=()))) - set(enabled)
    off: dict[str, Any] = {name: replace(getattr(settings, name), enabled=False) for name in unwanted}
    return replace(settings, custom=custom, **off)
