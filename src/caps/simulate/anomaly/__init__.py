"""Anomaly operations by family, and the local context their magnitudes are measured in."""
