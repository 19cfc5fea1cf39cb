"""Code given to interpreters: what it would run, delete, write, read and connect to."""
