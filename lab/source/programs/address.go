package programs

import (
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// program describes the program of a folder; serves: it has routes or listens.
func (t *tree) program(dir string) (p Program, serves bool) {
	rel, err := filepath.Rel(t.folder, filepath.Join(t.top, filepath.FromSlash(dir)))
	if err != nil {
		return p, false
	}
	p.Build = "."
	if rel != "." {
		p.Build = "./" + filepath.ToSlash(rel)
	}
	var found finding
	profiled := false
	for i, pack := range t.reachable(dir) {
		p.Routes = append(p.Routes, t.routes(pack)...)
		t.addresses(pack, i == 0, &found)
		profiled = profiled || slices.Contains(pack.imports, "net/http/pprof")
		if i == 0 {
			if args := contract(pack.imports); args != nil {
				p.Args, p.ReadyLine = args, true
				p.Found = append(p.Found, "it keeps the contract of services: it prints its ready line")
			}
		}
	}
	p.Routes = unique(p.Routes)
	if p.ReadyLine {
		return p, true
	}
	t.address(&p, &found)
	if profiled && p.Address != "" {
		p.Debug = "http://" + p.Address
		if found.debug != "" {
			p.Debug = "http://" + found.debug
		}
	}
	return p, len(p.Routes) > 0 || found.any()
}

// contract returns the arguments of a program of this repository's own kind; nil: it is none.
func contract(imports []string) []string {
	const anyPort = "127.0.0.1:0"
	switch {
	case slices.Contains(imports, "dyno/cmd/service"):
		return []string{"serve", "--listen", anyPort, "--debug", anyPort, "--data", "${scratch}"}
	case slices.Contains(imports, "dyno/parts/standalone"):
		return []string{"--listen", anyPort}
	}
	return nil
}

// unique drops routes that another method or file has as well, in the order of paths.
func unique(routes []Route) []Route {
	slices.SortStableFunc(routes, func(a, b Route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	return slices.CompactFunc(routes, func(a, b Route) bool { return a.Path == b.Path && a.Method == b.Method })
}

// finding is what code says of addresses, each the first of its kind.
type finding struct {
	flag, flagDefault   string // -addr, ":8080"
	port                bool   // the flag takes a port alone
	variable, otherwise string // PORT, and its default if the code has one
	literal             string // of ListenAndServe(":8080", ...)
	debug               string // an address that is for net/http/pprof
}

func (f *finding) any() bool { return f.flag != "" || f.variable != "" || f.literal != "" }

// Names that an address or a port usually has.
var (
	addressNames = []string{"addr", "address", "listen", "listen-addr", "listen_addr", "listen-address", "http", "http-addr", "http_addr", "bind", "bind-addr", "web.listen-address", "server-addr"}
	portNames    = []string{"port", "p", "http-port", "listen-port", "http_port"}
	variables    = []string{"PORT", "ADDR", "LISTEN", "LISTEN_ADDR", "HTTP_ADDR", "HTTP_PORT", "SERVER_PORT", "BIND", "SERVER_ADDR"}
	listeners    = []string{"ListenAndServe", "ListenAndServeTLS", "Run", "Start", "Listen"}
)

// addresses collects what a package says of addresses; only the main package's flags count.
func (t *tree) addresses(p *pack, main bool, found *finding) {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		ast.Inspect(p.files[name], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr: // http.Server{Addr: ":8080"}
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Addr" {
					if s, ok := p.text(n.Value); ok {
						found.listen(s)
					}
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) > 0 {
					found.call(p, s, n.Args, main)
				}
			}
			return true
		})
	}
}

func (f *finding) call(p *pack, selector *ast.SelectorExpr, args []ast.Expr, main bool) {
	name := selector.Sel.Name
	owner, _ := selector.X.(*ast.Ident)
	var words []string
	for _, a := range args {
		s, _ := p.text(a)
		if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.INT {
			s = lit.Value
		}
		words = append(words, s)
	}
	switch {
	case owner != nil && owner.Name == "os" && (name == "Getenv" || name == "LookupEnv"), strings.Contains(strings.ToLower(name), "env") && len(words) == 2:
		if slices.Contains(variables, words[0]) && f.variable == "" {
			f.variable = words[0]
			if len(words) == 2 {
				f.otherwise = words[1]
			}
		}
	case slices.Contains(listeners, name):
		i := 0
		if owner != nil && owner.Name == "net" {
			i = 1
		}
		if i < len(words) {
			f.listen(words[i])
		}
	case main:
		f.flagOf(name, words)
	}
}

// flagOf reads flag.String(name, default, usage), flag.StringVar(&x, name, default, usage) and
// their kin of pflag and kingpin's style.
func (f *finding) flagOf(function string, words []string) {
	i := 0
	if strings.Contains(function, "Var") {
		i = 1
	}
	kind := strings.TrimSuffix(strings.TrimSuffix(function, "P"), "Var")
	if kind != "String" && kind != "Int" && kind != "Uint" || i+1 >= len(words) || f.flag != "" {
		return
	}
	value := i + 1
	if strings.HasSuffix(function, "P") {
		value++ // a letter stands between
	}
	if value >= len(words) {
		return
	}
	port := slices.Contains(portNames, words[i])
	if port || slices.Contains(addressNames, words[i]) {
		f.flag, f.port, f.flagDefault = words[i], port, words[value]
	}
}

// listen notes a literal address. The usual port of net/http/pprof is the debug address.
func (f *finding) listen(address string) {
	local, ok := loopback(address)
	switch {
	case !ok || !strings.Contains(address, ":"):
	case strings.HasSuffix(local, ":6060"):
		f.debug = local
	case f.literal == "":
		f.literal = local
	}
}

// address decides how the program gets its address.
func (t *tree) address(p *Program, f *finding) {
	byFlag, hasFlag := loopback(":" + f.flagDefault[strings.LastIndexByte(f.flagDefault, ':')+1:])
	byVariable, hasDefault := loopback(":" + f.otherwise[strings.LastIndexByte(f.otherwise, ':')+1:])
	guess := "127.0.0.1:8080"
	switch docker, ok := loopback(":" + exposed(t.folder)); {
	case hasFlag:
		guess = byFlag
	case hasDefault:
		guess = byVariable
	case f.literal != "":
		guess = f.literal
	case ok:
		guess = docker
		p.Found = append(p.Found, "the Dockerfile exposes its port")
	case !f.any():
		p.Found = append(p.Found, "no address was found: port 8080 is a guess")
	}
	p.Address = guess
	port := guess[strings.LastIndexByte(guess, ':')+1:]
	if _, err := strconv.Atoi(port); err != nil {
		return
	}
	switch {
	case f.flag != "" && f.port:
		p.Args = []string{"-" + dashes(f.flag) + f.flag, port}
	case f.flag != "":
		p.Args = []string{"-" + dashes(f.flag) + f.flag, guess}
	case f.variable != "" && strings.HasSuffix(f.variable, "PORT"):
		p.Env = [][2]string{{f.variable, port}}
	case f.variable != "":
		p.Env = [][2]string{{f.variable, guess}}
	}
	switch {
	case f.flag != "":
		p.Found = append(p.Found, "the flag -"+dashes(f.flag)+f.flag+" sets its address")
	case f.variable != "":
		p.Found = append(p.Found, "the environment variable "+f.variable+" sets its address")
	case f.literal != "":
		p.Found = append(p.Found, "its address is a literal in the code")
	}
}

// dashes returns the second dash that a flag of more than a letter has; package flag takes it, too.
func dashes(name string) string {
	if len(name) > 1 {
		return "-"
	}
	return ""
}
