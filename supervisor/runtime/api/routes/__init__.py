"""The routes of the socket, one subject a module. Each is handed the parts of the daemon that it uses.

agents/      agents, what a person has them do, and the ways back of their work
service/     what the daemon knows, tells and is told as a whole
work/        tasks, merges, and facts that agents note for others
directories  the worktree or the repository that a directory in a request means
"""
