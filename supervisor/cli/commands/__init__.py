"""The commands, one a module.

agents/   commands that show agents, steer them, and go back
policy/   commands about rules and settings, and what they would do
service/  commands about the daemon, and what it tells others
work/     commands that give agents work, and take over what they made
"""
