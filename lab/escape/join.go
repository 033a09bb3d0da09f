package escape

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/record"
)

// Kind is the cause of a site's allocations.
type Kind string

// Kinds of sites.
const (
	Escaping Kind = "escape"  // the compiler reports an escape on the line
	Calling  Kind = "call"    // the line calls a function outside the packages, which allocates
	Runtime  Kind = "runtime" // the line allocates without an escape: a map or the buffer of a channel grows
	Outside  Kind = "outside" // no frame of the stack is in the packages
)

// Site is a place in the source that allocates.
type Site struct {
	Kind     Kind   `json:"kind"`
	Function string `json:"function"`
	// as the compiler prints it, relative to the working directory; outside the packages as in the
	// profile
	File     string  `json:"file"`
	Line     int     `json:"line"`
	In       string  `json:"in,omitempty"`           // of Calling: the function called
	Mostly   string  `json:"mostly,omitempty"`       // of Calling: the function below it that allocates most bytes
	MostPart float64 `json:"mostly_share,omitempty"` // its share of the site's bytes
	// of Escaping: the candidates, since a profile has lines but no columns
	Escapes []Escape `json:"escapes,omitempty"`
	Bytes   float64  `json:"bytes"` // allocated while the profile was taken
	Objects float64  `json:"objects"`
	Share   float64  `json:"share"` // of all bytes
}

// Joined is the result of Join.
type Joined struct {
	Seconds float64 `json:"seconds"`
	// answered while the profile was taken; 0: unknown, so there is no cost per request
	Requests float64  `json:"requests"`
	Bytes    float64  `json:"bytes"` // without the profiler's own
	Objects  float64  `json:"objects"`
	Profiler float64  `json:"profiler_bytes"` // allocated by taking profiles
	Sites    []Site   `json:"sites"`          // most bytes first
	Silent   int      `json:"silent"`         // lines with an escape whose allocations were not sampled
	Warnings []string `json:"warnings"`
}

// PerRequest returns n per answered request; 0: the number of requests is unknown.
func (j *Joined) PerRequest(n float64) float64 {
	if j.Requests <= 0 {
		return 0
	}
	return n / j.Requests
}

// Join computes the cost of the escapes in a run from two sample types of its heap profile: bytes
// has record.ValueAllocBytes, and objects record.ValueAllocObjects.
func Join(l *Listing, bytes, objects *record.Profile) *Joined {
	j := &joiner{listing: l, sites: map[string]*Site{}, leaves: map[*Site]map[string]float64{}, packages: map[string]bool{}, seen: map[place]bool{}}
	for _, p := range l.Packages {
		j.packages[p.Path] = true
	}
	out := &Joined{Seconds: bytes.Seconds, Requests: bytes.Requests, Sites: []Site{}, Warnings: []string{}}
	for _, s := range bytes.Stacks {
		switch site := j.site(s.Frames); {
		case ofProfiler(s.Frames):
			out.Profiler += s.Value
		case site != nil:
			site.Bytes += s.Value
			out.Bytes += s.Value
			j.leaves[site][s.Frames[0].Function] += s.Value
		}
	}
	for _, s := range objects.Stacks {
		if site := j.site(s.Frames); site != nil && !ofProfiler(s.Frames) {
			site.Objects += s.Value
			out.Objects += s.Value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(j.sites)) {
		site := j.sites[key]
		if site.Bytes == 0 && site.Objects == 0 {
			continue
		}
		if out.Bytes > 0 {
			site.Share = site.Bytes / out.Bytes
		}
		j.mostly(site)
		out.Sites = append(out.Sites, *site)
	}
	slices.SortStableFunc(out.Sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Objects, a.Objects))
	})
	for p, entry := range l.lines {
		if j.packages[p.pkg] && len(entry.escapes) > 0 && !j.seen[p] {
			out.Silent++
		}
	}
	out.warn()
	return out
}

// mostly sets the leaf function that allocates most of a called function's bytes.
func (j *joiner) mostly(s *Site) {
	if s.Kind != Calling || s.Bytes == 0 {
		return
	}
	leaves := j.leaves[s]
	for _, function := range slices.Sorted(maps.Keys(leaves)) {
		if leaves[function] > leaves[s.Mostly] {
			s.Mostly = function
		}
	}
	s.MostPart = leaves[s.Mostly] / s.Bytes
}

// ofProfiler reports whether a stack belongs to taking a profile, so that the measurement caused
// its allocations.
func ofProfiler(frames []record.Frame) bool {
	return slices.ContainsFunc(frames, func(f record.Frame) bool {
		return strings.HasPrefix(f.Function, "runtime/pprof.") && !strings.HasPrefix(f.Function, "runtime/pprof.Do")
	})
}

// staleShare is the maximum share of lines without an escape in the bytes that the packages
// allocate themselves. Growing maps are at most half of a service's allocations, so with a larger
// share the source has probably changed.
const staleShare = 0.5

