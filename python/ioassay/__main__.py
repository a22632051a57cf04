"""`python -m ioassay` is `ioassay`."""

from ioassay.cli import main

if __name__ == "__main__":
    main()
