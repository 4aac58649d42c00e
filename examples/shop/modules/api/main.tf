variable "domain" {
  type = string
}

variable "database_url" {
  type = string
}

variable "database_password" {
  type = string
}

variable "cache_url" {
  type = string
}

variable "greeting" {
  type = string
}

variable "license" {
  type      = string
  sensitive = true
  default   = ""
}

resource "terraform_data" "credentials" {
  input = var.database_password
}

resource "terraform_data" "api" {
  input = {
    database_url = var.database_url
    cache_url    = var.cache_url
    greeting     = var.greeting
  }
  triggers_replace = [terraform_data.credentials.id]

  provisioner "local-exec" {
    command = "echo \"starting the api, which says: $GREETING\"; sleep 1; echo 'the api is up'"

    environment = {
      GREETING = self.input.greeting
    }
  }
}

output "url" {
  value = "https://${var.domain}"

  depends_on = [terraform_data.api]
}

output "greeting" {
  value = terraform_data.api.output.greeting
}

output "licensed" {
  value = nonsensitive(var.license != "")
}
