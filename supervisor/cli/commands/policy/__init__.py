"""Commands about rules and settings, and what they would do.

outcome         the command that says what became of issues, and shows what was learned from that
rehearse        the commands that play scenarios to the real CLI
rehearsing      what those commands do
replay          the command that runs recorded sessions through today's reviewer, detectors and controller, offline
replaying       what that command does
replay_against  a change of the policy, tried against recorded calls
replay_page     the report of a replay as one HTML file, with charts
review          commands about reviews without a run
reviewing       what those commands do
trust           the command to examine a repository's settings, and the question of `run` about them
"""
