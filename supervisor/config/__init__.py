"""Configuration: `chaperon.yaml` and the environment, checked key by key."""
