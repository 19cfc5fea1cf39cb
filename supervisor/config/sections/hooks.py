"""The section `hooks`: scripts of the user for what happens."""

from pydantic import Field

from monitors.contract.bounds import Seconds
from supervisor.config.sections.base import FilePath, Section


class HooksSection(Section):
    """Scripts of yours for when something happens.

    They run one after the other in the daemon's environment, in the folder that they are in, and get the facts as
    variables, each also with CHAPERON_ and AXIOM_ before its name. `pre-start` and `pre-merge` veto by an exit code
    other than 0; any other failure is logged and changes nothing. A relative path is below the configuration file's
    directory. Scripts of the same names in `.chaperon/hooks/` of a repository run after these, in its main checkout,
    once a person trusts them (`chaperon trust`).
    """

    pre_start: FilePath | None = Field(default=None, alias="pre-start")
    """Before each launch of an agent, which waits for it: of one that is started again too. TASK_ID, AGENT, WORKSPACE,
    REPOSITORY (the main checkout), BRANCH."""
    post_complete: FilePath | None = Field(default=None, alias="post-complete")
    """After an agent has ended. TASK_ID, AGENT, WORKSPACE, BRANCH, STATUS (`done`, `failed`, `stopped` or `lost`),
    DURATION in seconds."""
    on_pause: FilePath | None = Field(default=None, alias="on-pause")
    """After an agent was paused. TASK_ID, AGENT, WORKSPACE, BRANCH, REASON, RUNNING_TASKS (the ids of all that have
    not ended)."""
    on_approval: FilePath | None = Field(default=None, alias="on-approval")
    """When an action waits for a person. TASK_ID, AGENT, WORKSPACE, BRANCH, REQUEST (its id), TOOL, ACTION (its main
    field), WHY, DEADLINE in seconds."""
    on_intervention: FilePath | None = Field(default=None, alias="on-intervention")
    """After an intervention was chosen. TASK_ID, AGENT, WORKSPACE, BRANCH, INTERVENTION (its id), KIND, PATTERN,
    SEVERITY, MESSAGE, EFFECT (the effect of its own that a plugin's intervention names, or empty), DETAILS (JSON)."""
    on_error: FilePath | None = Field(default=None, alias="on-error")
    """After an incident that is an error: not after words to an agent and limits that tighten, which are routine.
    ERROR_TYPE, MESSAGE, and, if it is an agent's, TASK_ID, AGENT, WORKSPACE, BRANCH."""
    pre_merge: FilePath | None = Field(default=None, alias="pre-merge")
    """Before a merge, which waits for it, and is not made if it fails or lasts too long. TASK_ID, AGENT, BRANCH,
    TARGET, REPOSITORY."""
    post_merge: FilePath | None = Field(default=None, alias="post-merge")
    """After a merge. Those of `pre-merge`, and COMMIT_HASH."""
    on_conflict: FilePath | None = Field(default=None, alias="on-conflict")
    """If the two sides of a merge disagree. Those of `pre-merge`, and FILES (one a line), LEVEL."""
    on_discovery: FilePath | None = Field(default=None, alias="on-discovery")
    """If an agent notes a fact for others. TASK_ID, AGENT, WORKSPACE, BRANCH, DISCOVERY_ID, SCOPE, CONTENT."""
    repositories: bool = True
    """Whether scripts of repositories run, if a person trusts them."""
    timeout: Seconds = 30
    """How long a script may take, in seconds, before it is ended; at the daemon's end also how long those that are
    due may take together."""

    def programs(self) -> dict[str, str]:
        """The scripts that run, by the key that names them."""
        # Each key of the section that names a script has an alias.
        fields = ((field.alias, getattr(self, name)) for name, field in type(self).model_fields.items())
        return {alias: path for alias, path in fields if alias is not None and path is not None}
