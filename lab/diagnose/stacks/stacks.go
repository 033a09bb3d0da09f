// Package stacks classifies call stacks: whose code a frame is, what kind of work a CPU sample
// was, what a waiting goroutine waits for, and whether it handles a request. It finds the sites in
// a service's own code to which a cost belongs, and for a lock what its holder does. It knows the
// function names of the Go runtime (1.24 to 1.26), the standard library and some widely used
// clients and servers, and no others.
//
// It is not for judging shares (diagnose and findings do). Frames are in the order of profiles, the
// leaf first. It starts no goroutines.
package stacks

import (
	"slices"
	"strings"

	"dyno/lab/record"
)

// standard is the first elements of the standard library's package paths. A list is necessary: a
// module's path need not contain a dot, so nothing else separates example/server from
// encoding/json.
var standard = set("archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database",
	"debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index",
	"internal", "io", "iter", "log", "maps", "math", "mime", "net", "os", "path", "plugin", "reflect", "regexp",
	"runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing", "text", "time",
	"unicode", "unique", "unsafe", "vendor", "weak")

// Standard reports whether a function belongs to the runtime or the standard library. A function
// without a package (an assembly routine such as memeqbody) and one made by the compiler
// (type:.eq.T) count as the runtime's.
func Standard(function string) bool {
	if strings.HasPrefix(function, "type:") || strings.HasPrefix(function, "go:") {
		return true
	}
	pkg := Package(function)
	first, _, _ := strings.Cut(pkg, "/")
	return pkg == "" || standard[first]
}

// Package returns the path of a function's package; empty if it has none.
func Package(function string) string {
	// Type arguments and receivers may contain slashes and dots.
	if i := strings.IndexAny(function, "[("); i >= 0 {
		function = function[:i]
	}
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return ""
	}
	return function[:slash+dot]
}

// UserFrame returns the frame nearest the leaf that is the service's own code or, in a stack
// without one, a dependency's. A middleware, which only calls the next handler, is not the place of
// what that does: below it, the place is the handler of a dependency or of the standard library.
// False: all frames are standard library.
func UserFrame(frames []record.Frame) (record.Frame, bool) {
	f, _, ok := userFrame(frames)
	return f, ok
}

// userFrame is UserFrame; at is the index of the middleware if the frame is the handler of a
// dependency that the request was handed to, and otherwise -1.
func userFrame(frames []record.Frame) (f record.Frame, at int, ok bool) {
	nearest, outermost := -1, -1 // of the dependencies' frames so far; outermost does not only hand on
	for i, f := range frames {
		switch {
		case library(f):
		case !imported(f) && !handsOn(frames[:i]):
			return unwrapped(f), -1, true
		case !imported(f) && outermost >= 0:
			return unwrapped(frames[outermost]), i, true
		case !imported(f):
			if handler, ok := standardHandler(frames[:i]); ok {
				return handler, -1, true
			}
			if nearest >= 0 {
				return unwrapped(frames[nearest]), i, true
			}
			return unwrapped(f), -1, true
		default:
			if nearest < 0 {
				nearest = i
			}
			if !handing(f) {
				outermost = i
			}
		}
	}
	if nearest < 0 {
		return f, -1, false
	}
	return unwrapped(frames[nearest]), -1, true
}

// standardHandler returns the handler that a chain of handlers ends in, if it is the standard
// library's, such as a file server or a reverse proxy: the type with the method, or the function
// that http.HandlerFunc calls.
func standardHandler(frames []record.Frame) (record.Frame, bool) {
	i := slices.IndexFunc(frames, handing)
	if i >= 0 && frames[i].Function == "net/http.HandlerFunc.ServeHTTP" {
		i--
	}
	if i < 0 || !library(frames[i]) || Package(frames[i].Function) == "runtime" {
		return record.Frame{}, false
	}
	return frames[i], true
}

