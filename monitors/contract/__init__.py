"""The words of monitors: what they are shown and what they answer. Everything else may import these.

actions       one tool call, and the review of it
anyjson       JSON that every reader can read and no terminal obeys, whatever text went into it
bounds        the types of settings that a user may choose
effects       the types of side effects
error_lines   lines that the CLI prints on its error output, and what kind of line each is
errors        what can go wrong, as types that carry the same facts as their sentences
issues        what a pattern detector saw
learning      what became of an issue, as people say, and what that changed
observations  what a pattern detector is shown
tasks         what somebody wants done
todo          the agent's own list of what it has to do, as it keeps it with the CLI's tools
wording       how counts, times, sizes and money are written for people, in every view and sentence
words         the enumerations of reviews and issues
"""
