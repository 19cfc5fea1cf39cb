"""Pure: the step reviewer, and the detectors that see trouble over many steps. One thing one file."""
