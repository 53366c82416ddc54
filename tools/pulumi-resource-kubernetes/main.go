// The Pulumi Kubernetes provider as a program of its own: its module holds the provider as a library and its schema as files.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

const version = "4.25.0"

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() {
	provider.Serve("kubernetes", version, schema, mapping)
}
