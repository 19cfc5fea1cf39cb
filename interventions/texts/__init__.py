"""What agents are told: texts, their fields, and what is known of errors.

fields        texts with fields
known_errors  errors that are well understood
remedies      what is to be done about an error that is well understood, with the facts that were looked up
soft_texts    what is said about an issue of each type
wording       the words of a sentence that say what it is about
"""
