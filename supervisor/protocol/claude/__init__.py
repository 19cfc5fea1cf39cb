"""The words of the Claude CLI: its lines, its requests, its prices and its settings.

control       lines written to the CLI
messages      lines of the CLI to typed messages
prices        tokens and their cost
retrying      the CLI's own retries
settings      the settings of a repository that make the CLI run programs, and the settings that these run under
usage_limits  notices of the account's usage limits
"""
