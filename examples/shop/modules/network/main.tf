variable "network_id" {
  type = string
}

variable "region" {
  type = string
}

resource "terraform_data" "network" {
  input = {
    name   = var.network_id
    region = var.region
  }

  provisioner "local-exec" {
    command = "echo 'laying out ${self.input.name} in ${self.input.region}'; sleep 1; echo 'the network is up'"
  }
}

resource "terraform_data" "subnet" {
  count            = 2
  input            = "${terraform_data.network.output.name}-${count.index}"
  triggers_replace = [terraform_data.network.id]
}

output "id" {
  value = terraform_data.network.output.name
}

output "subnets" {
  value = terraform_data.subnet[*].output
}

output "first_subnet" {
  value = terraform_data.subnet[0].output
}
