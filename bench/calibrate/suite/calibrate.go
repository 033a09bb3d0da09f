package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/bench/calibrate/calibration"
	"dyno/lab/diagnose"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/process"
)

// subjects are the packages of the servers, which the go command finds from anywhere in this
// workspace. The first also is a neighbour that burns CPU.
var subjects = []string{"dyno/subjects/bounds", "dyno/bench/libraries"}

// Options configures a calibration.
type Options struct {
	Out     string // folder of the cases, one folder each
	Only    []string
	Repeats int      // runs of each server, each with its own parameters
	Seed    uint64   // seed of the first repeat
	Inside  []string // agent | pprof | none: every server runs with each of them
	Depth   experiment.Depth
	NoPMQoS bool // as in an experiment
	// BesideBurn runs every server while another process burns a core.
	BesideBurn bool
	// Done is called after every case; n of total.
	Done func(n, total int, c calibration.Case)
	// Say reports an event.
	Say func(string)
}

// Run runs every server for each repeat, round after round, so that a drift of the machine
// affects all alike. If an error ends it, Run returns the cases until then.
func Run(ctx context.Context, o Options) ([]calibration.Case, error) {
	hog, servers, remove, err := o.chosen(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	if servers, err = startable(servers, o.Say); err != nil {
		return nil, err
	}
	var cases []calibration.Case
	round := seenFrom(servers, o.Inside)
	total := len(round) * o.Repeats
	for repeat := range o.Repeats {
		for _, s := range round {
			c, err := o.one(ctx, hog, s.Server, repeat, s.inside)
			if err != nil {
				return cases, fmt.Errorf("server %s, seed %d: %w", s.Name, o.Seed+uint64(repeat), err)
			}
			cases = append(cases, c)
			o.Done(len(cases), total, c)
		}
	}
	return cases, nil
}

// seen is a server with the interface by which it is seen.
type seen struct {
	Server
	inside string
}

// seenFrom returns every server with each interface. Those that Go did not build have none, and run
// once.
func seenFrom(servers []Server, insides []string) (out []seen) {
	for i, inside := range insides {
		for _, s := range servers {
			switch {
			case s.Runtime == "":
				out = append(out, seen{s, inside})
			case i == 0:
				out = append(out, seen{s, "none"})
			}
		}
	}
	return out
}

// one runs a server once.
func (o *Options) one(ctx context.Context, hog string, s Server, repeat int, inside string) (calibration.Case, error) {
	seed := o.Seed + uint64(repeat)
	c := s.newCase(seed, inside)
	if threads := o.burning(s); threads > 0 {
		stop, err := neighbour(ctx, hog, threads)
		if err != nil {
			return c, err
		}
		defer stop()
	}
	began := time.Now()
	exp, err := experiment.Execute(ctx, experiment.Options{
		Scenario: s.Scenario(seed, inside),
		Out:      filepath.Join(o.Out, folderName(s.Name, seed, inside)),
		Depth:    o.Depth,
		NoPMQoS:  o.NoPMQoS,
		Clients:  s.Load.Connections,
	})
	if err != nil && !errors.Is(err, experiment.ErrUnfit) {
		return c, err
	}
	c.Seconds = time.Since(began).Seconds()
	c.Subject = diagnose.NewSubject(s.Name, exp.Runs)
	return c, nil
}

// Scenario returns the scenario that starts a server and diagnoses it.
func (s Server) Scenario(seed uint64, inside string) *scenario.Scenario {
	return &scenario.Scenario{
		Name: s.Name, Mode: record.KindDiagnose,
		Target: scenario.Target{Process: scenario.Process{
			Command: []string{s.binary},
			Args:    []string{"--server", s.Name, "--seed", strconv.FormatUint(seed, 10), "--inside", inside},
		}},
		Load: scenario.Load{
			URL: "http://${target.listen}" + s.Path, Requests: []workload.Request{{Method: s.Method, Body: workload.Body{Text: strings.Repeat("x", s.BodyBytes)}}},
			Engine: s.Load.Engine, TLS: workload.TLS{HTTP2: s.Load.HTTP2},
			Think: time.Duration(s.Load.ThinkMs * float64(time.Millisecond)), MaxRate: s.Load.MaxRate,
		},
	}
}

// burning returns the number of threads of a server's burning neighbour; 0: it has none.
func (o *Options) burning(s Server) int {
	switch {
	case s.Neighbour:
		return runtime.NumCPU()
	case o.BesideBurn:
		return 1
	}
	return 0
}

// neighbour starts a process that burns CPU and is unknown to the experiment. It ends when its
// standard input closes, also if the lab is killed.
func neighbour(ctx context.Context, hog string, threads int) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, hog, "--hog", strconv.Itoa(threads))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a neighbour: %w", err)
	}
	return func() {
		stdin.Close()
		cmd.Wait() // its exit code does not matter
	}, nil
}

