variable "install" {
  type = string
}

variable "region" {
  type = string
}

resource "terraform_data" "network" {
  input = {
    id     = "shop-${var.install}"
    region = var.region
  }

  provisioner "local-exec" {
    command = "echo 'reserving the network ${self.input.id} in ${self.input.region}'; sleep 2; echo 'the network is reserved'"
  }
}

resource "terraform_data" "domain" {
  input = "${var.install}.shop.internal"
}

output "network_id" {
  value = terraform_data.network.output.id
}

output "region" {
  value = terraform_data.network.output.region
}

output "domain" {
  value = terraform_data.domain.output
}
