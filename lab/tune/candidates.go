package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names of the Go runtime's settings, which are environment variables.
const (
	gogc       = "GOGC"
	gomemlimit = "GOMEMLIMIT"
	gomaxprocs = "GOMAXPROCS"
	usualGOGC  = "100"
	off        = "off"
)

// Program describes the program to tune, in its start configuration.
type Program struct {
	Declared Declared
	Values   map[string]string // present values of the declared settings and seams
	Runtime  map[string]string // GOGC, GOMEMLIMIT and GOMAXPROCS, where the environment has them
	Fixed    func(name string) bool
	Procs    int   // GOMAXPROCS
	RSS      int64 // resident memory under load, in bytes; 0: not known
	Memory   int64 // memory of the machine, in bytes
	Profiled bool  // it can be built with its own CPU profile (PGO)
}

// Singles returns the candidates with one change each, the most promising first. only names the
// settings to try; empty: all that change nothing but speed and memory. notes say which settings
// are not tried, and why: those that the load of the scenario sets, and those named in only without
// values to try.
func (p Program) Singles(only []string) (singles []Candidate, notes []string, err error) {
	if err := p.known(only); err != nil {
		return nil, nil, err
	}
	wanted := func(name string) bool {
		return len(only) == 0 || slices.ContainsFunc(only, func(o string) bool { return strings.EqualFold(o, name) })
	}
	var tiers [][]Candidate
	add := func(tier int, changes ...Change) {
		for len(tiers) <= tier {
			tiers = append(tiers, nil)
		}
		tiers[tier] = append(tiers[tier], changes)
	}
	if p.Profiled && wanted(PGO) {
		add(0, Change{Kind: PGO, Name: PGO})
	}
	p.collector(wanted, add)
	if wanted(gomaxprocs) && !p.fixed(gomaxprocs) {
		for _, n := range []int{p.Procs / 2, 2 * p.Procs} {
			if n > 0 {
				add(0, Change{Runtime, gomaxprocs, strconv.Itoa(n)})
			}
		}
	}
	for _, k := range p.Declared.Settings {
		if strings.EqualFold(k.Name, gogc) || !wanted(k.Name) || len(only) == 0 && !k.Tune {
			continue
		}
		if p.fixed(k.Name) {
			notes = append(notes, k.Name+" is set by the scenario's load")
			continue
		}
		tiers := k.around(p.Values[k.Name])
		if len(tiers) == 0 && len(only) > 0 {
			notes = append(notes, fmt.Sprintf("%s=%s has no neighbouring values to try", k.Name, p.Values[k.Name]))
		}
		for tier, values := range tiers {
			for _, v := range values {
				add(tier, Change{Setting, k.Name, v})
			}
		}
	}
	for _, s := range p.Declared.Seams {
		for _, impl := range s.Impls {
			if len(only) > 0 && wanted(s.Name) && impl.Name != p.Values[s.Name] {
				add(0, Change{Setting, s.Name, impl.Name})
			}
		}
	}
	return slices.Concat(tiers...), notes, nil
}

func (p Program) fixed(name string) bool { return p.Fixed != nil && p.Fixed(name) }

// collector adds the candidates for the garbage collector. If a service has its own setting of GOGC
// in effect, it ignores the one in the environment.
func (p Program) collector(wanted func(string) bool, add func(int, ...Change)) {
	now, own := usualGOGC, ""
	if v := p.Runtime[gogc]; v != "" {
		now = v
	}
	for _, k := range p.Declared.Settings {
		if v := p.Values[k.Name]; strings.EqualFold(k.Name, gogc) && v != "" && v != "0" {
			now, own = v, k.Name
		}
	}
	for tier, values := range [][]string{{"200", "400"}, {"50", "100"}} {
		for _, v := range values {
			switch {
			case v == now || !wanted(gogc):
			case own != "":
				add(tier, Change{Setting, own, v})
			default:
				add(tier, Change{Runtime, gogc, v})
			}
		}
	}
	if own != "" || now == off || p.Runtime[gomemlimit] != "" || !wanted(gogc) && !wanted(gomemlimit) {
		return
	}
	for _, limit := range p.limits() {
		add(1, Change{Runtime, gogc, off}, Change{Runtime, gomemlimit, Bytes(limit)})
	}
}

// limits returns memory limits with which a program can run without other collections: two and four
// times its present memory, rounded up. It leaves out a limit of more than 1/spare of the memory of
// the machine.
func (p Program) limits() (out []int64) {
	const (
		step  = 64 << 20
		spare = 8 // minimum ratio of the memory of the machine to a limit
	)
	for _, times := range []int64{2, 4} {
		limit := (times*p.RSS + step - 1) / step * step
		if limit > 0 && spare*limit <= p.Memory && !slices.Contains(out, limit) {
			out = append(out, limit)
		}
	}
	return out
}

// UnknownError is returned by Program.Singles for a setting that does not exist.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no setting is called %q; there are %s", e.Name, strings.Join(e.Known, ", "))
}

// known returns an error if only contains a name that no setting and no seam has.
func (p Program) known(only []string) error {
	names := []string{gogc, gomemlimit, gomaxprocs, PGO}
	for _, k := range p.Declared.Settings {
		names = append(names, k.Name)
	}
	for _, s := range p.Declared.Seams {
		names = append(names, s.Name)
	}
	for _, o := range only {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, o) }) {
			return &UnknownError{o, names}
		}
	}
	return nil
}
