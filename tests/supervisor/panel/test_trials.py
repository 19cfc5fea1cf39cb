"""Trials: a change of the policy against recorded runs, and what is refused. Rehearsals: tests/end_to_end."""

import anyio
import httpx
import pytest

from tests.stages.daemon import PATIENCE_SECONDS, Base, ended, served
from tests.stages.panel import panel

POLICY = """\
reviewer:
  rules:
    - name: own.no-touch
      match: [touch]
      why: makes a file
      instead: Make no file.
"""


async def through(person: httpx.AsyncClient, at: str) -> str:
    """The page of a trial, once it is over."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            html = (await person.get(f"{at}?part=1")).text
            if 'role="status"' not in html:
                return html


@pytest.mark.slow
async def test_a_change_of_the_policy_names_the_calls_that_it_would_decide_otherwise(base: Base) -> None:
    base.plan("ls", "touch one")
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        assert (await person.get("/trials")).text.count('method="dialog" data-form') == 2, (
            "typed text outlives an early click"
        )
        begun = (await person.post("/trials/replay", json={"policy": POLICY, "days": ""})).json()
        html = await through(person, begun["go"])
        assert "<b>1</b> of 2 calls in 1 run would be decided otherwise." in html
        assert "own.no-touch" in html
        assert "Bash touch one" in html
        assert begun["go"].removeprefix("/trials/") in (await person.get("/trials")).text
        same = (await person.post("/trials/replay", json={"policy": "reviewer: {}", "days": "7"})).json()
        assert "decided as it is by the policy that counts now" in await through(person, same["go"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("reviewer: [", "policy.yaml"),
        ("plugins:\n  detectors: [/tmp/own.py]", "nobody has"),
        ("no_such_key: 1", "no_such_key"),
    ],
)
async def test_a_policy_that_cannot_be_tried_fails_with_the_reason(base: Base, policy: str, why: str) -> None:
    async with served(base), panel(base) as shown, shown.person() as person:
        begun = (await person.post("/trials/replay", json={"policy": policy})).json()
        html = await through(person, begun["go"])
        assert "failed" in html
        assert why in html


@pytest.mark.slow
async def test_nothing_is_begun_of_nothing_or_beside_another_trial(base: Base) -> None:
    async with served(base), panel(base) as shown, shown.person() as person:
        assert (await person.post("/trials/replay", json={"policy": " "})).status_code == 422
        assert (await person.post("/trials/rehearse", json={"scenario": "--keep"})).status_code == 422
        assert (await person.post("/trials/rehearse", json={})).status_code == 422
        assert (await person.get("/trials/replay-9")).status_code == 404
        begun = (await person.post("/trials/replay", json={"policy": POLICY})).json()
        second = await person.post("/trials/replay", json={"policy": POLICY})
        html = await through(person, begun["go"])
        assert second.status_code == 422 or "would be decided" in html, "only a trial that is over makes room"


@pytest.mark.slow
async def test_a_trial_that_is_ended_says_so(base: Base) -> None:
    async with served(base), panel(base) as shown, shown.person() as person:
        begun = (await person.post("/trials/rehearse", json={"scenario": "no-such-scenario"})).json()
        assert "no-such-scenario" in await through(person, begun["go"])
