"""Loading stored values without ever running what a row names."""

from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from longthread.tools.errors import StoreUnusable

KINDS = frozenset({"null", "bytes", "bytearray", "msgpack"})
"""What our savers write. LangGraph also loads `json`, whose constructors it calls, and `pickle`."""


class StrictSerializer(JsonPlusSerializer):
    """Core messages and plain values come back as they are; of any other object only its data."""

    def __init__(self, where: str) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self.where = where

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value. Raises `StoreUnusable` for a kind that we do not write, and for damaged bytes."""
        if data[0] not in KINDS:
            raise self._unreadable(f"it is of the kind {data[0]!r}, which may run code and is never loaded")
        try:
            return super().loads_typed(data)
        except Exception as error:  # msgpack and the messages' validation fail in many ways on forged bytes
            raise self._unreadable("its bytes are damaged") from error

    def _unreadable(self, why: str) -> StoreUnusable:
        return StoreUnusable(
            f"{self.where!r} holds a value that cannot be read: {why}; delete that thread with "
            "`longthread delete THREAD`, or restore a backup"
        )
