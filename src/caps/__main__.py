"""`python -m caps`: the command where its script is not on the path."""

from caps.cli.main import main

main()
