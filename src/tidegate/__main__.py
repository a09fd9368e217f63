"""`python -m tidegate` is the command."""

from tidegate.cli.main import main

if __name__ == "__main__":
    main()
