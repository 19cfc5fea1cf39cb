"""Types of answers whose description is long: made once for all routes, and for all applications of a process."""

from typing import TYPE_CHECKING

from pydantic import RootModel

from supervisor.core.fold.summary import Summary

if TYPE_CHECKING:
    AgentAnswer = Summary
else:

    class AgentAnswer(RootModel[Summary]):
        """An agent, as routes answer it."""

        # The checks of a model are its own; those of the bare type are made anew for each route that names it: 116 KB,
        # and half the work of an application.
