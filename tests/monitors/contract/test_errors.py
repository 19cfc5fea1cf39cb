from monitors.contract.errors import ChaperonError, FrameError, IllegalStepError, NotFoundError, UsageError


def test_an_error_is_its_sentence_and_the_way_out() -> None:
    error = ChaperonError("It failed.", way_out="Try again.")
    assert (str(error), error.what, error.way_out) == ("It failed. Try again.", "It failed.", "Try again.")
    assert str(ChaperonError("It failed.")) == "It failed."
    assert str(ChaperonError("It failed:\n  so\n", way_out="Try again.")) == "It failed:\n  so\nTry again."


def test_what_is_not_found_is_the_callers_mistake() -> None:
    assert issubclass(NotFoundError, UsageError)


def test_an_illegal_step_names_agent_state_step_and_what_to_type() -> None:
    error = IllegalStepError("a1", "running", "be resumed", "What you can do now: chaperon pause a1")
    assert str(error) == (
        "Agent 'a1' is running and cannot be resumed; nothing was changed. What you can do now: chaperon pause a1"
    )
    assert (error.agent, error.state, error.step) == ("a1", "running", "be resumed")


def test_a_malformed_frame_says_who_waits_for_an_answer() -> None:
    error = FrameError("hook_callback", "it has no input", "r9")
    assert "'hook_callback' frame is malformed: it has no input" in str(error)
    assert error.request_id == "r9"
