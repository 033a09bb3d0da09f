package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"dyno/subjects/subject"
)

// Find returns the server of the given name.
func Find(all []Entry, name string) (Entry, error) {
	var names []string
	for _, e := range all {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Entry{}, fmt.Errorf("unknown server %q; the servers are %s", name, strings.Join(names, ", "))
}

// Listed returns the servers with the ranges of their parameters.
func Listed(all []Entry) []Entry {
	out := make([]Entry, len(all))
	for i, e := range all {
		d := NewDraw(0, e.Name)
		e.Plan(d)
		e.Parameters = d.Ranges
		e.Also = append([]string{}, e.Also...)
		e.Invisible = append([]string{}, e.Invisible...)
		out[i] = e
	}
	return out
}

// Print writes the list of servers as JSON.
func Print(out io.Writer, all []Entry) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(Listed(all))
}

// Drawn draws the parameters of a server, scaled by name, and returns what starts it.
func Drawn(e Entry, seed uint64, scale map[string]float64) (*Draw, func() (*Service, error), error) {
	d := NewDraw(seed, e.Name)
	d.Scale = scale
	start := e.Plan(d)
	for name := range scale {
		if _, known := d.Ranges[name]; !known {
			return nil, nil, fmt.Errorf("--scale: %s has no parameter %q; --list shows the parameters of each server", e.Name, name)
		}
	}
	return d, start, nil
}

// Ready returns the keys that the ready line of a server has beyond a subject's.
func Ready(d *Draw, seed uint64, inside subject.Inside) map[string]any {
	return map[string]any{"seed": seed, "inside": cmp.Or(string(inside), "agent"), "parameters": d.Values}
}

// Serve starts a server and serves until ctx ends.
func Serve(ctx context.Context, e Entry, start func() (*Service, error), addresses subject.Flags, inside subject.Inside, ready map[string]any, stdout io.Writer) error {
	s, err := start()
	if err != nil {
		return fmt.Errorf("starting %s: %w", e.Name, err)
	}
	defer s.Close() // however it ends: there may be files
	if s.Warning != "" {
		ready["warning"] = s.Warning
	}
	return subject.Serve(ctx, addresses, subject.Subject{Name: e.Name, Handler: s.Handler, Inside: inside, Accept: s.Accept, Serve: s.Serve, Untraced: s.Untraced, Ready: ready}, stdout)
}
