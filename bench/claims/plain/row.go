package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dyno/bench/stored"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// service is a service whose first program is diagnosed, or another program that its source has a
// profile of.
type service struct {
	name     string
	scenario string // empty: of the same name
	variant  string // empty: plain
	source   string // what its source's table says of the source's program
	named    []named
}

func (s service) scenarioFile() string {
	return filepath.Join("scenarios", cmp.Or(s.scenario, s.name)+".yaml")
}

func (s service) program() string { return cmp.Or(s.variant, "plain") }

// named is what a source's table names. Of it are the stacks in which the name of a function has
// one of these parts; what it calls is included.
type named struct {
	name  string
	parts []string
}

var mutex = named{"Mutex", []string{"sync.(*Mutex)."}}

var services = []service{
	{name: "chain", source: "mallocgc 38%, encoding/json 22%; the pool's mutex is hot, with waits of 12.4 ms", named: []named{
		{"mallocgc", []string{"runtime.mallocgc"}}, {"encoding/json", []string{"encoding/json."}}, mutex,
	}},
	{name: "ledger", source: "a lock, by a block profile and a trace; no shares", named: []named{mutex}},
	{name: "orders", source: "conn.serve 42%, then encoding/json and QueryRow", named: []named{
		{"conn.serve", []string{"net/http.(*conn).serve"}}, {"encoding/json", []string{"encoding/json."}}, {"QueryRow", []string{".QueryRow"}},
	}},
	{name: "notify", source: "a queue that fills; no shares"},
	{name: "arena", source: "ApplyDamage 37%, Mutex.Lock 12%", named: []named{
		{"shots and their damage", []string{"game.(*World).shoot"}}, mutex,
	}},
	{name: "raft", scenario: "chain-unbatched", variant: "unbatched", source: "raft.step and appendEntry over 65%, because of a lock", named: []named{
		{"raft.step and appendEntry", []string{".(*raft).Step", ".(*raft).appendEntry"}}, mutex,
	}},
	{name: "stages", scenario: "chain", variant: "loop", source: "p95 of the call 2.1 ms, of its execution 86 ms, of writing and syncing it 143 ms"},
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
	// Shares are those of Named, each with the ends of its 95% interval, which is that of sampling.
	Shares map[string][3]float64 `json:"shares,omitempty"`
	// MutexWait is the mean of the waits for a sync.Mutex, ms; 0: none was recorded.
	MutexWait float64 `json:"mutex_wait_ms,omitempty"`
	// Stages are the p95 of each stage of a program that was traced, ms.
	Stages map[string]float64 `json:"stage_p95_ms,omitempty"`
	stored.Run
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
	r.Run = stored.RunOf(d.Made)
	i := slices.IndexFunc(e.Runs, func(r *record.Run) bool {
		return r.Spec.Role == record.RoleProfile && r.Spec.Variant == s.program() && r.Invalid == ""
	})
	if i < 0 {
		return row{}, errors.New("no valid run took profiles")
	}
	p, err := e.Runs[i].Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		return row{}, err
	}
	r.CPU = byKind(p)
	r.Named, r.Shares = s.shares(p)
	r.MutexWait, r.Stages = mutexWait(e.Runs[i]), s.stages(e)
	return r, nil
}

// stages has the p95 of each stage of the run that was traced.
func (s service) stages(e *record.Experiment) (p95 map[string]float64) {
	for _, run := range e.Runs {
		if run.Spec.Variant != s.program() || run.Invalid != "" || len(run.Stages) == 0 {
			continue
		}
		p95 = map[string]float64{}
		for _, stage := range run.Stages {
			p95[stage.Name] = max(p95[stage.Name], stage.Latency.P95)
		}
	}
	return p95
}

// mutexWait is the mean of the waits for a sync.Mutex in the profile of what blocked.
func mutexWait(r *record.Run) float64 {
	var of [2]float64 // delay in ns, and how often
	for i, value := range []string{record.ValueDelay, record.ValueContentions} {
		p, err := r.Profile(record.ProfileBlock, value)
		if err != nil {
			return 0 // it was not taken
		}
		for _, stack := range p.Stacks {
			if slices.ContainsFunc(stack.Frames, mutex.has) {
				of[i] += stack.Value
			}
		}
	}
	if of[1] == 0 {
		return 0
	}
	return of[0] / of[1] / 1e6
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

// sample is what a sample of a CPU profile stands for: 10 ms.
const sample = 10e6

// shares lists what the source names with its shares of a CPU profile, without what profiling took.
func (s service) shares(p *record.Profile) (text string, shares map[string][3]float64) {
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
		if all == 0 {
			continue
		}
		if shares == nil {
			shares = map[string][3]float64{}
		}
		out = append(out, n.name+" "+percent(of/all))
		shares[n.name] = interval(of/all, all/sample)
	}
	return strings.Join(out, ", "), shares
}

// interval is a share of n samples with the ends of its 95% interval, by E. B. Wilson, 1927.
func interval(share, n float64) [3]float64 {
	const z = 1.96
	middle := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return [3]float64{share, max(0, middle-half), min(1, middle+half)}
}

func (n named) has(f record.Frame) bool {
	return slices.ContainsFunc(n.parts, func(part string) bool { return strings.Contains(f.Function, part) })
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// keep replaces a service's row in the file, or adds it, in the order of the services.
func (r row) keep(file string, made map[string]any) error {
	place := func(name string) int {
		return slices.IndexFunc(services, func(s service) bool { return s.name == name })
	}
	return stored.Keep(file, "dyno.plain/1", r, made, func(a, b row) int { return cmp.Compare(place(a.Name), place(b.Name)) })
}
