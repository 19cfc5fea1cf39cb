"""The step reviewer: what an action would do, and whether it may run. Pure.

reviewer = make_reviewer(ReviewSettings(profile="strict"))
reviewer.review(Action("Bash", {"command": "rm -rf ~"}), ReviewContext()).decision

checks/       checks that hold for every program
knowledge/    the knowledge of programs, by family, in the language of a user's own rules
languages/    code given to interpreters
programs/     programs whose effect depends on which paths they are given, a module for each kind of doing
rules/        the language of rules
scene/        the surroundings of an action
shell/        Bash as the reviewer reads it
tampering/    success that is faked: tests and checks that pass though nothing was mended
verdict/      from findings to one decision with its reasons
allowances    allowances: a person lets one thing pass, once or for a while
as_json       `chaperon review --jsonl`
catalogue     the knowledge as people see it
chain         reviewers behind one another, and what counts where one of them raises
commands      the script that a call hands to a shell
explain       a review stage by stage, with the time that each took
mcp           tools of MCP servers, judged by their verb and their fields
origins       origins of files over the calls of a run
prediction    after execution: did the action do what was predicted, and what is in its output?
reviewer      the reviewer: an action and its context in, a review out
script_files  script files as programs of their own
settings      settings of reviews
tools         the tools that are not a shell
user_rules    the user's own rules
written       contents of files that others run
"""

from monitors.review.reviewer import StepReviewer, make_reviewer
from monitors.review.scene.lookups import FileLookups, NoFiles
from monitors.review.settings import ReviewSettings

__all__ = ["FileLookups", "NoFiles", "ReviewSettings", "StepReviewer", "make_reviewer"]
