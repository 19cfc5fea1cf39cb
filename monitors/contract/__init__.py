"""The words of monitors: what they are shown and what they answer. Everything else may import these.

actions       one tool call, and the review of it
anyjson       JSON that every reader can read and no terminal obeys, whatever text went into it
bounds        the types of settings that a user may choose
effects       the types of side effects
error_lines   lines that the CLI prints on its error output, and what kind of line each is
errors        errors as types that carry the same facts as their sentences
expressions   regular expressions that are compiled when they are first used
issues        findings of pattern detectors
learning      outcomes of issues, given by people, and the adjustments that follow
observations  observations: an agent's run as a sequence of steps, free of the wire's details, as pattern detectors
              see it
origins       origins over the calls of a run: a bounded fold over its reviews, which each later review is given
progress      progress of long work: what, how far, how long yet
subjects      what a call is about, by its input
tasks         tasks
todo          the agent's own list of what it has to do, as it keeps it with the CLI's tools
wording       how counts, times, sizes and money are written for people, in every view and sentence
words         the enumerations of reviews and issues
"""
