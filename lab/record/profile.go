package record

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Kinds of profile that a run's folder can hold. The runtime counts from the start of the
// process; a kind whose name ends in Start is subtracted from the kind without it.
const (
	ProfileCPU       = "cpu"       // sampled, over ProfileFile.Seconds
	ProfileHeap      = "heap"      // after a GC cycle: memory in use, and allocations since the process started
	ProfileHeapStart = "heapstart" // the same, before the load
	ProfileMutex     = "mutex"     // time that others waited, by the stack that held the lock; over Seconds
	ProfileBlock     = "block"     // where goroutines waited; over Seconds
	ProfileGoroutine = "goroutine" // at one moment
	ProfileGoroStart = "gorostart" // at one moment before the load
	ProfileGoroLeft  = "goroleft"  // at one moment after the load has ended
	// ProfileGoroMany is the sum of the goroutine profiles of ProfileFile.Samples moments. It
	// stands in for the execution trace of a target that serves none.
	ProfileGoroMany = "goromany"

	// ProfileTrace is the kind of an entry that says why there is no execution trace. Of a trace
	// that was taken only the summary is kept, which Run.Trace reads.
	ProfileTrace = "trace"
)

// ProfileFile is a profile in a run's folder.
type ProfileFile struct {
	Kind     string  `json:"kind"`
	File     string  `json:"file"`               // profiles/cpu.pb.gz
	Seconds  float64 `json:"seconds,omitempty"`  // length of the profile, s; 0: a moment
	Requests float64 `json:"requests,omitempty"` // requests answered in those seconds, for figures per request
	Samples  int     `json:"samples,omitempty"`  // number of moments added up
	Why      string  `json:"why,omitempty"`      // why there is no file: what could not be seen, and what would help
}

// Sample types of a profile, as pprof names them.
const (
	ValueCPU          = "cpu"           // ns
	ValueAllocObjects = "alloc_objects" // heap only
	ValueAllocBytes   = "alloc_space"
	ValueInUseObjects = "inuse_objects"
	ValueInUseBytes   = "inuse_space"
	ValueContentions  = "contentions" // mutex and block
	ValueDelay        = "delay"       // ns, mutex and block
	ValueGoroutines   = "goroutine"
)

// Profile is one sample type of a profile: the value of each stack.
type Profile struct {
	Type     string // Value...
	Seconds  float64
	Requests float64
	Samples  int // number of moments added up
	Stacks   []Stack
}

// Stack is a call stack with its value.
type Stack struct {
	Frames []Frame `json:"frames"` // the leaf first; inlined calls are frames of their own
	Value  float64 `json:"value"`
}

// Frame is a place in the code.
type Frame struct {
	Function string `json:"function"` // with its package: net/http.(*conn).serve
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	// Own reports whether the function belongs to the program's main module, wherever its file
	// is: the code of an installed program is in the module cache, as its dependencies are.
	Own bool `json:"-"`
}

// Total is the sum over all stacks.
func (p *Profile) Total() float64 {
	sum := 0.0
	for _, s := range p.Stacks {
		sum += s.Value
	}
	return sum
}

// maxProfile bounds a profile's file, in bytes: the profile of a large program takes about 1 MB.
const maxProfile = 64 << 20

// Profile returns one sample type of a profile of the run. Heap allocations are those between the
// two heap profiles. If no profile was taken, the error says why.
func (r *Run) Profile(kind, valueType string) (*Profile, error) {
	for _, made := range r.FixtureProfiles {
		if made.Type == valueType {
			return made, nil
		}
	}
	raw, file, err := r.rawProfile(kind)
	if err != nil {
		return nil, err
	}
	p, err := stacksOf(raw, valueType)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.File, err)
	}
	p.Seconds, p.Requests, p.Samples = file.Seconds, file.Requests, file.Samples
	for i := range p.Stacks {
		r.own(p.Stacks[i].Frames)
	}
	if kind != ProfileHeap || valueType != ValueAllocBytes && valueType != ValueAllocObjects {
		return p, nil
	}
	raw, _, err = r.rawProfile(ProfileHeapStart)
	if err != nil {
		return nil, fmt.Errorf("what was allocated is the difference of two heap profiles: %w", err)
	}
	before, err := stacksOf(raw, valueType)
	if err != nil {
		return nil, err
	}
	return p.less(before), nil
}

