// Package escape joins the compiler's escape diagnostics (go build -gcflags=-m) with the
// allocations of a run: for each escape its cost per request, its place, and the compiler's reason
// for not keeping the value on the stack. It prints the result as lines that fit a terminal, or as
// one JSON object.
//
// An allocation belongs to the first frame of its stack, from the leaf on, that is in the given
// packages. On the line of that frame, the compiler reports an escape, or the line calls a function
// that allocates, or the runtime allocates on its own (a map that grows). The compiler also lists
// the calls that it inlined, so that they are not taken for called functions.
//
// The package does not find out whether a service allocates too much (diagnose does). Compile
// starts the go command and waits for it; all other functions only compute. The package starts no
// goroutines.
package escape

import (
	"path"
	"strings"
)

// Escape is a value that the compiler puts on the heap.
type Escape struct {
	Column int `json:"column"`
	// in the compiler's words: "&notice{...} escapes to heap", "moved to heap: n"
	What string `json:"what"`
	Why  string `json:"why,omitempty"` // the step by which it leaves the stack: "return: return &n"
}

// Package is a package that was compiled.
type Package struct {
	Path string // import path
	Name string // main for a command
	Dir  string // folder of its source, absolute
}

// Listing holds the compiler's diagnostics for some packages.
type Listing struct {
	Packages []Package
	lines    map[place]*line
	files    map[place]string // file names as the compiler printed them, by place with line 0
}

// place is a line of source in a form common to diagnostics and profiles. A profile has absolute
// paths, or with -trimpath paths that begin with the module; the compiler prints paths relative to
// the working directory.
type place struct {
	pkg  string // import path
	file string // base name
	line int
}

// of returns the place of the whole file, whose line is 0.
func (p place) of() place { return place{p.pkg, p.file, 0} }

// line holds the diagnostics of one line of source.
type line struct {
	escapes []Escape
	inlined map[string][]int // columns of inlined calls, by function without its package
}

// at returns the entry of the line that a diagnostic in pkg points to. It creates a missing entry.
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

// packageOf returns the import path of a symbol. The linker escapes dots in the last element of a
// path.
func packageOf(symbol string) string {
	pkg, _ := splitSymbol(symbol)
	return strings.ReplaceAll(pkg, "%2e", ".")
}

// splitSymbol splits "net/http.(*conn).serve" into "net/http" and "(*conn).serve". It removes type
// arguments, which may contain paths.
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

// baseName returns the last element of a path, which may be one of another operating system.
func baseName(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }
