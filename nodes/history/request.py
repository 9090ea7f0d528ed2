"""One request of the model, made from the state and nothing else."""

from collections.abc import Collection, Sequence
from typing import Literal

from langchain_core.messages import AnyMessage, SystemMessage

from longthread.nodes.history.prune import show_pruned
from longthread.nodes.history.repair import repair
from longthread.nodes.history.roles import adapt_roles


def build_request(
    messages: Sequence[AnyMessage],
    *,
    system_prompt: str | None,
    pruned_through: str | None,
    system_role: Literal["system", "user"],
    keep: Collection[str] = (),
) -> list[AnyMessage]:
    """System prompt and history after the three projections: repair, pruning, roles.

    The same arguments give the same bytes in every process. As the history grows by whole groups,
    a request is a prefix of the next, once the history holds more than system messages. Our own
    `additional_kwargs` stay on the messages: no provider's package sends keys that it does not know.
    """
    shown = show_pruned(repair(messages), pruned_through, keep)
    head: list[AnyMessage] = [SystemMessage(system_prompt)] if system_prompt else []
    return adapt_roles([*head, *shown], system_role)
