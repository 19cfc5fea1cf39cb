"""Texts about an issue of each type: the facts, and three ways on, one for each attempt.

The first way looks at the cause, the second takes another road, the third puts the thing down. None forbids looking
again: "stop reading" was once taken for "start writing". Lines whose facts are not known are left out.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SoftText:
    """The texts of one type."""

    facts: str
    """The observed facts; the first line can always be filled in."""
    ways: tuple[str, str, str]
    """The advice at the first attempt, at the second, at the third and later."""


REPEATED_ERROR = "{sentence}\nThe last time it said: {error}\nThe file: {file_path}.\n{remedy}"

ASKED = "\nYou were asked: {prompt}"

SOFT_TEXTS: dict[str, SoftText] = {
    "repetitive_errors": SoftText(
        REPEATED_ERROR,
        (
            (
                "The same call will give the same error. Take a different approach: read what the error says, check that what "
                "it is about exists, that the name is spelled right and that you may read it, and change the call to fit."
            ),
            (
                "Changing the call did not mend it. Leave this road: reach the same end by other means, another tool, file or "
                "command, and say in one sentence why that one cannot fail the same way."
            ),
            "Put this step down. Do what else the task needs without it, and at the end name the error and what you tried.",
        ),
    ),
    "repetition": SoftText(
        "{sentence}\nThe call: {tool} {command}\nIt came {count} times with the same result.",
        (
            "The result is known and will not change by asking again. Use what it told you, or say what you still miss.",
            "You are going in a circle. Name the question that these calls are to answer, and ask it in another way.",
            "Leave this question open, write down that it is, and go on with the next part of the task.",
        ),
    ),
    "scope_creep": SoftText(
        "{sentence}\nThe task is about: {expected_paths}.\nOutside of it you touched {out_of_scope_path}."
        "\nOutside of it you touched {out_of_scope_paths}." + ASKED,
        (
            "If the task cannot be done without that path, say why in one sentence before you go on; else keep to its files.",
            "Undo what you changed outside of it unless the task needs it, and finish the part that was asked.",
            "Change nothing more outside of it. What you would change there belongs into your closing words as a proposal.",
        ),
    ),
    "goal_drift": SoftText(
        "{sentence}\nThe goal is: {primary_goal}\nDone so far: {progress}." + ASKED,
        (
            "Compare your next step with that. If it does not lead there, choose one that does.",
            "List what is still missing for the goal, in order, and do the first thing on the list.",
            "Stop what you are doing beside the goal, leave it as it is, and do the smallest step that the goal needs.",
        ),
    ),
    "resource_spiral": SoftText(
        "{sentence}\nWhat grows: {resource}, by {growth}.\nUsed now: {resources}.\nThe limit: {limit}.",
        (
            "Do with less: smaller batches, only the files that you need, shorter output, and remove temporary files.",
            "Each step costs more than the one before. Find what you carry along from step to step, and drop it.",
            "End what still runs in the background, and finish with what you have.",
        ),
    ),
    "exploration_wandering": SoftText(
        "{sentence}\nYou were in {count} directories.\nMost of it is about {focus}." + ASKED,
        (
            "Write down in three lines what you know now and what you still look for, then go straight to that.",
            "What you have read is enough for a first attempt. Make it, and let its result tell you what to look up.",
            "If you cannot find it, say what you looked for and where, and do the part of the task that does not need it.",
        ),
    ),
    "hallucination": SoftText(
        "{sentence}\nThere is no {name}.\n{remedy}\nYou said: {claim}",
        (
            "Go by what the files and results show: look it up before you use or state it.",
            "Take nothing from memory for the next steps: open each file and check each name first.",
            "Name what you had assumed and what the results show instead, and correct what you built on it.",
        ),
    ),
    "text_loop": SoftText(
        "{sentence}\nYou repeat: {text}",
        (
            "Stop writing this. Say in one new sentence what you will do next, and do it with a tool.",
            "Leave the thought that you were in. Call one tool that shows where the work stands.",
            "End your turn with what is done and what is not.",
        ),
    ),
    "blocked_on_human": SoftText(
        "{sentence}\nYou wait for: {waits_for}.\nThe command: {command}",
        (
            (
                "Nobody answers there, and a person has been told. Do not wait and do not try it again: do what can be done "
                "without it, and say at the end what is needed."
            ),
            "It has not come. Go on with another part of the task.",
            "End your turn with exactly what a person has to do, as a command where there is one.",
        ),
    ),
    "test_tampering": SoftText(
        "{sentence}\nThe test: {test}.\nThe file: {file_path}.",
        (
            "A test that was made to pass shows nothing. Put it back as it was and mend the code that it tests.",
            "Put the test back. If it is wrong itself, say so and why, and leave it failing.",
            "Leave all tests as they were at the start, and report which of them fail.",
        ),
    ),
    "no_progress": SoftText(
        "{sentence}\nSteps since the last progress: {steps}.\nThe last progress: {last_progress}.\nThe last test result: {tests}."
        + ASKED,
        (
            "What you are trying does not move it. Say in two sentences why not, and try the likeliest other cause.",
            "Go back to the smallest thing that shows the fault, and change one thing at a time from there.",
            "Say what you know for certain and what you ruled out, and end your turn if nothing is left to try.",
        ),
    ),
    "refusals": SoftText(
        "{sentence}\nRefused {count} times: {tool} {command}\nThe rule: {rule}\nIts reason: {reason}",
        (
            "It will be refused each time. Reach the end by a way that the reason allows.",
            "Do not reword the same call. If the task needs exactly this, say so and leave it to a person.",
            "Leave this step out, do the rest, and name it at the end.",
        ),
    ),
    "error_exploration_loop": SoftText(
        "{sentence}\nIt is made of: {parts}.\nThe error: {error}" + ASKED,
        (
            "Looking around has not mended the error. Read its text once more and follow only what it names.",
            "Go back to the last state that worked, and take one small step from there.",
            "Put the failing step down, do what does not need it, and name it at the end.",
        ),
    ),
    "runaway_execution": SoftText(
        "{sentence}\nIt is made of: {parts}.\nUsed now: {resources}.",
        (
            "Stop starting new things. End what runs in the background, and do one step at a time.",
            "Do the next step by hand on one item, look at its result, and only then on more.",
            "End everything that you started, and end your turn with what is done.",
        ),
    ),
    "confused_state": SoftText(
        "{sentence}\nIt is made of: {parts}." + ASKED,
        (
            "Look before you act: list the files that you changed and what each change was for.",
            "Take one file, read it as it is now, and compare it with what you believed of it.",
            "End your turn with what you are sure of and what you are not.",
        ),
    ),
    "limit_reached": SoftText(
        "{sentence}\nSteps left: {steps_left}.\nDone so far: {progress}." + ASKED,
        (
            "Calls that change something are not run any more. Say where the work stands and what is left to do, and end.",
            "Nothing more can be changed in this run. Write down what the next one needs to know, and end.",
            "End your turn; a person can go on with higher limits.",
        ),
    ),
    "critical_action": SoftText(
        "{sentence}\nThe rule: {rule}\nThe call: {tool} {command}",
        (
            "This is not done here under any name. Go on without it.",
            "Do not look for a way around it. Say what you wanted it for.",
            "End your turn and leave this to a person.",
        ),
    ),
    "gate_bypassed": SoftText(
        "{sentence}",
        (
            "Do not run this again. Say what had been started, and end your turn.",
            "What writes into the CLI or into its settings is ended now. End your turn.",
            "End your turn and leave this to a person.",
        ),
    ),
}

OTHERWISE = SoftText(
    "{sentence}" + ASKED,
    (
        "Stop for a moment, compare what you are doing with what was asked, and go on with the step that leads there.",
        "The last word did not change it. Say what you are trying to reach, and choose another way to it.",
        "Put this down, do what else was asked, and name at the end what you could not do.",
    ),
)
"""For types that only a plugin knows."""
