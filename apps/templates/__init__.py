"""Templates: Go's text/template with the functions of sprig that are pure.

A string without `.nuon` and `.exclave` is not a template. A missing key is an error; nothing is
escaped; size, nesting and steps are limited.
"""

from apps.templates.errors import TemplateError
from apps.templates.printing import go_text
from apps.templates.reads import Read
from apps.templates.rendering import Rendered, Template, parse, render_value

__all__ = ["Read", "Rendered", "Template", "TemplateError", "go_text", "parse", "render_value"]
