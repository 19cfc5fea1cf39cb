"""Checks that hold for every program: what its surroundings, its words and its input say."""
