"""From findings to one decision with its reasons.

assess       the assessment of one command
decision     from findings to a decision
grounds      the grounds of a review, and whether they still held when the action had run
own          things that the run itself has made, and clusters of this machine that it has turned to
rationality  rationality: whether an action looks like the next step of its task
rewrites     rewrites of a harmful command into a harmless one
risk         risk: a base by what is done, and named modifiers for the circumstances
scopes       scopes in which a loss is a nuisance
"""
