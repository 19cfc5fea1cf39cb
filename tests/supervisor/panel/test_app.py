"""The panel's pages and actions, over plain HTTP."""

import shutil

import pytest

from supervisor.runtime.journal.journal import JournalState
from tests.stages.daemon import Base, ended, served, until
from tests.stages.panel import panel

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e\u0000'\""


async def test_the_board_has_what_waits_on_top_and_an_answer_there_lets_the_agent_go_on(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo 1 > one", "echo 2 > two")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(prompt="Write two files"), by="test")
        await until(lambda: bool(daemon.board.summary("a1").waiting))
        html = (await person.get("/")).text
        assert html.index("1 action waits for you") < html.index("Write two files")
        assert "echo 1 &gt; one" in html
        for granted in (True, False):
            (waits,) = daemon.board.summary("a1").waiting
            answer = await person.post(
                f"/agents/a1/approvals/{waits.request_id}", json={"granted": granted, "note": "no"}
            )
            assert answer.json()["says"] == "a1 has its answer."
            await until(lambda waits=waits: waits not in daemon.board.summary("a1").waiting)  # type: ignore[misc]
            await until(lambda: bool(daemon.board.summary("a1").waiting) or daemon.board.summary("a1").turns > 0)
        await ended(daemon)
        assert base.ran() == ["echo 1 > one"]
        again = await person.post(f"/agents/a1/approvals/{waits.request_id}", json={"granted": True})
        assert again.status_code == 409


async def test_the_board_says_that_agents_wait_for_room_and_what_of_the_files_is_not_in_force(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        assert "must be free" not in (await person.get("/")).text
        daemon.has_unused_configuration("verify.command is x and was none. To look: chaperon trust --programs")
        with monkeypatch.context() as full:
            full.setattr(daemon.journal.reserve, "hold", lambda: False)
            full.setattr(daemon.journal._writer, "state", JournalState.FULL)
            html = (await person.get("/")).text
        assert f"4 MiB and an inode must be free for {base.places.journal}. Agents wait at their next tool call" in html
        assert "What the configuration&#39;s files say is not in force: verify.command is x" in html


async def test_the_checkpoint_of_a_workspace_that_is_gone_says_so_and_can_be_written_elsewhere(base: Base) -> None:
    """Before, the row in the list led to nothing found."""
    async with served(base) as (daemon, client), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        summary = await ended(daemon)
        (first, *_) = (await client.get("/v1/checkpoints")).json()["checkpoints"]
        shutil.rmtree(summary.workspace)
        page = await person.get(f"/checkpoints/{first['name']}?agent=a1")
        assert page.status_code == 200
        assert f"The workspace {summary.workspace} cannot be opened" in page.text
        assert "Write it elsewhere" in page.text
        assert "Go back to it" not in page.text


async def test_nothing_that_an_agent_writes_is_markup_or_acts(base: Base) -> None:
    base.cli(
        "begin()\n"
        f"say({{'type': 'assistant', 'uuid': 'u1', 'message': {{'id': 'm', 'content': [{{'type': 'text', 'text': {HOSTILE!r}}}]}}}})\n"
        f"done(result={HOSTILE!r})\nhear()"
    )
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(prompt=HOSTILE.replace("\0", "")), by="test")
        await until(lambda: bool(daemon.board.summary("a1").turns))
        for path in ("/", "/agents/a1"):
            html = (await person.get(path)).text
            assert "&lt;script&gt;alert(1)" in html
            assert "<script>alert" not in html
            assert "<img src=x" not in html
            assert [c for c in html if not c.isprintable() and c not in "\n\t"] == []


async def test_an_agents_page_has_its_steps_with_decision_and_reason_newest_first(base: Base) -> None:
    base.plan("ls", "rm -rf /")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        html = (await person.get("/agents/a1")).text
        assert html.index("rm -rf /") < html.index("Bash ls")
        assert "block" in html
        assert "the whole call" in html
        part = (await person.get("/agents/a1?before=4")).text
        assert "Bash ls" not in part
        endless = await person.get(f"/agents/a1?before={'9' * 5_000}")
        assert (endless.status_code, "Bash ls" in endless.text) == (200, True)
        assert (await person.get("/agents/nobody")).status_code == 404
        assert (await person.get("/agents/..%2f..%2fhealth")).status_code == 404
        assert (await person.get("/agents/%ff%00")).status_code == 404


async def test_an_action_that_the_daemon_refuses_says_why_and_a_bad_body_is_refused(base: Base) -> None:
    base.plan("ls")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        refused = await person.post("/agents/a1/pause", json={})
        assert refused.status_code == 409
        assert refused.json()["what"]
        for body in (b"[", b"[]", b"x" * 100_000):
            assert (await person.post("/agents/a1/say", content=body)).status_code == 422


async def test_steering_by_the_panel_is_in_the_journal_as_a_persons(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    say({'heard': hear()})")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await until(lambda: daemon.board.summary("a1").state == "running")
        for verb, body in (
            ("say", {"text": "Good work"}),
            ("pause", {}),
            ("resume", {}),
            ("stop", {"force": True, "reason": "enough"}),
        ):
            done = await person.post(f"/agents/a1/{verb}", json=body)
            assert done.status_code == 200, (verb, done.text)
        await ended(daemon)
    kinds = base.kinds()
    assert [kind for kind in kinds if kind.endswith("_requested")][-4:] == [
        "say_requested",
        "pause_requested",
        "resume_requested",
        "stop_requested",
    ]


async def test_without_a_daemon_the_panel_says_so_and_comes_back_with_it(base: Base) -> None:
    async with panel(base) as shown, shown.person() as person:
        assert (await person.get("/")).status_code == 503
        assert "No daemon listens" in (await person.get("/")).text
        async with served(base):
            assert (await person.get("/")).status_code == 200
        assert (await person.get("/")).status_code == 503


async def test_the_policy_page_explains_a_command_and_takes_an_allowance_back(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, client), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await until(lambda: daemon.board.summary("a1").state == "running")
        given = {"tool": "Bash", "text": "git push --force", "once": True}
        assert (await client.post("/v1/agents/a1/allowances", json=given)).status_code == 201
        page = (await person.get("/policy", params={"command": "git push --force", "workspace": str(base.repo)})).text
        assert "--force-with-lease" in page
        assert "git.push-force" in page
        (allowed,) = (await client.get("/v1/allowances")).json()
        assert (await person.post(f"/agents/a1/allowances/{allowed['id']}/revoke", json={})).status_code == 200
        assert (await client.get("/v1/allowances")).json() == []
        assert '<a href="/report?days=30" aria-current="true">' in (await person.get("/report?days=30")).text
        assert '<a href="/report?days=7" aria-current="true">' in (await person.get("/report?days=-1")).text
