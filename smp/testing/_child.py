"""The program of a server that runs as a process; see ``ServerProcess``.

It reads operations from its standard input, and writes what they return or raise to its
standard output, until the input ends: also where the process of the test was killed.
"""

from __future__ import annotations

import pickle
import sys

from smp.testing._running import ServerThread


def main() -> None:
    """Serve until the standard input ends."""
    operations, answers = sys.stdin.buffer, sys.stdout.buffer

    def answer(error: Exception | None, value: object) -> None:
        answers.write(pickle.dumps((error, value)))
        answers.flush()

    try:
        server = ServerThread(pickle.load(operations))  # noqa: S301  # from our parent
    except Exception as error:  # noqa: BLE001  # raised in the parent
        answer(error, None)
        return
    answer(None, server.url)
    while True:
        try:
            operation, arguments = pickle.load(operations)  # noqa: S301  # see above
        except EOFError:
            break
        try:
            answer(None, server.call(operation, *arguments))
        except Exception as error:  # noqa: BLE001  # see above
            answer(error, None)
    server.stop()


if __name__ == "__main__":
    main()
