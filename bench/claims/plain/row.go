package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"dyno/bench/stored"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// variant is the first program in each scenario.
const variant = "plain"

// service is a service whose first program is diagnosed.
type service struct {
	name   string // of its scenario, too
	source string // what its source's table says of the source's first program
	named  []named
}

// named is what a source's table names. Of it are the stacks in which the name of a function has
// one of these parts; what it calls is included.
type named struct {
	name  string
	parts []string
}

var mutex = named{"Mutex", []string{"sync.(*Mutex)."}}

var services = []service{
	{"chain", "mallocgc 38%, encoding/json 22%; the pool's mutex is hot, with waits of 12.4 ms", []named{
		{"mallocgc", []string{"runtime.mallocgc"}}, {"encoding/json", []string{"encoding/json."}}, mutex,
	}},
	{"ledger", "a lock, by a block profile and a trace; no shares", []named{mutex}},
	{"orders", "conn.serve 42%, then encoding/json and QueryRow", []named{
		{"conn.serve", []string{"net/http.(*conn).serve"}}, {"encoding/json", []string{"encoding/json."}}, {"QueryRow", []string{".QueryRow"}},
	}},
	{"notify", "a queue that fills; no shares", nil},
	{"arena", "ApplyDamage 37%, Mutex.Lock 12%", []named{
		{"shots and their damage", []string{"game.(*World).shoot"}}, mutex,
	}},
}

// diagnosis is what dyno diagnose --json prints, as far as it is kept.
type diagnosis struct {
	Valid     bool
	Reason    string
	BoundBy   string `json:"bound_by"`
	Kind      string
	Confirmed bool
	Headline  string
	Where     []stacks.Site
	Made      map[string]any
}

// row is the result of a service, as it is stored and shown.
type row struct {
	Name    string  `json:"name"`
	BoundBy string  `json:"bound_by"`
	Sure    string  `json:"sure"`
	Place   string  `json:"place"`       // the first, without the folders of its package
	Share   float64 `json:"place_share"` // of what bounds it
	Said    string  `json:"said"`
	CPU     string  `json:"cpu_by_kind"`  // shares of the CPU, the largest first
	Named   string  `json:"cpu_of_named"` // and of what the source names
	Source  string  `json:"source"`
	Commit  string  `json:"commit"`

	Modified bool `json:"modified,omitempty"` // it is not what Commit has
	Quick    bool `json:"quick,omitempty"`

	Others *float64 `json:"others"` // share of the machine that others took
	Steal  *float64 `json:"steal"`  // and the hypervisor
}

// share returns a share of what a diagnosis was made on; nil: it is not known.
func share(made map[string]any, name string) *float64 {
	if v, ok := made[name].(float64); ok {
		return &v
	}
	return nil
}

// packages is the path of a package before its last element.
var packages = regexp.MustCompile(`(?:[\w.~-]+/)+`)

// row reads a diagnosis, and the CPU profile that was taken for it.
func (s service) row(d diagnosis, e *record.Experiment) (row, error) {
	if !d.Valid {
		return row{}, fmt.Errorf("the diagnosis is not valid: %s", d.Reason)
	}
	r := row{Name: s.name, BoundBy: d.BoundBy, Sure: "unconfirmed", Said: d.Headline, Source: s.source}
	if d.Kind != "" {
		r.BoundBy += " (" + d.Kind + ")"
	}
	if d.Confirmed {
		r.Sure = "confirmed"
	}
	if len(d.Where) > 0 {
		r.Place, r.Share = packages.ReplaceAllString(d.Where[0].Function, ""), d.Where[0].Share
	}
	r.Commit, _ = d.Made["commit"].(string)
	r.Modified, _ = d.Made["modified"].(bool)
	r.Others, r.Steal = share(d.Made, "others"), share(d.Made, "steal")
	i := slices.IndexFunc(e.Runs, func(r *record.Run) bool {
		return r.Spec.Role == record.RoleProfile && r.Spec.Variant == variant && r.Invalid == ""
	})
	if i < 0 {
		return row{}, errors.New("no valid run took profiles")
	}
	p, err := e.Runs[i].Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		return row{}, err
	}
	r.CPU, r.Named = byKind(p), s.shares(p)
	return r, nil
}

// byKind lists the kinds of work in a CPU profile that have 1% of it.
func byKind(p *record.Profile) string {
	shares := stacks.ClassShares(p)
	var out []string
	for _, c := range slices.SortedFunc(maps.Keys(shares), func(a, b stacks.Class) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b))
	}) {
		if shares[c] >= 0.01 {
			out = append(out, fmt.Sprintf("%s %s", c, percent(shares[c])))
		}
	}
	return strings.Join(out, ", ")
}

// shares lists what the source names with its shares of a CPU profile, without what profiling took.
func (s service) shares(p *record.Profile) string {
	var out []string
	for _, n := range s.named {
		of, all := 0.0, 0.0
		for _, stack := range p.Stacks {
			if stacks.ClassOf(stack.Frames) == stacks.Profiling {
				continue
			}
			all += stack.Value
			if slices.ContainsFunc(stack.Frames, n.has) {
				of += stack.Value
			}
		}
		if all > 0 {
			out = append(out, n.name+" "+percent(of/all))
		}
	}
	return strings.Join(out, ", ")
}

func (n named) has(f record.Frame) bool {
	return slices.ContainsFunc(n.parts, func(part string) bool { return strings.Contains(f.Function, part) })
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// results is the file that keeps the rows.
type results struct {
	Schema string         `json:"schema"`
	Steps  []row          `json:"steps"`
	Made   map[string]any `json:"made"`
}

// keep replaces a service's row in the file, or adds it. Where the result is from is that of the last
// row, with the highest shares that others took during any; it is of modified code, or of the quick form, if a row is.
func keep(file string, r row, made map[string]any) error {
	all := results{Schema: "dyno.plain/1"}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	place := func(name string) int {
		return slices.IndexFunc(services, func(s service) bool { return s.name == name })
	}
	all.Steps = slices.DeleteFunc(all.Steps, func(was row) bool { return was.Name == r.Name })
	all.Steps = append(all.Steps, r)
	slices.SortFunc(all.Steps, func(a, b row) int { return cmp.Compare(place(a.Name), place(b.Name)) })
	measured := union(all.Made["packages"], made["packages"])
	all.Made = map[string]any{}
	maps.Copy(all.Made, made)
	all.Made["others"] = stored.Highest(all.Steps, func(r row) *float64 { return r.Others })
	all.Made["steal"] = stored.Highest(all.Steps, func(r row) *float64 { return r.Steal })
	all.Made["packages"] = measured
	all.Made["modified"] = slices.ContainsFunc(all.Steps, func(r row) bool { return r.Modified })
	command := []string{"go", "run", "./bench/claims/plain"}
	if slices.ContainsFunc(all.Steps, func(r row) bool { return r.Quick }) {
		command = append(command, "--quick")
	}
	all.Made["command"] = command
	return stored.Write(file, all)
}

// union returns the texts of two lists as JSON has them, each once.
func union(lists ...any) []string {
	var all []string
	for _, list := range lists {
		of, _ := list.([]any)
		for _, v := range of {
			if text, ok := v.(string); ok {
				all = append(all, text)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