func (j *Joined) warn() {
	byKind := map[Kind]float64{}
	for _, s := range j.Sites {
		byKind[s.Kind] += s.Bytes
	}
	own := byKind[Escaping] + byKind[Runtime]
	switch {
	case len(j.Sites) == 0:
		j.Warnings = append(j.Warnings, "the profile holds no allocations: the load may have been too short for the runtime's sampling, one per 512 KiB")
	case own+byKind[Calling] == 0:
		j.Warnings = append(j.Warnings, "no stack of the profile passes through these packages: name those of the service that ran")
	case own > 0 && byKind[Runtime] > staleShare*own:
		j.Warnings = append(j.Warnings, "most lines that allocate hold no escape: the source may have changed since the run, or was built with other flags")
	}
	if j.Requests <= 0 {
		j.Warnings = append(j.Warnings, "the number of requests during the profile is unknown: figures are totals")
	}
}

// joiner assigns stacks to sites.
type joiner struct {
	listing  *Listing
	packages map[string]bool
	sites    map[string]*Site
	leaves   map[*Site]map[string]float64 // bytes by the leaf function that allocated them
	seen     map[place]bool
}

// site returns the site of a stack; nil for a stack without frames.
func (j *joiner) site(frames []record.Frame) *Site {
	if len(frames) == 0 {
		return nil
	}
	for i, f := range frames {
		if pkg, ok := j.ours(f); ok {
			return j.inside(place{pkg, baseName(f.File), f.Line}, frames[:i+1])
		}
	}
	leaf := frames[0]
	return j.entry(Site{Kind: Outside, Function: leaf.Function, File: leaf.File, Line: leaf.Line})
}

// inside returns the site of a stack at p, the place of its first frame in the packages. frames end
// with that frame.
func (j *joiner) inside(p place, frames []record.Frame) *Site {
	f := frames[len(frames)-1]
	site := Site{Function: f.Function, File: f.File, Line: f.Line}
	if printed, ok := j.listing.files[p.of()]; ok {
		site.File = printed
	}
	if entry := j.listing.lines[p]; entry != nil {
		site.Escapes = entry.candidates(frames[:len(frames)-1])
	}
	switch {
	case len(site.Escapes) > 0:
		site.Kind = Escaping
		j.seen[p] = true
	case len(frames) > 1:
		site.Kind, site.In = Calling, frames[len(frames)-2].Function
	default:
		site.Kind = Runtime
	}
	return j.entry(site)
}

func (j *joiner) entry(s Site) *Site {
	key := strings.Join([]string{s.File, strconv.Itoa(s.Line), string(s.Kind), s.Function, s.In, first(s.Escapes)}, "\x00")
	if j.sites[key] == nil {
		j.sites[key] = &s
		j.leaves[&s] = map[string]float64{}
	}
	return j.sites[key]
}

func first(escapes []Escape) string {
	if len(escapes) == 0 {
		return ""
	}
	return escapes[0].What
}

// ours reports whether a frame is in the given packages, and returns which. A profile names the
// package of every command main, so ours identifies a command by its folder.
func (j *joiner) ours(f record.Frame) (string, bool) {
	pkg := packageOf(f.Function)
	if pkg != "main" {
		return pkg, j.packages[pkg]
	}
	dir := path.Dir(strings.ReplaceAll(f.File, `\`, "/"))
	var alike []string // commands whose folders have the same name, perhaps in another checkout
	for _, p := range j.listing.Packages {
		switch {
		case p.Name != "main":
		case dir == p.Dir || dir == p.Path:
			return p.Path, true
		case path.Base(dir) == path.Base(p.Path):
			alike = append(alike, p.Path)
		}
	}
	if len(alike) == 1 {
		return alike[0], true
	}
	return "", false // no command matches, or several do
}

// candidates returns the escapes that may be an allocation on the line. callees are the frames of
// the stack below the line: functions outside the packages. If the compiler did not inline one of
// them, there are no candidates.
func (l *line) candidates(callees []record.Frame) []Escape {
	if len(callees) == 0 {
		return preferred(l.escapes, func(e Escape) bool { return !l.inlinedAt(e.Column) })
	}
	var columns []int
	for _, f := range callees {
		_, name := splitSymbol(f.Function)
		if columns = l.inlined[name]; len(columns) == 0 {
			return nil
		}
	}
	return allocating(l.escapes, func(e Escape) bool { return slices.Contains(columns, e.Column) })
}

func (l *line) inlinedAt(column int) bool {
	for _, columns := range l.inlined {
		if slices.Contains(columns, column) {
			return true
		}
	}
	return false
}

// preferred returns the escapes that are wanted, or all if none is: the compiler allocates a
// variable of an inlined call on the calling line itself.
func preferred(all []Escape, wanted func(Escape) bool) []Escape {
	if some := allocating(all, wanted); len(some) > 0 {
		return some
	}
	return allocating(all, func(Escape) bool { return true })
}

// allocating returns the wanted escapes without constants. The compiler reports that constants
// escape, but they are in the read-only data of the program.
func allocating(all []Escape, wanted func(Escape) bool) []Escape {
	var out []Escape
	for _, e := range all {
		if wanted(e) && !constant(strings.TrimSuffix(e.What, " escapes to heap")) {
			out = append(out, e)
		}
	}
	return out
}

func constant(expression string) bool {
	if _, err := strconv.Unquote(expression); err == nil {
		return true
	}
	_, err := strconv.ParseFloat(expression, 64)
	return err == nil || expression == "true" || expression == "false"
}
