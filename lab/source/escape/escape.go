// Package escape joins what the compiler says about escapes (go build -gcflags=-m) with what a run
// allocated: which escape costs how much per request, where it is, and why the compiler could not keep
// the value on the stack.
//
// An allocation belongs to the first frame of its stack, from the leaf on, that lies in the packages asked
// about. There the compiler names an escape, or the allocation happens in a function called from there,
// or the runtime makes it on its own account (a map that grows). Inlined calls are told from real ones by
// the compiler's own list of what it inlined.
//
// It is not for finding out that a service allocates too much: that is diagnose's work. It starts the go
// command (Compile) and waits for it; the rest is pure. It starts no goroutines.
package escape

import (
	"path"
	"strings"
)

// Escape is a value that the compiler puts on the heap.
type Escape struct {
	Column int    `json:"column"`
	What   string `json:"what"`          // as the compiler says it: "&notice{...} escapes to heap", "moved to heap: n"
	Why    string `json:"why,omitempty"` // the step by which it leaves the stack: "return: return &n"
}

// Package is a package that was compiled.
type Package struct {
	Path string // import path
	Name string // main for a command
	Dir  string // where its source lies, absolute
}

// Listing is what the compiler said about some packages.
type Listing struct {
	Packages []Package
	lines    map[place]*line
	files    map[place]string // as the compiler printed them; by place without a line
}

// place is a line of source, in a form that a diagnostic and a profile's frame have in common: a profile
// has absolute paths, or ones below the module when it was built with -trimpath, and the compiler prints
// paths as seen from the working directory.
type place struct {
	pkg  string // import path
	file string // without its folder
	line int
}

// of returns the file that the place is in.
func (p place) of() place { return place{p.pkg, p.file, 0} }

// line is what was said about one line of source.
type line struct {
	escapes []Escape
	inlined map[string][]int // columns of the calls that were inlined, by function without its package
}

// at returns the entry of the line that a diagnostic in pkg points to, and makes it when it is missing.
func (l *Listing) at(pkg string, pos position) *line {
	p := place{pkg, baseName(pos.file), pos.line}
	entry := l.lines[p]
	if entry == nil {
		entry = &line{inlined: map[string][]int{}}
		l.lines[p] = entry
		l.files[p.of()] = pos.file
	}
	return entry
}

// packageOf returns the import path in a symbol, as the linker writes symbols: dots in the last element
// of the path are escaped.
func packageOf(symbol string) string {
	pkg, _ := splitSymbol(symbol)
	return strings.ReplaceAll(pkg, "%2e", ".")
}

// splitSymbol parts "net/http.(*conn).serve" into "net/http" and "(*conn).serve". Type arguments may hold
// paths of their own, so they are cut off.
func splitSymbol(symbol string) (pkg, name string) {
	if i := strings.IndexByte(symbol, '['); i >= 0 {
		if end := strings.LastIndexByte(symbol, ']'); end > i {
			symbol = symbol[:i] + symbol[end+1:]
		} else {
			symbol = symbol[:i]
		}
	}
	head := symbol
	if i := strings.IndexByte(head, '('); i >= 0 {
		head = head[:i]
	}
	start := strings.LastIndexByte(head, '/') + 1
	dot := strings.IndexByte(symbol[start:], '.')
	if dot < 0 {
		return "", symbol
	}
	return symbol[:start+dot], symbol[start+dot+1:]
}

// baseName is the last element of a path that may come from another machine.
func baseName(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }
