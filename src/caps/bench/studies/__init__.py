"""The paper's studies: `run_study(name, StudyRun(...))`, or `caps bench study NAME`."""
