"""`python -m coexplore`: the command."""

from coexplore.cli import main

main()
