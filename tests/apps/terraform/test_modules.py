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
        ("a.tf", b"\xff", "not UTF-8"),
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


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b'\nvariable "x" {\n  a = = 1\n}', 3, "(unexpected '= 1'); Terraform decides"),
        (b"x = " + b"[" * 3000 + b"]" * 3000, None, "nested too deeply"),
        (b"#" * (1024 * 1024 + 1), None, "larger than 1024 KiB"),
        (b'variable "x" {\n  default = "a\n}\n', None, "Terraform decides"),
        (b"/*" * 100_000, None, "Terraform decides"),
        (b"a {" * 5000, None, ""),
    ],
)  # fmt: skip
def test_what_only_terraform_can_judge_is_a_doubt(
    tmp_path: Path, content: bytes, line: int | None, message: str
) -> None:
    (tmp_path / "a.tf").write_bytes(content)
    (tmp_path / "b.tf").write_text('variable "y" {}\n')
    module = read_module(tmp_path)
    assert "y" in module.variables
    (doubt,) = module.doubts
    assert doubt.file == "a.tf" and message in doubt.message
    assert line is None or doubt.line == line
    assert module.is_complete == (line is not None)


LEGAL_FORMS = {
    "strip markers": 'x = "a ${~ var.given ~} b"',
    "a newline in a template": 'x = "a ${\n  var.given\n  }"',
    "a minus in parentheses": "x = [(\n  -1\n), (- var.given), 1 - (-1)]",
    "a comment within": "x = /* why */ [1, /* and\n } */ 2] /* end */",
    "an escaped template": 'x = "$${"\n  y = "%%{"',
    "not not": "x = !!var.given",
    "an underscore in a heredoc": 'x = <<_EOT\n  } ${"{"}\n  _EOT',
    "letters beyond ASCII": "größe = { größe = 1 }",
    "a newline before =>": "x = { for k, v in {} : k\n    => v }",
    "a function of the core": 'x = core::length("abc")',
}


@pytest.mark.parametrize("form", LEGAL_FORMS)
def test_forms_that_the_parser_does_not_know_hide_nothing(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.tf").write_text(
        f"""
variable "given" {{
  default   = 1 # one
  sensitive = true // yes
}}
locals {{
  {LEGAL_FORMS[form]}
}}
variable "größe" {{}}
output "o" {{ value = "${{var.given}}" }}
output "s" {{
  sensitive = true
  value     = <<-EOT
    output "no" {{
  EOT
}}
terraform {{
  required_version = ">= 1.5"
  required_providers {{
    google = {{ source = "hashicorp/google", version = "~> 5" }}
    random = ">= 3"
  }}
}}
module "m" {{ source = "./m" }}
""",
        "utf-8",
    )
    module = read_module(tmp_path)
    assert module.is_complete
    assert module.variables == {
        "given": Variable("given", has_default=True, sensitive=True),
        "größe": Variable("größe", has_default=False, sensitive=False),
    }
    assert module.outputs == {
        "o": Output("o", sensitive=False), "s": Output("s", sensitive=True),
    }  # fmt: skip
    assert module.required_versions == (("a.tf", ">= 1.5"),)
    assert module.providers == {"hashicorp/google", "hashicorp/random"}


def test_overrides_are_merged_as_terraform_does(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
variable "a" { type = string }
variable "b" { sensitive = true }
output "o" {
  value     = 1
  sensitive = true
}
terraform { required_version = ">= 1.5" }
""")
    (tmp_path / "a_override.tf").write_text("""
variable "a" { default = "x" }
variable "b" { description = "changed" }
variable "new" {}
output "o" { value = 2 }
output "new" { value = 1 }
""")
    (tmp_path / "override.tf.json").write_text(
        json.dumps(
            {
                "variable": {"b": {"sensitive": False}},
                "terraform": {"required_version": ">= 1.9"},
            }
        )
    )
    module = read_module(tmp_path)
    assert module.variables == {
        "a": Variable("a", has_default=True, sensitive=False),
        "b": Variable("b", has_default=False, sensitive=False),
    }
    assert module.outputs == {"o": Output("o", sensitive=True)}
    assert module.required_versions == (("override.tf.json", ">= 1.9"),)


def test_what_opentofu_reads_in_place_of_terraforms_files(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('variable "a" {}\nvariable "c" {}\n')
    (tmp_path / "main.tofu").write_text('variable "a" {}\nvariable "b" {}\noutput "o" {}\n')
    module = read_module(tmp_path)
    has_default = {name: one.has_default for name, one in module.variables.items()}
    assert has_default == {"a": False, "b": True, "c": True}
    assert set(module.outputs) == {"o"} and not module.is_for_opentofu
    (tmp_path / "main.tf").unlink()
    module = read_module(tmp_path)
    assert set(module.variables) == {"a", "b"} and module.is_for_opentofu
