package scenario

import (
	"bytes"
	_ "embed"
)

//go:embed starter.yaml
var starter []byte

// Starter returns a commented scenario to begin with.
func Starter() []byte { return bytes.Clone(starter) }
