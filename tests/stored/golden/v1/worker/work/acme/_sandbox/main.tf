
variable "region" { type = string }
output "id" { value = "ground-${var.region}" }
