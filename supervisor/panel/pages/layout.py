"""The frame of each page: navigation, the state of the connection, the shared dialogs."""

from dataclasses import dataclass

import htpy as h

from supervisor import __version__
from supervisor.panel.pages.parts import check_field, dialog, line_field

SECTIONS = {
    "Board": "/",
    "Tasks": "/tasks",
    "Checkpoints": "/checkpoints",
    "Incidents": "/incidents",
    "Policy": "/policy",
    "Report": "/report",
}
"""The parts of the panel, in the order of the navigation; the key is the first letter."""

KEYS = (
    ("j k", "next, previous row"),
    ("Enter", "open the row"),
    ("a d", "approve, deny; of a rollback: its plan, decline"),
    ("p r", "pause, resume"),
    ("s", "say something"),
    ("x", "stop"),
    (f"g then {' '.join(name[0].lower() for name in SECTIONS)}", f"go to {', '.join(SECTIONS).lower()}"),
    ("?", "this list"),
)
"""Keys and what they do; `static/keys.js` reads them from the buttons."""


@dataclass(frozen=True, slots=True)
class PageFrame:
    """Facts that each page needs beside its subject.

    Args:
        token: The session's token for actions.
        read_only: Whether nothing may be done.
        version: Of the daemon; empty if it is away.
    """

    token: str = ""
    read_only: bool = False
    version: str = ""


def page(frame: PageFrame, title: str, *content: h.Node, live: str = "", here: str = "") -> h.Element:
    """A whole page.

    Args:
        frame: Of this request.
        title: Of the page.
        content: Its body.
        live: The path of its stream; empty if it does not change by itself.
        here: The section it belongs to.
    """
    return h.html(lang="en", data_read_only="yes" if frame.read_only else None)[
        h.head[
            h.meta(charset="utf-8"),
            h.meta(name="viewport", content="width=device-width, initial-scale=1"),
            h.meta(name="color-scheme", content="light dark"),
            h.meta(name="token", content=frame.token) if frame.token else None,
            h.title[f"{title} · chaperon"],
            h.link(rel="icon", href="/static/icon.svg", type="image/svg+xml"),
            h.link(rel="stylesheet", href="/static/panel.css"),
            h.script(type="module", src="/static/panel.js"),
        ],
        h.body(data_live=live or None)[
            h.a(class_="skip", href="#main")["Skip to the content"],
            h.header[
                h.a(class_="brand", href="/")[_mark(), "chaperon"],
                h.nav(aria_label="Sections")[
                    (
                        h.a(href=target, aria_current="page" if name == here else None, data_go=name[0].lower())[name]
                        for name, target in SECTIONS.items()
                    )
                ],
                h.span(class_="tools")[
                    h.span(id="link", role="status", data_state="waits")["connecting…" if live else ""],
                    h.span(class_="badge")["read only"] if frame.read_only else None,
                    h.button(type="button", class_="plain", data_theme_toggle=True, aria_label="Dark or light")["◐"],
                    h.button(type="button", class_="plain", data_help=True, aria_label="Keys")["?"],
                ],
            ],
            h.div(id="notice", role="alert", hidden=True),
            h.main(id="main", tabindex="-1")[content],
            h.footer[f"chaperon {frame.version or __version__}"],
            _dialogs(),
            h.div(id="toast", role="status", aria_live="polite"),
        ],
    ]


def _mark() -> h.VoidElement:
    return h.img(src="/static/icon.svg", alt="", width="20", height="20")


