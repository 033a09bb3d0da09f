package programs

import (
	"go/ast"
	"maps"
	"path/filepath"
	"regexp"
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
		profiled = profiled || slices.ContainsFunc(pack.imports, profiles)
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
	found.literals(profiled)
	found.choose()
	t.address(&p, &found)
	if profiled && p.Address != "" {
		p.Debug = "http://" + p.Address
		if found.debug != "" {
			p.Debug = "http://" + found.debug
		}
	}
	return p, len(p.Routes) > 0 || found.any()
}

// profiles reports whether an import serves the profiles of net/http/pprof.
func profiles(path string) bool { return path == "net/http/pprof" || path == "dyno/agent/profiles" }

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
	flags               []declared
	variable, otherwise string // PORT, and its default if the code has one
	literal             string // of ListenAndServe(":8080", ...)
	debug               string // an address that is for net/http/pprof
	listens             []listening
	command             string // serve, of a program with several commands
	commands            []declared
	parents             map[string]string // of a function that makes a command: the one that adds it
	in                  string            // the declaration that is being read
	config              string            // -config.file, a flag that names a file
	configFile          string            // its default
}

// listening is a literal address in the code.
type listening struct {
	address string
	private bool // it is for profiles, metrics and the like, by the name of its handler
	shared  bool // its handler is http.DefaultServeMux, where net/http/pprof is
}

// declared is a flag or a command, by the function or variable that makes it.
type declared struct {
	name, value, by string
}

func (f *finding) any() bool { return f.flag != "" || f.variable != "" || f.literal != "" }

// Names that an address or a port usually has; those of flags are without their separators and in
// lower case.
var (
	addressNames = []string{"addr", "address", "listen", "listenaddr", "listenaddress", "http", "httpaddr", "httpaddress", "httplistenaddr", "bind", "bindaddr", "bindaddress", "weblistenaddress", "serveraddr"}
	portNames    = []string{"port", "p", "httpport", "listenport", "serverport"}
	variables    = []string{"PORT", "ADDR", "LISTEN", "LISTEN_ADDR", "HTTP_ADDR", "HTTP_PORT", "SERVER_PORT", "BIND", "SERVER_ADDR"}
	listeners    = []string{"ListenAndServe", "ListenAndServeTLS", "Run", "Start", "Listen"}
)

// plain drops what separates the words of a flag's name.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
}

// addresses collects what a package says of addresses. The flags of other packages than main count
// where the program's command line is made there.
func (t *tree) addresses(p *pack, main bool, found *finding) {
	flags := main || slices.ContainsFunc(p.imports, commandLine)
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		for _, d := range p.files[name].Decls {
			root := rootCommand(d)
			found.in = p.dir + "." + declares(d)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					found.composite(p, n, flags, root)
				case *ast.Field: // Port int `env:"PORT"`
					found.tag(n)
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) > 0 {
						found.call(p, s, n.Args, flags)
					}
				}
				return true
			})
		}
	}
}

func (f *finding) call(p *pack, selector *ast.SelectorExpr, args []ast.Expr, flags bool) {
	name := selector.Sel.Name
	owner, _ := selector.X.(*ast.Ident)
	var words []string
	for _, a := range args {
		words = append(words, p.word(a))
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
			f.listen(words[i], args[i+1:])
		}
	case name == "SetDefault" && len(words) == 2: // viper.SetDefault("server.port", 8080)
		key := words[0][strings.LastIndexByte(words[0], '.')+1:]
		if slices.Contains(portNames, plain(key)) || slices.Contains(addressNames, plain(key)) {
			f.listen(":"+words[1][strings.LastIndexByte(words[1], ':')+1:], nil)
		}
	case flags && name == "AddCommand":
		f.below(p, args)
	case flags:
		f.chained(p, selector, name, words)
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
	if strings.HasPrefix(function, "New") && strings.HasSuffix(function, "String") && i+1 < len(words) { // a kind of the program's own
		f.named(words[i], "")
	}
	if !slices.Contains(flagKinds, kind) || i+1 >= len(words) {
		return
	}
	value := i + 1
	if strings.HasSuffix(function, "P") {
		value++ // a letter stands between
	}
	if len(words) != value+2 { // without a usage it is no flag, but the field of a log's record, say
		return
	}
	f.named(words[i], words[value])
}

// listen notes a literal address, with the arguments that follow it.
func (f *finding) listen(address string, handlers []ast.Expr) {
	local, ok := loopback(address)
	if !ok || !strings.Contains(address, ":") {
		return
	}
	l := listening{address: local, private: strings.HasSuffix(local, ":6060")}
	for _, h := range handlers {
		name := lastName(h)
		l.private = l.private || private.MatchString(name)
		l.shared = l.shared || name == "nil" || name == "DefaultServeMux"
	}
	f.listens = append(f.listens, l)
}

// private matches the names of handlers that are for operators alone.
var private = regexp.MustCompile(`(?i)debug|pprof|metrics|private`)

// literals distinguishes the program's own address from the one for profiles.
func (f *finding) literals(profiled bool) {
	own := slices.ContainsFunc(f.listens, func(l listening) bool { return !l.private && !l.shared })
	for _, l := range f.listens {
		aside := l.private || l.shared && own && profiled
		switch {
		case aside && f.debug == "":
			f.debug = l.address
		case !aside && f.literal == "":
			f.literal = l.address
		}
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
		guess = ""
		p.Found = append(p.Found, "no address was found: it is ready when it listens at a port; if it listens at several, write into target.ready.port which one to load")
	}
	p.Address = guess
	t.arguments(p, f)
	if guess == "" {
		return
	}
	port := guess[strings.LastIndexByte(guess, ':')+1:]
	if _, err := strconv.Atoi(port); err != nil {
		return
	}
	switch {
	case f.flag != "" && f.port:
		p.Args = append(p.Args, "-"+dashes(f.flag)+f.flag, port)
	case f.flag != "":
		p.Args = append(p.Args, "-"+dashes(f.flag)+f.flag, guess)
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
