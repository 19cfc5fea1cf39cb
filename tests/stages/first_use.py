"""What each daemon does once in its life, done before the server of `tests.stages.forked` forks one.

Types of settings are described and patterns compiled. What is there then is left out of looks for garbage, each of
which would copy it. A short run of a daemon takes 0.40 s of a processor with it, and 0.56 without.
"""

import gc

from monitors.contract.actions import Action, ReviewContext
from monitors.review.reviewer import make_reviewer
from supervisor.config.model import Config
from supervisor.runtime.assembly.settings import detector_settings

COMMANDS = ("ls", "rm -rf /home/somebody", "git push --force origin main", "echo fine > file")

detector_settings(Config())
_reviewer = make_reviewer()
for _command in COMMANDS:
    _reviewer.review(Action("Bash", {"command": _command}, cwd="/repo", workspace="/repo"), ReviewContext())
gc.collect()
gc.freeze()