// build builds the servers and lists them. hog is the program that can burn CPU.
func build(ctx context.Context) (hog string, servers []Server, remove func(), err error) {
	tmp, err := os.MkdirTemp("", "dyno-")
	if err != nil {
		return "", nil, nil, err
	}
	remove = func() { os.RemoveAll(tmp) }
	for _, subject := range subjects {
		var binary string
		var of []Server
		if binary, err = process.Build(ctx, ".", subject, tmp); err == nil {
			of, err = list(ctx, binary)
		}
		if err != nil {
			remove()
			return "", nil, nil, fmt.Errorf("building the servers, which takes this repository's source: %w", err)
		}
		hog, servers = cmp.Or(hog, binary), append(servers, of...)
	}
	return hog, servers, remove, nil
}

// chosen builds the servers and returns those of o.Only. It checks the names first, since building
// takes this repository's source.
func (o Options) chosen(ctx context.Context) (hog string, servers []Server, remove func(), err error) {
	if _, err := choose(known(), o.Only); err != nil {
		return "", nil, nil, err
	}
	o.Say("building " + strings.Join(subjects, " and "))
	if hog, servers, remove, err = build(ctx); err != nil {
		return "", nil, nil, err
	}
	if servers, err = choose(servers, o.Only); err != nil {
		remove()
	}
	return hog, servers, remove, err
}

// Read reads the cases of an earlier calibration, so that they can be judged again.
func Read(ctx context.Context, dir string) ([]calibration.Case, error) {
	_, servers, remove, err := build(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	known := map[string]Server{}
	for _, s := range servers {
		known[s.Name] = s
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var cases []calibration.Case
	for _, e := range entries {
		name, seed, inside, ok := parts(e.Name())
		s, one := known[name]
		if !ok || !one {
			continue
		}
		exp, err := folder.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return cases, err
		}
		c := s.newCase(seed, inside)
		c.Subject = diagnose.NewSubject(s.Name, exp.Runs)
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s holds no case: name the folder that a calibration was written to", dir)
	}
	return cases, nil
}

// newCase returns a server's case before its run.
func (s Server) newCase(seed uint64, inside string) calibration.Case {
	c := calibration.Case{Server: s.Name, Family: s.Family, Truth: s.truth(), Function: s.Function, Seed: seed, Inside: inside,
		Hidden: slices.Contains(s.Invisible, inside)}
	if s.Runtime != "" {
		c.Kind = s.Kind // no place in the code says what it waits for
		c.Fixed = true
	}
	return c
}

// folderName is the name of a case's folder; parts splits the name again.
func folderName(server string, seed uint64, inside string) string {
	return fmt.Sprintf("%s-%d-%s", server, seed, inside)
}

func parts(folder string) (server string, seed uint64, inside string, ok bool) {
	words := strings.Split(folder, "-")
	n := len(words) - 2
	if n < 1 {
		return "", 0, "", false
	}
	seed, err := strconv.ParseUint(words[n], 10, 64)
	return strings.Join(words[:n], "-"), seed, words[n+1], err == nil
}
