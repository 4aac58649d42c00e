variable "network_id" {
  type = string
}

variable "memory_mb" {
  type = number
}

resource "terraform_data" "index" {
  input            = "${var.memory_mb} MB in two shards"
  triggers_replace = [var.network_id]

  provisioner "local-exec" {
    command = "echo 'building a search index of ${self.input}'; sleep 1; echo 'the search is up'"
  }
}

output "url" {
  value = "https://search.${var.network_id}.internal"

  depends_on = [terraform_data.index]
}
