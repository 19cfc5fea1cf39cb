"""Other coding agents: what they do once they run goes past this reviewer."""

from monitors.review.rules.levels import HARM
from monitors.review.rules.rules import Program, Rule

_READS = ("doctor|help|version|completion|status|stats|whoami|debug|export|models|login|logout|auth", "mcp|plugin|config|agents|session|sessions|models|extensions|skills list|ls|get|show", "{--version -v -V --help -h}")  # fmt: skip

_ASKS_NOBODY = r"!/^(?:doctor|help|version|completion \w+|status|stats|whoami|debug \w+|export \w+|models|login|logout|auth \w+|(?:mcp|plugin|config|agents|sessions?|extensions|skills) (?:list|ls|get|show)( [\w.-]+)?)$/"
"""The whole of a command line that gives no task; a prompt may begin with the same words."""

_AGENTS = "claude|claude-code|codex|gemini|gemini-cli|aider|cursor-agent|opencode|opencode-ai|qwen|qwen-code|droid|auggie|openhands|kilocode|plandex|gptme|kiro-cli"
"""Names that stand for nothing else in a shell; agents that share theirs with other programs are known by their subcommands."""

PROGRAMS = (
    Program(_AGENTS.replace("|", " "), reads=_READS, effect="process", details="runs another agent", yes=("claude --version", "claude mcp list", "codex --help"), no=("claude -p x", "codex exec x")),
)  # fmt: skip

RULES = (
    Rule(
        "agents.settings",
        (
            "claude|gemini|codex|qwen|droid|copilot mcp add*|remove|import*|reset*|serve",
            "claude|gemini|qwen plugin|extensions install|i|add|enable|update|marketplace|link|new",
            "claude|codex|gemini config set|add|remove|edit",
            "claude install|setup-token|update|migrate-installer",
        ),
        HARM,
        "changes what an agent's CLI starts by itself",
        "Ask the person to change it.",
        effect="startup",
        yes=("claude mcp add x -- sh -c y", "claude plugin install x", "gemini extensions install x"),
        no=("claude mcp list", "claude plugin list"),
    ),
    Rule(
        "agents.unreviewed",
        (
            # A prompt is among its words, or what to do comes from its input, from a session or from a loop of its own.
            f"{_AGENTS} * {_ASKS_NOBODY}",
            "goose run|session",
            "crush run",
            "amp {-x --execute}",
            "copilot {-p --prompt --allow-all-tools}",
            f"{_AGENTS} {{-p --print --prompt -m --message --message-file -i --prompt-interactive -c --continue -r --resume --yolo -y --yes --yes-always --full-auto --dangerously-skip-permissions --dangerously-bypass-approvals-and-sandbox --allow-all-tools}}",
        ),
        HARM,
        "starts another agent, whose steps nobody would review",
        "Give the task to a subagent through your own tool for that: its steps are reviewed as yours are.",
        effect="process",
        yes=(
            "claude -p 'tidy up' --dangerously-skip-permissions",
            "echo 'tidy up' | claude -p",
            "npx @anthropic-ai/claude-code -p x",
            "codex exec 'tidy up'",
            "npx -y @openai/codex exec x",
            "gemini --yolo -p x",
            "aider --yes --message 'tidy up'",
            "opencode run 'tidy up'",
            "codex 'help me tidy up'",
            "tmux new-session -d 'claude --dangerously-skip-permissions'",
        ),
        no=(
            "claude --version",
            "claude mcp list",
            "aider --help",
            "opencode stats",
            "goose up",
            "copilot app ls",
            "which claude",
        ),
    ),
)
