"""Provider adapters, one module each."""
