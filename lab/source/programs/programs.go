// Package programs finds the programs of a folder that serve HTTP: how to start each, at which
// address it listens, and which paths it answers. It reads Go files as text and trees, without
// types, and programs in Node and Python by a few patterns; so what it finds are good guesses.
//
// It is not for starting them, nor for compiling them. It starts no goroutines.
package programs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Program is a program that may serve HTTP.
type Program struct {
	Build   string   // Go package, as the folder names it: ./cmd/server
	Command []string // of a program that Go does not build
	Args    []string
	Env     [][2]string // names and values
	// ReadyLine: it prints the line that dyno waits for; then ${target.listen} is its address.
	ReadyLine bool
	Address   string // host and port; empty if ReadyLine, or if it is not known
	Debug     string // base URL of net/http/pprof; empty: none, or not found
	Routes    []Route
	Found     []string // what the guesses are based on, a sentence each
}

// Route is a path that a program answers.
type Route struct {
	Method string // empty: any
	Path   string // with the parameters as the program writes them: /items/{id}, /items/:id
	File   string
	Line   int
}

// String is the route with its place.
func (r Route) String() string {
	return fmt.Sprintf("%s %s (%s:%d)", cmp.Or(r.Method, "GET"), r.Path, r.File, r.Line)
}

// parameter matches a parameter in a path.
var parameter = regexp.MustCompile(`\{[^}]*\}|:[A-Za-z_][A-Za-z0-9_]*|\*[A-Za-z_]*`)

// Sample is the path with 1 for each parameter.
func (r Route) Sample() string {
	return parameter.ReplaceAllString(strings.ReplaceAll(r.Path, "{$}", ""), "1")
}

// Plain reports whether a GET of the path alone is a request of the program's own work: it needs
// no parameter, and is no page for machines or a stream.
func (r Route) Plain() bool {
	return (r.Method == "" || r.Method == "GET") && r.Sample() == strings.ReplaceAll(r.Path, "{$}", "") && !r.aside() && !r.health()
}

var (
	health = regexp.MustCompile(`(?i)/(health|healthz|ready|readyz|live|livez|livenessz?|ping|status|up)/?$`)
	aside  = regexp.MustCompile(`(?i)(^|/)(debug|metrics|ws|websocket|socket|sse|events?|streams?|favicon\.ico|static|assets|swagger)(/|$)`)
)

func (r Route) health() bool { return health.MatchString(r.Path) && !r.aside() }
func (r Route) aside() bool  { return aside.MatchString(r.Path) }

// Ready returns the path that says whether the program is ready: one for that, or a plain one, or
// the root.
func (p *Program) Ready() string {
	for _, suits := range []func(Route) bool{
		func(r Route) bool { return r.health() && (r.Method == "" || r.Method == "GET") },
		Route.Plain,
	} {
		if i := slices.IndexFunc(p.Routes, suits); i >= 0 {
			return p.Routes[i].Sample()
		}
	}
	return "/"
}

// Health reports whether a route says that the program is ready.
func (p *Program) Health() bool {
	return slices.ContainsFunc(p.Routes, func(r Route) bool { return r.health() && (r.Method == "" || r.Method == "GET") })
}

// Load returns the routes to send requests to: plain ones, or else what there is for GET.
func (p *Program) Load() (out []Route) {
	for _, suits := range []func(Route) bool{
		Route.Plain,
		func(r Route) bool { return (r.Method == "" || r.Method == "GET") && !r.aside() && !r.health() },
		func(r Route) bool { return r.health() },
	} {
		for _, r := range p.Routes {
			if suits(r) && !slices.ContainsFunc(out, func(o Route) bool { return o.Sample() == r.Sample() }) {
				out = append(out, r)
			}
		}
		if len(p.Routes) > 1 { // the root of any method catches what has no route, often with a 404
			out = slices.DeleteFunc(out, func(r Route) bool { return r.Path == "/" && r.Method == "" })
		}
		if len(out) > 0 {
			const most = 20
			return out[:min(len(out), most)]
		}
	}
	return nil
}

// Find returns the programs in and below a folder, examples and tools last, those with most
// routes first.
func Find(folder string) ([]Program, error) {
	t, err := readTree(folder)
	if err != nil {
		return nil, err
	}
	var out []Program
	for _, dir := range t.mains() {
		if p, serves := t.program(dir); serves {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Program) int {
		return cmp.Or(cmp.Compare(companion(a), companion(b)), cmp.Compare(len(b.Routes), len(a.Routes)), cmp.Compare(strings.Count(a.Build, "/"), strings.Count(b.Build, "/")))
	})
	if p, ok, err := node(folder); err != nil {
		return nil, err
	} else if ok {
		out = append(out, p)
	}
	if p, ok := python(folder); ok {
		out = append(out, p)
	}
	return out, nil
}

var companions = regexp.MustCompile(`(?i)(^|/)(_?examples?|samples?|demos?|tools?|hack|scripts?|contrib|e2e|testing|\w*tests?|bench(mark)?s?)(/|$)`)

// companion returns 1 for a program that is beside the folder's own ones, by its place.
func companion(p Program) int {
	if companions.MatchString(p.Build) {
		return 1
	}
	return 0
}

// Move makes the program listen at another address, where a flag or a variable sets it.
func (p *Program) Move(address string) {
	before, after := p.Address, address
	port := func(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }
	moved := func(s string) string {
		switch s {
		case before:
			return after
		case port(before):
			return port(after)
		}
		return s
	}
	p.Command = slices.Clone(p.Command)
	for i, c := range p.Command {
		p.Command[i] = moved(c)
	}
	p.Args, p.Env = slices.Clone(p.Args), slices.Clone(p.Env)
	for i, a := range p.Args {
		p.Args[i] = moved(a)
	}
	for i, e := range p.Env {
		p.Env[i][1] = moved(e[1])
	}
	p.Debug = strings.Replace(p.Debug, "//"+before, "//"+after, 1)
	p.Address = address
}

// loopback returns an address with its host replaced by this machine's own; ok: it has a port.
func loopback(address string) (string, bool) {
	i := strings.LastIndexByte(address, ':')
	port, err := strconv.Atoi(address[i+1:])
	if err != nil || port < 1 || port > 65535 {
		return "", false
	}
	return "127.0.0.1:" + strconv.Itoa(port), true
}

// exposed returns the port that a Dockerfile in the folder exposes; empty: none.
func exposed(folder string) string {
	b, err := readFile(filepath.Join(folder, "Dockerfile"))
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`(?im)^\s*EXPOSE\s+([0-9]{1,5})\b`).FindSubmatch(b)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// maxFile bounds a file that is read, in bytes.
const maxFile = 4 << 20

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, errors.New("not a file of that kind")
	}
	return os.ReadFile(name)
}
