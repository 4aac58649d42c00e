variable "network_id" {
  type = string
}

variable "subnets" {
  type = list(string)
}

resource "terraform_data" "database" {
  input            = join(",", var.subnets)
  triggers_replace = [var.network_id, "engine 2"]

  provisioner "local-exec" {
    command = "echo 'creating the database in ${self.input}'; sleep 1; echo 'no space left on device' >&2; exit 1"
  }
}

output "url" {
  value = "postgres://shop@${var.network_id}.internal:5432/shop"
}

output "password" {
  value     = sha256("password of ${terraform_data.database.id}")
  sensitive = true
}
