//go:build tools

package main

// Pins the version of the code generator that go generate runs.
import _ "github.com/99designs/gqlgen"
