"""Checks of the rules for plugins, for their authors' own tests. They come with the installed package.

    from supervisor.testing import check_detector
    from mine import MyDetector

    def test_it_keeps_to_the_contract():
        check_detector(MyDetector)

Each check raises an AssertionError that names the broken rule; no test framework is needed. Chaperon's own parts pass
the same checks.

| check | given | of the kind |
| --- | --- | --- |
| `check_detector` | what makes a fresh detector | `detectors` |
| `check_answer` | an intervention | `interventions` |
| `check_strategy` | a strategy | `strategy` |
| `check_reviewer` | a reviewer | `reviewers` |
| `check_risk` | a risk calculator | `risk` |
| `check_rules` | rules, whose examples are run | `rules` |
| `check_recovery` | a recovery | `recovery` |
| `check_exporter` | what makes a fresh exporter; it sends to where that one leads | `exporters` |
"""

from supervisor.testing.detectors import check_detector
from supervisor.testing.exporters import check_exporter
from supervisor.testing.interventions import check_answer, check_strategy
from supervisor.testing.recoveries import check_recovery
from supervisor.testing.reviewers import check_reviewer, check_risk, check_rules

__all__ = [
    "check_answer",
    "check_detector",
    "check_exporter",
    "check_recovery",
    "check_reviewer",
    "check_risk",
    "check_rules",
    "check_strategy",
]
