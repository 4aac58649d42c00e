provider "registry.example.com/example/example" {
  version = "1.0.0"
}
