"""What all models of the app config have in common: names, marks of strings, and tolerance.

The models ignore fields that they do not know, since a worker may read the frozen config of a
newer release; the loader reports wrong keys to vendors. Strings that are templates are kept as
written.
"""

from datetime import timedelta
from enum import Enum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from apps.durations import parse_duration


class Model(BaseModel):
    """A table of an app config."""

    # Built at the first use: a process that only names a model does not pay for it.
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False, defer_build=True)


class Mark(Enum):
    """What the loader and the engines do with a string, or with each string in a value."""

    TEMPLATE = "rendered for each install; see `apps.templates`"
    REFERENCE = "may refer to a file, which is then read in its place"
    FILE = "may name a file of the config, which must be there"
    DEGRADES = "rendered as far as possible: only people read it"


Name = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}$")]
"""The name of a component or an action."""

TopLevelName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_-]{0,127}$")]
"""The name of an input, a group or a secret."""

FieldName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]{0,127}$")]
"""A name that a template can write after a dot."""

Title = Annotated[str, StringConstraints(min_length=1, max_length=128)]
"""A name that only people read."""

Text = Annotated[str, StringConstraints(min_length=1)]
"""A string that is not empty."""

TemplateText = Annotated[str, Mark.TEMPLATE]
"""A string that is rendered for each install."""

TemplateName = Annotated[str, StringConstraints(min_length=1), Mark.TEMPLATE]
"""A name that is rendered for each install."""

FileOrUrl = Annotated[str, StringConstraints(min_length=1), Mark.FILE]
"""The `./path` of a file in the config, or an address."""

Contents = Annotated[str, Mark.REFERENCE, Mark.TEMPLATE]
"""Text, or a reference to the file that holds it; rendered for each install."""

Page = Annotated[str, Mark.REFERENCE, Mark.TEMPLATE, Mark.DEGRADES]
"""A page for people, or a reference to the file that holds it."""

TemplateValues = Annotated[dict[str, JsonValue], Mark.TEMPLATE]
"""Values by name; strings in them, at any depth, are templates."""

TemplateMap = Annotated[dict[str, str], Mark.TEMPLATE]
"""Strings by name, each of them a template."""

Labels = dict[str, str]
"""Labels to group and select by."""

Retries = Annotated[int, Field(ge=0, le=100)]


def duration_within(most: timedelta, shown: str) -> AfterValidator:
    """Checks that a string is a duration as Go writes it, above zero and at most `most`."""

    def check(text: str) -> str:
        if not timedelta() < parse_duration(text) <= most:
            raise ValueError(f"{text} is out of range: more than 0s, at most {shown}")
        return text

    return AfterValidator(check)


UpToAnHour = Annotated[str, duration_within(timedelta(hours=1), "1h")]
"""A duration as Go writes it."""
