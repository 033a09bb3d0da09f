package view

import (
	"path"
	"strings"
)

// Origin of a function; flame graphs are coloured by it.
const (
	originRest    = iota // unknown: merged stacks
	originService        // the program's own module
	originLibrary        // another module
	originStd            // the standard library
	originRuntime        // the Go runtime: scheduling, allocation, collection
)

// stdRoots are the first elements of the standard library's import paths.
var stdRoots = func() map[string]bool {
	roots := map[string]bool{}
	for _, root := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed
		encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
		reflect regexp slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak`) {
		roots[root] = true
	}
	return roots
}()

// packageOf is the import path of a function's package: net/http of net/http.(*conn).serve.
func packageOf(function string) string {
	name, _, _ := strings.Cut(function, "[") // type arguments contain paths of their own
	dir, last := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, last = name[:i+1], name[i+1:]
	}
	last, _, _ = strings.Cut(last, ".")
	return dir + last
}

// originOf derives the origin from a function's package and its file. A module in the module cache
// has a version in its path; one outside it whose path begins with a host name is the program's own
// module (or one replaced by a folder, which counts as its own).
func originOf(function, file string) int {
	if function == summedUp || function == "" {
		return originRest
	}
	pkg := packageOf(function)
	root, _, _ := strings.Cut(pkg, "/")
	folder := path.Dir(strings.ReplaceAll(file, `\`, "/"))
	switch {
	case root == "runtime" || strings.HasPrefix(pkg, "internal/runtime"):
		return originRuntime
	case strings.Contains(folder, "@v") || strings.Contains(folder, "/vendor/"):
		return originLibrary
	case stdRoots[root]:
		return originStd
	case !strings.Contains(function, "."):
		return originRuntime // assembly without a package: memeqbody, aeshashbody, cmpbody
	}
	return originService
}
