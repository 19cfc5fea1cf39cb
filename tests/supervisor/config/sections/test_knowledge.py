"""What a user can say of programs is all that the built-in knowledge says."""

from typing import Any

import pytest
from pydantic import ValidationError

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.errors import UsageError
from monitors.contract.words import Decision
from monitors.review import ReviewSettings, make_reviewer
from monitors.review.knowledge.book import BUILT_IN
from monitors.review.rules.definitions import Knowledge
from supervisor.config.model import Config
from supervisor.runtime.assembly.review_settings import review_settings
from tests.knowledge import families


def configured(**reviewer: Any) -> ReviewSettings:
    return review_settings(Config.model_validate({"reviewer": reviewer}))


def decided(command: str, settings: ReviewSettings) -> tuple[Decision, str]:
    review = make_reviewer(settings).review(Action("Bash", {"command": command}, "/w", "/w"), ReviewContext())
    return review.decision, review.rule


def test_each_file_of_the_built_in_knowledge_is_a_configuration_of_the_same_rules_programs_and_launchers() -> None:
    proofs = "proofs"  # has no program and no rule: it says of edits what they take from tests
    read = [configured(**given) for family, given in families().items() if family != proofs]
    found = Knowledge(
        tuple(rule for each in read for rule in each.rules),
        tuple(program for each in read for program in each.programs),
        tuple(launcher for each in read for launcher in each.launchers),
    )
    assert found == BUILT_IN


def test_a_program_of_the_users_own_is_known_by_what_it_does() -> None:
    program = {"names": "frob", "reads": "list", "effect": "hosting", "details": "changes what is served", "risk": "harm", "yes": "frob list"}  # fmt: skip
    assert decided("frob delete x", ReviewSettings())[1] == "unknown.destroys"
    settings = configured(programs=[program])
    assert decided("frob delete x", settings) == (Decision.BLOCK, "program.hosting")
    assert decided("sudo frob push", settings) == (Decision.BLOCK, "program.hosting")
    assert decided("frob list", settings)[0] is Decision.ALLOW


def test_a_program_of_the_users_own_stands_in_for_the_built_in_one_and_takes_no_rule_away() -> None:
    settings = configured(programs=[{"names": "git", "reads": "*"}])
    assert decided("git push --mirror", settings) == (Decision.BLOCK, "git.push-mirror")


def test_a_launcher_of_the_users_own_is_looked_through() -> None:
    command = "with-vault prod 'if true; then rm -r /etc; fi'"  # several of plain words are seen without it
    settings = configured(
        launchers=[{"command": "with-vault", "skip": 1, "joined": True, "yes": "with-vault prod true"}]
    )
    assert decided(command, ReviewSettings())[0] is Decision.ALLOW
    assert decided(command, settings) == (Decision.BLOCK, "files.delete-top")


def test_a_rule_of_the_users_own_can_have_a_command_made_harmless() -> None:
    rule = {
        "name": "own.sync",
        "match": "sync-all run !{--dry-run}",
        "why": "changes all machines",
        "rewrite": "dry-run",
    }
    assert decided("sync-all run", configured(rules=[rule])) == (Decision.MODIFY, "own.sync")


def test_a_command_that_its_rule_matches_when_made_harmless_too_is_blocked() -> None:
    rule = {"name": "own.sync", "match": "sync-all run", "why": "changes all machines", "rewrite": "dry-run"}
    assert decided("sync-all run", configured(rules=[rule])) == (Decision.BLOCK, "own.sync")


def test_patterns_share_pieces() -> None:
    rule = {
        "name": "own.prod",
        "match": "<tools> ... <stages> !/(?P<dry>--dry)/",
        "why": "changes production",
        "yes": "frob up prod",
    }
    settings = configured(words={"tools": "frob|frobctl", "stages": "prod|production"}, rules=[rule])
    assert settings.rules[0].match == ("frob|frobctl ... prod|production !/(?P<dry>--dry)/",)
    assert decided("frobctl up production", settings) == (Decision.BLOCK, "own.prod")


@pytest.mark.parametrize(
    ("reviewer", "message"),
    [
        ({"programs": [{"names": "frob", "reads": "list", "yes": "frob push"}]}, r"reviewer\.programs\[0\]: program `frob` is not known to read only in"),
        ({"programs": [{"names": "frob", "reads": "list", "no": "frob list"}]}, r"program `frob` is taken to read only in"),
        ({"programs": [{"names": "frob", "reads": "/(/"}]}, r"reviewer\.programs\[0\]: .*no regular expression"),
        ({"programs": [{"names": "frob", "effect": "hosting"}]}, r"reviewer\.programs\[0\]: `effect` and `details`"),
        ({"launchers": [{"command": "wrap", "yes": "wrap x true"}]}, r"reviewer\.launchers\[0\]: launcher `wrap` does not start `true` in"),
        ({"rules": [{"name": "own.a", "match": "frob"}]}, r"reviewer\.rules\[0\]: .*from the risk `care` on `why`"),
    ],
)  # fmt: skip
def test_what_does_not_do_what_its_examples_say_is_refused_with_its_place(reviewer: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        configured(**reviewer)


@pytest.mark.parametrize(
    "reviewer",
    [
        {"programs": [{"names": ""}]},
        {"programs": [{"name": "frob"}]},
        {"programs": [{"names": "frob", "effect": "hostign"}]},
        {"launchers": [{"command": "wrap", "skip": -1}]},
        {"launchers": [{"command": "wrap", "inside": "cellar"}]},
        {"rules": [{"name": "own.a", "match": "a", "why": "b", "rewrite": "magic"}]},
        {"words": {"Tools": "frob"}},
    ],
)
def test_what_no_entry_can_be_is_refused_by_the_configuration(reviewer: Any) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate({"reviewer": reviewer})
