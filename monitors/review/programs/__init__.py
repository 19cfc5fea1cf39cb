"""Programs whose effect depends on which paths they are given, a module for each kind of doing."""
