"""The environment of an agent: the variables that it needs, and no others. Pure.

Only the listed variables are passed on. So no secret of chaperon's, no LD_PRELOAD, PYTHONPATH or NODE_OPTIONS, no
socket of the service manager and no variable of a surrounding Claude session reaches an agent, unless
`agent.environment` names it.
"""

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

import orjson

from monitors.secret_patterns import names_secret

PASSED_ON = (
    # Who and where.
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TZ", "TERM",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
    # Language.
    "LANG", "LANGUAGE", "LC_*",
    # The way out, and whom to trust on it.
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
    "ssl_cert_file", "ssl_cert_dir", "node_extra_ca_certs", "requests_ca_bundle", "curl_ca_bundle", "git_ssl_cainfo",
    # How the CLI reaches a model, and what it may tell its maker.
    "ANTHROPIC_*", "CLAUDE_*", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
)  # fmt: skip
"""Names and globs of what an agent gets from the daemon's environment."""

OF_ANOTHER_SESSION = (
    # Set by the CLI for its tools, in 2.1.329 (and found there as one list of what a shell of a session has).
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_CHILD_*", "CLAUDE_CODE_SESSION_*",
    "CLAUDE_SESSION_*", "ANTHROPIC_SESSION_ID", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_CODE_INVOKED_SKILLS",
    "CLAUDE_CODE_TOOL_USE_ID", "CLAUDE_CODE_TMPDIR", "CLAUDE_TMPDIR", "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS",
    # Set by it for hooks and plugins.
    "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_*", "CLAUDE_SKILL_DIR", "CLAUDE_ENV_FILE",
    # Set by what started the session: an editor, an SDK, a bridge, a background or remote runner.
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_AGENT_SDK_*", "CLAUDE_CODE_SDK_*", "CLAUDE_SDK_*", "CLAUDE_CODE_HOST_*",
    "CLAUDE_CODE_BRIDGE_*", "CLAUDE_BRIDGE_*", "CLAUDE_BG_*", "CLAUDE_RUNNER_*", "CLAUDE_CODE_REMOTE*",
    "CLAUDE_CODE_WORKER_*", "CLAUDE_CODE_CCR_*", "CLAUDE_CODE_SUPERVISED", "CLAUDE_CODE_SPAWN*", "CLAUDE_JOB_DIR",
    "CLAUDE_PTY_*", "CLAUDE_SSH_*", "CLAUDE_CODE_TASK_LIST_ID", "CLAUDE_CODE_TEAMMATE_COMMAND", "CLAUDE_CODE_AGENT",
    "CLAUDE_CODE_TEAM_*", "CLAUDE_CODE_TRIGGER_ID", "CLAUDE_CODE_RELAUNCH_*", "CLAUDE_RELAUNCH_*", "CLAUDE_CODE_RESUME_FROM_SESSION",
    "CLAUDE_CODE_CLOUD_SESSION_ID", "CLAUDE_CODE_CONTAINER_ID",
    # Numbers of descriptors that the agent does not have.
    "*_FILE_DESCRIPTOR", "CLAUDE_*_FD",
)  # fmt: skip
"""Marks of a session around the daemon. With them, an agent takes itself for a part of that session."""

AROUND_THE_GATE = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_EVEN_MORE_DANGEROUSLY_SKIP_PERMISSIONS")
"""Modes of the CLI that loosen the gate. With CLAUDE_CODE_SIMPLE=1, which `--bare` sets, no hook is called at all,
not even those of the control protocol: calls run unreviewed (seen with 2.1.329). `agent.environment` cannot bring them
back."""

GATE_SETTINGS: Mapping[str, Any] = {
    "env": {"CLAUDE_CODE_SIMPLE": "0", "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1"},
    "disableSkillShellExecution": True,
    "disableAllHooks": True,
    "crossSessionInbound": "refuse",
}
"""Settings of the CLI without which calls would run unreviewed. On the command line they win over those of the user and
of the project, and a list or switch there takes none of them back (each is a contract test, 2.1.329).

- A user's own `~/.claude/settings.json` can set CLAUDE_CODE_SIMPLE too, and wins over the process's environment.
- A file that a prompt names as `@PATH` is read by the CLI itself and given to the model, and no hook is asked. So are
  those that the text or the arguments of a skill name, which a repository and the model write, and those in whatever
  agents, tests and notes had put into a message. Switched off, the model is told the name, and can read the file by
  its tool.
- A skill or command whose text has `!`…`` runs that line when it is used, past every hook and, if the skill declares
  it, past every permission. Switched off, the model gets a notice instead.
- Hooks of settings files, of plugins, and of the front matter of skills and subagents run without a question and can
  change a call after its review. `disableAllHooks` ends them all, and leaves those of the control protocol, the gate.
- Each CLI listens on a socket for messages of other sessions, and every program of the agent has its name and its key.
  Such a message is taken for one of the user's, and no person sees it arrive.
"""

STRICT_SERVERS = "--strict-mcp-config"
"""MCP servers of `--mcp-config` alone: none of the user's, none of `.mcp.json`, none of a subagent's front matter."""


def gate_arguments(
    *, hooks: bool = False, servers: bool = False, more: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Arguments that a CLI must be started with behind all others; the last ones win.

    Args:
        hooks: Whether hooks that settings name run.
        servers: Whether MCP servers that settings name are started.
        more: Further settings; variables are added to those of the gate and win over none of them.
    """
    further = dict(more or {})
    variables = {**further.pop("env", {}), **GATE_SETTINGS["env"]}
    settings = {**further, **GATE_SETTINGS, "env": variables, "disableAllHooks": not hooks}
    return (*([] if servers else [STRICT_SERVERS]), "--settings", orjson.dumps(settings).decode())


def with_variables(arguments: tuple[str, ...], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return arguments of the gate whose settings set further variables, which a project's settings do not unset."""
    *before, text = arguments
    settings = orjson.loads(text)
    return (*before, orjson.dumps({**settings, "env": {**variables, **settings["env"]}}).decode())


GATE_ARGUMENTS = gate_arguments()
"""Those of a CLI for which nothing that settings bring was let count."""

ALWAYS: Mapping[str, str] = {"DISABLE_AUTOUPDATER": "1"}
"""An agent that replaced its own program in the middle of a run would be another one than was checked."""


def without_keys(environ: Mapping[str, str], kept: Collection[str] = ()) -> dict[str, str]:
    """Return an environment without variables that are taken to hold a secret.

    Args:
        environ: The environment.
        kept: Names of those that a person gave on purpose.
    """
    return {name: value for name, value in environ.items() if name in kept or not names_secret(name)}


def agent_environment(
    daemon: Mapping[str, str], more: Mapping[str, str], config_dir: str | None = None
) -> dict[str, str]:
    """Return the environment that an agent is started with.

    Args:
        daemon: The daemon's own environment.
        more: `agent.environment` of the configuration; wins over the daemon's.
        config_dir: The agent's own CLAUDE_CONFIG_DIR, or None for the user's; wins over both.
    """
    kept = {
        name: value
        for name, value in daemon.items()
        if _is_one_of(name, PASSED_ON) and not _is_one_of(name, OF_ANOTHER_SESSION)
    }
    own = {"CLAUDE_CONFIG_DIR": config_dir} if config_dir else {}
    made = {**kept, **ALWAYS, **more, **own}
    return {name: value for name, value in made.items() if not _is_one_of(name, AROUND_THE_GATE)}


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
