package view

import (
	"path"
	"strings"

	"dyno/lab/diagnose/stacks"
)

// Origin of a function; flame graphs are coloured by it.
const (
	originRest    = iota // unknown: merged stacks
	originService        // the program's own module
	originLibrary        // another module
	originStd            // the standard library
	originRuntime        // the Go runtime: scheduling, allocation, collection
)

// originOf derives the origin from a function's package and its file. A module in the module cache
// has a version in its path; one outside of it is the program's own module, or one that a folder
// replaces, which counts as its own.
func originOf(function, file string) int {
	if function == summedUp || function == "" {
		return originRest
	}
	pkg := stacks.Package(function)
	root, _, _ := strings.Cut(pkg, "/")
	folder := path.Dir(strings.ReplaceAll(file, `\`, "/"))
	switch {
	case pkg == "": // assembly without a package: memeqbody, aeshashbody, cmpbody
		return originRuntime
	case root == "runtime" || strings.HasPrefix(pkg, "internal/runtime"):
		return originRuntime
	case strings.Contains(folder, "@v") || strings.Contains(folder, "/vendor/"):
		return originLibrary
	case stacks.Standard(function):
		return originStd
	}
	return originService
}
