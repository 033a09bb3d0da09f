package programs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	pyPort    = regexp.MustCompile(`environ(?:\.get\(|\[)\s*["']PORT["']\s*(?:,\s*["']?([0-9]{2,5}))?|getenv\(\s*["']PORT["']\s*(?:,\s*["']?([0-9]{2,5}))?`)
	pyLiteral = regexp.MustCompile(`\bport\s*=\s*([0-9]{2,5})\b|Server\(\s*\(\s*["'][^"']*["']\s*,\s*([0-9]{2,5})\b`)
	pyServes  = regexp.MustCompile(`\.serve_forever\(|uvicorn\.run\(|web\.run_app\(|\bapp\.run\(|\bserve\(\s*app`)
	pyApp     = regexp.MustCompile(`(?m)^(\w+)\s*(?::[^=\n]*)?=\s*(?:\w+\.)?(Flask|FastAPI|Starlette|Quart)\(`)
	pyRoute   = regexp.MustCompile(`(?m)^\s*@\w+\.(route|get|post|put|patch|delete)\(\s*["'](/[^"']*)["']([^)\n]*)`)
)

// python finds the program of a folder's Python files: one that serves when it runs, or one with an
// application that its framework's command runs.
func python(folder string) (p Program, ok bool) {
	files, err := filepath.Glob(filepath.Join(folder, "*.py"))
	if err != nil {
		return p, false
	}
	const most = 100
	for _, file := range files[:min(len(files), most)] {
		code, err := readFile(file)
		if err != nil {
			continue
		}
		name := filepath.Base(file)
		app := pyApp.FindSubmatch(code)
		switch {
		case name == "manage.py" && strings.Contains(string(code), "DJANGO_SETTINGS_MODULE"):
			p = Program{Command: []string{interpreter(folder), name, "runserver", "--noreload", "127.0.0.1:8000"}, Address: "127.0.0.1:8000",
				Found: []string{"manage.py is Django's; its paths are not read"}}
			return p, true
		case pyServes.Match(code):
			p = Program{Command: []string{interpreter(folder), name}, Address: "127.0.0.1:8000", Found: []string{name + " serves when it runs"}}
			if app != nil && string(app[2]) == "Flask" {
				p.Address = "127.0.0.1:5000"
			}
			p.port(code)
		case app == nil:
			continue
		case string(app[2]) == "Flask" || string(app[2]) == "Quart":
			p = Program{Command: []string{interpreter(folder), "-m", strings.ToLower(string(app[2])), "--app", strings.TrimSuffix(name, ".py") + ":" + string(app[1]), "run", "--port", "5000"},
				Address: "127.0.0.1:5000", Found: []string{name + " has a " + string(app[2]) + " application, which its server for development runs"}}
		default:
			p = Program{Command: []string{interpreter(folder), "-m", "uvicorn", strings.TrimSuffix(name, ".py") + ":" + string(app[1]), "--port", "8000"},
				Address: "127.0.0.1:8000", Found: []string{name + " has a " + string(app[2]) + " application, which uvicorn runs"}}
		}
		p.Routes = pythonRoutes(name, code)
		return p, true
	}
	return p, false
}

// port reads the port from the code: a variable of the environment, or a literal.
func (p *Program) port(code []byte) {
	first := func(m [][]byte) string { return string(m[1]) + string(m[2]) } // one of two forms matched
	if m := pyPort.FindSubmatch(code); m != nil {
		if local, ok := loopback(":" + first(m)); ok {
			p.Address = local
		}
		p.Env = [][2]string{{"PORT", p.Address[strings.LastIndexByte(p.Address, ':')+1:]}}
		return
	}
	if m := pyLiteral.FindSubmatch(code); m != nil {
		if local, ok := loopback(":" + first(m)); ok {
			p.Address = local
		}
	}
}

// pythonRoutes returns the paths of decorators, with parameters in braces.
func pythonRoutes(name string, code []byte) (out []Route) {
	for _, at := range pyRoute.FindAllSubmatchIndex(code, -1) {
		method, path, rest := string(code[at[2]:at[3]]), string(code[at[4]:at[5]]), string(code[at[6]:at[7]])
		if method == "route" {
			method = "GET"
			if strings.Contains(rest, "methods") && !strings.Contains(rest, "GET") {
				method = "POST" // or another: a body is needed
			}
		}
		path = strings.NewReplacer("<", "{", ">", "}").Replace(path)
		out = append(out, Route{strings.ToUpper(method), path, name, 1 + strings.Count(string(code[:at[4]]), "\n")})
	}
	return unique(out)
}

// interpreter is the Python of the folder's virtual environment, if it has one.
func interpreter(folder string) string {
	for _, env := range []string{".venv", "venv"} {
		name := filepath.Join(env, "bin", "python")
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return "./" + filepath.ToSlash(name)
		}
	}
	return "python3"
}
