// Command headers records the header fields that real programs send: proxies and clients in several
// languages, as they are installed on this machine. It writes them to the package
// parts/httploop/headersets, whose users hold what a service does with them.
//
//	go run ./bench/tests/headers --python VENV/bin/python --js FOLDER --jars FOLDER --caddy PROGRAM
//
// curl, nginx, haproxy, apache2, varnishd, node and java are those of the PATH. The Python has
// requests, httpx, aiohttp and urllib3; the folder of --js node_modules with undici, axios, viem and
// ethers; that of --jars OkHttp and Apache HttpClient 5 with what they need; and Caddy lies in the
// folder of a module that requires it. A program that is missing is named, and what was recorded of
// it before stays.
//
// It is not a test: versions change what they send. It owns the processes that it starts, and the
// goroutines of its listener; it ends them and waits.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"dyno/parts/httploop/headersets"
)

// programs are where those lie that are not in the PATH.
type programs struct{ python, js, jars, caddy, assets string }

// patience bounds what one program takes; a JVM compiles its source first.
const patience = time.Minute

func main() {
	var p programs
	flag.StringVar(&p.python, "python", "python3", "Python with the clients")
	flag.StringVar(&p.js, "js", ".", "folder with node_modules")
	flag.StringVar(&p.jars, "jars", ".", "folder with jar files")
	flag.StringVar(&p.caddy, "caddy", "caddy", "Caddy's program")
	flag.StringVar(&p.assets, "assets", "bench/tests/headers/assets", "folder with the clients' sources")
	file := flag.String("write", "parts/httploop/headersets/sets.json", "file to write")
	flag.Parse()
	if err := run(context.Background(), p, *file); err != nil {
		fmt.Fprintln(os.Stderr, "headers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p programs, file string) error {
	var before []headersets.Set
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &before); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	l, err := listen()
	if err != nil {
		return err
	}
	defer l.close()
	recorded := p.record(ctx, l)
	for _, s := range append(recorded, documented...) {
		same := func(o headersets.Set) bool { return o.Program == s.Program && o.How == s.How }
		if i := slices.IndexFunc(before, same); i >= 0 {
			before[i] = s
		} else {
			before = append(before, s)
		}
	}
	before = append(slices.DeleteFunc(before, func(s headersets.Set) bool { return s.How == stickyHow }), sticky(before)...)
	slices.SortStableFunc(before, func(a, b headersets.Set) int { return cmp.Compare(a.Name(), b.Name()) })
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(before); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// record runs each program that is there.
func (p programs) record(ctx context.Context, l *listener) (sets []headersets.Set) {
	url := "http://" + l.Addr().String()
	clients := p.clients()
	for _, c := range clients {
		sets = append(sets, one(ctx, l, c.program, c.how, c.version, func(ctx context.Context) error { return c.send(ctx, url) })...)
	}
	curl := clients[0]
	for _, x := range p.proxies() {
		sets = append(sets, one(ctx, l, x.program, x.how, x.version, func(ctx context.Context) error {
			return x.run(ctx, l.Addr().String(), func(url string) error { return curl.send(ctx, url) })
		})...)
	}
	return sets
}

// one runs a program and returns what it has sent: nothing, if it is missing.
func one(ctx context.Context, l *listener, program, how string, version func(context.Context) (string, error), send func(context.Context) error) []headersets.Set {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l.take()
	s := headersets.Set{Program: program, How: how}
	var err error
	if s.Version, err = version(ctx); err == nil {
		err = send(ctx)
	}
	requests := l.take()
	s.Get, s.Post = requests["GET"], requests["POST"]
	if err == nil && len(requests) == 0 {
		err = fmt.Errorf("it sent nothing")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "not recorded: %s: %v\n", s.Name(), err)
		return nil
	}
	fmt.Fprintf(os.Stderr, "recorded: %s %s\n", s.Name(), s.Version)
	return []headersets.Set{s}
}

const stickyHow = "cookie insert (derived)"

// sticky derives the set of a haproxy that keeps each client at one server with `cookie SRV insert`
// from the one that was recorded of haproxy: curl, which sends through it, keeps no cookie.
func sticky(sets []headersets.Set) (out []headersets.Set) {
	const cookie = "cookie: SRV=one"
	for _, s := range sets {
		if s.Program == "haproxy" && s.How != stickyHow {
			s.How, s.Get, s.Post = stickyHow, s.Get.With(cookie), s.Post.With(cookie)
			out = append(out, s)
		}
	}
	return out
}

// documented are programs that do not run here. HttpClient of .NET sends no field of its own but
// Host; JsonContent (PostAsJsonAsync) has the type with its charset and no length, so that it is
// chunked; and while an Activity is current, the header has its traceparent.
var documented = []headersets.Set{
	{Program: ".NET HttpClient", Version: "8, from its documentation", How: "PostAsJsonAsync",
		Get:  headersets.Fields{"Host: HOST", "Authorization: Bearer TOKEN"},
		Post: headersets.Fields{"Host: HOST", "Authorization: Bearer TOKEN", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "Transfer-Encoding: chunked", "Content-Type: application/json; charset=utf-8"}},
	{Program: ".NET HttpClient", Version: "8, from its documentation", How: "StringContent",
		Post: headersets.Fields{"Host: HOST", "Authorization: Bearer TOKEN", "Content-Type: application/json; charset=utf-8", "Content-Length: 7"}},
}
