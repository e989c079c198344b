//go:build tools

package main

// Pins the version of the code generator. The command graph/generate runs it with a plugin.
import _ "github.com/99designs/gqlgen"
