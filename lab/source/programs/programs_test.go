package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write makes a folder with files; "-- NAME" begins each.
func write(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range strings.Split(text, "-- ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// show is a program on one line.
func show(p Program) string {
	var routes, loaded []string
	for _, r := range p.Routes {
		routes = append(routes, r.Method+" "+r.Path)
	}
	for _, r := range p.Load() {
		loaded = append(loaded, r.Sample())
	}
	return fmt.Sprintf("%s%v %v %v at %q ready %s debug %q routes %s load %s", p.Build, p.Command, p.Args, p.Env, p.Address, p.Ready(), p.Debug, strings.Join(routes, ", "), strings.Join(loaded, " "))
}

func TestFind(t *testing.T) {
	for name, tt := range map[string]struct{ files, want string }{
		"net/http, a flag, pprof": {`-- go.mod
module example.com/a
-- main.go
package main

import ("flag"; "net/http"; _ "net/http/pprof")

const prefix = "/v1"

func main() {
	addr := flag.String("addr", ":18081", "")
	http.HandleFunc("GET /healthz", nil)
	http.HandleFunc("GET "+prefix+"/items", nil)
	http.HandleFunc("/v1/items/{id}", nil)
	http.Handle("GET example.com/", nil)
	tables := map[string]http.Handler{"POST /v1/orders": nil, "POST a letter": nil}
	client.Get("/no/route", nil)
	http.ListenAndServe(*addr, nil)
}
`, `.[] [--addr 127.0.0.1:18081] [] at "127.0.0.1:18081" ready /healthz debug "http://127.0.0.1:18081" routes GET /, GET /healthz, GET /v1/items,  /v1/items/{id}, POST /v1/orders load / /v1/items`},
		"chi in a package of its own, PORT": {`-- go.mod
module example.com/b
-- cmd/server/main.go
package main

import ("net/http"; "os"; "example.com/b/internal/web")

func main() { http.ListenAndServe(":"+os.Getenv("PORT"), web.New()) }
-- internal/web/web.go
package web

import "github.com/go-chi/chi/v5"

func New() chi.Router {
	r := chi.NewRouter()
	r.Get("/ping", nil)
	r.Route("/api", func(r chi.Router) {
		r.Get("/users", nil)
		r.Route("/orders/", func(r chi.Router) { r.Post("/", nil); r.Get("/{id}", nil) })
	})
	r.Group(func(r chi.Router) { r.Get("/me", nil) })
	return r
}
-- internal/unused/unused.go
package unused

func init() { mux.HandleFunc("GET /unused", nil) }
-- Dockerfile
FROM scratch
EXPOSE 9000/tcp
`, `./cmd/server[] [] [[PORT 9000]] at "127.0.0.1:9000" ready /ping debug "" routes POST /api/orders/, GET /api/orders/{id}, GET /api/users, GET /me, GET /ping load /api/users /me`},
		"gin, groups, a literal": {`-- go.mod
module example.com/c
-- main.go
package main

import "github.com/gin-gonic/gin"

func main() {
	r := gin.New()
	v1 := r.Group("/v1")
	v1.GET("/books", h)
	v1.GET("/books/:id", h)
	admin := v1.Group("/admin")
	admin.POST("/books", h)
	r.GET("/metrics", h)
	r.Run(":18083")
}
`, `.[] [] [] at "127.0.0.1:18083" ready /v1/books debug "" routes GET /metrics, POST /v1/admin/books, GET /v1/books, GET /v1/books/:id load /v1/books`},
		"echo, a port, only parameters": {`-- go.mod
module example.com/d
-- main.go
package main

import ("flag"; "github.com/labstack/echo/v4")

func main() {
	port := flag.Int("port", 18084, "")
	e := echo.New()
	e.GET("/notes/:id", h)
	e.PUT("/notes/:id", h)
	e.Start(port)
}
`, `.[] [--port 18084] [] at "127.0.0.1:18084" ready / debug "" routes GET /notes/:id, PUT /notes/:id load /notes/1`},
		"gorilla, httprouter, http.Server": {`-- go.mod
module example.com/e
-- main.go
package main

import ("net/http"; "github.com/gorilla/mux")

func main() {
	go http.ListenAndServe("localhost:6060", nil)
	r := mux.NewRouter()
	r.HandleFunc("/a", h).Methods("POST")
	r.Handle("GET", "/b", h)
	s := &http.Server{Addr: "0.0.0.0:18086"}
	s.ListenAndServe()
}
`, `.[] [] [] at "127.0.0.1:18086" ready /b debug "" routes POST /a, GET /b load /b`},
		"a service of this repository's kind": {`-- go.mod
module dyno/cmd/x
-- main.go
package main

import "dyno/cmd/service"

func main() { service.Main(nil) }
`, `.[] [serve --listen 127.0.0.1:0 --debug 127.0.0.1:0 --data ${scratch}] [] at "" ready / debug "" routes  load `},
		"node": {`-- package.json
{"scripts":{"start":"node server.js"}}
-- server.js
app.listen(process.env.PORT || 18085)
`, `[node server.js] [] [[PORT 18085]] at "127.0.0.1:18085" ready / debug "" routes  load `},
		"node, variables before the command, routes, a catch-all": {`-- package.json
{"scripts":{"start":"NODE_ENV=production node src/index.js"}}
-- src/index.js
app.get('/items', list)
app.post("/items", add)
app.listen(18086)
`, `[node src/index.js] [] [[NODE_ENV production]] at "127.0.0.1:18086" ready /items debug "" routes GET /items, POST /items load /items`},
		"python that serves when it runs": {`-- server.py
server = ThreadingHTTPServer(('', 18087), Handler)
server.serve_forever()
`, `[python3 server.py] [] [] at "127.0.0.1:18087" ready / debug "" routes  load `},
		"Flask, a variable": {`-- app.py
app = Flask(__name__)

@app.route('/items')
def items(): return 'x'

@app.route('/items/<int:i>', methods=['POST'])
def put(i): return 'x'

if __name__ == '__main__':
    app.run(port=int(os.environ.get('PORT', 18088)))
`, `[python3 app.py] [] [[PORT 18088]] at "127.0.0.1:18088" ready /items debug "" routes GET /items, POST /items/{int:i} load /items`},
		"FastAPI, run by uvicorn, a virtual environment": {`-- api.py
api: FastAPI = FastAPI()

@api.get("/users/{id}")
async def user(id: int): pass
-- .venv/bin/python
`, `[./.venv/bin/python -m uvicorn api:api --port 8000] [] [] at "127.0.0.1:8000" ready / debug "" routes GET /users/{id} load /users/1`},
		"Django": {`-- manage.py
os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')
`, `[python3 manage.py runserver --noreload 127.0.0.1:8000] [] [] at "127.0.0.1:8000" ready / debug "" routes  load `},
		"a catch-all beside a route of its own": {`-- go.mod
module example.com/g
-- main.go
package main

import "net/http"

func main() {
	http.HandleFunc("/", notFound)
	http.HandleFunc("POST /jobs", add)
	http.ListenAndServe(":18089", nil)
}
`, `.[] [] [] at "127.0.0.1:18089" ready / debug "" routes  /, POST /jobs load `},
		"an address for operators before the program's own": {`-- go.mod
module example.com/h
-- main.go
package main

import ("net/http"; "dyno/agent/profiles")

func main() {
	debug := http.NewServeMux()
	profiles.Mount(debug, nil)
	go http.ListenAndServe("127.0.0.1:18091", debug)
	http.HandleFunc("GET /pay", h)
	http.ListenAndServe(":18092", nil)
}
`, `.[] [] [] at "127.0.0.1:18092" ready /pay debug "http://127.0.0.1:18091" routes GET /pay load /pay`},
		"profiles on the shared mux, the program's own after it": {`-- go.mod
module example.com/i
-- main.go
package main

import ("net/http"; _ "net/http/pprof"; "github.com/go-chi/chi/v5")

func main() {
	go func() { http.ListenAndServe("localhost:18093", nil) }()
	r := chi.NewRouter()
	r.Get("/tracks", h)
	s := http.Server{Addr: ":18094", Handler: r}
	s.ListenAndServe()
}
`, `.[] [] [] at "127.0.0.1:18094" ready /tracks debug "http://127.0.0.1:18093" routes GET /tracks load /tracks`},
		"cobra in a package of its own, a command of a command": {`-- go.mod
module example.com/j
-- main.go
package main

import "example.com/j/cmd"

func main() { cmd.Execute() }
-- cmd/cmd.go
package cmd

import "github.com/spf13/cobra"

func Execute() { c := &cobra.Command{Use: "shelf"}; c.AddCommand(newServe(), newProxy()); c.Execute() }

func newServe() *cobra.Command {
	c := &cobra.Command{Use: "serve FOLDER"}
	c.Flags().StringVarP(&addr, "bind-address", "b", "localhost:18095", "")
	c.Flags().StringVar(&file, "config", "shelf.yaml", "")
	return c
}

func newProxy() *cobra.Command { c := &cobra.Command{Use: "proxy"}; c.AddCommand(newStart()); return c }

func newStart() *cobra.Command {
	c := &cobra.Command{Use: "start"}
	c.Flags().String("listen-addr", ":18096", "")
	return c
}
`, `.[] [serve --bind-address 127.0.0.1:18095] [] at "127.0.0.1:18095" ready / debug "" routes  load `},
		"kingpin, as exporters have it, and urfave/cli beside it": {`-- go.mod
module example.com/k
-- main.go
package main

import ("github.com/alecthomas/kingpin/v2"; "github.com/prometheus/exporter-toolkit/web/kingpinflag")

func main() {
	kingpin.Flag("config.file", "").Short('c').Default("main.go").String()
	kingpinflag.AddFlags(kingpin.CommandLine, ":18097")
}
-- tools/gen/main.go
package main

import "github.com/urfave/cli/v3"

var app = cli.Command{Name: "gen", Commands: []*cli.Command{{Name: "build"}, &cli.Command{Name: "web", Flags: []cli.Flag{
	&cli.IntFlag{Name: "http.port", Value: 18098}, &cli.StringFlag{Name: "port", Value: "18099"}}}}}

func main() { http.HandleFunc("/a", h); http.HandleFunc("/b", h) }
`, `.[] [--web.listen-address 127.0.0.1:18097] [] at "127.0.0.1:18097" ready / debug "" routes  load 
./tools/gen[] [web --http.port 18098] [] at "127.0.0.1:18098" ready /a debug "" routes  /a,  /b load /a /b`},
		"a variable in a tag": {`-- go.mod
module example.com/l
-- main.go
package main

import "github.com/caarlos0/env/v11"

type settings struct {
	Port int ` + "`env:\"PORT,required\" envDefault:\"18100\"`" + `
}

func main() { http.HandleFunc("GET /v1/debug/health", h); e.Start(s.Port) }
`, `.[] [] [[PORT 18100]] at "127.0.0.1:18100" ready / debug "" routes GET /v1/debug/health load `},
		"a port of a file of settings": {`-- go.mod
module example.com/m
-- main.go
package main

import "github.com/labstack/echo/v4"

func main() {
	e := echo.New()
	e.GET("/cats", h)
	e.Start(settings.Address)
}
`, `.[] [] [] at "" ready /cats debug "" routes GET /cats load /cats`},
		"no server": {`-- go.mod
module example.com/f
-- main.go
package main

func main() { println("hello") }
-- broken/main.go
package main

func {
`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Find(write(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range found {
				got = append(got, show(p))
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

// TestFindSaysWhatToFillIn: what the code does not show is a sentence that names the line to edit.
func TestFindSaysWhatToFillIn(t *testing.T) {
	found, err := Find(write(t, `-- go.mod
module example.com/n
-- main.go
package main

import ("github.com/spf13/cobra"; "net/http")

var rootCmd = &cobra.Command{Use: "server"}

func main() { rootCmd.AddCommand(run()); rootCmd.Flags().String("config", "n.toml", ""); http.Serve(l, nil) }

func run() *cobra.Command { http.HandleFunc("GET /n", h); return &cobra.Command{Use: "run [flags] <folder>"} }
`))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %+v", err, found)
	}
	said := strings.Join(found[0].Found, "\n")
	for _, want := range []string{"run takes <folder>: add it to target.args", "it reads n.toml, which is not here: add --config ", "write into target.ready.port"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
}

// TestFindOwnServices: the services of this repository are found from its root and from their own
// folders.
func TestFindOwnServices(t *testing.T) {
	found, err := Find("../../../cmd/arenad")
	if err != nil || len(found) != 1 || !found[0].ReadyLine {
		t.Fatalf("%v, %+v", err, found)
	}
	if !slices.ContainsFunc(found[0].Load(), func(r Route) bool { return r.Path == "/v1/rooms" }) {
		t.Errorf("no /v1/rooms in %v", found[0].Load())
	}
}

func TestMove(t *testing.T) {
	p := Program{Args: []string{"--addr", "127.0.0.1:1", "--workers", "8"}, Env: [][2]string{{"PORT", "1"}}, Address: "127.0.0.1:1", Debug: "http://127.0.0.1:1"}
	p.Move("127.0.0.1:2")
	if got := fmt.Sprintf("%v %v %s %s", p.Args, p.Env, p.Address, p.Debug); got != "[--addr 127.0.0.1:2 --workers 8] [[PORT 2]] 127.0.0.1:2 http://127.0.0.1:2" {
		t.Error(got)
	}
}

// FuzzFind: any file, Go or JSON, gives programs or an error.
func FuzzFind(f *testing.F) {
	f.Add("package main\nimport \"net/http\"\nfunc main() { x := r.Group(\"/a\"); x.Handle(\"GET /\", nil); http.ListenAndServe(\":1\", nil) }", `{"main":"a.js"}`)
	f.Add("package main\nimport \"github.com/go-chi/chi\"\nfunc main() { r.Route(\"/\", func() {}); flag.String(); flag.StringVarP(1, \"p\", \"2\", \"3\") }", `{"scripts":{"start":"node"}}`)
	f.Add("app = Flask(__name__)\n@app.get('/a')", "app.run(port=1) os.environ['PORT'] serve_forever()")
	f.Fuzz(func(t *testing.T, source, pack string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module a", "main.go": source, "package.json": pack, "Dockerfile": pack, "a.py": source, "b.py": pack} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		found, _ := Find(dir)
		for _, p := range found {
			if p.Build == "" && len(p.Command) == 0 || p.Address == "" && !p.ReadyLine && len(p.Found) == 0 {
				t.Errorf("it cannot be started: %+v", p)
			}
		}
	})
}
