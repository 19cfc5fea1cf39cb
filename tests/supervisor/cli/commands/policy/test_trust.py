"""The command that shows what a repository's settings bring, and what `run` says of it."""

import orjson
import pytest

from supervisor.config.load import ConfigSource
from supervisor.protocol.events import TrustDecided
from tests.stages.daemon import Base, served
from tests.supervisor.cli.conftest import chaperon

SETTINGS = {
    "env": {"NODE_ENV": "x\x1b[2J"},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh a.sh"}]}]},
}


@pytest.fixture
def hooked(base: Base) -> Base:
    (base.repo / ".claude").mkdir()
    (base.repo / ".claude/settings.json").write_bytes(orjson.dumps(SETTINGS))
    return base


async def test_what_settings_bring_is_listed_with_whether_it_counts(hooked: Base) -> None:
    async with served(hooked):
        shown = (await chaperon("trust", str(hooked.repo))).stdout
        assert "off     hook        Stop  sh a.sh" in shown
        assert "off     variable    NODE_ENV" in shown
        assert "\x1b" not in shown
        assert "Nobody has said whether it may count" in shown
        accepted = await chaperon("trust", str(hooked.repo), "--accept")
        assert (accepted.exit_code, "counts  hook" in accepted.stdout) == (0, True)
        assert "said that it may count" in accepted.stdout
        revoked = await chaperon("trust", str(hooked.repo), "--revoke")
        assert "off     hook" in revoked.stdout


async def test_a_repository_whose_settings_bring_nothing_is_said_to(base: Base) -> None:
    async with served(base):
        assert "bring nothing" in (await chaperon("trust", str(base.repo))).stdout
        assert "bring nothing" in (await chaperon("trust", str(base.repo), "--accept")).stdout


async def test_it_is_printed_as_json_for_pipes(hooked: Base) -> None:
    async with served(hooked):
        shown = orjson.loads((await chaperon("trust", str(hooked.repo), "--json")).stdout)
    assert [thing["name"] for thing in shown["things"]] == ["Stop", "NODE_ENV"]


async def test_accepting_and_revoking_at_once_is_refused() -> None:
    assert (await chaperon("trust", "--accept", "--revoke")).exit_code == 2


async def test_in_a_pipe_a_run_says_what_is_off_and_where_to_look_until_it_counts(hooked: Base) -> None:
    async with served(hooked):
        said = (await chaperon("run", "go", "--repo", str(hooked.repo), "--detach")).stderr
        assert f"1 hook, 1 variable of this repository's settings are off for agents. To look, and to let count: chaperon trust {hooked.repo}" in said  # fmt: skip
        await chaperon("trust", str(hooked.repo), "--accept")
        assert (await chaperon("run", "go", "--repo", str(hooked.repo), "--detach")).stderr == ""


async def test_programs_of_the_configuration_are_listed_and_those_that_changed_are_run_once_a_person_says_so(
    base: Base,
) -> None:
    file, hook = base.home / ".config/chaperon/chaperon.yaml", base.root / "e.sh"
    hook.write_text("#!/bin/sh\n")
    file.parent.mkdir(parents=True)
    file.write_text(f"hooks: {{on-error: {hook}}}\n")
    source = ConfigSource({"HOME": str(base.home)}, file, system=base.root / "none.yaml")
    async with served(base, config=source.load().config, source=source):
        shown = (await chaperon("trust", "--programs")).stdout
        assert f"trusted  hooks.on-error  {hook}" in shown
        hook.write_text("#!/bin/sh\nrm -rf /\n")
        shown = (await chaperon("trust", "--programs")).stdout
        assert f"changed  {hook}" in shown
        assert "chaperon trust --programs --accept" in shown
        accepted = (await chaperon("trust", "--programs", "--accept")).stdout
        assert "changed" not in accepted
        assert "confirmed it." in accepted
        listed = orjson.loads((await chaperon("trust", "--programs", "--json")).stdout)
        assert [one["trusted"] for one in listed["programs"]] == [None, None]
    (said,) = base.events(TrustDecided)
    assert (said.repository, said.granted, [one.name for one in said.brings]) == ("", True, [str(hook)])
    assert (await chaperon("trust", "--programs", "--revoke")).exit_code == 2


async def test_the_journal_is_checked_with_its_key_and_believed_anew_if_a_person_says_so(base: Base) -> None:
    async with served(base):
        beside = orjson.loads((await chaperon("trust", "--record", "--json")).stdout)
        assert (beside["since"], beside["problem"]) == (0, "")
        refused = await chaperon("trust", "--record", "--accept")
        assert refused.exit_code != 0
    checked = (await chaperon("trust", "--record")).stdout
    assert f"signed with the key {beside['key']} from line 1 on" in checked
    assert "The last one has the hash " in checked
    note = base.places.state / "signing.json"
    note.write_text(note.read_text().replace('"key":"', '"key":"00'))
    broken = await chaperon("trust", "--record")
    assert broken.exit_code != 0
    assert "chaperon trust --record --accept" in broken.stderr
    note.unlink()
    accepted = await chaperon("trust", "--record", "--accept")
    assert (accepted.exit_code, beside["key"] in accepted.stdout) == (0, False)
    async with served(base):
        assert orjson.loads((await chaperon("trust", "--record", "--json")).stdout)["problem"] == ""
