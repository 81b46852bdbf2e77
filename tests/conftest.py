"""What the whole suite needs of its process."""

import signal


def pytest_configure() -> None:
    """Lets Ctrl-C reach the programs that tests start.

    A shell starts background jobs with the interrupt ignored, and whoever they start inherits that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
