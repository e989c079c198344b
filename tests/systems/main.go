// Command systems type-checks the program for other operating systems: systems GOOS... It reads all sources,
// with those of the dependencies and the standard library. That takes seconds, where a build takes minutes.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: systems GOOS...")
		os.Exit(2)
	}
	errors := 0
	for _, system := range os.Args[1:] {
		fmt.Fprintln(os.Stdout, "types on", system)
		program, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
				packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
			Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		}, ".")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		errors += packages.PrintErrors(program)
	}
	if errors > 0 {
		os.Exit(1)
	}
}
