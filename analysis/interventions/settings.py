"""Edits of what surrounds the messages: tools, model, parameters."""

import json
from dataclasses import dataclass
from typing import ClassVar

from ...ingest.calls import Json
from ..canonical import canonical_json
from ..cases import Case
from ..fields import with_tool_definition
from ..parameters import with_parameter
from .edit import Edit


@dataclass(frozen=True, slots=True)
class EditTool(Edit):
    """Describes a tool otherwise, or gives it another schema of arguments."""

    tool: str
    description: str | None = None
    schema_json: str | None = None
    """Canonical JSON of the schema, so that the intervention stays hashable."""

    kind: ClassVar[str] = "tool"

    @property
    def summary(self) -> str:
        """Which tool, and what of it."""
        parts = [w for w, v in (("description", self.description), ("schema", self.schema_json)) if v is not None]
        return f"with another {' and '.join(parts)} of the tool {self.tool}"

    def apply(self, case: Case) -> Case:
        """Returns the case with the tool; UsageError when the request does not define it."""
        schema = None if self.schema_json is None else json.loads(self.schema_json)
        edited = with_tool_definition(case.api, case.request, self.tool, description=self.description, schema=schema)
        return case.with_request(edited)


@dataclass(frozen=True, slots=True)
class SwapModel(Edit):
    """Asks another model of the same API."""

    model: str

    kind: ClassVar[str] = "model"

    @property
    def summary(self) -> str:
        """The model."""
        return f"asked of {self.model}"

    def apply(self, case: Case) -> Case:
        """Returns the case for the other model."""
        return case.with_request({**case.request, "model": self.model})


@dataclass(frozen=True, slots=True)
class SetParameter(Edit):
    """Sets one parameter of the request, such as `temperature`; in the place where the API has it."""

    name: str
    value_json: str
    """Canonical JSON; `null` takes the parameter away."""

    @classmethod
    def of(cls, name: str, value: Json) -> "SetParameter":
        """The setting of a parameter to a value."""
        return cls(name, canonical_json(value))

    kind: ClassVar[str] = "parameter"

    @property
    def summary(self) -> str:
        """Name and value."""
        return f"without {self.name}" if self.value_json == "null" else f"with {self.name}={self.value_json}"

    def apply(self, case: Case) -> Case:
        """Returns the case with the parameter."""
        return case.with_request(with_parameter(case.api, case.request, self.name, json.loads(self.value_json)))
