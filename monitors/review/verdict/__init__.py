"""From findings to one decision with its reasons.

assess       what one command would do
decision     from findings to a decision
grounds      what a review rests on, and whether that was still so when the action had run
rationality  rationality
rewrites     rewrites
risk         risk
"""
