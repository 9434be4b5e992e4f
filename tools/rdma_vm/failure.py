"""Why a command could not be run: one line for the user, and the exit status."""

TIMED_OUT = 124
GUEST_FAILED = 125


class Failure(Exception):
    def __init__(self, text, status=GUEST_FAILED):
        super().__init__(text)
        self.status = status
