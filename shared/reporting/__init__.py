"""From result frames to tables and figures that a reader can trust."""
