"""Programs that each device of a mesh runs on its own part of the data."""
