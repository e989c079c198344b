// Command generate runs gqlgen, with a plugin that binds the schema for package plan, and writes the schema for routers of Apollo
// Federation.
package main

import (
	"fmt"
	"os"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
)

func main() {
	cfg, err := config.LoadConfigFromDefaultLocations()
	if err == nil {
		err = api.Generate(cfg, api.AddPlugin(bindings{}))
	}
	if err == nil {
		err = writeSubgraph("deploy/subgraph.graphqls")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
