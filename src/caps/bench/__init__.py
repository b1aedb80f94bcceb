"""The benchmark: every method on TSB-AD data, resumable, with the paper's tables."""