def _dialogs() -> h.Node:
    return (
        _text_dialog("say", "Say", "What the agent is told: into its running turn, or as a new one.", "text"),
        _text_dialog("redirect", "Redirect", "It is interrupted, and does this instead.", "text"),
        dialog(
            "stop",
            "Stop",
            h.p["It is asked to end first; after a while every process it has is ended."],
            line_field("Reason, for the journal", "reason"),
            check_field("End all its processes at once", "force"),
        ),
        dialog(
            "cancel",
            "Cancel the task",
            h.p["An agent that works on it is ended; its work is kept."],
            line_field("Reason, for the history", "reason"),
            leave="Leave it",
        ),
        dialog("deny", "Deny", line_field("What the model is told with it", "note")),
        dialog(
            "checkpoint",
            "Keep",
            h.p["The present of the workspace is kept under a name, until you forget it."],
            line_field("Name", "name", required=True, pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*"),
            line_field("Note, for whoever reads the list", "note"),
        ),
        dialog(
            "allow",
            "Allow",
            h.p[
                "It may do exactly this, though a rule would block it. What protects chaperon itself is never allowed."
            ],
            line_field("Command, path or address, exactly", "text"),
            line_field("Rule it is excused from", "rule"),
            line_field("Only for this tool, such as Bash", "tool"),
            line_field("For so many minutes; empty for once", "minutes", inputmode="decimal"),
        ),
        dialog(
            "outcome",
            "Say it",
            h.p["Thresholds follow if learning is on, for tasks that begin later."],
            _of_issue(),
        ),
        dialog(
            "decline",
            "Decline",
            h.p["Its files stay as they are, and it goes on. The rollback is proposed no more."],
            _of_issue(),
        ),
        dialog(
            "remove",
            "Remove",
            h.p["Its workspace, its branch and its files go. Nothing goes by which work would be lost."],
            check_field("Even if work is lost", "force"),
        ),
        dialog(
            "project",
            "Keep",
            h.p["All worktrees, branches, stored tasks and agents of a repository are kept under one name."],
            line_field("Repository, as a whole path", "project", required=True),
            line_field("Name", "name", required=True, pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*"),
            line_field("Note, for whoever reads the list", "note"),
        ),
        dialog(
            "new-agent",
            "Start",
            h.label["Task", h.textarea(name="prompt", rows="4", required=True, maxlength="20000")],
            line_field("Repository, as a whole path", "repository", required=True),
            line_field("May cost, in US dollars", "max_cost_usd", inputmode="decimal"),
            check_field("In a worktree of its own", "new_workspace"),
        ),
        dialog(
            "new-task",
            "Add",
            h.label["Task", h.textarea(name="prompt", rows="4", required=True, maxlength="20000")],
            line_field("Repository, as a whole path", "repository", required=True),
        ),
        dialog(
            "stop-all",
            "Stop all",
            h.p["Every agent is asked to end first; after a while all processes are ended."],
            line_field("Reason, for the journal", "reason"),
            check_field("End all processes at once", "force"),
        ),
        dialog(
            "autopilot",
            "Leave them alone",
            h.p[
                "Each project is kept before. At the end, or once the budget is spent, all agents are held and you are told."
            ],
            line_field("For so many hours", "hours", inputmode="decimal"),
            line_field("All may cost, in US dollars", "max_cost_usd", inputmode="decimal"),
            line_field("Reason, for the journal", "reason"),
        ),
        _text_dialog("edit", "Change", "An agent that works on it goes on with what it was told.", "prompt"),
        dialog("confirm", "Do it", h.p(data_question=True)),
        h.dialog(id="keys", aria_labelledby="keys-title")[
            h.h2(id="keys-title")["Keys"],
            h.dl(class_="facts")[((h.dt[keys], h.dd[does]) for keys, does in KEYS)],
            h.form(method="dialog")[h.button["Close"]],
        ],
    )


def _of_issue() -> h.Fragment:
    """The fields by which a person says what became of an issue."""
    words = {"confirmed": "right", "false_alarm": "a false alarm"}
    return h.fragment[
        h.label[
            "The issue was", h.select(name="outcome")[(h.option(value=name)[says] for name, says in words.items())]
        ],
        line_field("Note, for the journal", "note"),
    ]


def _text_dialog(name: str, label: str, help_: str, field: str) -> h.Element:
    return dialog(
        name, label, h.p[help_], h.label["Text", h.textarea(name=field, rows="4", required=True, maxlength="20000")]
    )
