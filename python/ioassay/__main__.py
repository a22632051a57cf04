"""`ioassay`, also as `python -m ioassay`."""

from ioassay.processes import garbage_collection, keyboard_interrupt


def main() -> None:
    """Runs the command line and exits with its code."""
    keyboard_interrupt.take()
    garbage_collection.postpone()
    from ioassay.cli import main as run  # noqa: PLC0415  (it imports much, which Ctrl-C may interrupt)

    run()


if __name__ == "__main__":
    main()
