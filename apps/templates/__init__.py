"""Templates: what Exclave understands of Go's text/template.

Text, `{{ .path.to.field }}`, `{{-` and `-}}`, comments, literals, pipelines, parentheses, and the
function `default`. Everything else is refused by name, with line and column.
"""

from apps.templates.errors import TemplateError
from apps.templates.printing import go_text
from apps.templates.rendering import Rendered, Template, parse, render_value

__all__ = ["Rendered", "Template", "TemplateError", "go_text", "parse", "render_value"]
