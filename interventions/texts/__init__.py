"""Messages to agents: texts, their fields, and remedies of known errors.

fields        texts with fields
known_errors  errors that are well understood
remedies      remedies of known errors, with the facts that were looked up
restated     the message after a compaction
soft_texts    texts about an issue of each type
wording       the words of a sentence that say what it is about
work_texts    messages to an agent whose finished work goes back to it
"""
