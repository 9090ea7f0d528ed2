"""What can go wrong, in one tree.

LongthreadError
├── SettingsError             a setting that cannot work; raised when the graph is built
├── ModelError                the model string, its key or its server
│   ├── ModelNotFound
│   └── ContextRefused        the provider refused the same request twice as too long
├── WorkspaceError            a path or a file that a tool cannot serve
├── RequestLimitReached       `max_requests` ended the run; resume it to go on
└── ThreadError               threads and their store
    ├── ThreadNotFound
    ├── ThreadBusy
    │   └── StaleRun          another run, or an update, wrote to the thread meanwhile
    ├── ThreadTooNew          written by a newer longthread
    └── StoreUnusable         a database that cannot be opened, read or written
"""


class LongthreadError(RuntimeError):
    """The base of every error that longthread raises on purpose.

    A `RuntimeError`, since a LangGraph server passes the text on for Python's own kinds only.
    """


class SettingsError(LongthreadError, ValueError):
    """A setting, alone or beside the others, that cannot work."""


class ModelError(LongthreadError):
    """The model cannot be made or does not answer."""


class ModelNotFound(ModelError):
    """A model string that names nothing that can be loaded."""


class ContextRefused(ModelError):
    """The provider refused the request as too long, and again after a compaction.

    The run stays unfinished: resume it with another model or larger window.
    """


class WorkspaceError(LongthreadError):
    """A path outside the workspace, or a file that cannot be served as text."""


class RequestLimitReached(LongthreadError):
    """The turn used its `max_requests`, over all its interrupts; invoke with `None` to grant as many again."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the run reached max_requests={limit}; invoke the graph with None on the same "
            "thread to go on for as many again, or build it with a larger limit"
        )
        self.limit = limit


class ThreadError(LongthreadError):
    """A thread cannot be used as asked."""


class ThreadNotFound(ThreadError):
    """No thread of that name is stored."""


class ThreadBusy(ThreadError):
    """Another run holds the thread."""


class StaleRun(ThreadBusy):
    """The run's write was refused: it no longer continues the newest checkpoint of its thread."""

    def __init__(self, thread: str, why: str = "another run, or an update, has written to it since") -> None:
        super().__init__(
            f"the run on thread {thread!r} was stopped, and what it had not stored yet is not stored: {why}; invoke "
            "again to go on from the newest state, and hold thread_lock(saver, thread) so that runs take turns"
        )
        self.thread = thread


class ThreadTooNew(ThreadError):
    """The thread was written by a newer longthread, whose way of storing it is not known here."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"the thread is stored in schema version {found}, this longthread knows versions up to {known}: "
            "upgrade it (pip install -U longthread), or go on with another thread"
        )
        self.found, self.known = found, known


class StoreUnusable(ThreadError):
    """The database cannot be opened, read or written."""
