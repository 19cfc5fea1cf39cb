"""Emergency stop: freeze first, then save, then end the tree. The agent gets no message; a person gets the report."""

from interventions.contract import Case, Plan, Unfit
from interventions.words import InterventionKind


class EmergencyStop:
    """Ends the run. It always fits."""

    name = "emergency_stop"
    kind = InterventionKind.EMERGENCY_STOP
    types: tuple[str, ...] = ()

    def plan(self, case: Case) -> Plan | Unfit:
        """The stop, with the checkpoint that a person could go back to."""
        found = case.situation.checkpoints.before(case.issue, most_back=3)
        return Plan("", {"checkpoint": "" if isinstance(found, str) else found.name})
