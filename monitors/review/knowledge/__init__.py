"""The knowledge of programs, by family, in the language of a user's own rules: see `rules.definitions`.

Each entry carries commands that it must match and others that it must not; the tests run them all. After a change to a
file here, `make docs` builds the tables anew.

families.yaml    the families, in the order in which their rules are tried
abuse.yaml       ordinary programs with an option that runs another program, reads any file, or opens a line to another
                 machine
agents.yaml      other coding agents
cloud.yaml       cloud providers, hosting, infrastructure as code
containers.yaml  containers and clusters
coreutils.yaml   the core tools
databases.yaml   databases, by their command line clients
elsewhere.yaml   ways to reach the process that runs the agent, and to have something run outside its watch
git.yaml         git and its like
launchers.yaml   programs that start another program, through which the reviewer looks
packages.yaml    package managers
people.yaml      words of messages to many people
proofs.yaml      tests and checks of a project, and signs of an edit that has them pass though nothing was mended
platforms.yaml   forges, continuous integration, secret stores, and services reached by their HTTP interface
services.yaml    services, accounts, kernel and the machine's own settings
windows.yaml     PowerShell's commands and those of Windows, by whatever shell they are given

book    all that is built in, in the order in which it is tried
tables  the knowledge as JSON, built of the YAML files beside this module by `make docs`, and never edited
"""