// own marks the frames that belong to the target's main module, or to another module of the same
// repository.
func (r *Run) own(frames []Frame) {
	if r.Target.Module == "" {
		return
	}
	module := repository(r.Target.Module)
	// The linker escapes the dots of a package path's last element.
	slash := strings.LastIndexByte(module, '/') + 1
	itself := module[:slash] + strings.ReplaceAll(module[slash:], ".", "%2e") + "."
	for i, f := range frames {
		frames[i].Own = strings.HasPrefix(f.Function, module+"/") || strings.HasPrefix(f.Function, itself) || strings.HasPrefix(f.Function, "main.")
	}
}

// repository returns the path of the repository that has a module: of three elements on hosts of
// many owners, and otherwise of two, as go.etcd.io/etcd of go.etcd.io/etcd/server/v3. A path whose
// first element is no host is a module of its own.
func repository(module string) string {
	parts := strings.Split(module, "/")
	host := parts[0]
	if !strings.Contains(host, ".") {
		return module
	}
	elements := 2
	for _, forge := range []string{"git", "bitbucket", "code", "golang.org"} {
		if strings.HasPrefix(host, forge) {
			elements = 3
		}
	}
	return strings.Join(parts[:min(elements, len(parts))], "/")
}

func (r *Run) rawProfile(kind string) (*profile.Profile, ProfileFile, error) {
	i := slices.IndexFunc(r.Profiles, func(f ProfileFile) bool { return f.Kind == kind })
	if i < 0 {
		return nil, ProfileFile{}, fmt.Errorf("no %s profile was taken in this run", kind)
	}
	file := r.Profiles[i]
	if file.Why != "" {
		return nil, file, fmt.Errorf("there is no %s profile: %s", kind, file.Why)
	}
	if !filepath.IsLocal(filepath.FromSlash(file.File)) {
		return nil, file, fmt.Errorf("the %s profile's file %q is not in the run's folder", kind, file.File)
	}
	f, err := os.Open(filepath.Join(r.Dir, filepath.FromSlash(file.File)))
	if err != nil {
		return nil, file, err
	}
	defer f.Close()
	encoded, err := io.ReadAll(io.LimitReader(f, maxProfile))
	if err != nil {
		return nil, file, err
	}
	p, err := ParseProfile(encoded)
	return p, file, err
}

// ParseProfile reads a profile in pprof's encoding.
func ParseProfile(encoded []byte) (*profile.Profile, error) {
	p, err := profile.Parse(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("not a profile: %w", err)
	}
	return p, nil
}

// ReadProfile returns one sample type of a profile in pprof's encoding.
func ReadProfile(encoded []byte, valueType string) (*Profile, error) {
	p, err := ParseProfile(encoded)
	if err != nil {
		return nil, err
	}
	return stacksOf(p, valueType)
}

func stacksOf(p *profile.Profile, valueType string) (*Profile, error) {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == valueType })
	if at < 0 {
		return nil, fmt.Errorf("it holds no %s", valueType)
	}
	out := &Profile{Type: valueType}
	for _, s := range p.Sample {
		if at >= len(s.Value) || s.Value[at] == 0 {
			continue
		}
		stack := Stack{Value: float64(s.Value[at])}
		for _, l := range s.Location {
			for _, line := range l.Line {
				f := Frame{Line: int(line.Line)}
				if line.Function != nil {
					f.Function, f.File = line.Function.Name, line.Function.Filename
				}
				stack.Frames = append(stack.Frames, f)
			}
		}
		out.Stacks = append(out.Stacks, stack)
	}
	return out, nil
}

// less subtracts before from the profile, stack by stack.
func (p *Profile) less(before *Profile) *Profile {
	had := map[string]float64{}
	for _, s := range before.Stacks {
		had[s.Key()] += s.Value
	}
	out := *p
	out.Stacks = nil
	for _, s := range p.Stacks {
		key := s.Key()
		taken := min(had[key], s.Value)
		had[key] -= taken
		if s.Value -= taken; s.Value > 0 {
			out.Stacks = append(out.Stacks, s)
		}
	}
	return &out
}

// Key is equal for stacks with the same functions and lines.
func (s Stack) Key() string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%s:%d;", f.Function, f.Line)
	}
	return b.String()
}
