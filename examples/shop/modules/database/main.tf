variable "network_id" {
  type = string
}

variable "subnets" {
  type = list(string)
}

resource "terraform_data" "database" {
  input            = join(",", var.subnets)
  triggers_replace = [var.network_id]

  provisioner "local-exec" {
    command = "echo 'creating the database in ${self.input}'; sleep 2; echo 'the database is up'"
  }
}

output "url" {
  value = "postgres://shop@${var.network_id}.internal:5432/shop"
}

output "password" {
  value     = sha256("password of ${terraform_data.database.id}")
  sensitive = true
}
