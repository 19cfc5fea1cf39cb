import pytest
from pydantic import ValidationError

from supervisor.config.sections.workspaces import CheckpointsSection


@pytest.mark.parametrize("path", ["/x", "a/../b", "", ".git/x"])
def test_what_lies_in_no_workspace_cannot_be_captured(path: str) -> None:
    with pytest.raises(ValidationError, match="is no path below a workspace"):
        CheckpointsSection.model_validate({"also": [path]})
