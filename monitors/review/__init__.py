"""The step reviewer: what an action would do, and whether it may run. Pure.

reviewer = make_reviewer(ReviewSettings(profile="strict"))
reviewer.review(Action("Bash", {"command": "rm -rf ~"}), Context()).decision
"""

from monitors.review.facts import Facts, NoFacts
from monitors.review.reviewer import StepReviewer, make_reviewer
from monitors.review.settings import ReviewSettings

__all__ = ["Facts", "NoFacts", "ReviewSettings", "StepReviewer", "make_reviewer"]
