//go:build tools

// Package main pins the code generator that go generate runs.
package main

import _ "github.com/99designs/gqlgen"
