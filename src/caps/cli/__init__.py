"""Thin commands: parse, one library call, print. Heavy imports live inside the commands."""
