"""Reviews of actions without an agent."""

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING

from monitors.contract.actions import Action, Review, ReviewContext

if TYPE_CHECKING:
    from supervisor.config.model import Config


def pickled(config: "Config", nobody: ReviewContext) -> bytes:
    """Return the input of `reviewing`, for another process."""
    return pickle.dumps((config, nobody))


def reviewing(needed: bytes) -> Callable[[Action, ReviewContext | None], Review]:
    """A reviewer like the gate's own, with the same configuration and plugins; without a context, of no agent.

    Args:
        needed: What `pickled` gave.

    Raises:
        PluginError: A plugin that the configuration names cannot be used.
    """
    # Here and not above: what reviews takes a quarter of a second to import, which other readers need not pay.
    from supervisor.core import gate
    from supervisor.runtime.assembly.review_settings import ReviewerSetup
    from supervisor.runtime.assembly.reviewer import make_gate_reviewer
    from supervisor.runtime.clock import Clock

    config, nobody = pickle.loads(needed)  # noqa: S301 - our own
    reviewer = make_gate_reviewer(ReviewerSetup.of(config), Clock())
    return lambda action, context: gate.review(reviewer, action, context or nobody)
