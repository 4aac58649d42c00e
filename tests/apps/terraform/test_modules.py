import json
from pathlib import Path

import pytest

from apps.terraform.modules import ModuleError, Output, Variable, read_module


def test_what_a_module_declares(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
variable "plain" { type = map(object({ a = optional(string, "x") })) }
variable bare {}
variable "given" {
  default   = null # null is a default, too
  sensitive = true
}
locals { text = "variable \\"no\\" {}" }
resource "terraform_data" "x" {
  input = <<-EOT
    variable "no" {}
  EOT
}
module "m" { source = "./m" }
output "secret" {
  value     = "${var.plain}"
  sensitive = true
}
""")
    (tmp_path / "more.tf.json").write_text(
        json.dumps(
            {
                "variable": {"j": {"default": 1}},
                "output": [{"o": {"value": 1}}],
                "terraform": {"cloud": {"organization": "x"}},
            }
        )
    )
    (tmp_path / "ignored.txt").write_text("variable {")
    (tmp_path / "below").mkdir()
    (tmp_path / "below/x.tf").write_text("variable {")
    found = read_module(tmp_path)
    assert found.variables == {
        "plain": Variable("plain", has_default=False, sensitive=False),
        "bare": Variable("bare", has_default=False, sensitive=False),
        "given": Variable("given", has_default=True, sensitive=True),
        "j": Variable("j", has_default=True, sensitive=False),
    }
    assert found.outputs == {
        "secret": Output("secret", sensitive=True), "o": Output("o", sensitive=False),
    }  # fmt: skip
    assert found.cloud_block == "more.tf.json"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("a.tf", b'\nvariable "x" {\n  a = = 1\n}', "a.tf:3: is not valid HCL: unexpected"),
        ("a.tf", b"x = " + b"[" * 3000 + b"]" * 3000, "nested too deeply"),
        ("a.tf", b"\xff", "not UTF-8"),
        ("a.tf", b"#" * (1024 * 1024 + 1), "larger than 1024 KiB"),
        ("a.tf.json", b'{\n"a"', "a.tf.json:2: is not JSON"),
        ("a.tf.json", b"[]", "is not a JSON object"),
        ("a.txt", b"", "has no *.tf or *.tf.json file"),
    ],
)
def test_what_cannot_be_read_is_told(
    tmp_path: Path, file: str, content: bytes, message: str
) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ModuleError) as caught:
        read_module(tmp_path)
    assert message in str(caught.value)
