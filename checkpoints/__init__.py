"""Effects on git and disk: capture a workspace, go back to it, and keep only what is worth keeping."""
