package linuxperf

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const (
	maxScript  = 256 << 20 // bytes of output; perf prints some 50 MB for 2 s of 64 busy threads
	maxLine    = 16 << 10  // bytes; a longer line is no frame
	maxFrames  = 256       // per stack: those nearest the leaf
	maxStacks  = 1 << 16   // distinct stacks
	kernelName = "[kernel]"
	nameless   = "[unknown]"
)

// script runs perf, which prints the samples of a file, and makes a profile of them.
func script(ctx context.Context, perf, file string) (p *profile.Profile, err error) {
	_, err = run(ctx, patience, func(cmd *exec.Cmd) error {
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		var bad error
		p, bad = parse(io.LimitReader(stdout, maxScript))
		_, _ = io.Copy(io.Discard, stdout) // perf ends only when its output has been read
		if err := cmd.Wait(); err != nil {
			return err
		}
		return bad
	}, perf, "script", "-i", file, "--no-inline", "-F", "tid,ip,sym,dso")
	return p, err
}

// parse reads the output of perf script. Each sample is a line that names the thread, a line per
// frame (the leaf first), and an empty line.
func parse(r io.Reader) (*profile.Profile, error) {
	const period = int64(time.Second) / frequency
	b := &builder{functions: map[place]*profile.Location{}, samples: map[string]*profile.Sample{}}
	b.Profile = profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     period,
	}
	lines := bufio.NewReaderSize(r, maxLine)
	var s stack
	inside := false
	for {
		line, err := lines.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !errors.Is(err, io.EOF) && !full {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case full:
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
		case strings.TrimSpace(text) == "":
			if inside {
				b.add(s, period)
			}
			inside, s = false, stack{}
		case !strings.HasPrefix(text, "\t"):
			inside = true // perf pads the thread's number with spaces
		case inside:
			s.push(text)
		}
		if errors.Is(err, io.EOF) {
			break
		}
	}
	if inside {
		b.add(s, period)
	}
	return &b.Profile, nil
}

// stack is one sample, the leaf first.
type stack struct {
	frames []place
	// the outermost frame in the kernel; empty: the sample was not in the kernel
	entry string
}

// push adds a frame, as in "    7f396281a460 JS:*fib /srv/a.js:2:13 (/tmp/perf-PID.map)".
func (s *stack) push(line string) {
	address, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
	pc, err := strconv.ParseUint(address, 16, 64)
	if !ok || err != nil {
		return
	}
	rest = strings.TrimSuffix(rest, " (deleted))")
	symbol, _, _ := strings.Cut(rest, " (")
	if i := strings.LastIndex(rest, " ("); i >= 0 {
		symbol = rest[:i]
	}
	switch {
	case pc>>63 == 1:
		s.entry = symbol
	case len(s.frames) < maxFrames && symbol != nameless:
		s.frames = append(s.frames, placeOf(symbol))
	}
}

// interrupted reports whether the kernel only interrupted the process, rather than worked for it.
// It recognizes the entry functions of amd64 and arm64.
func (s stack) interrupted() bool {
	return strings.HasPrefix(s.entry, "asm_sysvec_") || strings.HasPrefix(s.entry, "asm_common_interrupt") || strings.HasSuffix(s.entry, "_irq")
}

// builder adds samples to a profile.
type builder struct {
	profile.Profile
	functions map[place]*profile.Location
	samples   map[string]*profile.Sample // by the IDs of their locations
}

func (b *builder) add(s stack, period int64) {
	frames := s.frames
	if s.entry != "" && !s.interrupted() {
		frames = append([]place{{function: kernelName}}, frames...)
	}
	if len(frames) == 0 {
		frames = []place{{function: nameless}}
	}
	var locations []*profile.Location
	var key []byte
	for _, f := range frames {
		l := b.locate(f)
		locations = append(locations, l)
		key = strconv.AppendUint(append(key, ' '), l.ID, 36)
	}
	same := b.samples[string(key)]
	if same == nil {
		if len(b.samples) >= maxStacks {
			return
		}
		same = &profile.Sample{Location: locations, Value: []int64{0, 0}}
		b.samples[string(key)] = same
		b.Sample = append(b.Sample, same)
	}
	same.Value[0]++
	same.Value[1] += period
}

func (b *builder) locate(f place) *profile.Location {
	l := b.functions[f]
	if l == nil {
		id := uint64(len(b.Location) + 1)
		fn := &profile.Function{ID: id, Name: f.function, SystemName: f.function, Filename: f.file, StartLine: int64(f.line)}
		l = &profile.Location{ID: id, Line: []profile.Line{{Function: fn, Line: int64(f.line)}}}
		b.functions[f] = l
		b.Function, b.Location = append(b.Function, fn), append(b.Location, l)
	}
	return l
}
