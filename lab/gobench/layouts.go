package gobench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"dyno/parts/process"
)

// relink links the binary with a random order of functions, and returns its path.
func (r *run) relink(ctx context.Context, b *binary, name string, seed int64) (string, error) {
	out := filepath.Join(filepath.Dir(b.path), name)
	link := slices.Clone(b.link)
	link[b.out] = out
	// Without symbols for debuggers, linking takes half the time. The flags begin with -o: before it, the
	// program may be that of -toolexec.
	link = slices.Insert(link, b.out-1, "-randlayout="+strconv.FormatInt(seed, 10), "-s", "-w")
	p, err := r.start(ctx, process.Spec{Name: "the linker", Command: link, Env: append(slices.Clone(b.env), "TMPDIR="+r.scratch()), Dir: b.dir})
	if err == nil {
		err = p.Err()
	}
	if exit := new(process.ExitError); errors.As(err, &exit) && exit.Log != "" {
		err = errors.New(firstLine(exit.Log))
	}
	return out, err
}

// seed returns a seed for the linker, which takes 0 for no random order.
func (r *run) seed() int64 { return 1 + r.random.Int64N(1<<31) }

// pair links both sides of a package, with independent orders of functions, over those of the
// generation before. Without layouts, it returns what was built first.
func (r *run) pair(ctx context.Context, p *pkg) (paths [2]string, err error) {
	if !r.layouts {
		return [2]string{p.sides[0].path, p.sides[1].path}, nil
	}
	seeds := [2]int64{r.seed(), r.seed()}
	var errs [2]error
	var links sync.WaitGroup
	for side, b := range p.sides {
		links.Go(func() { paths[side], errs[side] = r.relink(ctx, b, fmt.Sprintf("%d.test", side), seeds[side]) })
	}
	links.Wait()
	return paths, errors.Join(errs[:]...)
}

// probeLayouts finds out whether the linker makes another program of another seed.
func (r *run) probeLayouts(ctx context.Context) {
	switch {
	case r.NoLayouts:
		r.noLayouts = "it was asked for"
	case r.toolchains[0]["GOARCH"] == "riscv64":
		r.noLayouts = "the linker for riscv64 cannot order functions at random: it needs the distances of calls"
	case len(r.packages) == 0:
	default:
		began := time.Now()
		r.noLayouts = r.noRandomLayout(ctx, r.packages[0].sides[0])
		for _, p := range r.packages {
			p.linking = time.Since(began) // two links, as both sides need
		}
	}
	r.layouts = r.noLayouts == ""
}

// noRandomLayout says why a binary cannot be linked with random orders of functions; empty: it can.
func (r *run) noRandomLayout(ctx context.Context, b *binary) string {
	if b.link == nil {
		return "go test -x does not show how it links"
	}
	var before []byte
	for seed := range int64(2) {
		path, err := r.relink(ctx, b, "probe.test", seed+1)
		if err != nil {
			return "the linker refuses -randlayout: " + firstLine(err.Error())
		}
		text, err := os.ReadFile(path)
		os.Remove(path)
		switch {
		case err != nil:
			return err.Error()
		case seed > 0 && bytes.Equal(text, before):
			return "the linker makes the same program of every seed of -randlayout"
		}
		before = text
	}
	return ""
}
