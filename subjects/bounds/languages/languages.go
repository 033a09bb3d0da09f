// Package languages holds the servers of the suite that do not run in Go, but in node and Python:
// what bounds them must be found from outside.
//
// It is not for servers that Go builds. It starts no goroutines: Become turns this process into the
// server.
package languages

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"syscall"
	"time"

	"dyno/subjects/bounds/beside"
	"dyno/subjects/bounds/suite"
)

// Servers is the list of the servers.
var Servers = []suite.Entry{
	node("compute", "cpu", "thread", "the event loop computes for each request", func(d *suite.Draw) {
		d.Between("fib", 18, 22)
	}),
	node("timer", "wait", "unseen", "each request sleeps, and any number of them sleep together", func(d *suite.Draw) {
		d.Micros("sleep_us", 50_000, 200_000)
	}),
	node("pool", "wait", "unseen", "each request holds one of a few places for some ms, in which nothing is computed", func(d *suite.Draw) {
		d.Between("places", 2, 8)
		d.Micros("hold_us", 5_000, 20_000)
	}),
	node("blocked", "wait", "accept", "each request stops the event loop for some ms, and each needs a new connection", func(d *suite.Draw) {
		d.Micros("block_us", 4_000, 12_000)
		d.Between("backlog", 8, 512)
	}),
	node("call", "wait", "network", "each request calls another process over one of a few connections that stay open", func(d *suite.Draw) {
		d.Between("connections", 4, 64)
		d.Micros("backend_us", 20_000, 100_000)
		d.Between("backend_at_once", 8, 64)
	}),
	node("mixed", "unknown", "", "the event loop computes for two thirds of the time, and is stopped for one third", func(d *suite.Draw) {
		d.Micros("compute_us", 4_000, 5_000)
		d.Micros("block_us", 2_000, 2_300)
	}),
	node("failing", "unknown", "errors", "one answer in a few is an error", func(d *suite.Draw) {
		d.Between("each", 4, 10)
	}),
	python("compute", "cpu", "thread", "threads compute, one at a time under the interpreter's lock", func(d *suite.Draw) {
		d.Between("fib", 12, 16)
	}),
	python("pool", "wait", "unseen", "each request holds one of a few places for some ms, in which nothing is computed", func(d *suite.Draw) {
		d.Between("places", 2, 6)
		d.Micros("hold_us", 20_000, 50_000)
	}),
	python("lock", "wait", "unseen", "each request holds a lock for some ms, in which nothing is computed", func(d *suite.Draw) {
		d.Micros("hold_us", 4_000, 12_000)
	}),
	python("one-by-one", "wait", "accept", "a server of one thread sleeps in each request, and the next connections wait to be accepted", func(d *suite.Draw) {
		d.Micros("block_us", 4_000, 12_000)
		d.Between("backlog", 5, 512)
	}),
	python("call", "wait", "network", "each thread calls another process over a connection of its own that stays open", func(d *suite.Draw) {
		d.Micros("backend_us", 50_000, 100_000)
		d.Between("backend_at_once", 4, 12)
	}),
	python("call-anew", "wait", "network", "each request calls another process over a new connection", func(d *suite.Draw) {
		d.Micros("backend_us", 50_000, 100_000)
		d.Between("backend_at_once", 4, 12)
	}),
	python("mixed", "unknown", "", "each request holds a lock, computes for two thirds of that time and sleeps for one third", func(d *suite.Draw) {
		d.Micros("compute_us", 4_000, 5_000)
		d.Micros("block_us", 2_000, 2_300)
	}),
}

//go:embed server.js
var js string

//go:embed server.py
var py string

func node(name, truth, kind, inWords string, draw func(*suite.Draw)) suite.Entry {
	return entry("node", name, truth, kind, inWords, draw)
}

func python(name, truth, kind, inWords string, draw func(*suite.Draw)) suite.Entry {
	return entry("python", name, truth, kind, inWords, draw)
}

// entry describes a server, whose parameters are drawn, but which Plan cannot start.
func entry(language, name, truth, kind, inWords string, draw func(*suite.Draw)) suite.Entry {
	plan := func(d *suite.Draw) func() (*suite.Service, error) {
		draw(d)
		return nil
	}
	return suite.Entry{Name: language + "-" + name, Family: language, Runtime: runtimes[language].command, Truth: truth, Kind: kind, InWords: inWords,
		Method: "GET", Path: "/", Plan: plan}
}

var runtimes = map[string]struct {
	command string
	script  *string
	flags   []string // before the script
}{
	"node":   {"node", &js, []string{"-e"}},
	"python": {"python3", &py, []string{"-c"}},
}

// Become turns this process into a server with drawn parameters: it prints the line once it
// listens. An error means that it could not.
func Become(e suite.Entry, d *suite.Draw, listen string, ready map[string]any) error {
	of := runtimes[e.Family]
	path, err := exec.LookPath(of.command)
	if err != nil {
		return fmt.Errorf("%s runs in %s: %w", e.Name, of.command, err)
	}
	parameters := map[string]any{}
	for name, value := range d.Values {
		parameters[name] = value
	}
	if takes := d.Values["backend_us"]; takes > 0 {
		b, err := beside.StartBackend(time.Duration(takes)*time.Microsecond, d.Values["backend_at_once"], 0)
		if err != nil {
			return err
		}
		defer b.Close()
		if err := b.Bequeath(); err != nil {
			return err
		}
		parameters["backend"] = b.Address
	}
	line := map[string]any{"ready": true, "service": e.Name, "pid": os.Getpid(), "listen": "ADDRESS"}
	maps.Copy(line, ready)
	of.flags = append(of.flags, *of.script, e.Name, listen)
	for _, v := range []map[string]any{parameters, line} {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		of.flags = append(of.flags, string(text))
	}
	return syscall.Exec(path, append([]string{of.command}, of.flags...), os.Environ())
}
