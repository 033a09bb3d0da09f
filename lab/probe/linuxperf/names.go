package linuxperf

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// place is a function with its file and its first line. line is 0 if the map does not have it.
type place struct {
	function, file string
	line           int
}

// scripts are the prefixes with which V8 names the code of JavaScript functions. Names with other
// prefixes belong to V8 itself.
var scripts = []string{"JS:", "LazyCompile:", "Function:", "Script:", "Eval:", "Module:"}

// placeOf parses the symbol of a frame.
func placeOf(symbol string) place {
	if name, ok := strings.CutPrefix(symbol, "py::"); ok {
		// py::Handler.do_GET:/srv/app.py
		function, file, _ := strings.Cut(name, ":")
		return place{function: cmp.Or(function, nameless), file: file}
	}
	for _, kind := range scripts {
		if name, ok := strings.CutPrefix(symbol, kind); ok {
			return scriptOf(name)
		}
	}
	symbol, _, _ = strings.Cut(symbol, "@") // the version of a library's symbol
	// C compilers append a suffix to variants of a function, as in read.isra.0.
	if i := strings.IndexByte(symbol, '.'); i > 0 && !strings.ContainsAny(symbol, "(<:") {
		symbol = symbol[:i]
	}
	return place{function: cmp.Or(symbol, nameless)}
}

// scriptOf parses the name that V8 gives a function, as in "*fib /srv/a.js:2:13". The first
// character says how the function is compiled. A function without a name gets one from its
// position.
func scriptOf(name string) place {
	name = strings.TrimLeft(name, "~^*+")
	rest, column, found := cutNumber(name)
	rest, line, both := cutNumber(rest)
	if !found || !both {
		return place{function: cmp.Or(strings.TrimSpace(name), nameless)}
	}
	at := -1
	for _, begin := range []string{" /", " file://", " node:"} {
		if i := strings.Index(rest, begin); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 {
		at = strings.LastIndexByte(rest, ' ')
	}
	function, file := "", rest
	if at >= 0 {
		function, file = rest[:at], rest[at+1:]
	}
	if strings.TrimSpace(function) == "" {
		function = fmt.Sprintf("(anonymous at %d:%d)", line, column)
	}
	return place{function: function, file: strings.TrimPrefix(file, "file://"), line: line}
}

// cutNumber cuts ":N" off the end of a text.
func cutNumber(s string) (before string, n int, found bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return s, 0, false
	}
	return s[:i], n, true
}
