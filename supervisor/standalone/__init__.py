"""A CLI under a daemon of its own for as long as it runs, and the reports of such a run, as CI wants them.

findings     the findings of a run, for machines that read SARIF or JUnit: refused calls and incidents
junit        the findings of a run as JUnit's XML, which every CI service shows as tests
sarif        the findings of a run as SARIF 2.1.0, the form of OASIS in which code scanners report
watched_run  a run of the CLI under a daemon of its own, with a summary, reports, and an exit code
"""
