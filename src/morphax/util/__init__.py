"""Ground tools that know nothing of arrays: user frames, error text, small caches."""
