"""The two forms in which the reviewer is tested: the sources, and what mypyc makes of them, which `make compiled` tests."""

import pytest

from monitors.review import reviewer

pure_form = pytest.mark.skipif(
    not str(reviewer.__file__).endswith(".py"),
    reason="compiled code raises TypeError for a field of another type; the gate then refuses the call",
)
"""Marks a test of the pure form alone."""
