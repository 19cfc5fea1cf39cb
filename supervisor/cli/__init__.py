"""The command `chaperon`."""
