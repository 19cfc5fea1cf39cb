"""The step reviewer: what an action would do, and whether it may run. Pure."""