// handsOn reports whether a function calls a handler; callees are its callees, the leaf first.
func handsOn(callees []record.Frame) bool {
	return len(callees) > 0 && handing(callees[len(callees)-1])
}

// handing reports whether a function is a handler of requests, or calls the next one.
func handing(f record.Frame) bool {
	name := f.Function
	return strings.HasSuffix(name, ".ServeHTTP") || strings.HasSuffix(name, ".ServeFastHTTP") || strings.HasSuffix(name, "_Handler.func1") ||
		strings.HasPrefix(name, "google.golang.org/grpc.") && strings.Contains(name, "getChain") || nexts.Match(name)
}

// nexts are functions of routers by which a middleware calls the next handler, or one of net/http.
var nexts = Names{prefix: []string{"github.com/gin-gonic/gin.(*Context).Next", "github.com/gin-gonic/gin.Wrap",
	"github.com/labstack/echo/v4.WrapHandler", "github.com/labstack/echo/v4.WrapMiddleware",
	"github.com/labstack/echo/v4.(*Echo).", "github.com/labstack/echo/v4/middleware.",
	"github.com/gofiber/fiber/v2.(*Ctx).Next", "github.com/gofiber/fiber/v3.(*DefaultCtx).Next",
	"github.com/valyala/fasthttp/fasthttpadaptor.NewFastHTTPHandler", "github.com/grpc-ecosystem/go-grpc-middleware."}}

// Own reports whether a frame is the service's own code.
func Own(f record.Frame) bool { return !library(f) && !imported(f) }

// Entry is the outermost frame of the service's own code in a stack.
func Entry(frames []record.Frame) (record.Frame, bool) {
	for i, f := range slices.Backward(frames) {
		if !Own(f) || strings.Contains(f.Function, ".gowrap") && i > 0 && Own(frames[i-1]) {
			continue // of go f(x), f is the entry
		}
		return unwrapped(f), true
	}
	return record.Frame{}, false
}

// unwrapped replaces a function that the compiler made of a defer or go statement by the function
// with that statement; the line is the statement's.
func unwrapped(f record.Frame) record.Frame {
	for _, made := range []string{".deferwrap", ".gowrap"} {
		if i := strings.LastIndex(f.Function, made); i >= 0 {
			f.Function = f.Function[:i]
		}
	}
	return f
}

// imported reports whether a frame is a dependency's code: it is not of the main module, and its
// file is in the module cache or a vendor folder; if the file is unknown, its package path begins
// with a host name.
func imported(f record.Frame) bool {
	if f.Own {
		return false
	}
	if f.File == "" {
		first, _, below := strings.Cut(Package(f.Function), "/")
		return below && strings.Contains(first, ".")
	}
	if Scripted(f.File) {
		return strings.Contains(f.File, "/node_modules/") || strings.Contains(f.File, "-packages/") // of Python: site-, dist-
	}
	return strings.Contains(f.File, "/pkg/mod/") || strings.Contains(f.File, "@v") || strings.Contains(f.File, "/vendor/")
}

// leafRun returns the frames from the leaf up to the first outside the standard library: the work
// of the runtime and the library for one call. User code nearer the leaf, such as a comparison
// function or a pool's callback, ends it.
func leafRun(frames []record.Frame) []record.Frame {
	for i, f := range frames {
		if !library(f) {
			return frames[:i]
		}
	}
	return frames
}

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// Names is a set of functions, given by full names, which include their closures, or by prefixes.
type Names struct {
	whole  map[string]bool
	prefix []string
}

// Match reports whether the set has a function.
func (n Names) Match(function string) bool {
	if n.whole[function] {
		return true
	}
	if base, _, closure := strings.Cut(function, ".func"); closure && n.whole[base] {
		return true
	}
	for _, p := range n.prefix {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}

// In reports whether the set has one of the functions of a stack.
func (n Names) In(frames []record.Frame) bool {
	for _, f := range frames {
		if n.Match(f.Function) {
			return true
		}
	}
	return false
}
