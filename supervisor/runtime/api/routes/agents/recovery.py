"""The routes of the socket's API that are about ways back from an incident."""

from typing import Any

from fastapi import FastAPI

from supervisor.runtime.daemon.submission import SubmissionRequest
from supervisor.runtime.services.people.recovery import Recovered, Recovering
from supervisor.runtime.socket.peer import By


class RecoveryBody(SubmissionRequest):
    """The recovery option to carry out."""

    option: str
    """An option's name, with dashes or underscores. Example: `resume-with-limits`."""


def recovery_routes(api: FastAPI, recovering: Recovering) -> None:
    """Add the routes."""

    @api.get("/v1/incidents/{incident}")
    async def report(incident: str) -> dict[str, Any]:
        """The full report of an incident."""
        return await recovering.report(incident)

    @api.get("/v1/incidents/{incident}/recovery")
    async def options(incident: str) -> list[dict[str, str]]:
        """Return the recovery options of an incident.

        One without a command is not possible, and one that was taken names the person.
        """
        return await recovering.options(incident)

    @api.post("/v1/incidents/{incident}/recovery")
    async def recover(incident: str, wanted: RecoveryBody, by: By) -> Recovered:
        """Carry one way back out."""
        return await recovering.carry_out(incident, wanted.option, by)
