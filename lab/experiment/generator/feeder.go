package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/load/corpus"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/process"
)

// feedTimeout bounds a feeder's program. Making a million tokens with an RSA signature each takes
// longer; such rows should be written to a file once. The output is bounded as a file is (see
// corpus.ReadCSV).
const feedTimeout = 5 * time.Minute

// Feed reads the feeder's rows, once for all runs. They may contain secrets, so they are not
// recorded: they stay in memory or, for a job, in a temporary file.
func (b *Generator) Feed(ctx context.Context) error {
	f := b.Scenario.Load.Feeder
	if f == nil {
		return nil
	}
	read := corpus.ReadNDJSON
	if f.Format == "csv" || f.Format == "" && strings.EqualFold(filepath.Ext(f.File), ".csv") {
		read = corpus.ReadCSV
	}
	switch {
	case b.RowsFile != "":
		read = kept(b.RowsFile, read)
	case !b.Scenario.Load.Traits().Sends && f.File != "":
		b.RowsFile = b.Scenario.Resolve(f.File)
	case !b.Scenario.Load.Traits().Sends:
		b.RowsFile = filepath.Join(b.Programs.Dir, "rows") // only this user can read the folder
		read = kept(b.RowsFile, read)
	}
	var err error
	if f.File != "" {
		b.rows, err = readFile(b.Scenario, f.File, read)
	} else {
		b.Programs.Say("running the feeder " + f.String())
		b.rows, err = b.runFeeder(ctx, f, read)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &scenario.Fault{Err: fmt.Errorf("load.feeder %s: %w", f, err)}
}

// kept returns a read function that also copies the rows into a file.
func kept(path string, read func(io.Reader) (*corpus.Rows, error)) func(io.Reader) (*corpus.Rows, error) {
	return func(r io.Reader) (*corpus.Rows, error) {
		file, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		rows, err := read(io.TeeReader(r, file))
		return rows, errors.Join(err, file.Close())
	}
}

// runFeeder runs the feeder's program and reads the rows that it prints.
func (b *Generator) runFeeder(ctx context.Context, f *workload.Feeder, read func(io.Reader) (*corpus.Rows, error)) (*corpus.Rows, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, feedTimeout, fmt.Errorf("it did not end within %v; print fewer rows, or write them to a file", feedTimeout))
	defer cancel()
	command, err := b.feedCommand(f)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	defer context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })()
	p, err := environment.Start(ctx, process.Spec{Name: "feeder", Command: command, Stdout: in})
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
	failed := p.Err() // nil while the program runs; the error shows the end of its output, which explains missing rows
	out.Close()       // from here on the program's output is discarded, so that the program does not block
	p.Stop(environment.Grace)
	<-ended
	if failed != nil {
		return nil, failed
	}
	return rows, err
}

func (b *Generator) feedCommand(f *workload.Feeder) ([]string, error) {
	command := b.Programs.Command(f.Program.Build, f.Program.Command, f.Program.Args)
	for i, word := range command {
		var err error
		if command[i], err = workload.Expand(word, func(string) (string, bool) { return "", false }); err != nil {
			return nil, err
		}
	}
	return command, nil
}

func readFile[T any](sc *scenario.Scenario, name string, read func(io.Reader) (T, error)) (T, error) {
	f, err := os.Open(sc.Resolve(name))
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(f)
}
