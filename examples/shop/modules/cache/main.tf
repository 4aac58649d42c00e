variable "network_id" {
  type = string
}

variable "size_mb" {
  type = number
}

variable "subnet" {
  type = string
}

resource "terraform_data" "cache" {
  input = {
    subnet  = var.subnet
    size_mb = var.size_mb
  }
  triggers_replace = [var.network_id]

  provisioner "local-exec" {
    command = "echo 'creating a cache of ${self.input.size_mb} MB in ${self.input.subnet}'; sleep 1; echo 'the cache is up'"
  }
}

output "url" {
  value = "redis://${var.network_id}.internal:6379"
}

output "size_mb" {
  value = terraform_data.cache.output.size_mb
}
