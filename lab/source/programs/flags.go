package programs

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// flagKinds are the methods of flag and pflag that declare a flag of an address or a port.
var flagKinds = []string{"String", "Int", "Uint", "Uint16", "StringSlice", "StringArray"}

// serving are the usual names of the command that serves, of programs with several; the likeliest
// come first.
var serving = []string{"serve", "server", "start", "run", "web", "http", "api", "daemon", "standalone"}

// commandLine reports whether an import makes command lines of several commands.
func commandLine(path string) bool {
	return regexp.MustCompile(`^(flag|github\.com/(spf13/(pflag|cobra)|urfave/cli|alecthomas/kingpin|prometheus/exporter-toolkit)|gopkg\.in/alecthomas/kingpin)\b`).MatchString(path)
}

// declares is the name of a function, or of the first variable, that a declaration has.
func declares(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				return v.Names[0].Name
			}
		}
	}
	return ""
}

var rootNames = regexp.MustCompile(`(?i)^root|root(cmd|command)|^(main|execute)$`)

// rootCommand reports whether a declaration is about the program itself and not one of its
// commands, by its name.
func rootCommand(d ast.Decl) bool { return rootNames.MatchString(declares(d)) }

// named notes a flag of a name that an address, a port or a file of settings usually has.
func (f *finding) named(flag, value string) {
	switch name := plain(flag); {
	case slices.Contains(portNames, name) || slices.Contains(addressNames, name):
		f.flags = append(f.flags, declared{flag, value, f.in})
	case f.config == "" && slices.Contains(configNames, name):
		f.config, f.configFile = flag, value
	}
}

// below notes which function adds the command that another one makes: cmd.AddCommand(newSub()).
func (f *finding) below(p *pack, commands []ast.Expr) {
	if f.parents == nil {
		f.parents = map[string]string{}
	}
	for _, c := range commands {
		if call, ok := c.(*ast.CallExpr); ok {
			f.parents[p.dir+"."+lastName(call.Fun)] = f.in
		}
	}
}

// nested reports whether a function makes a command of a command, and not one of the program.
func (f *finding) nested(function string) bool {
	_, nested := f.parents[f.parents[function]]
	return nested
}

// choose takes the command that serves, and the flag of its address: of those of that command, one
// for HTTP, else the first.
func (f *finding) choose() {
	by := ""
	best := len(serving)
	for _, c := range f.commands {
		if i := slices.Index(serving, firstOf(c.name)); i >= 0 && i < best && !f.nested(c.by) {
			best, f.command, by = i, c.name, c.by
		}
	}
	rank := 0
	for _, d := range f.flags {
		if f.nested(d.by) {
			continue
		}
		r := 1
		if d.by == by && by != "" {
			r += 2
		}
		if name := plain(d.name); strings.HasPrefix(name, "http") || strings.HasPrefix(name, "web") {
			r++
		}
		if r > rank {
			rank = r
			f.flag, f.flagDefault, f.port = d.name, d.value, slices.Contains(portNames, plain(d.name))
		}
	}
}

func firstOf(words string) string {
	first, _, _ := strings.Cut(words, " ")
	return first
}

var configNames = []string{"configfile", "config", "conf"}

// chained reads the calls of kingpin and of the Prometheus project's toolkit:
// app.Flag(name, help).Default(":9115"), app.Command("serve", help), AddFlags(app, ":9115").
func (f *finding) chained(p *pack, selector *ast.SelectorExpr, name string, words []string) {
	switch {
	case name == "Default":
		for e := selector.X; ; {
			call, ok := e.(*ast.CallExpr)
			if !ok {
				return
			}
			inner, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return
			}
			if inner.Sel.Name == "Flag" && len(call.Args) > 0 {
				f.named(p.word(call.Args[0]), words[0])
				return
			}
			e = inner.X
		}
	case name == "Command" && len(words) == 2:
		f.commands = append(f.commands, declared{words[0], "", f.in})
	case name == "AddFlags" && len(words) == 2 && strings.HasPrefix(words[1], ":"):
		f.named("web.listen-address", words[1])
	}
}

// composite reads http.Server{Addr: ":8080"}, the commands of cobra and urfave/cli, and the flags
// of the latter: cli.StringFlag{Name: "addr", Value: ":8080"}.
func (f *finding) composite(p *pack, n *ast.CompositeLit, flags, root bool) {
	values := map[string]ast.Expr{}
	for _, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				values[key.Name] = kv.Value
			}
		}
	}
	word := func(key string) string {
		if values[key] == nil {
			return ""
		}
		return p.word(values[key])
	}
	kind := lastName(n.Type)
	switch {
	case word("Addr") != "":
		handler := values["Handler"]
		if handler == nil {
			handler = ast.NewIdent("nil")
		}
		f.listen(word("Addr"), []ast.Expr{handler})
	case !flags:
	case kind == "Command" && !root:
		f.commands = append(f.commands, declared{word("Use") + word("Name"), "", f.in})
	case kind == "StringFlag" || kind == "IntFlag":
		f.named(word("Name"), word("Value"))
	}
}

// tag reads a variable from a field's tag, as several packages for configuration have it.
func (f *finding) tag(field *ast.Field) {
	if field.Tag == nil || f.variable != "" {
		return
	}
	text, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return
	}
	tag := reflect.StructTag(text)
	name, _, _ := strings.Cut(tag.Get("env")+tag.Get("envconfig"), ",")
	if slices.Contains(variables, name) {
		f.variable, f.otherwise = name, tag.Get("envDefault")+tag.Get("default")
	}
}

// word is the value of a text or a number; of a list, its first.
func (p *pack) word(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CompositeLit:
		if len(e.Elts) > 0 {
			return p.word(e.Elts[0])
		}
		return ""
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return e.Value
		}
	}
	s, _ := p.text(e)
	return s
}

// lastName is the name of a variable, a field or a type.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return lastName(e.X)
	case *ast.CallExpr:
		return lastName(e.Fun)
	}
	return ""
}

// needed matches an argument in the usage of a command: serve <config>, serve FILE.
var needed = regexp.MustCompile(`<[^>]+>|\b[A-Z]{2,}\b`)

// arguments sets the command that serves, and says what else the program may need.
func (t *tree) arguments(p *Program, f *finding) {
	if command := firstOf(f.command); command != "" {
		p.Args = []string{command}
		p.Found = append(p.Found, "its command "+command+" serves")
		if m := needed.FindString(f.command); m != "" {
			p.Found = append(p.Found, fmt.Sprintf("%s takes %s: add it to target.args", command, m))
		}
	}
	if f.config == "" {
		return
	}
	flag := "-" + dashes(f.config) + f.config
	switch info, err := os.Stat(filepath.Join(t.folder, f.configFile)); {
	case f.configFile == "":
		p.Found = append(p.Found, fmt.Sprintf("it takes a file of settings: if it needs one, add %s and its name to target.args", flag))
	case err != nil || info.IsDir():
		p.Found = append(p.Found, fmt.Sprintf("it reads %s, which is not here: add %s and the name of such a file to target.args", f.configFile, flag))
	}
}
