"""The surroundings of an action: places, files, and facts about both.

agent_definitions  skills, commands and subagents of a project
lookups            the only access of reviews to the file system and git
places             places of paths, and their meaning for writes, deletions and reads
scene              the state of a review while it examines one action
"""
