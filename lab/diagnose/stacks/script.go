package stacks

import (
	"path"
	"slices"
	"strings"

	"dyno/lab/record"
)

// scripts are the endings of source files of languages other than Go.
var scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".py"}

// Scripted reports whether a file is a script, or a part of its runtime. Such a file, not the name
// of the function, shows whose code it is.
func Scripted(file string) bool {
	return ofRuntime(file) || slices.Contains(scripts, path.Ext(file))
}

// ofRuntime reports whether a file belongs to a runtime's own library: node:net, <frozen runpy>,
// /usr/lib/python3.12/socket.py.
func ofRuntime(file string) bool {
	if strings.HasPrefix(file, "node:") || strings.HasPrefix(file, "<frozen ") {
		return true
	}
	_, below, library := strings.Cut(file, "/lib/python")
	return library && path.Ext(file) == ".py" && !strings.Contains(below, "-packages/")
}

// library reports whether a frame's function belongs to the runtime or the standard library of its
// language.
func library(f record.Frame) bool {
	if Scripted(f.File) {
		return ofRuntime(f.File)
	}
	return Standard(f.Function)
}
