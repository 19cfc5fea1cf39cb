"""What programs do, as tables by family. Each entry carries commands that must and must not match; the tests run them all.

abuse       ordinary programs with an option that runs another program, reads any file, or opens a line to another
            machine
agents      other coding agents
book        all knowledge, in an explicit list
cloud       cloud providers, hosting, infrastructure as code
containers  containers and clusters
coreutils   the core tools
databases   databases, by their command line clients
elsewhere   ways to reach the process that runs the agent, and to have something run where nobody watches over it
git         git and its like
packages    package managers
platforms   forges, continuous integration, secret stores, and services reached by their HTTP interface
services    services, accounts, kernel and the machine's own settings
windows     powerShell's commands and those of Windows, by whatever shell they are given
"""
