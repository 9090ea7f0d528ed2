"""Arguments that a model sends as `null` instead of leaving them out, as strict schemas make some do."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, create_model, model_validator


@cache
def without_nulls(model: type[BaseModel]) -> type[BaseModel]:
    """The model, taking `None` for an argument that may be left out as left out; its schema stays as it is."""
    optional = frozenset(name for name, field in model.model_fields.items() if not field.is_required())

    def drop(cls: type[BaseModel], given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if value is not None or name not in optional}

    validators: dict[str, Any] = {"drop": model_validator(mode="before")(drop)}
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, __validators__=validators)
