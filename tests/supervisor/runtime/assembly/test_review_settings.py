from pathlib import Path

import orjson
import pytest

from monitors.contract.errors import UsageError
from monitors.contract.words import Decision
from monitors.review import ReviewSettings
from monitors.review.user_rules import OwnRule
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.runtime.assembly.review_settings import ReviewerSetup, plain_part, protected_paths, review_settings

PLACES = StatePaths(Path("/var/lib/chaperon"), Path("/run/chaperon"))


def config(**changes: object) -> Config:
    return Config.model_validate(changes)


def test_what_nobody_configures_is_what_the_reviewer_does_by_itself() -> None:
    assert review_settings(config()) == ReviewSettings()
    assert ReviewerSetup.of(config()) == ReviewerSetup()


def test_what_reviews_need_of_a_configuration_is_taken_from_it() -> None:
    rule = {"name": "own", "tool": "Bash", "match": "x", "decision": "warn", "reason": "so"}
    plugins = {"reviewers": ["a"], "rules": ["b"], "risk": "c"}
    setup = ReviewerSetup.of(
        config(
            rules=[rule],
            plugins=plugins,
            hooks={"on-error": "/h"},
            protected_paths=["/srv"],
            reviewer={"risk_threshold": 0.25},
        )
    )
    assert setup.own_rules == (OwnRule("own", "Bash", "x", Decision.WARN, "so"),)
    assert (setup.reviewers, setup.rules, setup.risk) == (("a",), ("b",), ("c",))
    assert (setup.programs, setup.protected, setup.settings.threshold) == (("/h",), ("/srv",), 0.25)


def test_what_is_kept_of_a_configuration_as_json_says_the_same() -> None:
    known = {
        "words": {"mine": "apply|destroy"},
        "rules": [{"name": "own.apply", "match": ["terraform <mine>"], "why": "changes production", "risk": "harm"}],
        "programs": [{"names": "lookup search", "reads": "*", "yes": "lookup x"}],
        "launchers": [{"command": "again", "skip": 1}],
    }
    rules = [{"name": "own", "match": "x", "decision": "block", "reason": "so"}]
    plugins = {"reviewers": ["a"], "rules": ["b", "c"], "risk": "d"}
    whole = config(
        reviewer={**known, "risk_threshold": 0.25, "enabled": False},
        rules=rules,
        plugins=plugins,
        patterns={"sensitivity": "high"},
        sandbox={"profile": "container"},
        hooks={"on-error": "/h"},
        protected_paths=["/srv"],
    )
    kept = orjson.loads(orjson.dumps(plain_part(whole)))
    assert ReviewerSetup.from_plain(kept) == ReviewerSetup.of(whole)
    assert ReviewerSetup.of(whole) != ReviewerSetup()


def test_chaperons_own_places_and_the_users_are_protected() -> None:
    found = protected_paths(config(protected_paths=("/srv/precious",)), PLACES, {"HOME": "/home/ann"})
    assert set(found) == {"/var/lib/chaperon", "/run/chaperon", "/home/ann/.config/chaperon", "/srv/precious"}


def test_what_is_protected_is_named_by_where_its_links_lead_too(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    found = protected_paths(config(protected_paths=(f"{tmp_path}/link/precious",)), PLACES, {"HOME": "/home/ann"})
    assert {f"{tmp_path}/link/precious", f"{tmp_path}/disk/precious"} <= set(found)


def test_a_program_that_leads_to_the_systems_own_does_not_take_that_from_agents(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    for name, to in {"mine.link": tmp_path / "mine", "shell.link": Path("/usr/bin/env")}.items():
        (tmp_path / name).symlink_to(to)
    hooks = {"post-complete": f"{tmp_path}/mine.link", "on-error": f"{tmp_path}/shell.link"}
    found = set(protected_paths(config(hooks=hooks), PLACES, {"HOME": "/home/ann"}))
    assert {*hooks.values(), f"{tmp_path}/mine"} <= found
    assert not any(path.startswith("/usr/") for path in found)


def test_the_reviewer_is_as_strict_as_configured() -> None:
    assert review_settings(config(reviewer={"risk_threshold": 0.25})).threshold == 0.25


KNOWN = {
    "name": "own.deploy",
    "match": ["deploy prod"],
    "why": "changes what customers use",
    "yes": ["sudo deploy prod"],
}


def test_rules_in_the_language_of_the_knowledge_join_it() -> None:
    settings = review_settings(config(reviewer={"rules": [{**KNOWN, "risk": "care"}]}))
    assert [(rule.name, rule.risk) for rule in settings.rules] == [("own.deploy", 0.55)]


def test_a_rule_that_does_not_do_what_its_examples_say_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"reviewer\.rules\[0\]: rule `own.deploy` matches its own example `deploy prod`"
    ):
        review_settings(config(reviewer={"rules": [{**KNOWN, "no": ["deploy prod"]}]}))
