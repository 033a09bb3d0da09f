// Package suite runs the servers of subjects/bounds and bench/libraries, whose bounds are known,
// through a diagnosis each, and passes the records to package calibration, which judges them. WhatIf and
// Steps do the same for changes of such servers and for the steps of a ladder.
//
// It is not for judging, and it knows the servers only from their command's list. Run and WhatIf
// own every process that they start.
package suite

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"dyno/bench/command"
	"dyno/lab/diagnose/rules"
)

// Server describes one of the servers, from their command's list (subjects/bounds --list, bench/libraries --list).
type Server struct {
	Name      string   `json:"name"`
	Family    string   `json:"family"`
	Runtime   string   `json:"runtime"` // command that it needs; empty: none
	Truth     string   `json:"truth"`
	Kind      string   `json:"kind"`
	Also      []string `json:"also"`
	Function  string   `json:"function"`
	Method    string   `json:"method"`
	Path      string   `json:"path"`
	BodyBytes int      `json:"body_bytes"`
	Load      struct {
		Connections int     `json:"connections"`
		MaxRate     float64 `json:"max_rate"`
		ThinkMs     float64 `json:"think_ms"`
		Engine      string  `json:"engine"`
		HTTP2       bool    `json:"http2"`
	} `json:"load"`
	Neighbour bool     `json:"neighbour"`
	Invisible []string `json:"invisible"`
	Remedies  []Remedy `json:"remedies"`

	binary string // the command that it is one of
}

// Remedy is a change of a server's parameters that takes a known part of its bound away.
type Remedy struct {
	Text     string             `json:"in_words"`
	Scale    map[string]float64 `json:"scale"`
	Bound    float64            `json:"bound"`    // share of what a request demands of the bound
	CPU      float64            `json:"cpu"`      // share of the CPU time in Compute
	Compute  string             `json:"compute"`  // a function
	Receiver float64            `json:"receiver"` // share of the CPU time of the process that it calls
}

// truth returns the known bounds of the server.
func (s Server) truth() []rules.Bottleneck {
	out := []rules.Bottleneck{rules.Bottleneck(s.Truth)}
	for _, b := range s.Also {
		out = append(out, rules.Bottleneck(b))
	}
	return out
}

// list reads the list from the servers' command.
func list(ctx context.Context, binary string) ([]Server, error) {
	out, err := exec.CommandContext(ctx, binary, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the servers: %w", err)
	}
	var servers []Server
	if err := json.Unmarshal(out, &servers); err != nil {
		return nil, fmt.Errorf("the list of servers cannot be read: %w", err)
	}
	for i := range servers {
		servers[i].binary = binary
	}
	return servers, nil
}

// names.txt has of subjects/bounds, and libraries.txt of bench/libraries, the family and the name of each server, a line each.
//
//go:embed names.txt
var bounds string

//go:embed libraries.txt
var libraries string

// known returns the servers of both lists, by name and family alone.
func known() (out []Server) {
	for line := range strings.Lines(bounds + libraries) {
		family, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		out = append(out, Server{Name: name, Family: family})
	}
	return out
}

// ErrNoServer is returned for a name that is neither a server's nor a family's.
var ErrNoServer = command.Wrong("no such server or family")

// choose returns the servers of the given names or families, each once; none: all.
func choose(all []Server, only []string) ([]Server, error) {
	if len(only) == 0 {
		return all, nil
	}
	var out []Server
	for _, name := range only {
		found := false
		for _, s := range all {
			if s.Name == name || s.Family == name {
				found = true
				if !slices.ContainsFunc(out, func(o Server) bool { return o.Name == s.Name }) {
					out = append(out, s)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: %q; the servers are %s", ErrNoServer, name, names(all))
		}
	}
	return out, nil
}

// startable leaves out the servers whose runtime is missing, and says so of each runtime.
func startable(servers []Server, say func(string)) ([]Server, error) {
	missing := map[string]int{}
	var out []Server
	for _, s := range servers {
		if _, err := exec.LookPath(s.Runtime); s.Runtime != "" && err != nil {
			missing[s.Runtime]++
			continue
		}
		out = append(out, s)
	}
	for _, runtime := range slices.Sorted(maps.Keys(missing)) {
		without := fmt.Sprintf("%d servers need %s, which is not installed", missing[runtime], runtime)
		if missing[runtime] == 1 {
			without = fmt.Sprintf("1 server needs %s, which is not installed", runtime)
		}
		if len(out) == 0 {
			return nil, errors.New(without)
		}
		say("skipped: " + without)
	}
	return out, nil
}

// names lists the servers by family, in the suite's order.
func names(servers []Server) string {
	var families []string
	of := map[string][]string{}
	for _, s := range servers {
		if of[s.Family] == nil {
			families = append(families, s.Family)
		}
		of[s.Family] = append(of[s.Family], s.Name)
	}
	for i, f := range families {
		families[i] = f + " (" + strings.Join(of[f], ", ") + ")"
	}
	return strings.Join(families, ", ")
}

// Servers builds the servers and returns those of the given names or families; none: all. The
// caller calls remove when it needs them no longer.
func Servers(ctx context.Context, only []string, say func(string)) (servers []Server, remove func(), err error) {
	_, servers, remove, err = Options{Only: only, Say: say}.chosen(ctx)
	return servers, remove, err
}
