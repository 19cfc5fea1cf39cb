"""Pure: the five interventions, the controller that chooses among them, and recovery."""
