"""Every detector of ours keeps to the contract, and the contract can be broken."""

from collections.abc import Callable, Sequence

import pytest

from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation
from monitors.contract.tasks import Task
from monitors.contract.words import Severity
from monitors.detectors import DetectorSettings, make_detectors
from supervisor.testing import check_detector

TASK = Task("t", "Mend the login form in src/login/ and its tests", "/w")
NAMES = [detector.name for detector in make_detectors(DetectorSettings(), TASK)]


def maker(name: str) -> Callable[[], Detector]:
    return lambda: next(detector for detector in make_detectors(DetectorSettings(), TASK) if detector.name == name)


@pytest.mark.parametrize("name", NAMES)
def test_each_detector_of_ours_keeps_to_the_contract(name: str) -> None:
    check_detector(maker(name), events=800)


class Plugin:
    """A detector as somebody else would write it, and ways to write it wrongly."""

    name = "shouting"

    def __init__(self, wrong: str = "") -> None:
        self._wrong = wrong
        self._kept: list[Observation] = []
        self._said = False

    def see(self, observation: Observation) -> Sequence[Issue]:
        if self._wrong == "memory":
            self._kept.append(observation)
        if self._wrong == "closing":
            return [self._issue(observation, closed=True)]
        if self._said and self._wrong != "twice":
            return ()
        self._said = True
        return [self._issue(observation)]

    def _issue(self, observation: Observation, *, closed: bool = False) -> Issue:
        evidence = tuple(range(-30, 0)) if self._wrong == "evidence" else (observation.seq,)
        confidence = 7.0 if self._wrong == "confidence" else 0.5
        return Issue(
            self.name, Severity.LOW, confidence, 0.1, observation.seq, "somebody shouted", evidence, closed=closed
        )


def test_a_plugin_that_keeps_to_it_passes() -> None:
    check_detector(Plugin, events=300)


@pytest.mark.parametrize("wrong", ["memory", "closing", "twice", "evidence", "confidence"])
def test_a_plugin_that_breaks_it_is_told(wrong: str) -> None:
    with pytest.raises(AssertionError):
        check_detector(lambda: Plugin(wrong), events=2_000)
