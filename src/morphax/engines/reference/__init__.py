"""The reference engine: NumPy gives every primitive its meaning, and eager mode its speed."""
