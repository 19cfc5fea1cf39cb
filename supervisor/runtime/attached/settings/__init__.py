"""Hooks in the settings files of people.

attachments    settings files that hooks were put into, with their text from before
hook_entries   the hooks of a settings file: which events, and how each reaches the daemon
settings_text  hooks put into the text of a settings file, and taken out of it again
"""
