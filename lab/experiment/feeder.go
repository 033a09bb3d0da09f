package experiment

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyno/lab/load/corpus"
	"dyno/lab/scenario"
	"dyno/lab/target"
)

// feedTimeout bounds a feeder's program: a million tokens with RSA signatures, one for each row, would take longer,
// and can be made once, into a file. How much it may print is bounded as for a file (see corpus.ReadCSV).
const feedTimeout = 5 * time.Minute

// feed reads the feeder's rows, once for all runs. They may hold secrets: they stay in memory, and nothing of them
// is recorded.
func (b *runner) feed(ctx context.Context) error {
	f := b.Scenario.Load.Feeder
	if f == nil {
		return nil
	}
	read := corpus.ReadNDJSON
	if f.Format == "csv" || f.Format == "" && strings.EqualFold(filepath.Ext(f.File), ".csv") {
		read = corpus.ReadCSV
	}
	var err error
	if f.File != "" {
		b.rows, err = readFile(b.Scenario, f.File, read)
	} else {
		b.Progress.Say("running the feeder " + f.String())
		b.rows, err = b.runFeeder(ctx, f, read)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &ScenarioError{fmt.Errorf("load.feeder %s: %w", f, err)}
}

// printed runs the feeder's program and reads the rows that it prints.
func (b *runner) runFeeder(ctx context.Context, f *scenario.Feeder, read func(io.Reader) (*corpus.Rows, error)) (*corpus.Rows, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, feedTimeout, fmt.Errorf("it did not end within %v; have it print fewer rows, or make a file of them", feedTimeout))
	defer cancel()
	command, err := b.feedCommand(f)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	defer context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })()
	p, err := target.Start(ctx, target.Spec{Name: "feeder", Command: command, Stdout: in})
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-p.Exited()
		in.Close()
	}()
	rows, err := read(out)
	byItself := exited(p)
	out.Close() // one that still prints is told that nobody listens
	p.Stop(grace)
	<-ended
	if byItself && p.Err() != nil {
		return nil, p.Err() // which shows the end of what it said, and is why rows are missing
	}
	return rows, err
}

func exited(p *target.Process) bool {
	select {
	case <-p.Exited():
		return true
	default:
		return false
	}
}

func (b *runner) feedCommand(f *scenario.Feeder) ([]string, error) {
	command := append(append([]string(nil), f.Command...), f.Args...)
	for i, word := range command {
		var err error
		if command[i], err = scenario.Expand(word, func(string) (string, bool) { return "", false }); err != nil {
			return nil, err
		}
	}
	if f.Build != "" {
		command = append([]string{b.bins[f.Build]}, command...)
	}
	return command, nil
}

// readFile reads a file that the scenario names.
func readFile[T any](sc *scenario.Scenario, name string, read func(io.Reader) (T, error)) (T, error) {
	f, err := os.Open(sc.Resolve(name))
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(f)
}
