"""Where an action would run: places, files, and what is known of both.

agent_definitions  skills, commands and subagents of a project
lookups            the one door through which reviews learn of the file system and of git
places             where a path lies, and what that means for whoever writes, deletes or reads there
scene              what a review has at hand while it looks at one action
"""
